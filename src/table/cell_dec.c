#include "table/cell_dec.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "table/cell_cast.h"

enum { EXPONENT_MOST = 1000000000 };

/* A number as it was written: digits, and where the point is among them. */
struct dec_parts {
    bool minus;
    const char *name;           /* "NaN" or "Infinity": no digits */
    struct str whole, fraction; /* digits before and behind the written point */
    int64_t point;              /* behind so many digits, with the exponent */
    int64_t first, last;        /* the digits that count: first <= i < last */
};

static struct str dec_take_digits(struct str *s)
{
    struct str ret = { s->ptr, 0 };

    while (ret.len < s->len && s->ptr[ret.len] >= '0' && s->ptr[ret.len] <= '9')
        ret.len++;
    *s = str_from(*s, ret.len);
    return ret;
}

static bool dec_take_sign(struct str *s)
{
    bool minus = s->len > 0 && s->ptr[0] == '-';

    if (minus || (s->len > 0 && s->ptr[0] == '+'))
        *s = str_from(*s, 1);
    return minus;
}

/* Beyond EXPONENT_MOST any exponent is as good as that one. */
static bool dec_take_exponent(struct str *s, int64_t *ret)
{
    bool minus;
    struct str digits;

    if (s->len == 0 || (s->ptr[0] != 'e' && s->ptr[0] != 'E'))
        return true;
    *s = str_from(*s, 1);
    minus = dec_take_sign(s);
    digits = dec_take_digits(s);
    for (size_t i = 0; i < digits.len && *ret < EXPONENT_MOST; i++)
        *ret = *ret * 10 + digits.ptr[i] - '0';
    if (minus)
        *ret = -*ret;
    return digits.len > 0;
}

static char dec_digit(const struct dec_parts *p, int64_t at)
{
    size_t i = (size_t)at;

    return i < p->whole.len ? p->whole.ptr[i] : p->fraction.ptr[i - p->whole.len];
}

static bool dec_named(struct str s, struct dec_parts *p)
{
    if (str_eq_nocase(s, STR("nan"))) {
        p->name = "NaN";
        p->minus = false;
    } else if (str_eq_nocase(s, STR("infinity")) || str_eq_nocase(s, STR("inf"))) {
        p->name = "Infinity";
    }
    return p->name != NULL;
}

static bool dec_read(struct str s, struct dec_parts *p)
{
    int64_t exponent = 0;

    *p = (struct dec_parts){ .minus = dec_take_sign(&s) };
    if (dec_named(s, p))
        return true;
    p->whole = dec_take_digits(&s);
    if (s.len > 0 && s.ptr[0] == '.') {
        s = str_from(s, 1);
        p->fraction = dec_take_digits(&s);
    }
    if (p->whole.len + p->fraction.len == 0 || !dec_take_exponent(&s, &exponent) || s.len > 0)
        return false;
    p->point = (int64_t)p->whole.len + exponent;
    p->last = (int64_t)(p->whole.len + p->fraction.len);
    while (p->first < p->last && dec_digit(p, p->first) == '0')
        p->first++;
    while (p->last > p->first && dec_digit(p, p->last - 1) == '0')
        p->last--;
    if (p->first == p->last)
        p->minus = false;
    return true;
}

static size_t dec_parts_size(const struct dec_parts *p)
{
    int64_t before, behind;

    if (p->name != NULL)
        return strlen(p->name) + p->minus;
    if (p->first == p->last)
        return 1;
    before = p->point > p->first ? p->point - p->first : 1;
    behind = p->last > p->point ? p->last - p->point + 1 : 0;
    if (before + behind >= CELL_DEC_MOST)
        return 0;
    return (size_t)(p->minus + before + behind);
}

static char *dec_parts_put(const struct dec_parts *p, char *to)
{
    if (p->minus)
        *to++ = '-';
    if (p->name != NULL)
        return (char *)memcpy(to, p->name, strlen(p->name)) + strlen(p->name);
    if (p->first == p->last || p->point <= p->first)
        *to++ = '0';
    for (int64_t i = p->first; p->first < p->last && i < p->point; i++)
        *to++ = i < p->last ? dec_digit(p, i) : '0';
    if (p->first == p->last || p->last <= p->point)
        return to;
    *to++ = '.';
    for (int64_t i = p->point; i < p->first; i++)
        *to++ = '0';
    for (int64_t i = p->point > p->first ? p->point : p->first; i < p->last; i++)
        *to++ = dec_digit(p, i);
    return to;
}

bool cell_dec_is_normal(struct str s)
{
    struct str rest = s, whole, fraction;
    bool minus = s.len > 0 && s.ptr[0] == '-';

    if (s.len > CELL_DEC_MOST)
        return false;
    rest = str_from(rest, minus);
    if (str_is(rest, "Infinity") || str_is(s, "NaN"))
        return true;
    whole = dec_take_digits(&rest);
    if (whole.len == 0 || (whole.len > 1 && whole.ptr[0] == '0'))
        return false;
    if (rest.len == 0)
        return !minus || whole.ptr[0] != '0';
    if (rest.ptr[0] != '.')
        return false;
    rest = str_from(rest, 1);
    fraction = dec_take_digits(&rest);
    return rest.len == 0 && fraction.len > 0 && fraction.ptr[fraction.len - 1] != '0';
}

size_t cell_dec_size(struct str number)
{
    struct dec_parts p;

    return dec_read(number, &p) ? dec_parts_size(&p) : 0;
}

char *cell_dec_put(struct str number, char *to)
{
    struct dec_parts p;

    return dec_read(number, &p) ? dec_parts_put(&p, to) : to;
}

bool cell_dec_normal(struct str number, struct arena *a, struct str *ret)
{
    struct dec_parts p;
    size_t size;
    char *to;

    if (cell_dec_is_normal(number)) {
        *ret = number;
        return true;
    }
    size = dec_read(number, &p) ? dec_parts_size(&p) : 0;
    to = size > 0 ? cell_cast_room(a, size) : NULL;
    if (to == NULL)
        return false;
    dec_parts_put(&p, to);
    *ret = str_mem(to, size);
    return true;
}

/* ---- rounding ---- */

/* Adds one to the last digit; `to` has room for one more in front of its digits.  Returns where it
 * begins then. */
static char *dec_up(char *first, char *end)
{
    for (char *p = end; p > first;) {
        p--;
        if (*p == '.')
            continue;
        if (*p != '9') {
            (*p)++;
            return first;
        }
        *p = '0';
    }
    *--first = '1';
    return first;
}

bool cell_dec_round(struct str dec, int digits, struct arena *a, struct str *ret)
{
    ptrdiff_t point = str_find(dec, '.');
    size_t keep, minus = dec.len > 0 && dec.ptr[0] == '-';
    char *to, *first, *end;

    if (digits < 0 || point < 0 || dec.len - (size_t)point - 1 <= (size_t)digits) {
        *ret = dec;
        return true;
    }
    keep = (size_t)point + (digits > 0 ? (size_t)digits + 1 : 0);
    to = cell_cast_room(a, keep + 1); /* a digit more in front */
    if (to == NULL)
        return false;
    memcpy(to + 1, dec.ptr, keep);
    first = to + 1 + minus;
    end = to + 1 + keep;
    if (dec.ptr[(size_t)point + 1 + (size_t)digits] >= '5')
        first = dec_up(first, end);
    if (minus)
        *--first = '-';
    return cell_dec_normal(str_mem(first, (size_t)(end - first)), a, ret);
}

/* ---- doubles ---- */

double cell_dec_one_double(double f)
{
    return isnan(f) ? (double)NAN : f == 0 ? 0.0 : f;
}

/* As "-1.25e+07" with as few digits as read back.  Fifteen always do for what was written with
 * fifteen; only the smallest numbers have fewer that count. */
static void dec_shortest(double f, char text[static 32])
{
    int least = fabs(f) < 2.3e-308 ? 0 : 14;

    for (int digits = least; digits <= 16; digits++) {
        (void)snprintf(text, 32, "%.*e", digits, f);
        if (strtod(text, NULL) == f)
            return;
    }
}

static void dec_read_double(double f, struct dec_parts *p, char text[static 32])
{
    *p = (struct dec_parts){ 0 };
    if (isnan(f)) {
        p->name = "NaN";
    } else if (isinf(f)) {
        *p = (struct dec_parts){ .name = "Infinity", .minus = f < 0 };
    } else {
        dec_shortest(f, text);
        (void)dec_read(str_of(text), p);
    }
}

size_t cell_dec_of_double(double f, char to[static CELL_DEC_DOUBLE_MOST])
{
    struct dec_parts p;
    char text[32];

    dec_read_double(f, &p, text);
    return (size_t)(dec_parts_put(&p, to) - to);
}

size_t cell_dec_text_of_double(double f, char to[static CELL_DEC_DOUBLE_MOST])
{
    struct dec_parts p;
    char text[32], *at = to;

    dec_read_double(f, &p, text);
    if (p.name != NULL || f == 0 || (fabs(f) >= 1e-7 && fabs(f) < 1e21))
        return (size_t)(dec_parts_put(&p, to) - to);
    if (p.minus)
        *at++ = '-';
    for (int64_t i = p.first; i < p.last; i++) {
        *at++ = dec_digit(&p, i);
        if (i == p.first && i + 1 < p.last)
            *at++ = '.';
    }
    return (size_t)(at - to) +
           (size_t)snprintf(at, 16, "e%+lld", (long long)(p.point - p.first - 1));
}

bool cell_dec_near_double(struct str dec, double *ret)
{
    char text[CELL_DEC_DOUBLE_MOST + 1];

    if (dec.len > CELL_DEC_DOUBLE_MOST)
        return false;
    memcpy(text, dec.ptr, dec.len);
    text[dec.len] = '\0';
    *ret = cell_dec_one_double(strtod(text, NULL)); /* also reads the names */
    return true;
}

bool cell_dec_to_double(struct str dec, double *ret)
{
    char back[CELL_DEC_DOUBLE_MOST];
    double f;

    if (!cell_dec_near_double(dec, &f) || !str_eq(dec, str_mem(back, cell_dec_of_double(f, back))))
        return false;
    *ret = f;
    return true;
}
