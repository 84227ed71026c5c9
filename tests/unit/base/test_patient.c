/* proves: QC7 */
#include "base/patient.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "test.h"

enum { DEADLINE_US = 60 * CLOCK_S, PATIENCE_US = 50 * CLOCK_MS };

static _Atomic bool open_door;
static atomic_int ran, dropped;

static void run_at_once(void *arg)
{
    (void)arg;
    atomic_fetch_add(&ran, 1);
}

static void run_behind_door(void *arg)
{
    while (!atomic_load(&open_door))
        clock_sleep_us(CLOCK_MS);
    run_at_once(arg);
}

static void drop(void *arg)
{
    (void)arg;
    atomic_fetch_add(&dropped, 1);
}

static bool comes_to(atomic_int *count, int want)
{
    int64_t until_us = clock_mono_us() + DEADLINE_US;

    while (atomic_load(count) != want && clock_mono_us() < until_us)
        clock_sleep_us(CLOCK_MS);
    return atomic_load(count) == want;
}

TEST(patient_call_gives_back_what_returns)
{
    ran = dropped = 0;
    CHECK(patient_call(run_at_once, drop, NULL, DEADLINE_US));
    CHECK(ran == 1 && dropped == 0 && patient_hanging() == 0);
}

TEST(patient_call_leaves_what_hangs)
{
    ran = dropped = 0;
    atomic_store(&open_door, false);
    for (int i = 0; i < PATIENT_MOST; i++)
        CHECK(!patient_call(run_behind_door, drop, NULL, PATIENCE_US));
    CHECK(patient_hanging() == PATIENT_MOST && dropped == 0);
    CHECK(!patient_call(run_at_once, drop, NULL, DEADLINE_US)); /* no thread for it */
    CHECK(dropped == 1 && ran == 0);
    atomic_store(&open_door, true);
    CHECK(comes_to(&dropped, PATIENT_MOST + 1) && ran == PATIENT_MOST);
    CHECK(patient_hanging() == 0);
    CHECK(patient_call(run_at_once, drop, NULL, DEADLINE_US));
}

int main(void)
{
    return test_main();
}
