#include "app/when.h"

#include <time.h>

#include "base/clock.h"

/* The take_ functions consume their part at the front of *s. */
static bool take_char(struct str *s, char c)
{
    if (s->len == 0 || s->ptr[0] != c)
        return false;
    *s = str_from(*s, 1);
    return true;
}

static bool take_digits(struct str *s, size_t count, int *ret)
{
    uint64_t v;

    if (s->len < count || !str_to_u64((struct str){ s->ptr, count }, &v))
        return false;
    *s = str_from(*s, count);
    *ret = (int)v;
    return true;
}

/* Reads ".123" after the seconds; digits beyond microseconds are dropped. */
static bool take_fraction(struct str *s, int64_t *ret_us)
{
    int64_t unit = CLOCK_S / 10, us = 0;
    size_t n = 0;

    while (n < s->len && s->ptr[n] >= '0' && s->ptr[n] <= '9') {
        us += (s->ptr[n] - '0') * unit;
        unit /= 10;
        n++;
    }
    if (n == 0 || n > 9)
        return false;
    *s = str_from(*s, n);
    *ret_us = us;
    return true;
}

static bool when_take_date(struct str *s, struct tm *tm)
{
    if (!take_digits(s, 4, &tm->tm_year) || !take_char(s, '-') || !take_digits(s, 2, &tm->tm_mon) ||
        !take_char(s, '-') || !take_digits(s, 2, &tm->tm_mday))
        return false;
    tm->tm_year -= 1900;
    tm->tm_mon -= 1;
    return tm->tm_mon >= 0 && tm->tm_mon < 12 && tm->tm_mday >= 1;
}

static bool when_take_clock(struct str *s, struct tm *tm, int64_t *ret_us)
{
    int64_t us = 0;

    if (!take_digits(s, 2, &tm->tm_hour) || !take_char(s, ':') || !take_digits(s, 2, &tm->tm_min))
        return false;
    if (take_char(s, ':')) {
        if (!take_digits(s, 2, &tm->tm_sec))
            return false;
        if (take_char(s, '.') && !take_fraction(s, &us))
            return false;
    }
    *ret_us = us;
    return tm->tm_hour < 24 && tm->tm_min < 60 && tm->tm_sec < 60;
}

/* Reads "Z", "+01:00", "+0100" or "+01", which must end the text. */
static bool take_offset(struct str *s, int64_t *ret_seconds)
{
    int hours, minutes = 0;
    bool minus;

    (void)take_char(s, ' ');
    *ret_seconds = 0;
    if (take_char(s, 'Z') || take_char(s, 'z'))
        return s->len == 0;
    minus = take_char(s, '-');
    if ((!minus && !take_char(s, '+')) || !take_digits(s, 2, &hours))
        return false;
    if (s->len > 0) {
        (void)take_char(s, ':');
        if (!take_digits(s, 2, &minutes))
            return false;
    }
    if (hours > 23 || minutes > 59 || s->len != 0)
        return false;
    *ret_seconds = (minus ? -1 : 1) * (hours * 3600 + minutes * 60);
    return true;
}

/* Whether the date exists: timegm() changes one that does not, such as 31 June. */
static bool is_day(const struct tm *tm)
{
    struct tm copy = *tm;

    (void)timegm(&copy);
    return copy.tm_mday == tm->tm_mday && copy.tm_mon == tm->tm_mon;
}

static bool parse_absolute(struct str s, int64_t *ret_us)
{
    struct tm tm = { .tm_isdst = -1 };
    int64_t us = 0, offset = 0;

    if (!when_take_date(&s, &tm) || !is_day(&tm))
        return false;
    if (s.len > 0) {
        if (!take_char(&s, 'T') && !take_char(&s, 't') && !take_char(&s, ' '))
            return false;
        if (!when_take_clock(&s, &tm, &us))
            return false;
    }
    if (s.len == 0) {
        *ret_us = (int64_t)mktime(&tm) * CLOCK_S + us;
        return true;
    }
    if (!take_offset(&s, &offset))
        return false;
    *ret_us = ((int64_t)timegm(&tm) - offset) * CLOCK_S + us;
    return true;
}

static bool parse_span(struct str s, int64_t *ret_us)
{
    static const struct {
        struct str unit;
        int64_t us;
    } units[] = {
        { STR("ms"), CLOCK_MS },
        { STR("s"), CLOCK_S },
        { STR("m"), 60 * (int64_t)CLOCK_S },
        { STR("h"), 3600 * (int64_t)CLOCK_S },
        { STR("d"), 86400 * (int64_t)CLOCK_S },
    };
    size_t n = 0;
    int64_t count;

    while (n < s.len && s.ptr[n] >= '0' && s.ptr[n] <= '9')
        n++;
    if (!str_to_i64((struct str){ s.ptr, n }, &count))
        return false;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (str_eq(str_from(s, n), units[i].unit))
            return !__builtin_mul_overflow(count, units[i].us, ret_us);
    return false;
}

static bool parse_relative(struct str s, int64_t now_us, int64_t *ret_us)
{
    int64_t span;

    if (!parse_span(s, &span) || span > now_us)
        return false;
    *ret_us = now_us - span;
    return true;
}

/* Reads "22:00" as the next such local time, today or tomorrow; mktime() handles daylight saving.
 */
static bool parse_next(struct str s, int64_t now_us, int64_t *ret_us)
{
    time_t now = (time_t)(now_us / CLOCK_S);
    struct tm today, tm;
    int64_t us;

    (void)localtime_r(&now, &today);
    for (int days = 0; days < 2; days++) {
        struct str rest = s;

        tm = (struct tm){ .tm_year = today.tm_year,
                          .tm_mon = today.tm_mon,
                          .tm_mday = today.tm_mday + days,
                          .tm_isdst = -1 };
        if (!when_take_clock(&rest, &tm, &us) || rest.len != 0)
            return false;
        *ret_us = (int64_t)mktime(&tm) * CLOCK_S + us;
        if (*ret_us > now_us)
            return true;
    }
    return false;
}

static bool parse_span_ahead(struct str s, int64_t now_us, int64_t *ret_us)
{
    int64_t span;

    return parse_span(s, &span) && !__builtin_add_overflow(now_us, span, ret_us);
}

bool when_parse(struct str text, int64_t now_us, int64_t *ret_us, struct err *err)
{
    struct str s = str_trim(text);
    int64_t us;

    if (!parse_relative(s, now_us, &us) && !parse_absolute(s, &us))
        return err_set(
            err, ERR_PERMANENT, 0,
            "\"%.*s\" is not a time; write 15m, 2h, 3d or 2026-11-15T02:52[:10][Z|+01:00]",
            text.len > 60 ? 60 : (int)text.len, text.ptr);
    *ret_us = us;
    return true;
}

bool when_parse_ahead(struct str text, int64_t now_us, int64_t *ret_us, struct err *err)
{
    struct str s = str_trim(text);
    int64_t us;

    if (!parse_span_ahead(s, now_us, &us) && !parse_next(s, now_us, &us) && !parse_absolute(s, &us))
        return err_set(err, ERR_PERMANENT, 0,
                       "\"%.*s\" is not a time; write 15m, 2h, 3d, 22:00 or "
                       "2026-11-15T02:52[:10][Z|+01:00]",
                       text.len > 60 ? 60 : (int)text.len, text.ptr);
    *ret_us = us;
    return true;
}
