#include "service/script/jq_number.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    DIGITS_SURE = 15,    /* so many significant digits always survive */
    DIGITS_MOST = 17,    /* of the shortest text of a double */
    EXPONENT_SURE = 300, /* between -300 and 300 no double is too small or infinite */
    EXPONENT_MOST = 1000000
};

/* 0.d1d2d3.. * 10^exponent; the first and the last digit are not 0.  None: zero. */
struct decimal {
    char digits[DIGITS_MOST + 1]; /* terminated */
    size_t count;                 /* of all of them, also those without room */
    int64_t exponent;
};

/* Digits count from the first one that is not 0; zeros wait until another digit follows them. */
struct decimal_reading {
    struct decimal *to;
    size_t zeros;
};

static void decimal_digit(struct decimal_reading *r, char c)
{
    if (c == '0' && r->to->count == 0)
        return;
    if (c == '0') {
        r->zeros++;
        return;
    }
    for (; r->zeros > 0; r->zeros--)
        if (r->to->count++ < DIGITS_MOST)
            r->to->digits[r->to->count - 1] = '0';
    if (r->to->count++ < DIGITS_MOST)
        r->to->digits[r->to->count - 1] = c;
}

static int64_t decimal_read_exponent(const char *p, const char *end)
{
    bool negative = p < end && *p == '-';
    int64_t n = 0;

    for (p += p < end && (*p == '-' || *p == '+'); p < end; p++)
        if (n < EXPONENT_MOST)
            n = 10 * n + (*p - '0');
    return negative ? -n : n;
}

static struct decimal decimal_of(struct str text)
{
    struct decimal d = { 0 };
    struct decimal_reading r = { .to = &d };
    const char *p = text.ptr, *end = text.ptr + text.len;
    bool behind = false; /* the point */

    for (p += p < end && *p == '-'; p < end && *p != 'e' && *p != 'E'; p++) {
        if (*p == '.') {
            behind = true;
            continue;
        }
        bool before_first = d.count == 0 && *p == '0';

        decimal_digit(&r, *p);
        if (!behind && !before_first)
            d.exponent++;
        else if (behind && before_first)
            d.exponent--;
    }
    if (p < end)
        d.exponent += decimal_read_exponent(p + 1, end);
    return d;
}

static bool decimal_eq(const struct decimal *a, const struct decimal *b)
{
    return a->count == b->count && a->exponent == b->exponent &&
           memcmp(a->digits, b->digits, a->count) == 0;
}

/* The shortest text that reads as the same double: what libjq writes. */
static struct decimal decimal_of_double(double v)
{
    char text[40];

    for (int digits = 1; digits <= DIGITS_MOST; digits++) {
        (void)snprintf(text, sizeof text, "%.*e", digits - 1, v);
        if (strtod(text, NULL) == v)
            break;
    }
    return decimal_of(str_of(text));
}

bool jq_number_is_kept(struct str text)
{
    struct decimal d = decimal_of(text);
    bool is_near = d.exponent >= -EXPONENT_SURE && d.exponent <= EXPONENT_SURE;
    char same[64];

    if (d.count == 0 || (d.count <= DIGITS_SURE && is_near))
        return true;
    if (d.count > DIGITS_MOST)
        return false;
    (void)snprintf(same, sizeof same, "0.%se%lld", d.digits, (long long)d.exponent);
    double v = strtod(same, NULL);

    if (isinf(v) || v == 0)
        return false;
    struct decimal written = decimal_of_double(v);

    return decimal_eq(&d, &written);
}
