#include "engine/threads/pool.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/require.h"
#include "base/wait.h"

enum { IDLE_US = 60 * CLOCK_S };

/* An ended thread keeps its place, to be joined, until another takes it or pool_free(). */
enum place_state { PLACE_EMPTY, PLACE_RUNNING, PLACE_ENDED };

struct place {
    struct pool *pool;
    pthread_t thread;
    enum place_state state;
};

struct pool {
    pthread_mutex_t mutex;
    pthread_cond_t filled; /* signalled: a job was queued, or the pool ends */
    pthread_cond_t ended;  /* signalled: the last thread ended */
    struct pool_job *first, **end;
    size_t queued, idle, running; /* waiting jobs; idle threads; all threads */
    bool stopping;
    size_t most;
    struct place places[];
};

struct pool *pool_new(size_t most)
{
    require(most > 0);
    struct pool *p = xcalloc(1, sizeof *p + most * sizeof p->places[0]);

    p->most = most;
    p->end = &p->first;
    (void)pthread_mutex_init(&p->mutex, NULL);
    (void)pthread_cond_init(&p->filled, NULL);
    (void)pthread_cond_init(&p->ended, NULL);
    return p;
}

/* With the mutex held.  False: idle for a minute, or the pool ends. */
static bool wait_for_job(struct pool *p)
{
    int64_t until_us = clock_mono_us() + IDLE_US;

    p->idle++;
    while (p->first == NULL && !p->stopping && wait_until(&p->filled, &p->mutex, until_us)) {
    }
    p->idle--;
    return p->first != NULL;
}

static struct pool_job *pool_take(struct pool *p)
{
    struct pool_job *job = p->first;

    p->first = job->next;
    if (p->first == NULL)
        p->end = &p->first;
    p->queued--;
    job->next = NULL;
    return job;
}

static void *pool_main(void *arg)
{
    struct place *place = arg;
    struct pool *p = place->pool;

    (void)pthread_mutex_lock(&p->mutex);
    while (wait_for_job(p)) {
        struct pool_job *job = pool_take(p);

        (void)pthread_mutex_unlock(&p->mutex);
        job->run(job);
        (void)pthread_mutex_lock(&p->mutex);
    }
    place->state = PLACE_ENDED;
    if (--p->running == 0)
        (void)pthread_cond_broadcast(&p->ended);
    (void)pthread_mutex_unlock(&p->mutex);
    return NULL;
}

/* With the mutex held.  If no thread can be created, the pool works on with those it has; it must
 * have one. */
static void add_thread(struct pool *p)
{
    struct place *place = p->places;

    while (place->state == PLACE_RUNNING)
        place++;
    require(place < p->places + p->most);
    if (place->state == PLACE_ENDED)
        (void)pthread_join(place->thread, NULL); /* it has released the mutex */
    place->pool = p;
    place->state = PLACE_EMPTY;
    if (pthread_create(&place->thread, NULL, pool_main, place) == 0) {
        place->state = PLACE_RUNNING;
        p->running++;
    }
    require(p->running > 0);
}

void pool_submit(struct pool *p, struct pool_job *job)
{
    require(job->run != NULL);
    job->next = NULL;
    (void)pthread_mutex_lock(&p->mutex);
    *p->end = job;
    p->end = &job->next;
    p->queued++;
    if (p->queued > p->idle && p->running < p->most)
        add_thread(p);
    (void)pthread_cond_signal(&p->filled);
    (void)pthread_mutex_unlock(&p->mutex);
}

bool pool_is_short(struct pool *p)
{
    (void)pthread_mutex_lock(&p->mutex);
    bool is_short = p->queued > p->idle;

    (void)pthread_mutex_unlock(&p->mutex);
    return is_short;
}

void pool_free(struct pool *p)
{
    if (p == NULL)
        return;
    (void)pthread_mutex_lock(&p->mutex);
    p->stopping = true;
    (void)pthread_cond_broadcast(&p->filled);
    while (p->running > 0)
        (void)pthread_cond_wait(&p->ended, &p->mutex);
    (void)pthread_mutex_unlock(&p->mutex);
    for (size_t i = 0; i < p->most; i++)
        if (p->places[i].state == PLACE_ENDED)
            (void)pthread_join(p->places[i].thread, NULL);
    require(p->first == NULL);
    (void)pthread_cond_destroy(&p->filled);
    (void)pthread_cond_destroy(&p->ended);
    (void)pthread_mutex_destroy(&p->mutex);
    free(p);
}
