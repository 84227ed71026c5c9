#include "engine/dispatch/govern.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "core/window.h"
#include "engine/plan/plan.h"

enum { ASK_US = CLOCK_S }; /* the longest time for which an answer is valid */

struct govern {
    pthread_mutex_t mutex;
    _Atomic uint64_t generation;
    struct plan *plan;         /* in force; NULL: none yet */
    struct govern_hold *holds; /* by system */
    size_t count;
    bool paused, restored;
    int64_t lease_us; /* monotonic */
    struct steady clock;
};

struct govern *govern_new(void)
{
    struct govern *g = NEW(struct govern);

    (void)pthread_mutex_init(&g->mutex, NULL);
    g->generation = 1; /* differs from the 0 in every empty cache */
    g->lease_us = INT64_MAX;
    return g;
}

void govern_free(struct govern *g)
{
    if (g == NULL)
        return;
    plan_unref(g->plan);
    free(g->holds);
    free(g);
}

/* ---- questions ---- */

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* With the mutex held: the index of the first hold of this system, or where it would be. */
static size_t govern_find(const struct govern *g, int64_t system)
{
    size_t from = 0, to = g->count;

    while (from < to) {
        size_t at = from + (to - from) / 2;

        if (g->holds[at].system < system)
            from = at + 1;
        else
            to = at;
    }
    return from;
}

/* With the mutex held.  Lowers *io_wait_us to the time until a hold begins or ends. */
static bool govern_is_held(const struct govern *g, int64_t system, const struct govern_time *now,
                           int64_t *io_wait_us)
{
    bool held = false;

    for (size_t i = govern_find(g, system); i < g->count && g->holds[i].system == system; i++) {
        const struct govern_hold *h = &g->holds[i];

        if (h->until_us != 0 && h->until_us <= now->early_us)
            continue;
        if (h->from_us > now->late_us) {
            *io_wait_us = earlier(*io_wait_us, h->from_us - now->late_us);
            continue;
        }
        held = true;
        if (h->until_us != 0)
            *io_wait_us = earlier(*io_wait_us, h->until_us - now->early_us);
    }
    return held;
}

/* With the mutex held.  While the clock is frozen, a window counts as open only if it is open at
 * both bounds of the time. */
static bool is_shut(const struct govern *g, int64_t system, const struct govern_time *now,
                    int64_t *io_wait_us)
{
    const struct plan_system *s = g->plan != NULL ? plan_system_find(g->plan, system) : NULL;
    int64_t change_us = 0;

    if (s == NULL || s->windows == NULL)
        return false;
    bool open = window_set_open(s->windows, now->early_us, &change_us);

    if (now->frozen)
        return !open || !window_set_open(s->windows, now->late_us, &change_us);
    if (change_us != 0)
        *io_wait_us = earlier(*io_wait_us, change_us - now->early_us);
    return !open;
}

static struct govern_time govern_time_at(const struct govern *g, int64_t mono_us)
{
    return (struct govern_time){ .early_us = steady_early_us(&g->clock, mono_us),
                                 .late_us = steady_late_us(&g->clock, mono_us),
                                 .frozen = g->clock.frozen };
}

unsigned govern_why(struct govern *g, int64_t system, int64_t mono_us, int64_t *ret_ask_us)
{
    int64_t wait = ASK_US;
    unsigned why = 0;

    (void)pthread_mutex_lock(&g->mutex);
    struct govern_time now = govern_time_at(g, mono_us);

    if (govern_is_held(g, system, &now, &wait))
        why |= HELD_HOLD;
    if (is_shut(g, system, &now, &wait))
        why |= HELD_WINDOW;
    if (g->paused || g->lease_us <= mono_us)
        why |= HELD_PAUSE;
    if (g->restored)
        why |= HELD_RESTORE;
    if (g->lease_us > mono_us)
        wait = earlier(wait, g->lease_us - mono_us);
    (void)pthread_mutex_unlock(&g->mutex);
    *ret_ask_us = mono_us + wait;
    return why;
}

uint64_t govern_generation(const struct govern *g)
{
    return atomic_load_explicit(&g->generation, memory_order_acquire);
}

struct govern_time govern_time(struct govern *g)
{
    (void)pthread_mutex_lock(&g->mutex);
    struct govern_time now = govern_time_at(g, clock_mono_us());

    (void)pthread_mutex_unlock(&g->mutex);
    return now;
}

/* ---- changes ---- */

/* Ends a change: releases the mutex. */
static void changed(struct govern *g)
{
    (void)atomic_fetch_add(&g->generation, 1);
    (void)pthread_mutex_unlock(&g->mutex);
}

void govern_use(struct govern *g, struct plan *plan)
{
    (void)pthread_mutex_lock(&g->mutex);
    struct plan *old = g->plan;

    g->plan = plan_ref(plan);
    changed(g);
    plan_unref(old);
}

static int govern_by_system(const void *a, const void *b)
{
    int64_t x = ((const struct govern_hold *)a)->system,
            y = ((const struct govern_hold *)b)->system;

    return (x > y) - (x < y);
}

void govern_set_holds(struct govern *g, const struct govern_hold *holds, size_t count)
{
    struct govern_hold *copy = xcalloc(count + 1, sizeof *copy);

    if (count > 0)
        memcpy(copy, holds, count * sizeof *copy);
    qsort(copy, count, sizeof *copy, govern_by_system);
    (void)pthread_mutex_lock(&g->mutex);
    struct govern_hold *old = g->holds;

    g->holds = copy;
    g->count = count;
    changed(g);
    free(old);
}

void govern_set_pause(struct govern *g, bool paused)
{
    (void)pthread_mutex_lock(&g->mutex);
    g->paused = paused;
    changed(g);
}

bool govern_is_restored(struct govern *g)
{
    (void)pthread_mutex_lock(&g->mutex);
    bool restored = g->restored;

    (void)pthread_mutex_unlock(&g->mutex);
    return restored;
}

void govern_set_restored(struct govern *g, bool restored)
{
    (void)pthread_mutex_lock(&g->mutex);
    g->restored = restored;
    changed(g);
}

/* Renewing a lease before it ends changes no answer, so the generation stays. */
void govern_set_lease(struct govern *g, int64_t until_mono_us)
{
    (void)pthread_mutex_lock(&g->mutex);
    bool was_over = g->lease_us <= clock_mono_us();

    g->lease_us = until_mono_us;
    if (was_over)
        (void)atomic_fetch_add(&g->generation, 1);
    (void)pthread_mutex_unlock(&g->mutex);
}

enum steady_change govern_note_clock(struct govern *g, int64_t clock_us, int64_t mono_us,
                                     int64_t *ret_step_us)
{
    (void)pthread_mutex_lock(&g->mutex);
    enum steady_change c = steady_note(&g->clock, clock_us, mono_us, ret_step_us);

    if (c != STEADY_SAME)
        (void)atomic_fetch_add(&g->generation, 1);
    (void)pthread_mutex_unlock(&g->mutex);
    return c;
}
