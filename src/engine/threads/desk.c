#include "engine/threads/desk.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/thread.h"

struct desk {
    pthread_mutex_t mutex;
    pthread_cond_t filled;
    struct desk_job *first, **end;
    size_t waiting, queue_most, thread_count;
    bool stopping;
    pthread_t threads[];
};

static struct desk_job *take(struct desk *d)
{
    (void)pthread_mutex_lock(&d->mutex);
    while (d->first == NULL && !d->stopping)
        (void)pthread_cond_wait(&d->filled, &d->mutex);
    struct desk_job *job = d->first;

    if (job != NULL) {
        d->first = job->next;
        if (d->first == NULL)
            d->end = &d->first;
        d->waiting--;
    }
    (void)pthread_mutex_unlock(&d->mutex);
    return job;
}

static void *desk_main(void *arg)
{
    struct desk *d = arg;
    struct desk_job *job;

    while ((job = take(d)) != NULL) {
        job->run(job);
        loop_post(job->loop, &job->done);
    }
    return NULL;
}

struct desk *desk_new(size_t threads, size_t queue_most)
{
    struct desk *d = xcalloc(1, sizeof *d + threads * sizeof d->threads[0]);

    d->end = &d->first;
    d->queue_most = queue_most;
    d->thread_count = threads;
    (void)pthread_mutex_init(&d->mutex, NULL);
    (void)pthread_cond_init(&d->filled, NULL);
    for (size_t i = 0; i < threads; i++)
        thread_start(&d->threads[i], "desk", desk_main, d);
    return d;
}

bool desk_submit(struct desk *d, struct desk_job *job)
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

void desk_free(struct desk *d)
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
