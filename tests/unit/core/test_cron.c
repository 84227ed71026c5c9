#include "core/cron.h"

#include "base/auto.h"
#include "base/clock.h"
#include "core/civil.h"
#include "test.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static int64_t at(const char *text)
{
    int y, mo, d, h, mi, s = 0;
    int n = sscanf(text, "%d-%d-%d %d:%d:%d", &y, &mo, &d, &h, &mi, &s);

    return n < 5 ? INT64_MIN
                 : CLOCK_S * (civil_day(y, mo, d) * CIVIL_DAY_S + h * 3600 + mi * 60 + s);
}

TEST(cron_parse_table)
{
    static const struct {
        const char *text, *why; /* NULL: fine */
    } cases[] = {
        { "0 2 * * *", NULL },
        { "*/5 * * * *", NULL },
        { "0,30 8-18 * * mon-fri", NULL },
        { "0 0 1 jan,JUL *", NULL },
        { "0  0   1 * 7", NULL },
        { "10-50/10 * * * *", NULL },
        { "0 0 * * fri-sun", NULL },
        { "0 0 29 2 *", NULL },
        { "0 0 31 2 mon", NULL }, /* its Mondays */
        { "0 0 31 2,3 *", NULL },
        { "@daily", NULL },
        { "@midnight", NULL },
        { "@annually", NULL },
        { "@sometimes", "minute is not valid" },
        { "", "minute is missing" },
        { "0 2 * *", "weekday is missing" },
        { "0 2 * * * *", "more than five" },
        { "60 2 * * *", "minute is not valid" },
        { "0 24 * * *", "hour is not valid" },
        { "0 2 0 * *", "day is not valid" },
        { "0 2 32 * *", "day is not valid" },
        { "0 2 * 13 *", "month is not valid" },
        { "0 2 * 0 *", "month is not valid" },
        { "0 2 * * 8", "weekday is not valid" },
        { "5-1 2 * * *", "minute is not valid" },
        { "*/0 2 * * *", "minute is not valid" },
        { "*/x 2 * * *", "minute is not valid" },
        { "*/60 2 * * *", "minute is not valid" },
        { "1, 2 * * *", "minute is not valid" },
        { "1- 2 * * *", "minute is not valid" },
        { "-1 2 * * *", "minute is not valid" },
        { "0 0 31 2 *", "no month of it has such a day" },
        { "0 0 31 4,jun,9,11 *", "no month of it has such a day" },
        { "0 0 30-31 2 */2", "no month of it has such a day" },
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct err err = { 0 };
        struct cron c;

        CHECK(cron_parse(str_of(cases[i].text), &c, &err) == (cases[i].why == NULL));
        CHECK(cases[i].why == NULL || strstr(err.text, cases[i].why) != NULL);
    }
}

struct step {
    const char *text, *zone, *after, *next[4];
};

static bool all_come(const struct step *cases, size_t count)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 22);
    struct zone_shelf zones = { .arena = &a };

    for (size_t i = 0; i < count; i++) {
        const struct zone *z;
        struct cron c;
        struct err err;

        if (!cron_parse(str_of(cases[i].text), &c, &err) ||
            !zone_shelf_get(&zones, str_of(cases[i].zone), &z, &err))
            return false;
        int64_t t = at(cases[i].after);

        for (size_t k = 0; k < 4 && cases[i].next[k] != NULL; k++) {
            int64_t next = cron_next(&c, z, t);
            char got[CLOCK_TEXT];

            if (next != at(cases[i].next[k])) {
                printf("# %s: %s, not %s\n", cases[i].text, clock_utc_text(next, got),
                       cases[i].next[k]);
                return false;
            }
            t = next;
        }
    }
    return true;
}

TEST(cron_next_in_utc)
{
    static const struct step cases[] = {
        { "*/20 * * * *",
          "UTC",
          "2026-11-15 09:59:59",
          { "2026-11-15 10:00", "2026-11-15 10:20" } },
        { "0 2 * * *", "UTC", "2026-11-15 02:00", { "2026-11-16 02:00" } },
        { "5/25 3 * * *",
          "UTC",
          "2026-11-15 00:00",
          { "2026-11-15 03:05", "2026-11-15 03:30", "2026-11-15 03:55", "2026-11-16 03:05" } },
        { "0 0 29 2 *", "UTC", "2096-03-01 00:00", { "2104-02-29 00:00" } },
        { "0 0 29 2 */7", "UTC", "2026-01-01 00:00", { "2032-02-29 00:00", "2060-02-29 00:00" } },
        { "0 0 13 * fri",
          "UTC",
          "2026-11-10 00:00", /* either */
          { "2026-11-13 00:00", "2026-11-20 00:00", "2026-11-27 00:00", "2026-12-04 00:00" } },
        { "0 0 13 * *", "UTC", "2026-11-13 00:00", { "2026-12-13 00:00" } },
        { "0 0 */13 * fri", "UTC", "2026-11-01 00:00", { "2026-11-27 00:00", "2027-01-01 00:00" } },
        { "0 0 31 * *", "UTC", "2026-12-31 12:00", { "2027-01-31 00:00", "2027-03-31 00:00" } },
        { "59 23 31 12 *", "UTC", "2026-12-31 23:59", { "2027-12-31 23:59" } },
        { "0 12 * * fri-sun",
          "UTC",
          "2026-11-12 12:00",
          { "2026-11-13 12:00", "2026-11-14 12:00", "2026-11-15 12:00", "2026-11-20 12:00" } },
        { "@hourly", "UTC", "2026-11-15 09:00", { "2026-11-15 10:00" } },
        { "@weekly", "UTC", "2026-11-15 09:00", { "2026-11-22 00:00" } },
        { "@monthly", "UTC", "2026-11-15 09:00", { "2026-12-01 00:00" } },
        { "@yearly", "UTC", "2026-11-15 09:00", { "2027-01-01 00:00" } },
        { "0 0 1 1 *", "UTC", "1969-06-01 00:00", { "1970-01-01 00:00" } },
    };

    CHECK(all_come(cases, COUNT(cases)));
}

/* Once for each local time that is named.  proves: WI5 */
TEST(cron_next_over_clock_changes)
{
    static const struct step cases[] = {
        { "30 2 * * *",
          "Europe/Berlin",
          "2026-03-28 12:00", /* left out: at the change, once */
          { "2026-03-29 01:00", "2026-03-30 00:30" } },
        { "0,15,30 2 * * *",
          "Europe/Berlin",
          "2026-03-28 12:00",
          { "2026-03-29 01:00", "2026-03-30 00:00" } },
        { "0 2,3 * * *",
          "Europe/Berlin",
          "2026-03-28 12:00",
          { "2026-03-29 01:00", "2026-03-30 00:00" } },
        { "30 2 * * *",
          "Europe/Berlin",
          "2026-10-24 12:00", /* twice: the first */
          { "2026-10-25 00:30", "2026-10-26 01:30" } },
        { "*/30 2 * * *",
          "Europe/Berlin",
          "2026-10-24 12:00",
          { "2026-10-25 00:00", "2026-10-25 00:30", "2026-10-26 01:00" } },
        { "0 */2 * * *",
          "Europe/Berlin",
          "2026-03-28 23:00", /* never left out ... */
          { "2026-03-29 01:00", "2026-03-29 02:00", "2026-03-29 04:00" } },
        { "0 */2 * * *",
          "Europe/Berlin",
          "2026-10-24 22:00", /* ... and never doubled */
          { "2026-10-25 00:00", "2026-10-25 03:00" } },
        { "0 0 * * *",
          "America/Sao_Paulo",
          "2018-11-03 12:00", /* midnight itself */
          { "2018-11-04 03:00", "2018-11-05 02:00" } },
        { "0 9 * * *",
          "Pacific/Apia",
          "2011-12-29 19:00", /* a day that was not */
          { "2011-12-30 10:00", "2011-12-30 19:00", "2011-12-31 19:00" } },
        { "10 2 * * *",
          "Australia/Lord_Howe",
          "2026-10-02 16:00",
          { "2026-10-03 15:30", "2026-10-04 15:10" } },
    };

    CHECK(all_come(cases, COUNT(cases)));
}

/* With the clock, so that the time between two runs stays the same. */
TEST(cron_every_hour_goes_with_the_clock)
{
    static const struct step cases[] = {
        { "30 * * * *",
          "Europe/Berlin",
          "2026-03-29 00:30",
          { "2026-03-29 01:30", "2026-03-29 02:30" } },
        { "30 * * * *",
          "Europe/Berlin",
          "2026-10-24 23:30",
          { "2026-10-25 00:30", "2026-10-25 01:30", "2026-10-25 02:30" } },
        { "*/20 * * * *",
          "Europe/Berlin",
          "2026-10-25 00:20",
          { "2026-10-25 00:40", "2026-10-25 01:00", "2026-10-25 01:20", "2026-10-25 01:40" } },
        { "*/20 0-23 * * *",
          "Europe/Berlin",
          "2026-03-29 00:20",
          { "2026-03-29 00:40", "2026-03-29 01:00" } },
        { "0 * * * *",
          "Australia/Lord_Howe",
          "2026-10-03 14:30", /* half an hour */
          { "2026-10-03 16:00" } },
        { "0 * * * sat",
          "Pacific/Apia",
          "2011-12-30 09:00",
          { "2011-12-30 10:00", "2011-12-30 11:00" } },
    };

    CHECK(all_come(cases, COUNT(cases)));
}

TEST(cron_next_always_ends)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 22);
    const struct zone *z;
    struct cron never = { .minutes = 1,
                          .hours = 1,
                          .days = 1u << 30,
                          .months = 1u << 2,
                          .weekdays = 0x7f,
                          .any_weekday = true };
    struct cron c;
    struct err err;

    CHECK(zone_load(STR("Europe/Berlin"), &a, &z, &err));
    CHECK(cron_next(&never, z, at("2026-11-15 00:00")) == 0);
    never.hours = 0xffffff;
    CHECK(cron_next(&never, z, at("2026-11-15 00:00")) == 0);
    CHECK(cron_parse(STR("0 0 1 * *"), &c, &err));
    CHECK(cron_next(&c, z, INT64_MAX) > 0); /* far away, and no overflow */
    CHECK(cron_next(&c, z, INT64_MIN) < 0);
    CHECK(cron_next(&c, z, at("2026-11-30 22:59:59") + 999999) == at("2026-11-30 23:00"));
    CHECK(cron_next(&c, z, at("2026-11-30 23:00") - 1) == at("2026-11-30 23:00"));
}

int main(void)
{
    return test_main();
}
