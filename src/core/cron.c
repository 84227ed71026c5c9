#include "core/cron.h"

#include <stdio.h>

#include "base/clock.h"
#include "core/civil.h"
#include "core/units.h"

enum { EVERY_HOUR = (1 << 24) - 1, CYCLE_DAYS = 146097, DAY_MINUTES = 1440 };

/* The years 1 to 9999; times beyond are clamped. */
#define LEAST_S (INT64_C(-719162) * CIVIL_DAY_S)
#define MOST_S  (INT64_C(2932896) * CIVIL_DAY_S)

/* ---- reading ---- */

struct cron_field {
    const char *name;
    unsigned least, most;
    const char *const *words; /* names; the first means `least` */
    unsigned words_count;
};

static const char *const months[] = { "jan", "feb", "mar", "apr", "may", "jun",
                                      "jul", "aug", "sep", "oct", "nov", "dec" };
static const char *const weekdays[] = { "sun", "mon", "tue", "wed", "thu", "fri", "sat" };

enum { MINUTE, HOUR, DAY, MONTH, WEEKDAY, FIELDS };

static const struct cron_field fields[FIELDS] = {
    [MINUTE] = { "minute", 0, 59, NULL, 0 },
    [HOUR] = { "hour", 0, 23, NULL, 0 },
    [DAY] = { "day", 1, 31, NULL, 0 },
    [MONTH] = { "month", 1, 12, months, 12 },
    [WEEKDAY] = { "weekday", 0, 7, weekdays, 7 },
};

static bool cron_read_value(const struct cron_field *f, struct str text, unsigned *ret)
{
    uint64_t number;

    for (unsigned i = 0; i < f->words_count; i++)
        if (str_eq_nocase(text, str_of(f->words[i]))) {
            *ret = f->least + i;
            return true;
        }
    if (!str_to_u64(text, &number) || number < f->least || number > f->most)
        return false;
    *ret = (unsigned)number;
    return true;
}

/* *, 5, 1-5; a single number with a step extends to the end of the field. */
static bool read_range(const struct cron_field *f, struct str text, bool stepped,
                       unsigned *ret_from, unsigned *ret_to)
{
    bool ranged = str_find(text, '-') >= 0;
    struct str first, last = str_cut(text, '-', &first);

    *ret_from = f->least;
    *ret_to = f->most;
    if (str_is(text, "*"))
        return true;
    if (!cron_read_value(f, first, ret_from))
        return false;
    if (!ranged) {
        *ret_to = stepped ? f->most : *ret_from;
        return true;
    }
    if (!cron_read_value(f, last, ret_to))
        return false;
    if (f == &fields[WEEKDAY] && *ret_to == 0 && *ret_from > 0)
        *ret_to = 7; /* fri-sun: Sunday as 7 */
    return *ret_from <= *ret_to;
}

static bool read_item(const struct cron_field *f, struct str item, uint64_t *bits)
{
    bool stepped = str_find(item, '/') >= 0;
    struct str range, step = str_cut(item, '/', &range);
    uint64_t every = 1;
    unsigned from, to;

    if (stepped && (!str_to_u64(step, &every) || every == 0 || every > f->most))
        return false;
    if (!read_range(f, range, stepped, &from, &to))
        return false;
    for (unsigned i = from; i <= to; i += (unsigned)every)
        *bits |= UINT64_C(1) << i;
    return true;
}

static bool cron_read_field(const struct cron_field *f, struct str text, uint64_t *ret)
{
    *ret = 0;
    for (;;) {
        bool more = str_find(text, ',') >= 0;
        struct str item;

        text = str_cut(text, ',', &item);
        if (!read_item(f, item, ret))
            return false;
        if (!more)
            return true;
    }
}

/* Day and weekday are both restricted: a match of either is enough. */
static bool is_either(const struct cron *c)
{
    return !c->any_day && !c->any_weekday;
}

/* Some month has one of the days.  A restricted weekday does not matter: each date, also
 * 29 February, falls on every weekday sooner or later. */
static bool is_possible(const struct cron *c)
{
    if (is_either(c))
        return true;
    for (int month = 1; month <= 12; month++)
        if ((c->months >> month & 1) != 0 &&
            (c->days & ((UINT64_C(2) << civil_month_days(2000, month)) - 1)) != 0)
            return true;
    return false;
}

static struct str long_form(struct str text)
{
    static const struct {
        const char *name, *fields;
    } forms[] = {
        { "@hourly", "0 * * * *" },   { "@daily", "0 0 * * *" },   { "@midnight", "0 0 * * *" },
        { "@weekly", "0 0 * * 0" },   { "@monthly", "0 0 1 * *" }, { "@yearly", "0 0 1 1 *" },
        { "@annually", "0 0 1 1 *" },
    };

    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        if (str_is(text, forms[i].name))
            return str_of(forms[i].fields);
    return text;
}

bool cron_parse(struct str text, struct cron *ret, struct err *err)
{
    struct str rest = str_trim(long_form(text)), field[FIELDS];
    uint64_t bits[FIELDS];

    for (size_t i = 0; i < FIELDS; i++) {
        rest = str_trim(str_cut(rest, ' ', &field[i]));
        if (field[i].len == 0)
            return err_set(err, ERR_CONFIG, 0, "the %s is missing", fields[i].name);
        if (!cron_read_field(&fields[i], field[i], &bits[i]))
            return err_set(err, ERR_CONFIG, 0, "the %s is not valid", fields[i].name);
    }
    if (rest.len > 0)
        return err_set(err, ERR_CONFIG, 0, "there are more than five fields");
    struct cron c = {
        .minutes = bits[MINUTE],
        .hours = (uint32_t)bits[HOUR],
        .days = (uint32_t)bits[DAY],
        .months = (uint32_t)bits[MONTH],
        .weekdays = (uint32_t)((bits[WEEKDAY] | bits[WEEKDAY] >> 7) & 0x7f),
        .any_day = field[DAY].ptr[0] == '*',
        .any_weekday = field[WEEKDAY].ptr[0] == '*',
    };

    if (!is_possible(&c))
        return err_set(err, ERR_CONFIG, 0, "no month of it has such a day");
    *ret = c;
    return true;
}

bool cron_parse_at(struct str text, struct cron *ret, struct err *err)
{
    char fields_of_day[40];
    int minute;

    if (str_find(text, ':') < 0)
        return cron_parse(text, ret, err);
    if (!units_time(text, &minute, err))
        return false;
    if (minute == DAY_MINUTES)
        return err_set(err, ERR_CONFIG, 0, "the first minute of a day is 00:00");
    (void)snprintf(fields_of_day, sizeof fields_of_day, "%d %d * * *", minute % 60, minute / 60);
    return cron_parse(str_of(fields_of_day), ret, err);
}

/* ---- the next time ---- */

static bool day_fits(const struct cron *c, int64_t day, const struct civil_date *date)
{
    bool by_day = (c->days >> date->day & 1) != 0;
    bool by_weekday = (c->weekdays >> (civil_weekday(day) + 1) % 7 & 1) != 0;

    return is_either(c) ? by_day || by_weekday : by_day && by_weekday;
}

/* The first minute of a day that matches, from `from` on; DAY_MINUTES: none. */
static int minute_from(const struct cron *c, int from)
{
    for (int m = from; m < DAY_MINUTES; m++) {
        if ((c->hours >> m / 60 & 1) == 0)
            m += 59 - m % 60;
        else if ((c->minutes >> m % 60 & 1) != 0)
            return m;
    }
    return DAY_MINUTES;
}

/* The first local time that matches, from `from_s` on and before `until_s`. */
static bool next_local(const struct cron *c, int64_t from_s, int64_t until_s, int64_t *ret_s)
{
    int64_t minutes = -civil_floor(-from_s, 60); /* rounded up */
    int64_t day = civil_floor(minutes, DAY_MINUTES);
    int from = (int)(minutes - day * DAY_MINUTES);

    for (; day * CIVIL_DAY_S < until_s; day++, from = 0) {
        struct civil_date date = civil_date(day);

        if ((c->months >> date.month & 1) == 0) {
            day += civil_month_days(date.year, date.month) - date.day;
            continue;
        }
        int minute = day_fits(c, day, &date) ? minute_from(c, from) : DAY_MINUTES;

        if (minute < DAY_MINUTES) {
            *ret_s = day * CIVIL_DAY_S + minute * 60;
            return *ret_s < until_s;
        }
    }
    return false;
}

/* For schedules that name every hour: follows the local clock, one offset after the other. */
static int64_t next_on_clock(const struct cron *c, const struct zone *z, int64_t after_s)
{
    int64_t end_s = after_s + INT64_C(1) * CYCLE_DAYS * CIVIL_DAY_S;

    for (int64_t from_s = after_s + 1; from_s < end_s;) {
        int64_t until_s, local_s, offset_s = zone_offset(z, from_s, &until_s);

        if (until_s > end_s)
            until_s = end_s;
        if (next_local(c, from_s + offset_s, until_s + offset_s, &local_s))
            return local_s - offset_s;
        from_s = until_s;
    }
    return 0;
}

/* For all other schedules: each local time once.  The search may start at the present local time:
 * zone_utc() is monotonic, so no earlier local time maps to an instant after now. */
static int64_t next_named(const struct cron *c, const struct zone *z, int64_t after_s)
{
    int64_t local_s = zone_local(z, after_s);
    int64_t end_s = local_s + INT64_C(1) * CYCLE_DAYS * CIVIL_DAY_S;

    while (next_local(c, local_s, end_s, &local_s)) {
        int64_t utc_s = zone_utc(z, local_s);

        if (utc_s > after_s)
            return utc_s;
        local_s += 60;
    }
    return 0;
}

int64_t cron_next(const struct cron *c, const struct zone *z, int64_t after_us)
{
    int64_t after_s = civil_floor(after_us, CLOCK_S);

    if (after_s < LEAST_S || after_s > MOST_S)
        after_s = after_s < LEAST_S ? LEAST_S : MOST_S;
    return CLOCK_S *
           (c->hours == EVERY_HOUR ? next_on_clock(c, z, after_s) : next_named(c, z, after_s));
}
