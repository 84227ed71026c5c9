/* cell_cast_text.c - values as text, and back. */
#include "table/cell_cast.h"

#include <stdio.h>

#include "table/cell_dec.h"
#include "table/cell_time.h"

enum { INT_TEXT = 24 };

/* ---- UUIDs ---- */

static bool uuid_dash_at(size_t at)
{
    return at == 8 || at == 13 || at == 18 || at == 23;
}

void cell_uuid_put(const char *bytes, char to[static CELL_UUID_TEXT])
{
    static const char hex[] = "0123456789abcdef";

    for (size_t i = 0, n = 0; n < CELL_UUID_TEXT; n++) {
        if (uuid_dash_at(n)) {
            to[n] = '-';
            continue;
        }
        to[n++] = hex[(unsigned char)bytes[i] >> 4];
        to[n] = hex[(unsigned char)bytes[i++] & 15];
    }
}

/* Of either case, with its dashes or without any. */
static bool uuid_take(struct str text, char to[static CELL_UUID_BYTES])
{
    bool dashes = text.len == CELL_UUID_TEXT;
    size_t i = 0;

    if (!dashes && text.len != 2 * CELL_UUID_BYTES)
        return false;
    for (size_t n = 0; n < text.len; n += 2) {
        if (dashes && uuid_dash_at(n) && text.ptr[n++] != '-')
            return false;
        int high = str_hex_digit(text.ptr[n]), low = str_hex_digit(text.ptr[n + 1]);

        if (high < 0 || low < 0)
            return false;
        to[i++] = (char)(high << 4 | low);
    }
    return true;
}

/* ---- as text ---- */

/* A DEC or TEXT. */
bool cell_text_of_int(const struct cell *from, struct arena *a, struct cell *ret,
                      const char **ret_why)
{
    char text[INT_TEXT], *at = text + sizeof text;
    uint64_t n = from->i < 0 ? -(uint64_t)from->i : (uint64_t)from->i;

    (void)ret_why;
    do {
        *--at = (char)('0' + n % 10);
        n /= 10;
    } while (n > 0);
    if (from->i < 0)
        *--at = '-';
    ret->s = arena_copy(a, str_mem(at, (size_t)(text + sizeof text - at)));
    return true;
}

bool cell_text_of_float(const struct cell *from, struct arena *a, struct cell *ret,
                        const char **ret_why)
{
    char text[CELL_DEC_DOUBLE_MOST];

    (void)ret_why;
    ret->s = arena_copy(a, str_mem(text, cell_dec_text_of_double(from->f, text)));
    return true;
}

bool cell_text_of_bool(const struct cell *from, struct arena *a, struct cell *ret,
                       const char **ret_why)
{
    (void)a;
    (void)ret_why;
    ret->s = from->i != 0 ? STR("true") : STR("false");
    return true;
}

bool cell_text_of_time(const struct cell *from, struct arena *a, struct cell *ret,
                       const char **ret_why)
{
    char text[CELL_TIME_TEXT];

    (void)ret_why;
    if (!cell_time_is_fine(from->type, from->i))
        return false;
    ret->s = arena_copy(a, str_mem(text, cell_time_put(from->type, from->i, text)));
    return true;
}

bool cell_text_of_uuid(const struct cell *from, struct arena *a, struct cell *ret,
                       const char **ret_why)
{
    char text[CELL_UUID_TEXT];

    (void)ret_why;
    if (from->s.len != CELL_UUID_BYTES)
        return false;
    cell_uuid_put(from->s.ptr, text);
    ret->s = arena_copy(a, str_mem(text, sizeof text));
    return true;
}

/* ---- of text ---- */

bool cell_text_to_int(const struct cell *from, struct arena *a, struct cell *ret,
                      const char **ret_why)
{
    struct str dec;

    (void)ret_why;
    return str_to_i64(from->s, &ret->i) ||
           (cell_dec_normal(from->s, a, &dec) && str_to_i64(dec, &ret->i));
}

bool cell_text_to_float(const struct cell *from, struct arena *a, struct cell *ret,
                        const char **ret_why)
{
    struct str dec;

    (void)ret_why;
    return cell_dec_normal(from->s, a, &dec) && cell_dec_to_double(dec, &ret->f);
}

bool cell_text_to_bool(const struct cell *from, struct arena *a, struct cell *ret,
                       const char **ret_why)
{
    static const struct {
        const char *word;
        bool is;
    } words[] = { { "true", true },   { "t", true },  { "1", true },
                  { "false", false }, { "f", false }, { "0", false } };

    (void)a;
    (void)ret_why;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (str_eq_nocase(from->s, str_of(words[i].word))) {
            ret->i = words[i].is;
            return true;
        }
    return false;
}

bool cell_text_to_time(const struct cell *from, struct arena *a, struct cell *ret,
                       const char **ret_why)
{
    (void)a;
    (void)ret_why;
    return cell_time_take(ret->type, from->s, &ret->i);
}

bool cell_text_to_uuid(const struct cell *from, struct arena *a, struct cell *ret,
                       const char **ret_why)
{
    char bytes[CELL_UUID_BYTES];

    (void)ret_why;
    if (!uuid_take(from->s, bytes))
        return false;
    ret->s = arena_copy(a, str_mem(bytes, sizeof bytes));
    return true;
}
