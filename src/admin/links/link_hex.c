#include "admin/links/link_hex.h"

#include "base/auto.h"
#include "base/varint.h"
#include "table/key.h"
#include "table/row.h"
#include "table/shape.h"

struct str link_hex(struct str bytes, struct arena *a)
{
    static const char digits[] = "0123456789abcdef";
    char *text = ARENA_ARRAY(a, char, 2 * bytes.len + 1);

    for (size_t i = 0; i < bytes.len; i++) {
        unsigned char byte = (unsigned char)bytes.ptr[i];

        text[2 * i] = digits[byte >> 4];
        text[2 * i + 1] = digits[byte & 15];
    }
    return str_mem(text, 2 * bytes.len);
}

bool link_hex_read(struct str text, struct arena *a, struct str *ret)
{
    char *bytes = ARENA_ARRAY(a, char, text.len / 2 + 1);

    if (text.len % 2 != 0 || text.len > 2 * (SHAPE_KEY_BYTES + ROW_SUM_BYTES))
        return false;
    for (size_t i = 0; i < text.len / 2; i++) {
        int high = str_hex_digit(text.ptr[2 * i]), low = str_hex_digit(text.ptr[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        bytes[i] = (char)(high << 4 | low);
    }
    *ret = str_mem(bytes, text.len / 2);
    return true;
}

/* ---- rows ---- */

/* The types that the row says it has; row_take() judges the rest. */
static bool link_row_types(struct str row, struct arena *a, enum cell_type **ret, size_t *ret_count)
{
    if (row.len < 2)
        return false;
    size_t count = (size_t)(unsigned char)row.ptr[0] << 8 | (unsigned char)row.ptr[1];
    struct str rest = str_from(row, 2);

    if (count > SHAPE_COLUMNS_MOST)
        return false;
    *ret = ARENA_ARRAY(a, enum cell_type, count + 1);
    for (size_t i = 0; i < count; i++) {
        uint64_t len;

        if (rest.len < 2 || (unsigned char)rest.ptr[0] >= CELL_TYPES)
            return false;
        (*ret)[i] = (enum cell_type)rest.ptr[0];
        rest = str_from(rest, 1);
        if (!varint_take(&rest, &len) || len > rest.len)
            return false;
        rest = str_from(rest, (size_t)len);
    }
    *ret_count = count;
    return true;
}

bool link_row_read(struct str row, struct arena *a, struct cell **ret, size_t *ret_count)
{
    enum cell_type *types;
    struct err err = { 0 };
    size_t count;

    if (!link_row_types(row, a, &types, &count))
        return false;
    *ret = ARENA_ARRAY(a, struct cell, count + 1);
    *ret_count = count;
    return row_take(row, types, count, *ret, &err);
}

struct str link_key_words(const struct cell *cells, size_t count, struct arena *a)
{
    AUTO(buf_done) struct buf text = BUF_INIT(64 << 10);

    for (size_t i = 0; i < count; i++) {
        buf_puts(&text, i > 0 ? ", " : "");
        buf_put(&text, cell_text(&cells[i], LINK_VALUE_MOST, a));
    }
    return arena_copy(a, buf_view(&text));
}

struct str link_key_of_row(struct str key, const struct cell *cells, size_t count, struct arena *a)
{
    AUTO(buf_done) struct buf made = BUF_INIT(SHAPE_KEY_BYTES);
    struct err err = { 0 };

    for (size_t n = 1; n <= count && n <= SHAPE_KEY_MOST; n++) {
        buf_clear(&made);
        if (!key_put(&made, cells, n, &err))
            break;
        if (str_eq(buf_view(&made), key))
            return link_key_words(cells, n, a);
    }
    return link_hex(key, a);
}
