#include "core/retain_rule.h"

#include "test.h"

#define S   INT64_C(1000000)
#define DAY RETAIN_DAY_US

TEST(days_are_whole_and_rounded_up)
{
    CHECK(retain_days_of(0) == 0 && retain_days_of(1) == 1 && retain_days_of(DAY) == 1);
    CHECK(retain_days_of(DAY + 1) == 2 && retain_days_of(45 * DAY) == 45);
    CHECK(retain_days_of(INT64_MAX) == RETAIN_DAYS_MOST);
}

TEST(nothing_is_kept_shorter_than_its_rule_and_tables_stay_few)
{
    static const int64_t keeps[] = { 0, 1, 45, 90, 91, 400, 401, 3650, 4000, 4001, 36500 };

    for (size_t i = 0; i < sizeof keeps / sizeof keeps[0]; i++) {
        int64_t last = 0, tables = 0;

        for (int64_t day = 20000; day < 20000 + keeps[i] + 1; day++) {
            int64_t at = retain_day(day, keeps[i]);

            CHECK(at >= day + keeps[i] && at < day + keeps[i] + 365);
            CHECK(at < RETAIN_KEPT_DAY);
            tables += at != last;
            last = at;
        }
        CHECK(tables < 160);
    }
    CHECK(retain_day(20000, 45) == 20045 && retain_day(20000, 90) == 20090);
}

TEST(a_day_may_go_a_little_after_its_end)
{
    CHECK(retain_due_before(20 * DAY + RETAIN_GRACE_US) == 20);
    CHECK(retain_due_before(20 * DAY + RETAIN_GRACE_US - 1) == 19);
    CHECK(retain_due_before(21 * DAY - 1) == 20);
}

/* proves: RE7 */
TEST(a_clock_must_run_steadily_before_anybody_goes_by_it)
{
    struct retain_clock c = { 0 };

    CHECK(!retain_clock_look(&c, 1000 * DAY, 50 * S, RETAIN_APART_US));
    CHECK(!retain_clock_look(&c, 1000 * DAY + 599 * S, 649 * S, RETAIN_APART_US));
    CHECK(retain_clock_look(&c, 1000 * DAY + 600 * S, 650 * S, RETAIN_APART_US));
    /* A step, either way, and the time begins anew. */
    CHECK(!retain_clock_look(&c, 1060 * DAY, 680 * S, RETAIN_APART_US));
    CHECK(!retain_clock_look(&c, 1060 * DAY + 500 * S, 1180 * S, RETAIN_APART_US));
    CHECK(!retain_clock_look(&c, 1000 * DAY + 1200 * S, 1250 * S, RETAIN_APART_US));
    CHECK(retain_clock_look(&c, 1000 * DAY + 1800 * S, 1850 * S, RETAIN_APART_US));
    /* A little drift is none. */
    CHECK(retain_clock_look(&c, 1000 * DAY + 1859 * S, 1851 * S, RETAIN_APART_US));
}

/* proves: RE7 */
TEST(in_an_hour_one_table_goes_and_a_twentieth)
{
    struct retain_guard g = { 0 };
    int64_t now = 1000 * DAY;

    CHECK(retain_guard_lets(&g, now, 10, 1000));
    g.count = 20;
    CHECK(retain_guard_lets(&g, now, 11, 980)); /* 50 of 1000 may go */
    g.count = 50;
    CHECK(!retain_guard_lets(&g, now, 11, 950) && !retain_guard_lets(&g, now, 12, 950));
    g.count = 900;
    CHECK(retain_guard_lets(&g, now, 10, 100)); /* what was begun goes whole */
    CHECK(!retain_guard_lets(&g, now + RETAIN_HOUR_US - 1, 11, 100));
    CHECK(retain_guard_lets(&g, now + RETAIN_HOUR_US, 11, 100) && g.count == 0 && g.day == 11);
    /* A clock that goes back does not lock it for ever. */
    g.count = 100;
    CHECK(!retain_guard_lets(&g, now - 500 * DAY, 12, 100));
    CHECK(retain_guard_lets(&g, now - 500 * DAY + RETAIN_HOUR_US, 12, 100));
}

int main(void)
{
    return test_main();
}
