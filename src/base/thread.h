/* thread.h - a thread with a name: as tools show it, and a reader of a crash finds it. */
#pragma once

#include <pthread.h>

/* At most 15 bytes of the name are shown.  A thread that cannot be made ends the process:
 * it happens at start, or not at all. */
void thread_start(pthread_t *ret, const char *name, void *(*run)(void *arg), void *arg);
