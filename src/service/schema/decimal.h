/* decimal.h - numbers of JSON by their text, exactly.
 *
 * A number is its digits without zeros at either end, and a power of ten: nothing is rounded, and
 * 1, 1.0 and 10e-1 are the same.
 *
 * Ownership: a decimal is a view of the text.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct decimal {
    struct str digits; /* from the first to the last one that is not 0, perhaps with a point */
    size_t count;      /* of these digits; 0: the number is 0 */
    int64_t exponent;  /* of the last digit */
    bool is_negative;
};

/* The text is a number of JSON.  False: its exponent has more than nine digits. */
bool decimal_read(struct str text, struct decimal *ret);
int decimal_compare(const struct decimal *a, const struct decimal *b); /* <0, 0, >0 */
bool decimal_is_integer(const struct decimal *d);

/* What a number may be a multiple of: digits * 10^exponent. */
struct decimal_divisor {
    uint64_t digits; /* at least 1 */
    int64_t exponent;
};

/* False: it is not greater than 0, or has more than 18 digits. */
bool decimal_divisor_of(const struct decimal *d, struct decimal_divisor *ret);
bool decimal_is_multiple(const struct decimal *d, const struct decimal_divisor *of);

uint64_t decimal_hash(const struct decimal *d); /* the same for numbers that are the same */
