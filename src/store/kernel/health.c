#include "store/kernel/health.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"

enum {
    LOOK_US = 2 * CLOCK_S,     /* between two looks ... */
    AGAIN_US = 500 * CLOCK_MS, /* ... and after a failure */
    HANGS_US = 3 * CLOCK_S,    /* a look that takes longer: nothing can be stored */
};

struct health {
    _Atomic bool failed;  /* the last commit; any other one ends it */
    _Atomic bool lost;    /* the last look; the next good one ends it */
    _Atomic bool damaged; /* for good */
    _Atomic bool suspect; /* an operation failed: the next look writes */
    _Atomic bool looking;
    _Atomic int64_t asked_us; /* the last look */
    pthread_mutex_t mutex;
    struct err why; /* under the mutex; of the last failure */
};

struct health *health_new(void)
{
    struct health *h = NEW(struct health);

    (void)pthread_mutex_init(&h->mutex, NULL);
    return h;
}

void health_free(struct health *h)
{
    free(h);
}

void health_committed(struct health *h)
{
    if (atomic_load_explicit(&h->failed, memory_order_relaxed))
        atomic_store(&h->failed, false);
}

void health_failed(struct health *h, const struct err *err, bool own_fault)
{
    (void)pthread_mutex_lock(&h->mutex);
    h->why = *err;
    (void)pthread_mutex_unlock(&h->mutex);
    atomic_store(&h->suspect, true);
    if (!own_fault)
        atomic_store(&h->failed, true);
}

void health_damaged(struct health *h)
{
    atomic_store(&h->damaged, true);
}

bool health_look_begin(struct health *h, bool *ret_writes)
{
    int64_t now = clock_mono_us();
    bool urgent = atomic_load(&h->suspect) || atomic_load(&h->failed) || atomic_load(&h->lost);

    if (atomic_load(&h->looking) || now - atomic_load(&h->asked_us) < (urgent ? AGAIN_US : LOOK_US))
        return false;
    *ret_writes = urgent;
    atomic_store(&h->suspect, false);
    atomic_store(&h->asked_us, now);
    atomic_store(&h->looking, true);
    return true;
}

void health_look_end(struct health *h, bool ok, const struct err *err)
{
    if (!ok) /* never its own fault: it is always the same */
        health_failed(h, err, false);
    atomic_store(&h->lost, !ok);
    atomic_store(&h->looking, false);
}

bool health_is_bad(struct health *h, char ret_why[static HEALTH_WHY], bool *ret_space)
{
    int64_t waits = clock_mono_us() - atomic_load(&h->asked_us);

    *ret_space = false;
    if (atomic_load(&h->damaged)) {
        (void)snprintf(ret_why, HEALTH_WHY,
                       "the database is damaged: look with `waybill doctor`, restore a backup");
        return true;
    }
    if (atomic_load(&h->failed) || atomic_load(&h->lost)) {
        (void)pthread_mutex_lock(&h->mutex);
        *ret_space = h->why.kind == ERR_LIMIT && h->why.sys == ENOSPC;
        (void)snprintf(ret_why, HEALTH_WHY, "the last commit failed: %s", h->why.text);
        (void)pthread_mutex_unlock(&h->mutex);
        return true;
    }
    if (!atomic_load(&h->looking) || waits < HANGS_US)
        return false;
    (void)snprintf(ret_why, HEALTH_WHY, "no commit has ended for %lld s",
                   (long long)(waits / CLOCK_S));
    return true;
}
