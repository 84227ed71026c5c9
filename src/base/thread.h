/* thread.h - threads with a name, which tools and core dumps show. */
#pragma once

#include <pthread.h>

/* At most 15 bytes of the name are shown.  If the thread cannot be created, the process ends:
 * that happens at start, or not at all. */
void thread_start(pthread_t *ret, const char *name, void *(*run)(void *arg), void *arg);
