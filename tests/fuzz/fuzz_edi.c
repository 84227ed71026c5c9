/* Whatever the text: the segments cover it, its units do not depend on the pieces it comes in, and
 * a unit between its head and tail can be read alone. */
#include <stdint.h>

#include "base/auto.h"
#include "base/require.h"
#include "core/format/edi_path.h"
#include "core/format/edi_units.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { MOST = 64 << 20 };

/* True: it was read to its end. */
static bool read_segments(enum edi_kind kind, struct str text)
{
    AUTO(buf_done) struct buf value = BUF_INIT(MOST);
    static const char *const paths[] = { "MSH-9.1-2", "N102-1", "UNH[2]-2.1" };
    struct edi_path path;
    struct edi_reader r;
    struct edi_segment s;
    struct err err = { 0 };
    enum edi_found found;
    size_t covered, at;

    bool parsed = edi_path_parse(kind, str_of(paths[kind]), &path);

    require(parsed);
    edi_reader_init(&r, kind, text);
    covered = r.start;
    while ((found = edi_next(&r, &s)) == EDI_SEGMENT) {
        require(s.at == covered && s.tag.len >= 2);
        covered += s.text.len + s.end.len;
        buf_clear(&value);
        (void)edi_path_value(kind, &path, &s, &value, &at);
    }
    if (found == EDI_WRONG) {
        (void)edi_fail(&r, &err);
        require(err.text[0] != '\0' && r.wrong_at <= text.len);
        return false;
    }
    require(covered == text.len);
    return true;
}

static void check_alone(enum edi_kind kind, struct buf *alone)
{
    if (alone->len > 0)
        require(read_segments(kind, buf_view(alone)));
    buf_clear(alone);
}

/* All that comes out, and the failure, in `ret`. */
static void units_of(struct edi_units *u, struct str text, size_t piece, bool whole,
                     struct buf *ret)
{
    AUTO(buf_done) struct buf alone = BUF_INIT(MOST);
    enum edi_units_event e;
    struct err err = { 0 };
    size_t at = 0;

    while ((e = edi_units_next(u)) > EDI_UNITS_END || e == EDI_UNITS_MORE) {
        size_t n = text.len - at < piece ? text.len - at : piece;

        if (e == EDI_UNITS_BEGIN || e == EDI_UNITS_CLOSE)
            buf_putc(ret, e == EDI_UNITS_BEGIN ? '<' : '>');
        struct str more = e == EDI_UNITS_BEGIN   ? buf_view(&u->head)
                          : e == EDI_UNITS_BYTES ? u->bytes
                          : e == EDI_UNITS_CLOSE ? buf_view(&u->tail)
                                                 : STR("");

        buf_put(ret, more);
        buf_put(&alone, more);
        if (e == EDI_UNITS_CLOSE && whole)
            check_alone(u->kind, &alone);
        if (e == EDI_UNITS_MORE) {
            edi_units_give(u, str_mem(text.ptr + at, n), at + n == text.len);
            at += n;
        }
    }
    if (e == EDI_UNITS_WRONG) {
        (void)edi_units_fail(u, &err);
        require(err.text[0] != '\0');
        buf_puts(ret, err.text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const enum edi_unit units[] = { EDI_UNIT_INTERCHANGE, EDI_UNIT_GROUP, EDI_UNIT_MESSAGE,
                                           EDI_UNIT_SEGMENTS };
    AUTO(buf_done) struct buf one = BUF_INIT(MOST);
    AUTO(buf_done) struct buf many = BUF_INIT(MOST);

    if (size < 2 || size > 1 << 16)
        return 0;
    enum edi_kind kind = (enum edi_kind)(bytes[0] % 3);
    enum edi_unit unit = kind == EDI_HL7 ? units[2 + bytes[1] % 2] : units[bytes[1] % 3];
    struct str text = str_mem(bytes + 2, size - 2);
    bool whole = read_segments(kind, text);
    AUTO(edi_units_done) struct edi_units a, b;

    edi_units_init(&a, kind, unit, STR("OBR"));
    edi_units_init(&b, kind, unit, STR("OBR"));
    units_of(&a, text, text.len, whole, &one);
    units_of(&b, text, 1 + bytes[1] % 17, whole, &many);
    require(str_eq(buf_view(&one), buf_view(&many)));
    return 0;
}
