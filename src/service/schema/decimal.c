#include "service/schema/decimal.h"

enum { EXPONENT_DIGITS = 9, DIVISOR_DIGITS = 18 };

static bool decimal_exponent(struct str text, int64_t *ret)
{
    bool negative = text.len > 0 && text.ptr[0] == '-';

    if (text.len > 0 && (text.ptr[0] == '-' || text.ptr[0] == '+'))
        text = str_from(text, 1);
    while (text.len > 0 && text.ptr[0] == '0')
        text = str_from(text, 1);
    *ret = 0;
    if (text.len > EXPONENT_DIGITS)
        return false;
    for (size_t i = 0; i < text.len; i++)
        *ret = *ret * 10 + (text.ptr[i] - '0');
    *ret = negative ? -*ret : *ret;
    return true;
}

/* The exponent of the digit at `at`, by its place before or behind the point. */
static int64_t decimal_place(struct str mantissa, size_t at)
{
    ptrdiff_t point = str_find(mantissa, '.');

    if (point < 0)
        point = (ptrdiff_t)mantissa.len;
    return (ptrdiff_t)at > point ? point - (ptrdiff_t)at : point - 1 - (ptrdiff_t)at;
}

bool decimal_read(struct str text, struct decimal *ret)
{
    bool negative = text.len > 0 && text.ptr[0] == '-';
    size_t end = 0, first, last;
    int64_t exponent = 0;

    text = str_from(text, negative);
    while (end < text.len && text.ptr[end] != 'e' && text.ptr[end] != 'E')
        end++;
    if (!decimal_exponent(str_from(text, end + 1), &exponent))
        return false;
    text.len = end;
    for (first = 0; first < end && (text.ptr[first] == '0' || text.ptr[first] == '.');)
        first++;
    *ret = (struct decimal){ 0 };
    if (first == end)
        return true;
    for (last = end - 1; text.ptr[last] == '0' || text.ptr[last] == '.';)
        last--;
    *ret = (struct decimal){ .digits = str_mem(text.ptr + first, last + 1 - first),
                             .exponent = exponent + decimal_place(text, last),
                             .is_negative = negative };
    ret->count = ret->digits.len - (memchr(ret->digits.ptr, '.', ret->digits.len) != NULL);
    return true;
}

static int decimal_compare_digits(struct str a, struct str b)
{
    size_t i = 0, k = 0;

    for (;; i++, k++) {
        i += i < a.len && a.ptr[i] == '.';
        k += k < b.len && b.ptr[k] == '.';
        if (i >= a.len || k >= b.len)
            return (i < a.len) - (k < b.len);
        if (a.ptr[i] != b.ptr[k])
            return a.ptr[i] < b.ptr[k] ? -1 : 1;
    }
}

int decimal_compare(const struct decimal *a, const struct decimal *b)
{
    int sign_a = a->count == 0 ? 0 : a->is_negative ? -1 : 1;
    int sign_b = b->count == 0 ? 0 : b->is_negative ? -1 : 1;

    if (sign_a != sign_b || sign_a == 0)
        return sign_a - sign_b;
    int64_t top_a = a->exponent + (int64_t)a->count, top_b = b->exponent + (int64_t)b->count;

    if (top_a != top_b)
        return top_a < top_b ? -sign_a : sign_a;
    return sign_a * decimal_compare_digits(a->digits, b->digits);
}

bool decimal_is_integer(const struct decimal *d)
{
    return d->count == 0 || d->exponent >= 0;
}

/* ---- multiples ---- */

bool decimal_divisor_of(const struct decimal *d, struct decimal_divisor *ret)
{
    if (d->count == 0 || d->is_negative || d->count > DIVISOR_DIGITS)
        return false;
    *ret = (struct decimal_divisor){ .exponent = d->exponent };
    for (size_t i = 0; i < d->digits.len; i++)
        if (d->digits.ptr[i] != '.')
            ret->digits = ret->digits * 10 + (uint64_t)(d->digits.ptr[i] - '0');
    return true;
}

static uint64_t decimal_times(uint64_t a, uint64_t b, uint64_t of)
{
    return (uint64_t)((unsigned __int128)a * b % of);
}

/* 10^n modulo `of`. */
static uint64_t decimal_power(int64_t n, uint64_t of)
{
    uint64_t result = 1 % of, base = 10 % of;

    for (; n > 0; n /= 2) {
        if (n % 2 != 0)
            result = decimal_times(result, base, of);
        base = decimal_times(base, base, of);
    }
    return result;
}

bool decimal_is_multiple(const struct decimal *d, const struct decimal_divisor *of)
{
    uint64_t rest = 0;

    if (d->count == 0)
        return true;
    if (d->exponent < of->exponent) /* the digits do not end with 0: no factor 10 is in them */
        return false;
    for (size_t i = 0; i < d->digits.len; i++)
        if (d->digits.ptr[i] != '.')
            rest = (uint64_t)(((unsigned __int128)rest * 10 + (unsigned)(d->digits.ptr[i] - '0')) %
                              of->digits);
    return decimal_times(rest, decimal_power(d->exponent - of->exponent, of->digits), of->digits) ==
           0;
}

uint64_t decimal_hash(const struct decimal *d)
{
    uint64_t h = (uint64_t)d->exponent * 2 + d->is_negative;

    for (size_t i = 0; i < d->digits.len; i++)
        if (d->digits.ptr[i] != '.')
            h = (h ^ (unsigned char)d->digits.ptr[i]) * UINT64_C(0x100000001b3);
    return h;
}
