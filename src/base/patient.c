#include "base/patient.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/wait.h"

enum { SHORT_US = 100 * CLOCK_MS }; /* the patience while others hang */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t returned = PTHREAD_COND_INITIALIZER;
static size_t running, hanging;

struct errand {
    void (*run)(void *arg);
    void (*drop)(void *arg);
    void *arg;
    bool ended, hangs;
};

static void *patient_main(void *arg)
{
    struct errand *e = arg;

    e->run(e->arg);
    (void)pthread_mutex_lock(&mutex);
    e->ended = true;
    running--;
    hanging -= e->hangs;
    bool hangs = e->hangs;

    (void)pthread_cond_broadcast(&returned);
    (void)pthread_mutex_unlock(&mutex);
    if (hangs) { /* nobody waits for it any more */
        e->drop(e->arg);
        free(e);
    }
    return NULL;
}

/* With the mutex held. */
static bool patient_start(struct errand *e)
{
    pthread_attr_t attr;
    pthread_t thread;

    if (running >= PATIENT_MOST)
        return false;
    (void)pthread_attr_init(&attr);
    (void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    bool ok = pthread_create(&thread, &attr, patient_main, e) == 0;

    (void)pthread_attr_destroy(&attr);
    running += ok;
    return ok;
}

bool patient_call(void (*run)(void *arg), void (*drop)(void *arg), void *arg, int64_t patience_us)
{
    struct errand *e = NEW(struct errand);

    *e = (struct errand){ .run = run, .drop = drop, .arg = arg };
    (void)pthread_mutex_lock(&mutex);
    int64_t until_us = clock_mono_us() + (hanging > 0 ? SHORT_US : patience_us);
    bool started = patient_start(e);

    while (started && !e->ended && wait_until(&returned, &mutex, until_us)) {
    }
    bool ended = started && e->ended;

    if (started && !ended) {
        e->hangs = true;
        hanging++;
    }
    (void)pthread_mutex_unlock(&mutex);
    if (started && !ended)
        return false;
    free(e);
    if (!started)
        drop(arg);
    return ended;
}

size_t patient_hanging(void)
{
    (void)pthread_mutex_lock(&mutex);
    size_t n = hanging;

    (void)pthread_mutex_unlock(&mutex);
    return n;
}
