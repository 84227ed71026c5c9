#include "engine/watch/watchdog.h"

#include "base/clock.h"
#include "test.h"

static const int64_t start = INT64_C(1000000) * CLOCK_S;

/* proves: QC5 */
TEST(a_queue_is_stuck_when_its_front_stays_without_a_reason)
{
    int64_t most = (int64_t)WATCHDOG_STUCK_S * CLOCK_S;
    struct queue_look q = { 0 };

    CHECK(!queue_is_stuck(&q, 7, false, start));
    CHECK(!queue_is_stuck(&q, 7, false, start + most - 1));
    CHECK(queue_is_stuck(&q, 7, false, start + most));
    CHECK(!queue_is_stuck(&q, 8, false, start + most + 1)); /* it moved */
    CHECK(!queue_is_stuck(&q, 8, true, start + 2 * most));  /* a hold, a breaker */
    CHECK(!queue_is_stuck(&q, 8, false, start + 2 * most + 1));
    CHECK(queue_is_stuck(&q, 8, false, start + 3 * most + 1));
    CHECK(!queue_is_stuck(&q, 0, false, start + 4 * most)); /* it is empty */
}

int main(void)
{
    return test_main();
}
