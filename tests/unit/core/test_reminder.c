#include "core/reminder.h"

#include "base/clock.h"
#include "test.h"

static const int64_t day = INT64_C(86400) * CLOCK_S, start = INT64_C(1000000) * CLOCK_S;

/* proves: DL2 */
TEST(a_reminder_comes_when_it_begins_and_each_day)
{
    struct reminder r = { 0 };

    CHECK(!reminder_is_due(&r, false, start));
    CHECK(reminder_is_due(&r, true, start));
    CHECK(!reminder_is_due(&r, true, start + day - 1));
    CHECK(reminder_is_due(&r, true, start + day));
    CHECK(!reminder_is_due(&r, true, start + day + 1));
    CHECK(!reminder_is_due(&r, false, start + day + 2));
    CHECK(reminder_is_due(&r, true, start + day + 3)); /* it began again */
}

TEST(a_clock_that_goes_back_does_not_silence_a_reminder)
{
    struct reminder r = { 0 };

    CHECK(reminder_is_due(&r, true, start));
    CHECK(reminder_is_due(&r, true, start - day));
    CHECK(!reminder_is_due(&r, true, start - day + 1));
}

int main(void)
{
    return test_main();
}
