#include "base/thread.h"

#include <stdio.h>

#include "base/require.h"

enum { NAME = 16 };

void thread_start(pthread_t *ret, const char *name, void *(*run)(void *arg), void *arg)
{
    char shown[NAME];

    require(pthread_create(ret, NULL, run, arg) == 0);
    (void)snprintf(shown, sizeof shown, "%s", name);
    (void)pthread_setname_np(*ret, shown);
}
