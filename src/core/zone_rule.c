/* zone_rule.c - the rule at the end of a TZif file, in the notation of POSIX:
 *
 *     CET-1CEST,M3.5.0,M10.5.0/3      names, offset to the west, when summer begins and ends
 *     <+1030>-10:30<+11>-11,M10.1.0,M4.1.0
 *     IST-1GMT0,M10.5.0,M3.5.0/1      daylight time may be behind standard time
 */
#include "core/civil.h"
#include "core/zone_data.h"

enum date_kind { DATE_MONTH, DATE_NO_LEAP, DATE_ANY };

struct rule_date {
    enum date_kind kind;
    int month, week, weekday; /* DATE_MONTH; weekday 0 is Sunday */
    int day;                  /* of the year: DATE_NO_LEAP from 1, DATE_ANY from 0 */
    int64_t time_s;           /* local time of day */
};

struct rule {
    int64_t standard_s, summer_s; /* ahead of UTC */
    bool changes;
    struct rule_date begin, end;
};

static bool zone_rule_take(struct str *s, char c)
{
    if (s->len == 0 || s->ptr[0] != c)
        return false;
    *s = str_from(*s, 1);
    return true;
}

static bool zone_rule_take_number(struct str *s, int most, int *ret)
{
    size_t n = 0;
    uint64_t value;

    while (n < s->len && n < 4 && s->ptr[n] >= '0' && s->ptr[n] <= '9')
        n++;
    if (n == 0 || !str_to_u64(str_mem(s->ptr, n), &value) || value > (uint64_t)most)
        return false;
    *s = str_from(*s, n);
    *ret = (int)value;
    return true;
}

static bool zone_rule_take_name(struct str *s)
{
    size_t n = 0;

    if (zone_rule_take(s, '<')) {
        ptrdiff_t close = str_find(*s, '>');

        if (close <= 0)
            return false;
        *s = str_from(*s, (size_t)close + 1);
        return true;
    }
    while (n < s->len && ((s->ptr[n] | 32) >= 'a' && (s->ptr[n] | 32) <= 'z'))
        n++;
    *s = str_from(*s, n);
    return n > 0;
}

/* [+-]h[h][:mm[:ss]] */
static bool zone_rule_take_clock(struct str *s, int hours_most, int64_t *ret_s)
{
    bool minus = zone_rule_take(s, '-');
    int h, m = 0, sec = 0;

    if (!minus)
        (void)zone_rule_take(s, '+');
    if (!zone_rule_take_number(s, hours_most, &h))
        return false;
    if (zone_rule_take(s, ':')) {
        if (!zone_rule_take_number(s, 59, &m))
            return false;
        if (zone_rule_take(s, ':') && !zone_rule_take_number(s, 59, &sec))
            return false;
    }
    *ret_s = (minus ? -1 : 1) * (h * 3600 + m * 60 + sec);
    return true;
}

static bool zone_rule_take_date(struct str *s, struct rule_date *ret)
{
    struct rule_date d = { .time_s = 2 * 3600 };
    bool ok;

    if (zone_rule_take(s, 'M')) {
        d.kind = DATE_MONTH;
        ok = zone_rule_take_number(s, 12, &d.month) && zone_rule_take(s, '.') &&
             zone_rule_take_number(s, 5, &d.week) && zone_rule_take(s, '.') &&
             zone_rule_take_number(s, 6, &d.weekday) && d.month > 0 && d.week > 0;
    } else if (zone_rule_take(s, 'J')) {
        d.kind = DATE_NO_LEAP;
        ok = zone_rule_take_number(s, 365, &d.day) && d.day > 0;
    } else {
        d.kind = DATE_ANY;
        ok = zone_rule_take_number(s, 365, &d.day);
    }
    if (!ok || (zone_rule_take(s, '/') && !zone_rule_take_clock(s, 167, &d.time_s)))
        return false;
    *ret = d;
    return true;
}

static bool zone_rule_parse(struct str s, struct rule *r)
{
    if (!zone_rule_take_name(&s) || !zone_rule_take_clock(&s, 24, &r->standard_s))
        return false;
    r->standard_s = -r->standard_s;
    if (s.len == 0)
        return true;
    r->changes = true;
    r->summer_s = r->standard_s + 3600;
    if (!zone_rule_take_name(&s))
        return false;
    if (s.len > 0 && s.ptr[0] != ',') {
        if (!zone_rule_take_clock(&s, 24, &r->summer_s))
            return false;
        r->summer_s = -r->summer_s;
    }
    return zone_rule_take(&s, ',') && zone_rule_take_date(&s, &r->begin) &&
           zone_rule_take(&s, ',') && zone_rule_take_date(&s, &r->end) && s.len == 0;
}

static int64_t day_in(const struct rule_date *d, int64_t year)
{
    if (d->kind == DATE_ANY)
        return civil_day(year, 1, 1) + d->day;
    if (d->kind == DATE_NO_LEAP)
        return civil_day(year, 1, 1) + d->day - 1 +
               (d->day >= 60 && civil_month_days(year, 2) == 29);
    int64_t first = civil_day(year, d->month, 1);
    int to_weekday = (d->weekday + 6) % 7 - civil_weekday(first);
    int day = (to_weekday + 7) % 7 + (d->week - 1) * 7; /* from 0 */

    if (day >= civil_month_days(year, d->month))
        day -= 7; /* week 5 is the last one */
    return first + day;
}

static int64_t instant_in(const struct rule_date *d, int64_t year, int64_t offset_s)
{
    return day_in(d, year) * CIVIL_DAY_S + d->time_s - offset_s;
}

bool zone_rule_apply(struct str text, struct zone_draft *d, struct err *err)
{
    enum { YEAR_LEAST = ZONE_YEAR_MOST - ZONE_RULE_CHANGES / 2 + 1 };
    int64_t after_s = d->last_s;
    struct rule r = { 0 };

    if (text.len == 0)
        return true;
    if (!zone_rule_parse(text, &r))
        return err_set(err, ERR_CONFIG, 0, "the rule at the end of its file cannot be read");
    if (!r.changes)
        return true;
    int64_t year = civil_date(civil_floor(after_s, CIVIL_DAY_S)).year;

    for (year = year < YEAR_LEAST ? YEAR_LEAST : year; year <= ZONE_YEAR_MOST; year++) {
        int64_t begin_s = instant_in(&r.begin, year, r.standard_s);
        int64_t end_s = instant_in(&r.end, year, r.summer_s);
        bool north = begin_s <= end_s;
        int64_t first_s = north ? begin_s : end_s, second_s = north ? end_s : begin_s;

        if (first_s > after_s &&
            !zone_draft_add(d, first_s, north ? r.summer_s : r.standard_s, err))
            return false;
        if (second_s > after_s &&
            !zone_draft_add(d, second_s, north ? r.standard_s : r.summer_s, err))
            return false;
    }
    return true;
}
