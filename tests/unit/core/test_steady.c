#include "core/steady.h"

#include "test.h"

enum { S = 1000000 };

static const int64_t noon = INT64_C(1800000000) * S;

TEST(between_readings_it_goes_on_with_the_monotonic_clock)
{
    struct steady s = { 0 };
    int64_t step;

    CHECK(steady_note(&s, noon, 100 * S, &step) == STEADY_SAME && step == 0);
    CHECK(steady_early_us(&s, 107 * S) == noon + 7 * S);
    CHECK(steady_late_us(&s, 107 * S) == noon + 7 * S);
    /* A little off is believed at once. */
    CHECK(steady_note(&s, noon + 50 * S, 110 * S, &step) == STEADY_SAME && step == 40 * S);
    CHECK(steady_early_us(&s, 111 * S) == noon + 51 * S);
}

/* proves: HO9 QC6 */
TEST(a_step_freezes_it_until_two_readings_agree)
{
    static const int64_t steps[] = { 61 * (int64_t)S, 7200 * (int64_t)S, -61 * (int64_t)S,
                                     -86400 * (int64_t)S };

    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        struct steady s = { 0 };
        int64_t step, by = steps[i], after = noon + 1 * S + by;

        CHECK(steady_note(&s, noon, 0, &step) == STEADY_SAME);
        CHECK(steady_note(&s, after, 1 * S, &step) == STEADY_FROZE && step == by && s.frozen);
        /* Nothing ends by it, and what either says has begun. */
        CHECK(steady_early_us(&s, 3 * S) == (by > 0 ? noon : after));
        CHECK(steady_late_us(&s, 3 * S) == (by > 0 ? after + 2 * S : noon + 3 * S));
        CHECK(steady_note(&s, after + 1 * S, 2 * S, &step) == STEADY_SAME && s.frozen);
        CHECK(steady_note(&s, after + 5 * S, 6 * S, &step) == STEADY_WENT_ON && !s.frozen);
        CHECK(steady_early_us(&s, 7 * S) == after + 6 * S);
        CHECK(steady_late_us(&s, 7 * S) == after + 6 * S);
    }
}

/* proves: HO9 */
TEST(a_clock_that_jumps_to_and_fro_is_not_believed)
{
    struct steady s = { 0 };
    int64_t step, hour = INT64_C(3600) * S;

    CHECK(steady_note(&s, noon, 0, &step) == STEADY_SAME);
    CHECK(steady_note(&s, noon + hour, 1 * S, &step) == STEADY_FROZE);
    CHECK(steady_note(&s, noon + 3 * S, 3 * S, &step) == STEADY_SAME && s.frozen);
    CHECK(steady_note(&s, noon + hour, 6 * S, &step) == STEADY_SAME && s.frozen);
    CHECK(steady_note(&s, noon + 12 * S, 12 * S, &step) == STEADY_SAME && s.frozen);
    CHECK(steady_early_us(&s, 14 * S) == noon);
    CHECK(steady_note(&s, noon + 18 * S, 18 * S, &step) == STEADY_WENT_ON);
    CHECK(steady_early_us(&s, 18 * S) == noon + 18 * S);
}

int main(void)
{
    return test_main();
}
