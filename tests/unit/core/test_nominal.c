#include "core/nominal.h"

#include "base/auto.h"
#include "base/clock.h"
#include "core/civil.h"
#include "test.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static int64_t at(const char *text)
{
    int y, mo, d, h, mi;
    int n = sscanf(text, "%d-%d-%d %d:%d", &y, &mo, &d, &h, &mi);

    return n < 5 ? 0 : CLOCK_S * (civil_day(y, mo, d) * CIVIL_DAY_S + h * 3600 + mi * 60);
}

/* The crons are separated by `|`. */
static struct nominal times(const char *crons, const char *zone, struct arena *a)
{
    struct cron *list = ARENA_ARRAY(a, struct cron, 8);
    struct nominal n = { .crons = list };
    struct err err = { 0 };
    struct str one;

    for (struct str rest = str_of(crons); rest.len > 0;) {
        rest = str_cut(rest, '|', &one);
        if (!cron_parse_at(one, &list[n.count++], &err))
            printf("# %.*s: %s\n", STR_ARG(one), err.text);
    }
    if (!zone_load(str_of(zone), a, &n.zone, &err))
        printf("# %s\n", err.text);
    return n;
}

TEST(nominal_times_of_several_schedules_are_one_series)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct nominal n = times("22:00|06:15|0 12 * * mon|@daily|0 0 1 * *", "UTC", &a);
    static const char *const want[] = { "2026-11-30 22:00", "2026-12-01 00:00", "2026-12-01 06:15",
                                        "2026-12-01 22:00", "2026-12-02 00:00" };
    int64_t time = at("2026-11-30 12:00");

    for (size_t i = 0; i < COUNT(want); i++)
        CHECK((time = nominal_next(&n, time, NULL)) == at(want[i]));
}

TEST(nominal_time_and_the_change_of_a_clock)
{
    static const struct {
        const char *crons, *zone, *at;
        enum nominal_clock want;
    } cases[] = {
        { "30 2 * * *", "Europe/Berlin", "2026-03-29 01:00", NOMINAL_SKIPPED },
        { "0 3 * * *", "Europe/Berlin", "2026-03-29 01:00", NOMINAL_PLAIN },
        { "30 2 * * *|0 3 * * *", "Europe/Berlin", "2026-03-29 01:00", NOMINAL_PLAIN },
        { "30 2 * * *", "Europe/Berlin", "2026-03-30 00:30", NOMINAL_PLAIN },
        { "30 2 * * *", "Europe/Berlin", "2026-10-25 00:30", NOMINAL_FIRST },
        { "0 * * * *", "Europe/Berlin", "2026-10-25 00:00", NOMINAL_FIRST },
        { "0 * * * *", "Europe/Berlin", "2026-10-25 01:00", NOMINAL_SECOND },
        { "59 * * * *", "Europe/Berlin", "2026-10-25 01:59", NOMINAL_SECOND },
        { "0 * * * *", "Europe/Berlin", "2026-10-24 23:00", NOMINAL_PLAIN },
        { "0 * * * *", "Europe/Berlin", "2026-10-25 02:00", NOMINAL_PLAIN },
        { "15 2 * * *", "Australia/Lord_Howe", "2026-10-03 15:30", NOMINAL_SKIPPED },
        { "45 1 * * *", "Australia/Lord_Howe", "2026-04-04 14:45", NOMINAL_FIRST },
        { "0 2 * * *", "UTC", "2026-10-25 02:00", NOMINAL_PLAIN },
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
        struct nominal n = times(cases[i].crons, cases[i].zone, &a);
        int64_t time = at(cases[i].at);
        enum nominal_clock clock = nominal_clock(&n, time);

        if (clock != cases[i].want || nominal_any(&n, time - 1) != time)
            printf("# %s in %s at %s: %d\n", cases[i].crons, cases[i].zone, cases[i].at, clock);
        CHECK(clock == cases[i].want && nominal_any(&n, time - 1) == time);
    }
}

/* Beirut puts its clock back at midnight: 25 October begins, and an hour of the 24th comes again.
 */
TEST(nominal_a_holiday_that_comes_again)
{
    static const char text[] = "dates: [ 2026-10-24 ]";
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    AUTO(problem_list_done) struct problem_list problems = PROBLEM_LIST_INIT;
    const struct calendar *c = calendar_build(yaml_load(STR(text), &a, &problems), &a);
    struct nominal n = times("*/30 * * * *", "Asia/Beirut", &a);

    n.holidays = &c;
    n.holiday_count = 1;
    CHECK(nominal_next(&n, at("2026-10-24 00:00"), NULL) == at("2026-10-24 22:00"));
    CHECK(nominal_open(&n, at("2026-10-24 12:00")) == at("2026-10-24 22:00"));
    CHECK(nominal_open(&n, at("2026-10-24 21:30")) == at("2026-10-24 22:00"));
    CHECK(nominal_why(&n, at("2026-10-24 21:30")) == NOMINAL_HOLIDAY);
}

TEST(nominal_the_search_ends)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    AUTO(problem_list_done) struct problem_list problems = PROBLEM_LIST_INIT;
    AUTO(buf_done) struct buf text = BUF_INIT(1 << 16);
    size_t looks = 0;

    buf_puts(&text, "dates: [");
    for (int month = 1; month <= 12; month++)
        for (int day = 1; day <= civil_month_days(2000, month); day++)
            buf_printf(&text, " \"%02d-%02d\",", month, day);
    buf_puts(&text, " ]");
    const struct calendar *c = calendar_build(yaml_load(buf_view(&text), &a, &problems), &a);
    struct nominal n = times("* * * * *", "Europe/Berlin", &a);

    n.holidays = &c;
    n.holiday_count = 1;
    CHECK(nominal_next(&n, at("2026-01-01 00:00"), &looks) == 0);
    CHECK(looks > 1000 && looks <= NOMINAL_LOOKS + 1);
    CHECK(nominal_open(&n, at("2026-01-01 00:00")) == 0);
    struct nominal none = times("", "UTC", &a);

    CHECK(nominal_next(&none, 0, NULL) == 0 && nominal_open(&none, 5) == 5);
    struct nominal leap = times("0 0 29 2 *", "UTC", &a);

    CHECK(nominal_next(&leap, at("2096-03-01 00:00"), NULL) == at("2104-02-29 00:00"));
}

int main(void)
{
    return test_main();
}
