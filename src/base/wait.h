/* wait.h - a condition variable that is waited for until a moment of the monotonic clock.
 *
 * pthread_cond_timedwait() measures by the wall clock unless the condition variable was made with
 * attributes; this takes any of them, and a moment of clock_mono_us().
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* The caller holds the mutex and checks its own condition: true may be a spurious wake-up, false
 * says that until_us has passed. */
bool wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t until_us);
