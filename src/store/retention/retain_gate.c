#include "store/retention/retain_gate.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/require.h"
#include "store/kernel/store_state.h"

struct retain_gate {
    pthread_mutex_t mutex;
    pthread_cond_t idle;
    int paused, working;
    int64_t pauses; /* begun so far */
};

struct retain_gate *retain_gate_new(void)
{
    struct retain_gate *g = NEW(struct retain_gate);

    (void)pthread_mutex_init(&g->mutex, NULL);
    (void)pthread_cond_init(&g->idle, NULL);
    return g;
}

void retain_gate_free(struct retain_gate *g)
{
    free(g);
}

bool retain_enter(struct store *s)
{
    struct retain_gate *g = s->retain_gate;

    (void)pthread_mutex_lock(&g->mutex);
    bool may = g->paused == 0;

    g->working += may;
    (void)pthread_mutex_unlock(&g->mutex);
    return may;
}

void retain_leave(struct store *s)
{
    struct retain_gate *g = s->retain_gate;

    (void)pthread_mutex_lock(&g->mutex);
    g->working--;
    (void)pthread_cond_broadcast(&g->idle);
    (void)pthread_mutex_unlock(&g->mutex);
}

void retain_pause(struct store *s)
{
    struct retain_gate *g = s->retain_gate;

    (void)pthread_mutex_lock(&g->mutex);
    g->paused++;
    g->pauses++;
    while (g->working > 0)
        (void)pthread_cond_wait(&g->idle, &g->mutex);
    (void)pthread_mutex_unlock(&g->mutex);
}

void retain_release(struct store *s)
{
    struct retain_gate *g = s->retain_gate;

    (void)pthread_mutex_lock(&g->mutex);
    require(g->paused > 0);
    g->paused--;
    (void)pthread_mutex_unlock(&g->mutex);
}

int64_t retain_pauses(struct store *s)
{
    struct retain_gate *g = s->retain_gate;

    (void)pthread_mutex_lock(&g->mutex);
    int64_t pauses = g->pauses;

    (void)pthread_mutex_unlock(&g->mutex);
    return pauses;
}

bool retain_is_paused(struct store *s)
{
    struct retain_gate *g = s->retain_gate;

    (void)pthread_mutex_lock(&g->mutex);
    bool paused = g->paused > 0;

    (void)pthread_mutex_unlock(&g->mutex);
    return paused;
}
