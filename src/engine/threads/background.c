#include "engine/threads/background.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/thread.h"

struct background {
    pthread_mutex_t mutex;
    pthread_cond_t filled;
    struct background_job *first, **end;
    size_t waiting, queue_most, thread_count;
    bool stopping;
    pthread_t threads[];
};

static struct background_job *background_take(struct background *d)
{
    (void)pthread_mutex_lock(&d->mutex);
    while (d->first == NULL && !d->stopping)
        (void)pthread_cond_wait(&d->filled, &d->mutex);
    struct background_job *job = d->first;

    if (job != NULL) {
        d->first = job->next;
        if (d->first == NULL)
            d->end = &d->first;
        d->waiting--;
    }
    (void)pthread_mutex_unlock(&d->mutex);
    return job;
}

static void *background_main(void *arg)
{
    struct background *d = arg;
    struct background_job *job;

    while ((job = background_take(d)) != NULL) {
        job->run(job);
        loop_post(job->loop, &job->done);
    }
    return NULL;
}

struct background *background_new(size_t threads, size_t queue_most)
{
    struct background *d = xcalloc(1, sizeof *d + threads * sizeof d->threads[0]);

    d->end = &d->first;
    d->queue_most = queue_most;
    d->thread_count = threads;
    (void)pthread_mutex_init(&d->mutex, NULL);
    (void)pthread_cond_init(&d->filled, NULL);
    for (size_t i = 0; i < threads; i++)
        thread_start(&d->threads[i], "background", background_main, d);
    return d;
}

bool background_submit(struct background *d, struct background_job *job)
{
    (void)pthread_mutex_lock(&d->mutex);
    bool taken = !d->stopping && d->waiting < d->queue_most;

    if (taken) {
        job->next = NULL;
        *d->end = job;
        d->end = &job->next;
        d->waiting++;
    }
    (void)pthread_mutex_unlock(&d->mutex);
    if (taken)
        (void)pthread_cond_signal(&d->filled);
    return taken;
}

void background_free(struct background *d)
{
    if (d == NULL)
        return;
    (void)pthread_mutex_lock(&d->mutex);
    d->stopping = true;
    (void)pthread_cond_broadcast(&d->filled);
    (void)pthread_mutex_unlock(&d->mutex);
    for (size_t i = 0; i < d->thread_count; i++)
        (void)pthread_join(d->threads[i], NULL);
    (void)pthread_cond_destroy(&d->filled);
    (void)pthread_mutex_destroy(&d->mutex);
    free(d);
}
