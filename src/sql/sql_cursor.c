#include "sql/sql_cursor.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"

struct datum sql_cursor_value(const struct sql_cursor *c, size_t i)
{
    size_t from = i > 0 ? c->end[i - 1] : 0;

    return (struct datum){ .kind = c->kind[i],
                           .bytes = str_mem(c->bytes + from, c->end[i] - from) };
}

bool sql_cursor_add(struct sql_cursor *c, struct str name, const struct datum *d, struct err *err)
{
    size_t at = c->count > 0 ? c->end[c->count - 1] : 0;
    struct str n = str_first(name, 60);

    if (d->kind == DATUM_NULL)
        return err_set(err, ERR_CONFIG, 0,
                       "the cursor column %.*s is NULL in a row: take a column that never is, or "
                       "leave such rows out of the query",
                       STR_ARG(n));
    if (d->kind == DATUM_BYTES || d->kind == DATUM_FAILED)
        return err_set(err, ERR_CONFIG, 0,
                       "the cursor column %.*s cannot be read as a number, a time or a text",
                       STR_ARG(n));
    if (c->count == SQL_CURSOR_COLUMNS || d->bytes.len > SQL_CURSOR_BYTES - at)
        return err_set(err, ERR_CONFIG, 0,
                       "the values of the cursor columns have more than %d bytes: take a shorter "
                       "column than %.*s",
                       SQL_CURSOR_BYTES, STR_ARG(n));
    if (!str_is_utf8(d->bytes) || str_has_control(d->bytes))
        return err_set(err, ERR_CONFIG, 0,
                       "the cursor column %.*s has a text with control characters, or no UTF-8",
                       STR_ARG(n));
    if (d->bytes.len > 0)
        memcpy(c->bytes + at, d->bytes.ptr, d->bytes.len);
    c->kind[c->count] = d->kind;
    c->end[c->count++] = at + d->bytes.len;
    return true;
}

bool sql_cursor_find(const struct str *names, size_t count, const struct sql_result *result,
                     size_t *ret, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        size_t k = 0;

        while (k < result->column_count && !str_eq_nocase(result->columns[k].name, names[i]))
            k++;
        if (k == result->column_count)
            return err_set(err, ERR_CONFIG, 0,
                           "the query returns no column %.*s, which `cursor` names",
                           STR_ARG(str_first(names[i], 60)));
        ret[i] = k;
    }
    return true;
}

bool sql_cursor_same(const struct sql_cursor *a, const struct sql_cursor *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        struct datum x = sql_cursor_value(a, i), y = sql_cursor_value(b, i);

        if (x.kind != y.kind || !str_eq(x.bytes, y.bytes))
            return false;
    }
    return true;
}

/* ---- order ---- */

static enum sql_order order_by_sign(int difference)
{
    return difference < 0 ? SQL_ORDER_BEFORE : difference > 0 ? SQL_ORDER_BEHIND : SQL_ORDER_SAME;
}

/* A number without exponent, taken apart: no sign, no zeros in front or behind. */
struct plain_number {
    bool negative;
    struct str whole, fraction;
};

static bool take_plain_number(struct str s, struct plain_number *ret)
{
    ret->negative = s.len > 0 && s.ptr[0] == '-';
    if (ret->negative)
        s = str_from(s, 1);
    ret->fraction = str_cut(s, '.', &ret->whole);
    while (ret->whole.len > 0 && ret->whole.ptr[0] == '0')
        ret->whole = str_from(ret->whole, 1);
    while (ret->fraction.len > 0 && ret->fraction.ptr[ret->fraction.len - 1] == '0')
        ret->fraction.len--;
    for (size_t i = 0; i < ret->whole.len + ret->fraction.len; i++) {
        char c = i < ret->whole.len ? ret->whole.ptr[i] : ret->fraction.ptr[i - ret->whole.len];

        if (c < '0' || c > '9')
            return false;
    }
    if (ret->whole.len + ret->fraction.len == 0)
        ret->negative = false; /* -0 */
    return true;
}

static enum sql_order order_numbers(struct str a, struct str b)
{
    struct plain_number x, y;

    if (!take_plain_number(a, &x) || !take_plain_number(b, &y))
        return SQL_ORDER_UNKNOWN;
    if (x.negative != y.negative)
        return x.negative ? SQL_ORDER_BEFORE : SQL_ORDER_BEHIND;
    int d = x.whole.len != y.whole.len ? (x.whole.len < y.whole.len ? -1 : 1)
                                       : str_cmp(x.whole, y.whole);

    if (d == 0)
        d = str_cmp(x.fraction, y.fraction);
    return order_by_sign(x.negative ? -d : d);
}

static enum sql_order order_floats(struct str a, struct str b)
{
    char text[2][SQL_CURSOR_BYTES + 1] = { 0 };
    double x, y;

    memcpy(text[0], a.ptr, a.len);
    memcpy(text[1], b.ptr, b.len);
    x = strtod(text[0], NULL);
    y = strtod(text[1], NULL);
    return x < y    ? SQL_ORDER_BEFORE
           : x > y  ? SQL_ORDER_BEHIND
           : x == y ? SQL_ORDER_SAME
                    : SQL_ORDER_UNKNOWN;
}

static enum sql_order order_values(const struct datum *a, const struct datum *b)
{
    if (a->kind == b->kind && str_eq(a->bytes, b->bytes))
        return SQL_ORDER_SAME;
    if ((a->kind == DATUM_INTEGER || a->kind == DATUM_DECIMAL) &&
        (b->kind == DATUM_INTEGER || b->kind == DATUM_DECIMAL))
        return order_numbers(a->bytes, b->bytes);
    if (a->kind != b->kind)
        return SQL_ORDER_UNKNOWN;
    switch (a->kind) {
    case DATUM_FLOAT:
        return order_floats(a->bytes, b->bytes);
    case DATUM_TIMESTAMP: /* of one length, unless a year has five digits */
    case DATUM_DATE:
        return a->bytes.len == b->bytes.len ? order_by_sign(str_cmp(a->bytes, b->bytes))
                                            : SQL_ORDER_UNKNOWN;
    default:
        return SQL_ORDER_UNKNOWN;
    }
}

enum sql_order sql_cursor_order(const struct sql_cursor *a, const struct sql_cursor *b)
{
    if (a->count != b->count)
        return SQL_ORDER_UNKNOWN;
    for (size_t i = 0; i < a->count; i++) {
        struct datum x = sql_cursor_value(a, i), y = sql_cursor_value(b, i);
        enum sql_order o = order_values(&x, &y);

        if (o != SQL_ORDER_SAME)
            return o;
    }
    return SQL_ORDER_SAME;
}

/* ---- texts ---- */

static const char *const kind_words[] = {
    [DATUM_TEXT] = "s", [DATUM_INTEGER] = "i", [DATUM_DECIMAL] = "n", [DATUM_FLOAT] = "f",
    [DATUM_BOOL] = "b", [DATUM_DATE] = "d",    [DATUM_TIME] = "t",    [DATUM_TIMESTAMP] = "ts"
};

bool sql_cursor_kind(struct str word, enum datum_kind *ret)
{
    for (size_t i = 0; i < sizeof kind_words / sizeof kind_words[0]; i++)
        if (kind_words[i] != NULL && str_is(word, kind_words[i])) {
            *ret = (enum datum_kind)i;
            return true;
        }
    return false;
}

void sql_cursor_put(const struct sql_cursor *c, struct buf *to)
{
    struct json_out j = { .to = to };

    json_open(&j, '[');
    for (size_t i = 0; i < c->count; i++) {
        json_z(&j, kind_words[c->kind[i]]);
        json_str(&j, sql_cursor_value(c, i).bytes);
    }
    json_close(&j, ']');
}

void sql_cursor_say(const struct sql_cursor *c, struct buf *to)
{
    for (size_t i = 0; i < c->count; i++) {
        buf_puts(to, i > 0 ? ", " : "");
        buf_put(to, sql_cursor_value(c, i).bytes);
    }
}
