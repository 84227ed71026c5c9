#include "base/wait.h"

#include "base/clock.h"

bool wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t until_us)
{
    struct timespec until = { .tv_sec = until_us / CLOCK_S,
                              .tv_nsec = (long)(until_us % CLOCK_S) * 1000 };

    return pthread_cond_clockwait(cond, mutex, CLOCK_MONOTONIC, &until) == 0;
}
