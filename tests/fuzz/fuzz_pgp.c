/* The first byte chooses the step and the size of the pieces, the rest is an OpenPGP message:
 * nothing breaks, and whether it is right, and what is in it, does not depend on the pieces.
 *
 * The steps have keys, so that messages of the corpus are decrypted and verified.  Packets are
 * fuzzed mostly by `verify`, which reads them in the clear: what changes an encrypted one is found
 * by its integrity protection. */
#include <stdint.h>
#include <stdio.h>

#include "../unit/service/pgp_samples.h"
#include "base/json.h"
#include "pieces.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void *make_with_key(const struct service_type *type, const char *key)
{
    AUTO(buf_done) struct buf yaml = BUF_INIT(64 << 10);

    buf_printf(&yaml, "%s: { key: \"", type->kind.name);
    json_escape(&yaml, str_of(key));
    buf_puts(&yaml, "\" }");
    return pieces_make(type, yaml.ptr);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static void *opens, *trusts;
    AUTO(arena_done) struct arena a = ARENA_INIT((size_t)16 << 20);
    AUTO(service_memory_done) struct service_memory m = { 0 };

    if (opens == NULL) {
        FILE *nowhere = freopen("/dev/null", "w", stderr); /* librnp prints each mistake */

        require(nowhere != NULL);
        opens = make_with_key(&service_decrypt, pgp_other_private);
        trusts = make_with_key(&service_verify, pgp_ed_public);
    }
    if (size == 0 || size > 1 << 16)
        return 0;
    bool verifies = bytes[0] % 2 == 0;

    (void)pieces_agree(verifies ? &service_verify : &service_decrypt, verifies ? trusts : opens,
                       str_mem(bytes + 1, size - 1), bytes[0] / 2 + 1, &m, &a);
    return 0;
}
