#include "base/wait.h"

#include "base/clock.h"

enum { LOOK_US = 5 * CLOCK_MS };

bool wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t until_us)
{
    struct timespec until = { .tv_sec = until_us / CLOCK_S,
                              .tv_nsec = (long)(until_us % CLOCK_S) * 1000 };

    return pthread_cond_clockwait(cond, mutex, CLOCK_MONOTONIC, &until) == 0;
}

/* Looks again and again: pthread_mutex_timedlock() uses the wall clock, and ThreadSanitizer of GCC
 * 12 does not know pthread_mutex_clocklock(). */
bool wait_lock(pthread_mutex_t *mutex, int64_t until_us)
{
    while (pthread_mutex_trylock(mutex) != 0) {
        int64_t left_us = until_us - clock_mono_us();

        if (left_us <= 0)
            return false;
        clock_sleep_us(left_us < LOOK_US ? left_us : LOOK_US);
    }
    return true;
}
