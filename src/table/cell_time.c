#include "table/cell_time.h"

#include <stdio.h>

#include "core/civil.h"

enum { YEAR_DIGITS_MOST = 7, SECOND_US = 1000000 };

bool cell_time_is_fine(enum cell_type type, int64_t v)
{
    if (type == CELL_DATE) /* as it is encoded, four bytes, of which the ends mean infinity */
        return v == CELL_FOREVER || v == CELL_NEVER || (v < INT32_MAX && v > INT32_MIN);
    return type != CELL_TIME || (v < CELL_TIME_US && v > -CELL_TIME_US);
}

/* ---- writing ---- */

static size_t time_put_day(int64_t day, char to[static CELL_TIME_TEXT])
{
    struct civil_date d = civil_date(day);
    const char *sign = d.year < 0 ? "-" : d.year > 9999 ? "+" : "";
    long long year = d.year < 0 ? -d.year : d.year;

    return (size_t)snprintf(to, CELL_TIME_TEXT, "%s%04lld-%02d-%02d", sign, year, d.month, d.day);
}

/* A time of a day, or a span: 0 and up. */
static size_t time_put_clock(int64_t us, char *to)
{
    int seconds = (int)(us / SECOND_US), fraction = (int)(us % SECOND_US);
    size_t len =
        (size_t)snprintf(to, 24, "%02d:%02d:%02d", seconds / 3600, seconds / 60 % 60, seconds % 60);

    if (fraction == 0)
        return len;
    len += (size_t)snprintf(to + len, 8, ".%06d", fraction);
    while (to[len - 1] == '0')
        len--;
    return len;
}

size_t cell_time_put(enum cell_type type, int64_t v, char to[static CELL_TIME_TEXT])
{
    int64_t day;
    size_t len;

    if (type == CELL_TIME) {
        to[0] = '-';
        return (v < 0) + time_put_clock(v < 0 ? -v : v, to + (v < 0));
    }
    if (v == CELL_FOREVER || v == CELL_NEVER)
        return (size_t)snprintf(to, CELL_TIME_TEXT, "%s", v > 0 ? "infinity" : "-infinity");
    if (type == CELL_DATE)
        return time_put_day(v, to);
    day = civil_floor(v, CELL_DAY_US);
    len = time_put_day(day, to);
    to[len++] = 'T';
    /* What is left of the first day of all does not overflow: the remainder is taken first. */
    len += time_put_clock((v % CELL_DAY_US + CELL_DAY_US) % CELL_DAY_US, to + len);
    if (type == CELL_INSTANT)
        to[len++] = 'Z';
    return len;
}

/* ---- reading ---- */

static bool time_take_char(struct str *s, const char *any)
{
    if (s->len == 0 || s->ptr[0] == '\0' || strchr(any, s->ptr[0]) == NULL)
        return false;
    *s = str_from(*s, 1);
    return true;
}

/* A number of `least` to `most` digits. */
static bool time_take_number(struct str *s, size_t least, size_t most, int64_t *ret)
{
    size_t n = 0;

    *ret = 0;
    for (; n < most && n < s->len && s->ptr[n] >= '0' && s->ptr[n] <= '9'; n++)
        *ret = *ret * 10 + s->ptr[n] - '0';
    *s = str_from(*s, n);
    return n >= least;
}

static bool time_take_day(struct str *s, int64_t *ret)
{
    struct str era = s->len > 3 ? str_mem(s->ptr + s->len - 3, 3) : STR("");
    bool before = str_is(era, " BC"), minus = s->len > 0 && s->ptr[0] == '-';
    bool sign = time_take_char(s, "+-");
    int64_t year, month, day;

    if (before)
        s->len -= 3;
    if ((before && sign) || !time_take_number(s, 4, YEAR_DIGITS_MOST, &year) ||
        !time_take_char(s, "-") || !time_take_number(s, 2, 2, &month) || !time_take_char(s, "-") ||
        !time_take_number(s, 2, 2, &day))
        return false;
    year = before ? 1 - year : minus ? -year : year;
    if (month < 1 || month > 12 || day < 1 || day > civil_month_days(year, (int)month))
        return false;
    *ret = civil_day(year, (int)month, (int)day);
    return true;
}

/* Digits behind the point; beyond six there may be zeros only. */
static bool time_take_fraction(struct str *s, int64_t *us)
{
    int64_t unit = SECOND_US / 10;
    size_t n = 0;

    if (!time_take_char(s, "."))
        return true;
    for (; n < s->len && s->ptr[n] >= '0' && s->ptr[n] <= '9'; n++, unit /= 10) {
        if (unit == 0 && s->ptr[n] != '0')
            return false;
        *us += (s->ptr[n] - '0') * unit;
    }
    *s = str_from(*s, n);
    return n > 0;
}

static bool time_take_clock(struct str *s, int64_t hours_most, int64_t *ret)
{
    int64_t hour, minute, second = 0;

    if (!time_take_number(s, 2, hours_most > 99 ? 3 : 2, &hour) || !time_take_char(s, ":") ||
        !time_take_number(s, 2, 2, &minute))
        return false;
    *ret = 0;
    if (time_take_char(s, ":") &&
        (!time_take_number(s, 2, 2, &second) || !time_take_fraction(s, ret)))
        return false;
    if (hour > hours_most || minute > 59 || second > 59)
        return false;
    *ret += ((hour * 60 + minute) * 60 + second) * SECOND_US;
    return true;
}

/* "Z", "+1", "+01", "+0130", "+01:30", "+01:30:15"; nothing: UTC. */
static bool time_take_zone(struct str *s, int64_t *ret)
{
    bool minus = s->len > 0 && s->ptr[0] == '-', more;
    int64_t hour, minute = 0, second = 0;

    *ret = 0;
    if (s->len == 0 || time_take_char(s, "Zz"))
        return true;
    if (!time_take_char(s, "+-") || !time_take_number(s, 1, 2, &hour))
        return false;
    more = s->len > 0;
    (void)time_take_char(s, ":");
    if (more && !time_take_number(s, 2, 2, &minute))
        return false;
    more = s->len > 0;
    (void)time_take_char(s, ":");
    if (more && !time_take_number(s, 2, 2, &second))
        return false;
    *ret = ((hour * 60 + minute) * 60 + second) * (minus ? -SECOND_US : SECOND_US);
    return hour < 24 && minute < 60 && second < 60;
}

static bool time_take_moment(bool zoned, struct str s, int64_t *ret)
{
    int64_t day, clock = 0, zone = 0;
    __int128 us;

    if (!time_take_day(&s, &day))
        return false;
    if (s.len > 0 && (!time_take_char(&s, "Tt ") || !time_take_clock(&s, 23, &clock)))
        return false;
    if (zoned && !time_take_zone(&s, &zone))
        return false;
    us = (__int128)day * CELL_DAY_US + clock - zone;
    if (s.len > 0 || us >= CELL_FOREVER || us <= CELL_NEVER)
        return false;
    *ret = (int64_t)us;
    return true;
}

static bool time_take_span(struct str s, int64_t *ret)
{
    bool minus = s.len > 0 && s.ptr[0] == '-';

    s = str_from(s, minus);
    if (!time_take_clock(&s, 838, ret) || s.len > 0)
        return false;
    if (minus)
        *ret = -*ret;
    return true;
}

bool cell_time_take(enum cell_type type, struct str text, int64_t *ret)
{
    int64_t v;

    if (type == CELL_TIME) {
        if (!time_take_span(text, &v))
            return false;
    } else if (str_eq_nocase(text, STR("infinity"))) {
        v = CELL_FOREVER;
    } else if (str_eq_nocase(text, STR("-infinity"))) {
        v = CELL_NEVER;
    } else if (type == CELL_DATE) {
        if (!time_take_day(&text, &v) || text.len > 0)
            return false;
    } else if (!time_take_moment(type == CELL_INSTANT, text, &v)) {
        return false;
    }
    *ret = v;
    return cell_time_is_fine(type, v);
}
