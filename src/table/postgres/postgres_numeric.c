/* postgres_numeric.c - numbers of PostgreSQL in binary form, as decimal text and back.
 *
 * Format   int16 count of digits, int16 weight of the first (base 10000), uint16 sign, int16 digits
 *          behind the point that are shown, then the digits, base 10000; all big-endian.
 */
#include <endian.h>
#include <string.h>

#include "table/postgres/postgres.h"

enum {
    NUMERIC_HEAD = 8,
    NUMERIC_NEGATIVE = 0x4000,
    NUMERIC_NAN = 0xC000,
    NUMERIC_PLUS = 0xD000,
    NUMERIC_MINUS = 0xF000,
    NUMERIC_WHOLE = 131072, /* decimal digits before the point, and behind it, at most */
    NUMERIC_FRACTION = 16383,
    NUMERIC_DIGITS = (NUMERIC_WHOLE + NUMERIC_FRACTION) / 4 + 2
};

static int numeric_at(const char *from)
{
    uint16_t big;

    memcpy(&big, from, sizeof big);
    return be16toh(big);
}

/* ---- to text ---- */

static char *numeric_four(char *to, int digit)
{
    *to++ = (char)('0' + digit / 1000 % 10);
    *to++ = (char)('0' + digit / 100 % 10);
    *to++ = (char)('0' + digit / 10 % 10);
    *to++ = (char)('0' + digit % 10);
    return to;
}

static struct str numeric_special(int sign)
{
    if (sign == NUMERIC_NAN)
        return STR("NaN");
    return sign == NUMERIC_PLUS ? STR("Infinity") : STR("-Infinity");
}

/* Its one form: no zeros that do not count. */
static struct str numeric_trim(char *text, size_t len, size_t point, bool negative)
{
    size_t first = 1; /* text[0] is left for the sign */

    while (len > point + 1 && text[len - 1] == '0')
        len--;
    if (len == point + 1)
        len--;
    while (first + 1 < point && text[first] == '0')
        first++;
    if (negative && !(len - first == 1 && text[first] == '0'))
        text[--first] = '-';
    return str_mem(text + first, len - first);
}

struct str postgres_numeric_text(struct str binary, struct arena *a)
{
    const struct str none = { 0 };

    if (binary.len < NUMERIC_HEAD)
        return none;
    int count = numeric_at(binary.ptr), weight = (int16_t)numeric_at(binary.ptr + 2),
        sign = numeric_at(binary.ptr + 4);

    if (sign == NUMERIC_NAN || sign == NUMERIC_PLUS || sign == NUMERIC_MINUS)
        return numeric_special(sign);
    if (count > NUMERIC_DIGITS || binary.len != NUMERIC_HEAD + 2 * (size_t)count)
        return none;
    int whole = weight >= 0 ? weight + 1 : 0;    /* groups before the point */
    int behind = count - 1 - weight;             /* ... and behind it */
    int first = weight >= 0 ? 0 : -(weight + 1); /* of those, zeros */

    if (behind < 0)
        behind = 0;
    char *text = arena_alloc(a, (size_t)(whole + behind) * 4 + 4), *to = text + 1;

    if (whole == 0)
        *to++ = '0';
    for (int i = 0; i < whole; i++)
        to = numeric_four(to, i < count ? numeric_at(binary.ptr + NUMERIC_HEAD + 2 * i) : 0);
    size_t point = (size_t)(to - text);

    *to++ = '.';
    for (int i = 0; i < behind; i++) {
        int at = whole + i - first;

        to = numeric_four(to, i < first || at < 0 || at >= count
                                  ? 0
                                  : numeric_at(binary.ptr + NUMERIC_HEAD + 2 * at));
    }
    return numeric_trim(text, (size_t)(to - text), point, sign == NUMERIC_NEGATIVE);
}

/* ---- from text ---- */

static void numeric_add(struct buf *to, int v)
{
    buf_putc(to, (char)(v >> 8 & 0xff));
    buf_putc(to, (char)(v & 0xff));
}

static bool numeric_head(struct buf *to, int count, int weight, int sign, int scale)
{
    numeric_add(to, count);
    numeric_add(to, weight);
    numeric_add(to, sign);
    numeric_add(to, scale);
    return true;
}

/* The decimal digit at 10^place of a number with `whole` digits before the point. */
static int numeric_digit(struct str whole, struct str fraction, long place)
{
    if (place >= 0)
        return (size_t)place < whole.len ? whole.ptr[whole.len - 1 - (size_t)place] - '0' : 0;
    size_t at = (size_t)(-place - 1);

    return at < fraction.len ? fraction.ptr[at] - '0' : 0;
}

static int numeric_group(struct str whole, struct str fraction, long group)
{
    int v = 0;

    for (long i = 3; i >= 0; i--)
        v = v * 10 + numeric_digit(whole, fraction, group * 4 + i);
    return v;
}

static bool numeric_all_digits(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] < '0' || s.ptr[i] > '9')
            return false;
    return true;
}

bool postgres_numeric_put(struct buf *to, struct str text, struct err *err)
{
    bool negative = text.len > 0 && text.ptr[0] == '-';
    struct str whole, fraction;

    if (str_is(text, "NaN"))
        return numeric_head(to, 0, 0, NUMERIC_NAN, 0);
    if (str_is(text, "Infinity"))
        return numeric_head(to, 0, 0, NUMERIC_PLUS, 0);
    if (str_is(text, "-Infinity"))
        return numeric_head(to, 0, 0, NUMERIC_MINUS, 0);
    fraction = str_cut(str_from(text, negative), '.', &whole);
    while (whole.len > 0 && whole.ptr[0] == '0')
        whole = str_from(whole, 1);
    if (!numeric_all_digits(whole) || !numeric_all_digits(fraction) || text.len == negative)
        return err_set(err, ERR_PERMANENT, 0, "a decimal number is written wrongly");
    if (whole.len > NUMERIC_WHOLE || fraction.len > NUMERIC_FRACTION)
        return err_set(err, ERR_PERMANENT, 0, "a decimal number has too many digits");
    long high = ((long)whole.len + 3) / 4 - 1, low = -(((long)fraction.len + 3) / 4);

    while (high >= low && numeric_group(whole, fraction, high) == 0)
        high--;
    while (low <= high && numeric_group(whole, fraction, low) == 0)
        low++;
    if (high < low)
        return numeric_head(to, 0, 0, 0, (int)fraction.len);
    (void)numeric_head(to, (int)(high - low + 1), (int)high, negative ? NUMERIC_NEGATIVE : 0,
                       (int)fraction.len);
    for (long group = high; group >= low; group--)
        numeric_add(to, numeric_group(whole, fraction, group));
    return true;
}
