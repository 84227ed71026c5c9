#include "core/batch_rule.h"

#include "base/clock.h"
#include "test.h"

#define HOUR (INT64_C(3600) * CLOCK_S)
#define DAY  (24 * HOUR)

static struct batch_schedule schedule(const char *cron)
{
    struct batch_schedule s = { 0 };
    struct err err = { 0 };

    (void)zone_load(STR("UTC"), NULL, &s.zone, &err);
    (void)cron_parse(str_of(cron), &s.cron, &err);
    return s;
}

/* proves: BA5 */
TEST(a_time_is_due_once)
{
    struct batch_schedule hourly = schedule("0 * * * *");
    int64_t noon = 20000 * DAY + 12 * HOUR;

    CHECK(batch_next(&hourly, noon) == noon + HOUR);
    CHECK(batch_due(&hourly, false, noon, noon + HOUR - 1) == 0);
    CHECK(batch_due(&hourly, false, noon, noon + HOUR) == noon + HOUR);
    CHECK(batch_due(&hourly, false, noon + HOUR, noon + HOUR) == 0);     /* served */
    CHECK(batch_due(&hourly, false, noon + HOUR, noon - 5 * HOUR) == 0); /* the clock went back */
}

/* proves: BA5 */
TEST(times_that_were_missed_are_one_or_each)
{
    static const struct {
        const char *cron;
        int64_t down, want; /* how long nobody looked; the latest time, before now */
    } cases[] = {
        { "0 * * * *", 3 * HOUR + 1, 1 },
        { "* * * * *", 400 * DAY, 0 },
        { "0 0 * * *", 40 * DAY, 12 * HOUR },
        { "0 0 1 1 *", 3 * 365 * DAY, -1 },
    };
    int64_t from = 20000 * DAY + 12 * HOUR;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct batch_schedule s = schedule(cases[i].cron);
        int64_t now = from + cases[i].down, one = batch_due(&s, false, from, now);

        CHECK(one > from && one <= now);
        if (cases[i].want >= 0)
            CHECK(now - one == cases[i].want);
        CHECK(batch_due(&s, false, one, now) == 0);
        CHECK(batch_due(&s, true, from, now) == batch_next(&s, from));
    }
    struct batch_schedule hourly = schedule("0 * * * *");
    int64_t last = from, n = 0;

    for (int64_t due; (due = batch_due(&hourly, true, last, from + 5 * HOUR)) != 0; n++)
        last = due;
    CHECK(n == 5 && last == from + 5 * HOUR);
}

TEST(days_of_a_calendar_do_not_count)
{
    static const char text[] = "dates: [ \"01-02\" ]";
    struct arena a = ARENA_INIT(1 << 20);
    struct problem_list problems = PROBLEM_LIST_INIT;
    struct batch_schedule s = schedule("0 6 * * *");
    const struct calendar *c = calendar_build(yaml_load(STR(text), &a, &problems), &a);
    int64_t first = 0; /* 1970-01-01 */

    s.except = &c;
    s.except_count = 1;
    CHECK(batch_next(&s, first) == 6 * HOUR);
    CHECK(batch_next(&s, first + 6 * HOUR) == 2 * DAY + 6 * HOUR);
    CHECK(batch_due(&s, false, 6 * HOUR, DAY + 23 * HOUR) == 0);
    problem_list_done(&problems);
    arena_done(&a);
}

/* Every minute, and a month without a day. */
TEST(a_long_exception_ends)
{
    char text[1024] = "dates: [ 1970-01-02";
    struct arena a = ARENA_INIT(1 << 20);
    struct problem_list problems = PROBLEM_LIST_INIT;
    struct batch_schedule s = schedule("* * * * *");
    int64_t last = DAY - 60 * (int64_t)CLOCK_S, then = 31 * DAY;

    for (int day = 3; day <= 31; day++)
        (void)snprintf(text + strlen(text), 32, ", 1970-01-%02d%s", day, day == 31 ? " ]" : "");
    const struct calendar *c = calendar_build(yaml_load(str_of(text), &a, &problems), &a);

    s.except = &c;
    s.except_count = 1;
    CHECK(batch_next(&s, last) == then);
    CHECK(batch_due(&s, true, last, then) == then && batch_due(&s, false, last, then) == then);
    CHECK(batch_due(&s, false, last, then - 1) == 0);
    problem_list_done(&problems);
    arena_done(&a);
}

TEST(what_is_far_ahead_of_the_clock_is_wrong)
{
    CHECK(!batch_slot_is_wrong(DAY, 0) && !batch_slot_is_wrong(0, DAY));
    CHECK(batch_slot_is_wrong(DAY + 1, 0));
}

int main(void)
{
    return test_main();
}
