/* Whatever the bytes: nothing breaks, and a document that fits into an envelope is found in it. */
#include <stdint.h>

#include "base/auto.h"
#include "base/require.h"
#include "core/format/soap.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void read_answer(struct str answer)
{
    struct soap_fault f;

    if (soap_read(answer, &f) != SOAP_FAULT)
        return;
    require(strlen(f.code) <= SOAP_TEXT && strlen(f.reason) <= SOAP_TEXT);
    require(str_is_utf8(str_of(f.reason)));
}

static void wrap(struct str document, const struct soap_document *d, enum soap_version version)
{
    AUTO(buf_done) struct buf b = BUF_INIT(8 << 20);
    struct soap_document outer;
    struct err err = { 0 };

    buf_put(&b, soap_before(version));
    buf_put(&b, str_from(document, d->from));
    buf_put(&b, soap_after(version));
    bool ok = soap_look(buf_view(&b), true, &outer, &err);

    /* One that is as deep as it may be is too deep in an envelope. */
    require(!ok || outer.envelope == version);
    require(ok || strstr(err.text, "deep") != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct str s = str_mem(bytes, size);
    struct soap_document whole, beginning;
    struct err err = { 0 };

    if (size > 1 << 20)
        return 0;
    read_answer(s);
    if (soap_look(s, true, &whole, &err)) {
        require(whole.from < size);
        wrap(s, &whole, SOAP_1_1);
        wrap(s, &whole, SOAP_1_2);
        require(soap_look(s, false, &beginning, &err));
        require(beginning.from == whole.from && beginning.envelope == whole.envelope);
    } else {
        require(err.kind == ERR_PERMANENT);
    }
    (void)soap_look(str_mem(bytes, size / 2), false, &beginning, &err);
    return 0;
}
