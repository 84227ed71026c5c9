/* wait.h - waits on a condition variable or for a mutex until a time of the monotonic clock.
 *
 * pthread_cond_timedwait() uses the wall clock unless the condition variable was initialized with
 * attributes; wait_until() takes any condition variable, and a time of clock_mono_us().
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* The caller holds the mutex and checks its own condition: true may be a spurious wake-up, false
 * means that until_us has passed. */
bool wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t until_us);

/* Locks the mutex.  False: somebody else held it until until_us.  For locks that are held long: who
 * waits is not queued. */
bool wait_lock(pthread_mutex_t *mutex, int64_t until_us);
