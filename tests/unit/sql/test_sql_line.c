/* When a call over a line must have ended. */
#include "sql/sql_line.h"

#include "base/clock.h"
#include "core/call.h"
#include "test.h"

enum { FAR_US = 1000 * CLOCK_S };

TEST(a_call_ends_a_little_before_it_is_given_up)
{
    const struct call c = { .until_us = FAR_US };
    const struct sql_line slow = { .timeout_us = 30 * CLOCK_S };
    const struct sql_line quick = { .timeout_us = 800 * CLOCK_MS };

    CHECK(sql_line_until(&slow, &c) == FAR_US - 500 * CLOCK_MS);
    CHECK(sql_line_until(&quick, &c) == FAR_US - 100 * CLOCK_MS);
}

TEST(one_that_is_given_up_later_ends_with_its_timeout)
{
    const struct sql_line l = { .timeout_us = 2 * CLOCK_S, .spare_us = 5 * CLOCK_S };
    const struct call c = { .until_us = FAR_US + l.timeout_us + l.spare_us };

    CHECK(sql_line_until(&l, &c) == FAR_US + l.timeout_us);
}

TEST(without_an_end_the_timeout_counts_from_now)
{
    const struct sql_line l = { .timeout_us = 80 * CLOCK_S, .spare_us = 5 * CLOCK_S };
    const struct call endless = { 0 };
    int64_t before = clock_mono_us();

    CHECK(sql_line_until(&l, &endless) >= before + 79 * CLOCK_S);
    CHECK(sql_line_until(&l, NULL) <= clock_mono_us() + l.timeout_us);
}

int main(void)
{
    return test_main();
}
