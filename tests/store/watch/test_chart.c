/* A day of numbers, of all nodes. */
#include "store/watch/chart.h"

#include "store_test.h"

#define STEP_US   (INT64_C(10) * CLOCK_S)
#define MINUTE_US (INT64_C(60) * CLOCK_S)
#define DAY_US    (INT64_C(86400) * CLOCK_S)

static bool add(struct store *s, int64_t at_us, int64_t accepted, int64_t waiting, int64_t n)
{
    struct chart_step step = { .at_us = at_us, .accepted = accepted, .waiting = waiting };
    struct chart_count count = { .kind = CHART_ACCEPTED, .one = 7, .n = n };
    struct chart_add a = { .steps = &step,
                           .step_count = 1,
                           .minute_us = at_us / MINUTE_US * MINUTE_US,
                           .counts = &count,
                           .count = 1 };
    struct err err = { 0 };

    return chart_add(s, &a, &err);
}

TEST(numbers_of_nodes_add_up)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t at = clock_wall_us() / MINUTE_US * MINUTE_US;
    struct chart_step steps[CHART_STEPS_MOST];
    struct chart_count counts[CHART_COUNTS_MOST];
    struct err err = { 0 };
    size_t n;

    CHECK(s != NULL && add(s, at, 3, 5, 3) && tell(&h, "UPDATE chart SET node_id = 1"));
    CHECK(tell(&h, "UPDATE chart_count SET node_id = 1"));
    CHECK(add(s, at, 4, 6, 4) && add(s, at + STEP_US, 1, 2, 1));
    CHECK(chart_steps(s, at, at + MINUTE_US, STEP_US, steps, &n, &err) && n == 2);
    CHECK(steps[0].at_us == at && steps[0].accepted == 7 && steps[0].waiting == 6);
    CHECK(steps[1].at_us == at + STEP_US && steps[1].accepted == 1 && steps[1].waiting == 2);
    CHECK(chart_steps(s, at, at + MINUTE_US, MINUTE_US, steps, &n, &err) && n == 1);
    CHECK(steps[0].accepted == 8);
    CHECK(chart_since(s, at, CHART_ACCEPTED, counts, &n, &err) && n == 1 && counts[0].n == 8);
    CHECK(chart_others(s, at, at + MINUTE_US, counts, &n, &err) && n == 1 && counts[0].n == 3);
    CHECK(chart_others(s, at + MINUTE_US, at + DAY_US, counts, &n, &err) && n == 0);
    store_close(s);
}

TEST(what_is_older_than_a_day_goes)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t at = clock_wall_us() / MINUTE_US * MINUTE_US;

    CHECK(s != NULL && add(s, at - DAY_US - MINUTE_US, 1, 0, 1) && add(s, at, 1, 0, 1));
    CHECK(ask(&h, "SELECT count(*) FROM chart") == 1);
    CHECK(ask(&h, "SELECT count(*) FROM chart_count") == 1);
    store_close(s);
}

STORE_TEST_MAIN
