/* fuzz_graft.c - any document, any path, any value: what comes out is of the same kind, has the
 * value in it, and the document's other bytes around it.
 *
 * The input has three parts, separated by zero bytes: the path, the value, the document. */
#include <string.h>

#include "base/auto.h"
#include "base/require.h"
#include "core/format/graft.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { OUT_MOST = 1 << 20, DEEP = 500 };

static void check_pair(const struct record_text *a, const struct record_text *b)
{
    AUTO(buf_done) struct buf pair = BUF_INIT(OUT_MOST);
    struct record_text again;
    struct err err = { 0 };

    if (a->form != b->form || !record_text_pair(a, b, &pair, &err))
        return;
    require(record_text_read(buf_view(&pair), &again, &err) && again.form == a->form);
    require(str_eq(again.text, buf_view(&pair)));
}

/* Behind the name of an element a declaration may have come in. */
static struct str without_name(const struct record_text *value)
{
    size_t name = 0;

    while (value->form == RECORD_XML && strchr(" \t\r\n/>", value->text.ptr[name]) == NULL)
        name++;
    return str_from(value->text, name);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    AUTO(buf_done) struct buf out = BUF_INIT(OUT_MOST);
    struct str path_text, value_text, document = str_mem(bytes, size);
    struct record_text value, before, after;
    struct graft_path path;
    struct err err = { 0 };

    document = str_cut(document, '\0', &path_text);
    document = str_cut(document, '\0', &value_text);
    if (!graft_path_read(path_text, &a, &path, &err) ||
        !record_text_read(value_text, &value, &err) || !record_text_read(document, &before, &err))
        return 0;
    if (size >= DEEP) /* together they may stand too deep */
        return 0;
    check_pair(&value, &before);
    if (!graft(document, &path, &value, &out, &err))
        return 0;
    require(record_text_read(buf_view(&out), &after, &err) && after.form == before.form);
    struct str rest = without_name(&value);

    require(value.form != after.form || memmem(out.ptr, out.len, rest.ptr, rest.len) != NULL);
    return 0;
}
