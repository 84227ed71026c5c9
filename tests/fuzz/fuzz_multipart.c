/* Whatever the bytes: nothing breaks, and pieces of any size give the same.  The first line is the
 * content type, the rest is the form. */
#include <stdint.h>

#include "base/auto.h"
#include "base/buf.h"
#include "base/require.h"
#include "core/format/multipart.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void put_part(struct buf *to, const struct multipart *m)
{
    require(m->name.ptr != NULL && m->parts <= MULTIPART_PARTS);
    buf_put(to, STR("<"));
    buf_put(to, m->name);
    buf_put(to, STR("|"));
    buf_put(to, m->file);
    buf_put(to, STR("|"));
    buf_put(to, m->ctype);
    buf_put(to, STR(">"));
}

static void read_form(struct str type, struct str form, size_t piece, struct buf *to)
{
    struct multipart m;
    size_t given = 0;

    if (multipart_begin(&m, type) != NULL)
        return;
    while (form.len > 0) {
        struct str one = str_mem(form.ptr, piece < form.len ? piece : form.len);
        enum multipart_event e;

        form = str_from(form, one.len);
        multipart_give(&m, one);
        while ((e = multipart_next(&m)) != MULTIPART_MORE) {
            if (e == MULTIPART_WRONG) {
                require(m.why != NULL);
                buf_puts(to, m.why);
                return;
            }
            if (e == MULTIPART_PART)
                put_part(to, &m);
            given += e == MULTIPART_BYTES ? m.bytes.len : 0;
            if (e == MULTIPART_BYTES)
                buf_put(to, m.bytes);
            else if (e == MULTIPART_OVER)
                buf_put(to, STR("</>"));
        }
    }
    require(given <= to->len);
    buf_puts(to, multipart_is_whole(&m) ? "whole" : "cut");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct str type, form = str_cut(str_mem(bytes, size), '\n', &type);
    AUTO(buf_done) struct buf at_once = BUF_INIT(8 << 20);
    AUTO(buf_done) struct buf in_pieces = BUF_INIT(8 << 20);

    if (size > 1 << 20)
        return 0;
    (void)multipart_is_form(type);
    read_form(type, form, form.len + 1, &at_once);
    for (size_t piece = 1; piece <= 7; piece += 3) {
        buf_clear(&in_pieces);
        read_form(type, form, piece, &in_pieces);
        require(str_eq(buf_view(&at_once), buf_view(&in_pieces)));
    }
    return 0;
}
