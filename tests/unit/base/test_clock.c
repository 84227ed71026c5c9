#include "test.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

#include "base/clock.h"

TEST(clock_utc_text_is_exact)
{
    static const struct {
        int64_t us;
        const char *want;
    } cases[] = {
        { 0, "1970-01-01T00:00:00.000000Z" },
        { 1, "1970-01-01T00:00:00.000001Z" },
        { -1, "1969-12-31T23:59:59.999999Z" },
        { -1000000, "1969-12-31T23:59:59.000000Z" },
        { -1000001, "1969-12-31T23:59:58.999999Z" },
        { 951782400000000, "2000-02-29T00:00:00.000000Z" },
        { 1794711130123456, "2026-11-15T02:52:10.123456Z" },
        { 2147483648000000, "2038-01-19T03:14:08.000000Z" },
        { 4102444799999999, "2099-12-31T23:59:59.999999Z" },
        { INT64_MAX, "294247-01-10T04:00:54.775807Z" },
        { INT64_MIN, "-290308-12-21T19:59:05.224192Z" },
    };
    char text[CLOCK_TEXT];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK(strcmp(clock_utc_text(cases[i].us, text), cases[i].want) == 0);
}

TEST(clock_local_text_carries_the_offset)
{
    static const struct {
        const char *zone;
        int64_t us;
        const char *want;
    } cases[] = {
        { "UTC0", 0, "1970-01-01 00:00:00.000 +00:00" },
        { "CET-1CEST,M3.5.0,M10.5.0/3", 1794711130123456, "2026-11-15 03:52:10.123 +01:00" },
        { "CET-1CEST,M3.5.0,M10.5.0/3", 1782000000999999, "2026-06-21 02:00:00.999 +02:00" },
        { "EST5", 1794711130123456, "2026-11-14 21:52:10.123 -05:00" },
        { "IST-5:30", 0, "1970-01-01 05:30:00.000 +05:30" },
        { "NST3:30", 0, "1969-12-31 20:30:00.000 -03:30" },
        { "UTC0", INT64_MAX, "294247-01-10 04:00:54.775 +00:00" },
        { "UTC0", INT64_MIN, "-290308-12-21 19:59:05.224 +00:00" },
    };
    char text[CLOCK_TEXT];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK(setenv("TZ", cases[i].zone, 1) == 0);
        tzset();
        CHECK(strcmp(clock_local_text(cases[i].us, text), cases[i].want) == 0);
    }
}

TEST(clock_wall_is_the_system_clock)
{
    int64_t before = (int64_t)time(NULL), now = clock_wall_us(), after = (int64_t)time(NULL);

    CHECK(now / CLOCK_S >= before - 1 && now / CLOCK_S <= after + 1);
}

static void wake(int signo)
{
    (void)signo;
}

/* A timer interrupts the sleep every 5 ms; it lasts its time nevertheless. */
TEST(clock_sleep_lasts_through_signals)
{
    const struct sigaction on = { .sa_handler = wake };
    const struct itimerval every = { { 0, 5000 }, { 0, 5000 } }, off = { { 0, 0 }, { 0, 0 } };
    int64_t start = clock_mono_us();

    CHECK(sigaction(SIGALRM, &on, NULL) == 0 && setitimer(ITIMER_REAL, &every, NULL) == 0);
    clock_sleep_us(30 * CLOCK_MS);
    int64_t took = clock_mono_us() - start;

    CHECK(setitimer(ITIMER_REAL, &off, NULL) == 0);
    CHECK(took >= 30 * CLOCK_MS);
}

TEST(clock_sleep_of_nothing_returns)
{
    int64_t start = clock_mono_us();

    clock_sleep_us(0);
    clock_sleep_us(-5 * (int64_t)CLOCK_S);
    clock_sleep_us(INT64_MIN);
    CHECK(clock_mono_us() >= start && clock_mono_us() - start < CLOCK_S);
}

int main(void)
{
    return test_main();
}
