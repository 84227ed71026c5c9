#include "engine/dispatch/dispatch_queues.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/require.h"
#include "core/grammar.h"
#include "engine/dispatch/govern.h"
#include "engine/dispatch/limiter.h"
#include "store/govern/endpoint_state.h"

enum { SLOTS_FIRST = 64 };

struct dispatch *dispatch_new(struct govern *govern, const struct dispatch_calls *calls)
{
    struct dispatch *d = NEW(struct dispatch);

    d->govern = govern;
    d->calls = *calls;
    (void)pthread_mutex_init(&d->mutex, NULL);
    return d;
}

void dispatch_free(struct dispatch *d)
{
    if (d == NULL)
        return;
    for (struct send_queue *l = d->queues, *next; l != NULL; l = next) {
        next = l->next;
        free(l);
    }
    for (struct system_live *s = d->systems, *next; s != NULL; s = next) {
        next = s->next;
        free(s->allotment);
        free(s);
    }
    for (struct endpoint_live *e = d->endpoints, *next; e != NULL; e = next) {
        next = e->next;
        free(e);
    }
    plan_unref(d->plan);
    free(d->slots);
    free(d);
}

/* ---- tables, with the lock held ---- */

static int64_t limit_of(const struct plan *p, int64_t system)
{
    const struct plan_system *s = p != NULL ? plan_system_find(p, system) : NULL;

    return s != NULL ? s->concurrency : 1; /* not in the plan any more: nothing begins */
}

static bool is_gone(const struct plan *p, int64_t system)
{
    return p != NULL && system != 0 && plan_system_find(p, system) == NULL;
}

/* A system missing from the new plan has no policy; treat it as `hold`. */
static enum doubt_policy dispatch_queues_doubt_of(const struct plan *p, int64_t system)
{
    const struct plan_system *s = p != NULL ? plan_system_find(p, system) : NULL;

    return s != NULL ? s->in_doubt : DOUBT_HOLD;
}

static struct paced *limiter_of(struct dispatch *d, int64_t system)
{
    const struct plan_system *s = d->plan != NULL ? plan_system_find(d->plan, system) : NULL;

    if (s == NULL || s->rate.interval_ns == 0 || d->calls.limiter == NULL)
        return NULL;
    return limiter_system(d->calls.limiter, system, s->rate);
}

struct system_live *dispatch_system(struct dispatch *d, int64_t word)
{
    struct system_live *s = d->systems;

    while (s != NULL && s->word != word)
        s = s->next;
    if (s == NULL) {
        s = NEW(struct system_live);
        *s = (struct system_live){ .next = d->systems,
                                   .word = word,
                                   .most = limit_of(d->plan, word),
                                   .gone = is_gone(d->plan, word),
                                   .in_doubt = dispatch_queues_doubt_of(d->plan, word),
                                   .limiter = limiter_of(d, word) };
        s->allotment = allotment_new(d, s);
        s->limit = s->allotment == NULL ? s->most : 0;
        d->systems = s;
    }
    return s;
}

static void use_plan_of(const struct dispatch *d, struct endpoint_live *e)
{
    e->plan = d->plan != NULL ? plan_endpoint_find(d->plan, e->word) : NULL;
    e->elsewhere =
        e->plan != NULL && e->plan->area != CONFIG_ANYWHERE && e->plan->area != d->calls.area;
    if (e->plan != NULL)
        e->rule = e->plan->breaker;
}

bool dispatch_blocks(const struct endpoint_live *e)
{
    return e->plan != NULL && e->plan->type != NULL && e->plan->type->http == NULL;
}

struct endpoint_live *dispatch_endpoint(struct dispatch *d, int64_t word)
{
    struct endpoint_live *e = d->endpoints;

    while (e != NULL && e->word != word)
        e = e->next;
    if (e == NULL) {
        e = NEW(struct endpoint_live);
        *e = (struct endpoint_live){ .next = d->endpoints, .word = word };
        use_plan_of(d, e);
        d->endpoints = e;
    }
    return e;
}

static struct send_queue **dispatch_queues_slot_of(struct dispatch *d, int64_t system,
                                                   int64_t endpoint)
{
    uint64_t h = ((uint64_t)system * UINT64_C(0x9e3779b97f4a7c15)) ^
                 ((uint64_t)endpoint * UINT64_C(0xc2b2ae3d27d4eb4f));
    size_t i = (size_t)(h >> 20) % d->slot_count;

    while (d->slots[i] != NULL &&
           (d->slots[i]->system->word != system || d->slots[i]->endpoint->word != endpoint))
        i = (i + 1) % d->slot_count;
    return &d->slots[i];
}

static void dispatch_queues_grow(struct dispatch *d)
{
    d->slot_count = d->slot_count > 0 ? d->slot_count * 2 : SLOTS_FIRST;
    free(d->slots);
    d->slots = xcalloc(d->slot_count, sizeof(struct send_queue *));
    for (struct send_queue *l = d->queues; l != NULL; l = l->next)
        *dispatch_queues_slot_of(d, l->system->word, l->endpoint->word) = l;
}

static struct send_queue *queue_find(struct dispatch *d, int64_t system, int64_t endpoint)
{
    return d->slot_count > 0 ? *dispatch_queues_slot_of(d, system, endpoint) : NULL;
}

struct send_queue *dispatch_queue_of(struct dispatch *d, int64_t system, int64_t endpoint)
{
    struct send_queue *l = queue_find(d, system, endpoint);

    if (l != NULL)
        return l;
    l = NEW(struct send_queue);
    *l = (struct send_queue){ .system = dispatch_system(d, system),
                              .endpoint = dispatch_endpoint(d, endpoint) };
    l->fast = l->system->limiter == NULL;
    l->end = &l->first;
    l->next_of_system = l->system->queues;
    l->system->queues = l;
    l->next = d->queues;
    d->queues = l;
    if (++d->queue_count * 2 > d->slot_count)
        dispatch_queues_grow(d);
    else
        *dispatch_queues_slot_of(d, system, endpoint) = l;
    return l;
}

void dispatch_set_fast(struct dispatch *d, struct send_queue *l, bool fast)
{
    fast = fast && l->system->limiter == NULL;
    if (fast != l->fast) {
        d->waiting_fast += fast ? l->waiting : -l->waiting;
        d->made_fast += fast ? l->waiting_made : -l->waiting_made;
    }
    l->fast = fast;
}

/* ---- configuration, state of other nodes, queries ---- */

void dispatch_use(struct dispatch *d, struct plan *plan)
{
    (void)pthread_mutex_lock(&d->mutex);
    struct plan *old = d->plan;

    d->plan = plan_ref(plan);
    for (struct system_live *s = d->systems; s != NULL; s = s->next) {
        s->most = limit_of(plan, s->word);
        if (s->allotment == NULL || s->limit > s->most)
            s->limit = s->most;
        s->gone = is_gone(plan, s->word);
        s->in_doubt = dispatch_queues_doubt_of(plan, s->word);
        s->limiter = limiter_of(d, s->word);
    }
    for (struct send_queue *l = d->queues; l != NULL; l = l->next)
        dispatch_set_fast(d, l, l->fast);
    for (struct endpoint_live *e = d->endpoints; e != NULL; e = e->next)
        use_plan_of(d, e);
    (void)pthread_mutex_unlock(&d->mutex);
    plan_unref(old);
    d->calls.hungry(d->calls.arg);
}

static void learn_breaker(struct endpoint_live *e, const struct endpoint_state *stored)
{
    struct breaker *b = &e->breaker;

    if (!breaker_is_open(b) && stored->until_us > 0) {
        b->since_us = stored->since_us;
        b->until_us = stored->until_us;
        b->wait_us = stored->until_us - stored->since_us;
    }
    if (stored->kind != ENDPOINT_REJECTING || !breaker_is_open(b) || b->rejecting)
        return;
    b->rejecting = true;
    report_rejecting(e, stored->message);
}

void dispatch_learn(struct dispatch *d, const struct endpoint_state *stored)
{
    (void)pthread_mutex_lock(&d->mutex);
    struct endpoint_live *e = dispatch_endpoint(d, stored->endpoint);

    if (stored->kind != ENDPOINT_PAUSE)
        learn_breaker(e, stored);
    else if (stored->until_us > e->pause_until_us)
        e->pause_until_us = stored->until_us;
    (void)pthread_mutex_unlock(&d->mutex);
}

void dispatch_try(struct dispatch *d, int64_t endpoint)
{
    (void)pthread_mutex_lock(&d->mutex);
    struct breaker *b = &dispatch_endpoint(d, endpoint)->breaker;

    if (breaker_is_open(b))
        b->until_us = 1;
    (void)pthread_mutex_unlock(&d->mutex);
    d->calls.hungry(d->calls.arg);
}

void dispatch_sending(struct dispatch *d, int64_t system, size_t most, struct buf *to)
{
    (void)pthread_mutex_lock(&d->mutex);
    const struct leg *p = dispatch_system(d, system)->sending;

    for (; p != NULL && most > 0; p = p->after, most--) {
        buf_put(to, p->row.id);
        buf_putc(to, '\n');
    }
    (void)pthread_mutex_unlock(&d->mutex);
}

void dispatch_each_old(struct dispatch *d, int64_t before_us,
                       void (*see)(void *arg, struct leg *p, bool sending), void *arg)
{
    (void)pthread_mutex_lock(&d->mutex);
    for (const struct system_live *s = d->systems; s != NULL; s = s->next)
        for (struct leg *p = s->sending; p != NULL; p = p->after)
            if (p->flight->began_us < before_us)
                see(arg, p, true);
    for (const struct send_queue *l = d->queues; l != NULL; l = l->next)
        for (struct leg *p = l->first; p != NULL; p = p->next)
            if (p->flight->began_us < before_us)
                see(arg, p, false);
    (void)pthread_mutex_unlock(&d->mutex);
}

bool dispatch_look(struct dispatch *d, int64_t endpoint, struct endpoint_look *ret)
{
    (void)pthread_mutex_lock(&d->mutex);
    const struct endpoint_live *e = d->endpoints;

    while (e != NULL && e->word != endpoint)
        e = e->next;
    if (e != NULL)
        *ret = (struct endpoint_look){ .configured = e->plan != NULL,
                                       .open = breaker_is_open(&e->breaker),
                                       .rejecting = e->breaker.rejecting,
                                       .since_us = e->breaker.since_us,
                                       .until_us = e->breaker.until_us,
                                       .pause_until_us = e->pause_until_us,
                                       .active = e->active,
                                       .waiting = e->waiting,
                                       .lost = e->lost };
    if (e != NULL && e->breaker.rejecting)
        (void)snprintf(ret->rejecting_why, sizeof ret->rejecting_why, "%s", e->rejecting_why);
    if (e != NULL && e->plan != NULL && e->plan->broken != NULL)
        (void)snprintf(ret->broken, sizeof ret->broken, "%s", e->plan->broken);
    else if (e != NULL && breaker_is_open(&e->breaker))
        (void)snprintf(ret->broken, sizeof ret->broken, "%s", e->strange);
    (void)pthread_mutex_unlock(&d->mutex);
    return e != NULL;
}

void dispatch_held_text(struct dispatch *d, int64_t system, int64_t endpoint,
                        char text[static HELD_TEXT])
{
    static const char remedy[] = "`waybill docs retry ID --from route` sends it another way";

    (void)pthread_mutex_lock(&d->mutex);
    const struct endpoint_live *e = dispatch_endpoint(d, endpoint);

    text[0] = '\0';
    if (e->plan == NULL)
        (void)snprintf(text, HELD_TEXT, "its endpoint was removed from the configuration: %s",
                       remedy);
    else if (dispatch_system(d, system)->gone)
        (void)snprintf(text, HELD_TEXT, "its system was removed from the configuration: %s",
                       remedy);
    else if (e->plan->broken != NULL)
        (void)snprintf(text, HELD_TEXT, "%s", e->plan->broken);
    else if (e->elsewhere)
        (void)snprintf(text, HELD_TEXT, "only nodes of area %s send to it",
                       grammar_areas[e->plan->area]);
    else if (breaker_is_open(&e->breaker))
        (void)snprintf(text, HELD_TEXT, "%s", e->strange);
    (void)pthread_mutex_unlock(&d->mutex);
}

void dispatch_lost(struct dispatch *d, int64_t endpoint)
{
    (void)pthread_mutex_lock(&d->mutex);
    dispatch_endpoint(d, endpoint)->lost++;
    (void)pthread_mutex_unlock(&d->mutex);
}

void dispatch_found(struct dispatch *d, int64_t endpoint)
{
    (void)pthread_mutex_lock(&d->mutex);
    dispatch_endpoint(d, endpoint)->lost--;
    (void)pthread_mutex_unlock(&d->mutex);
    d->calls.hungry(d->calls.arg);
}

bool dispatch_is_hung(struct dispatch *d, int64_t endpoint)
{
    (void)pthread_mutex_lock(&d->mutex);
    bool hung = dispatch_endpoint(d, endpoint)->lost > 0;

    (void)pthread_mutex_unlock(&d->mutex);
    return hung;
}

int64_t dispatch_delivered(struct dispatch *d, int64_t system)
{
    (void)pthread_mutex_lock(&d->mutex);
    int64_t n = dispatch_system(d, system)->delivered;

    (void)pthread_mutex_unlock(&d->mutex);
    return n;
}

size_t dispatch_waiting_fast(struct dispatch *d)
{
    return d->made_fast;
}
