#include "core/forecast.h"

#include "test.h"

enum { S = 1000000 };

TEST(nothing_is_said_before_something_was_seen)
{
    struct forecast f = { 0 };

    CHECK(forecast_per_hour(&f) == 0 && forecast_gone_us(&f, 10, 5) == 0);
    CHECK(forecast_gone_us(&f, 0, 5) == 5);
    forecast_note(&f, 1000, 10 * S, false); /* what went before says nothing of the rate */
    CHECK(forecast_per_hour(&f) == 0);
    forecast_note(&f, 1000, 20 * S, false);
    CHECK(forecast_per_hour(&f) == 0 && forecast_gone_us(&f, 10, 5) == 0);
}

TEST(the_rate_of_the_last_minutes)
{
    struct forecast f = { 0 };
    int64_t total = 0;

    forecast_note(&f, 0, 0, false);
    for (int i = 1; i <= 10; i++)
        forecast_note(&f, total += 30, (int64_t)i * 15 * S, false);
    CHECK(forecast_per_hour(&f) == 7200);
    CHECK(forecast_gone_us(&f, 100, 7) == 7 + 50 * S);
    for (int i = 11; i <= 10 + FORECAST_SAMPLES; i++) /* it has become faster */
        forecast_note(&f, total += 60, (int64_t)i * 15 * S, false);
    CHECK(forecast_per_hour(&f) == 14400);
}

TEST(one_that_is_held_keeps_its_rate)
{
    struct forecast f = { 0 };

    forecast_note(&f, 0, 0, false);
    forecast_note(&f, 30, 15 * S, false);
    for (int i = 2; i < 100; i++)
        forecast_note(&f, 30, (int64_t)i * 15 * S, true);
    CHECK(forecast_per_hour(&f) == 7200);
    CHECK(forecast_gone_us(&f, 2, 0) == 1 * S);
}

TEST(what_takes_for_ever_is_not_known)
{
    struct forecast f = { 0 };

    forecast_note(&f, 0, 0, false);
    forecast_note(&f, 1, INT64_C(3600) * S, false);
    CHECK(forecast_gone_us(&f, INT64_MAX / 2, 0) == 0);
    CHECK(forecast_gone_us(&f, 24, 0) == INT64_C(86400) * S);
}

int main(void)
{
    return test_main();
}
