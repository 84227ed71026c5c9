#include "engine/dispatch.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/chance.h"
#include "base/clock.h"
#include "base/require.h"
#include "engine/govern.h"
#include "engine/pace.h"

enum {
    LANE_WAITING_MOST = 512, /* parts that wait in memory, per lane ... */
    LANE_SLOW_MOST = 16,     /* ... of a receiver that is slow */
    LANE_CLAIM_MOST = 100,   /* claimed at once from the store */
    LANE_AHEAD_MOST = 32,    /* claimed beyond the slots that are free */
    SLOTS_FIRST = 64,
    FAST_US = 50 * CLOCK_MS,       /* a receiver that answers within this is not slow ... */
    STILL_US = 200 * CLOCK_MS,     /* ... unless nothing of its lane has ended for so long */
    OVERTAKEN_US = 60 * CLOCK_S,   /* what has waited so long in memory is not overtaken */
    PACED_MOST_US = 600 * CLOCK_S, /* nothing waits longer in memory for a token */
};

struct system_live {
    struct system_live *next;
    int64_t word, limit, active, waiting, delivered;
    enum doubt_policy in_doubt;
    struct lane *lanes, *turn; /* by next_of_system; turn: who was served last */
    struct part *sending;      /* those that have slots */
    struct paced *pace;        /* its tokens; NULL: as fast as it can */
    /* What the governor said, and until when and under which generation that is good. */
    unsigned why;
    int64_t ask_us; /* monotonic */
    uint64_t generation;
};

struct endpoint_live {
    struct endpoint_live *next;
    int64_t word;
    const struct plan_endpoint *plan; /* of the newest plan; NULL: not configured any more */
    struct breaker breaker;
    int64_t pause_until_us;
    int64_t active, waiting;
};

struct lane {
    struct lane *next, *next_of_system;
    struct system_live *system;
    struct endpoint_live *endpoint;
    int64_t queue;             /* 0: nothing of it was ever stored */
    struct part *first, **end; /* by priority, then as they came */
    int64_t last_prio;         /* of the last of them */
    size_t waiting;
    int64_t took_us;  /* lately, averaged */
    int64_t moved_us; /* when the queue in memory last moved; monotonic */
    bool fast, stored;
};

struct dispatch {
    struct dispatch_calls calls;
    struct govern *govern;
    pthread_mutex_t mutex;
    struct plan *plan;
    struct system_live *systems;
    struct endpoint_live *endpoints;
    struct lane *lanes, *turn;
    struct lane **slots; /* lanes by (system, endpoint) */
    size_t slot_count, lane_count;
    bool resting; /* the node stops */
    _Atomic size_t waiting_fast;
};

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
    for (struct lane *l = d->lanes, *next; l != NULL; l = next) {
        next = l->next;
        free(l);
    }
    for (struct system_live *s = d->systems, *next; s != NULL; s = next) {
        next = s->next;
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

/* ---- who is who, with the lock held --------------------------------------------------------- */

static int64_t limit_of(const struct plan *p, int64_t system)
{
    const struct plan_system *s = p != NULL ? plan_system_find(p, system) : NULL;

    return s != NULL ? s->concurrency : 1; /* a system that is gone: its rest goes out slowly */
}

/* Nobody says any more what a system that is gone minds: nothing is sent to it twice in silence. */
static enum doubt_policy doubt_of(const struct plan *p, int64_t system)
{
    const struct plan_system *s = p != NULL ? plan_system_find(p, system) : NULL;

    return s != NULL ? s->in_doubt : DOUBT_HOLD;
}

static struct paced *pace_of(struct dispatch *d, int64_t system)
{
    const struct plan_system *s = d->plan != NULL ? plan_system_find(d->plan, system) : NULL;

    if (s == NULL || s->rate.interval_ns == 0 || d->calls.pace == NULL)
        return NULL;
    return pace_system(d->calls.pace, system, s->rate);
}

static struct system_live *system_of(struct dispatch *d, int64_t word)
{
    struct system_live *s = d->systems;

    while (s != NULL && s->word != word)
        s = s->next;
    if (s == NULL) {
        s = NEW(struct system_live);
        *s = (struct system_live){ .next = d->systems,
                                   .word = word,
                                   .limit = limit_of(d->plan, word),
                                   .in_doubt = doubt_of(d->plan, word),
                                   .pace = pace_of(d, word) };
        d->systems = s;
    }
    return s;
}

static struct endpoint_live *endpoint_of(struct dispatch *d, int64_t word)
{
    struct endpoint_live *e = d->endpoints;

    while (e != NULL && e->word != word)
        e = e->next;
    if (e == NULL) {
        e = NEW(struct endpoint_live);
        *e = (struct endpoint_live){ .next = d->endpoints,
                                     .word = word,
                                     .plan = d->plan != NULL ? plan_endpoint_find(d->plan, word)
                                                             : NULL };
        d->endpoints = e;
    }
    return e;
}

static struct lane **slot_of(struct dispatch *d, int64_t system, int64_t endpoint)
{
    uint64_t h = ((uint64_t)system * UINT64_C(0x9e3779b97f4a7c15)) ^
                 ((uint64_t)endpoint * UINT64_C(0xc2b2ae3d27d4eb4f));
    size_t i = (size_t)(h >> 20) % d->slot_count;

    while (d->slots[i] != NULL &&
           (d->slots[i]->system->word != system || d->slots[i]->endpoint->word != endpoint))
        i = (i + 1) % d->slot_count;
    return &d->slots[i];
}

static void grow(struct dispatch *d)
{
    d->slot_count = d->slot_count > 0 ? d->slot_count * 2 : SLOTS_FIRST;
    free(d->slots);
    d->slots = xcalloc(d->slot_count, sizeof(struct lane *));
    for (struct lane *l = d->lanes; l != NULL; l = l->next)
        *slot_of(d, l->system->word, l->endpoint->word) = l;
}

static struct lane *lane_find(struct dispatch *d, int64_t system, int64_t endpoint)
{
    return d->slot_count > 0 ? *slot_of(d, system, endpoint) : NULL;
}

/* Lanes are pairs that the configuration names: they are kept for ever. */
static struct lane *lane_get(struct dispatch *d, int64_t system, int64_t endpoint)
{
    struct lane *l = lane_find(d, system, endpoint);

    if (l != NULL)
        return l;
    l = NEW(struct lane);
    *l = (struct lane){ .system = system_of(d, system), .endpoint = endpoint_of(d, endpoint) };
    l->fast = l->system->pace == NULL;
    l->end = &l->first;
    l->next_of_system = l->system->lanes;
    l->system->lanes = l;
    l->next = d->lanes;
    d->lanes = l;
    if (++d->lane_count * 2 > d->slot_count)
        grow(d);
    else
        *slot_of(d, system, endpoint) = l;
    return l;
}

/* ---- queues in memory, with the lock held ------------------------------------------------------
 */

/* Before the first that has less priority. */
static struct part **place_of(struct lane *l, const struct part *p)
{
    struct part **at = &l->first;

    while (*at != NULL &&
           ((*at)->row.prio <= p->row.prio || p->began_us - (*at)->began_us > OVERTAKEN_US))
        at = &(*at)->next;
    return at;
}

static void push(struct dispatch *d, struct lane *l, struct part *p)
{
    struct part **at = l->end;

    p->began_us = clock_mono_us();
    if (l->waiting == 0)
        l->moved_us = p->began_us;
    else if (p->row.prio < l->last_prio)
        at = place_of(l, p);
    p->next = *at;
    *at = p;
    if (p->next == NULL) {
        l->end = &p->next;
        l->last_prio = p->row.prio;
    }
    l->waiting++;
    l->system->waiting++;
    l->endpoint->waiting++;
    d->waiting_fast += l->fast;
}

static struct part *pop(struct dispatch *d, struct lane *l)
{
    struct part *p = l->first;

    l->first = p->next;
    if (l->first == NULL)
        l->end = &l->first;
    p->next = NULL;
    l->waiting--;
    l->system->waiting--;
    l->endpoint->waiting--;
    d->waiting_fast -= l->fast;
    return p;
}

static void take_slot(struct lane *l, struct part *p)
{
    struct system_live *s = l->system;

    s->active++;
    l->endpoint->active++;
    p->before = NULL;
    p->after = s->sending;
    if (s->sending != NULL)
        s->sending->before = p;
    s->sending = p;
}

static void give_slot(struct lane *l, struct part *p)
{
    l->system->active--;
    l->endpoint->active--;
    if (p->after != NULL)
        p->after->before = p->before;
    if (p->before != NULL)
        p->before->after = p->after;
    else
        l->system->sending = p->after;
}

/* What waits for its token does not wait for our own work. */
static void set_fast(struct dispatch *d, struct lane *l, bool fast)
{
    fast = fast && l->system->pace == NULL;
    if (fast != l->fast)
        d->waiting_fast += fast ? l->waiting : -l->waiting;
    l->fast = fast;
}

static void note_time(struct dispatch *d, struct lane *l, int64_t took_us)
{
    l->took_us += (took_us - l->took_us) / 8;
    l->moved_us = clock_mono_us();
    set_fast(d, l, l->took_us < FAST_US);
}

/* Why nothing of this system may begin now. */
static unsigned system_why(struct dispatch *d, struct system_live *s)
{
    uint64_t generation = govern_generation(d->govern);
    int64_t now = clock_mono_us();

    if (now >= s->ask_us || generation != s->generation) {
        s->why = govern_why(d->govern, s->word, now, &s->ask_us);
        s->generation = generation; /* read before: what changed meanwhile is asked again */
    }
    return s->why;
}

/* Why nothing of this endpoint may begin now, but for its breaker. */
static unsigned endpoint_why(const struct endpoint_live *e, int64_t now_us)
{
    if (e->plan == NULL || e->plan->broken != NULL)
        return HELD_ENDPOINT;
    return e->pause_until_us > now_us ? HELD_RATE : 0;
}

/* Of both, still without the breaker. */
static unsigned closed_why(struct dispatch *d, const struct lane *l, int64_t now_us)
{
    return system_why(d, l->system) | endpoint_why(l->endpoint, now_us);
}

static bool is_blocked(struct dispatch *d, const struct lane *l, int64_t now_us)
{
    return closed_why(d, l, now_us) != 0 || breaker_is_open(&l->endpoint->breaker);
}

/* A slot is free: is there a token too?  It is used up. */
static bool take_token(const struct system_live *s, bool wait)
{
    return s->pace == NULL || paced_take(s->pace, wait);
}

/* So many parts may wait in memory. */
static size_t memory_of(const struct lane *l)
{
    if (l->system->pace != NULL)
        return paced_keep(l->system->pace);
    return l->fast ? LANE_WAITING_MOST : LANE_SLOW_MOST;
}

static unsigned rate_why(const struct system_live *s)
{
    return s->pace != NULL && paced_is_held(s->pace) ? HELD_RATE : 0;
}

/* ---- offers ---------------------------------------------------------------------------------- */

/* The settings are those of the newest plan, which lives as long as the attempt. */
static void use_newest(struct dispatch *d, struct part *p)
{
    struct plan *old = p->plan;

    p->endpoint = p->lane->endpoint->plan;
    p->in_doubt = p->lane->system->in_doubt;
    p->plan = d->plan != p->flight->plan ? plan_ref(d->plan) : NULL;
    plan_unref(old);
}

/* What may not be sent twice is sent from its row in the store, where its intent is noted; what
 * goes in order, when its lane lets it go. */
static bool needs_row(const struct part *p)
{
    return (p->in_doubt != DOUBT_RESEND || p->row.lane != 0) && p->row.num == 0;
}

static enum dispatch_answer park(struct lane *l, const struct part *p, unsigned why,
                                 unsigned *ret_why)
{
    if (p->row.lane == 0 || p->row.num != 0) /* else it waits in a lane of its own (order.c) */
        l->stored = true;                    /* what comes later does not overtake it */
    *ret_why = why;
    return DISPATCH_PARK;
}

static enum dispatch_answer offer(struct dispatch *d, struct part *p, unsigned *ret_why)
{
    struct lane *l = lane_get(d, p->row.system, p->row.endpoint);
    int64_t now = clock_wall_us();
    bool from_store = p->row.num != 0;
    unsigned why = closed_why(d, l, now);

    p->lane = l;
    *ret_why = 0;
    if (why != 0)
        return park(l, p, why | (breaker_is_open(&l->endpoint->breaker) ? HELD_BREAKER : 0),
                    ret_why);
    use_newest(d, p);
    bool room = l->system->active < l->system->limit;

    if (breaker_is_open(&l->endpoint->breaker)) {
        if (needs_row(p) || !room || !breaker_may_probe(&l->endpoint->breaker, now) ||
            !take_token(l->system, true))
            return park(l, p, HELD_BREAKER | rate_why(l->system), ret_why);
        (void)breaker_ask(&l->endpoint->breaker, now);
        p->probe = true;
        take_slot(l, p);
        return DISPATCH_BEGIN;
    }
    if ((l->stored && !from_store) || needs_row(p))
        return park(l, p, rate_why(l->system), ret_why);
    /* What has no row yet is not kept for long: people want to see why it waits. */
    bool wait = from_store || l->system->pace == NULL || !paced_is_slow(l->system->pace);

    if (room && l->waiting == 0 && take_token(l->system, wait)) {
        take_slot(l, p);
        return DISPATCH_BEGIN;
    }
    if (!wait || l->waiting >= memory_of(l))
        return park(l, p, wait ? rate_why(l->system) : HELD_RATE, ret_why);
    push(d, l, p);
    return DISPATCH_WAIT;
}

enum dispatch_answer dispatch_offer(struct dispatch *d, struct part *p, unsigned *ret_why)
{
    (void)pthread_mutex_lock(&d->mutex);
    enum dispatch_answer answer = offer(d, p, ret_why);

    (void)pthread_mutex_unlock(&d->mutex);
    return answer;
}

/* ---- ends -------------------------------------------------------------------------------------
 */

/* Fill the free slots of a system, its lanes in turn, as far as its tokens go. */
static void begin_more(struct dispatch *d, struct system_live *s, int64_t now_us,
                       struct dispatch_next *ret)
{
    struct part **begin = &ret->begin, **park = &ret->park;
    struct lane *l = s->turn != NULL ? s->turn->next_of_system : s->lanes;
    size_t idle = 0;

    while (*begin != NULL)
        begin = &(*begin)->next;
    while (*park != NULL)
        park = &(*park)->next;
    while (s->waiting > 0 && s->active < s->limit && idle <= d->lane_count) {
        if (l == NULL)
            l = s->lanes;
        if (l->waiting > 0 && !is_blocked(d, l, now_us)) {
            struct part *p = l->first;

            use_newest(d, p);
            idle = 0;
            if (needs_row(p)) { /* its system minds a second send since a moment ago */
                l->stored = true;
                *park = pop(d, l);
                park = &p->next;
                continue;
            }
            if (!take_token(s, true))
                return;
            (void)pop(d, l);
            take_slot(l, p);
            *begin = p;
            begin = &p->next;
            s->turn = l;
        } else {
            idle++;
        }
        l = l->next_of_system;
    }
}

/* What waits in memory for a system or an endpoint that is closed goes to the store. */
static struct part *empty_closed(struct dispatch *d, const struct system_live *s,
                                 const struct endpoint_live *e, int64_t now_us)
{
    struct part *all = NULL, **end = &all;

    for (struct lane *l = d->lanes; l != NULL; l = l->next)
        while (l->waiting > 0 && (l->system == s || l->endpoint == e) && is_blocked(d, l, now_us)) {
            *end = pop(d, l);
            end = &(*end)->next;
            l->stored = true;
        }
    return all;
}

static bool has_stored(const struct system_live *s)
{
    for (const struct lane *l = s->lanes; l != NULL; l = l->next_of_system)
        if (l->stored)
            return true;
    return false;
}

/* True: the breaker changed between open and closed. */
static bool judge_breaker(struct endpoint_live *e, const struct part *p, const struct verdict *v,
                          int64_t now_us)
{
    static const struct breaker_rule usual = { .failures = 5, .wait_us = INT64_C(30) * CLOCK_S };
    const struct breaker_rule *rule = e->plan != NULL ? &e->plan->breaker : &usual;

    return breaker_judge(&e->breaker, rule, v, p->probe, now_us, chance_u64());
}

bool dispatch_ended(struct dispatch *d, struct part *p, const struct verdict *v,
                    struct dispatch_next *ret)
{
    struct lane *l = p->lane;
    struct endpoint_live *e = l->endpoint;
    int64_t now = clock_wall_us();

    *ret = (struct dispatch_next){ 0 };
    (void)pthread_mutex_lock(&d->mutex);
    give_slot(l, p);
    l->system->delivered += v->kind == VERDICT_DELIVERED;
    note_time(d, l, clock_mono_us() - p->began_us);
    bool changed = judge_breaker(e, p, v, now);
    bool probed = p->probe;

    if (v->retry_after_us > 0 && now + v->retry_after_us > e->pause_until_us) {
        e->pause_until_us = now + v->retry_after_us;
        changed = true;
    }
    p->probe = false;
    if ((l->system->waiting > 0 || e->waiting > 0) && is_blocked(d, l, now))
        ret->park = empty_closed(d, l->system, e, now);
    begin_more(d, l->system, now, ret);
    bool open = breaker_is_open(&e->breaker);
    bool hungry =
        (l->system->active < l->system->limit || (probed && !open)) && has_stored(l->system);
    struct breaker b = e->breaker;
    int64_t pause = e->pause_until_us > now ? e->pause_until_us : 0;

    (void)pthread_mutex_unlock(&d->mutex);
    if (changed || (probed && open))
        d->calls.changed(d->calls.arg, e->word, &b, pause, v->message);
    if (hungry)
        d->calls.hungry(d->calls.arg);
    return open;
}

void dispatch_back(struct dispatch *d, struct part *p, struct dispatch_next *ret)
{
    struct lane *l = p->lane;

    *ret = (struct dispatch_next){ 0 };
    (void)pthread_mutex_lock(&d->mutex);
    give_slot(l, p);
    if (p->probe)
        breaker_probe_lost(&l->endpoint->breaker);
    p->probe = false;
    begin_more(d, l->system, clock_wall_us(), ret);
    (void)pthread_mutex_unlock(&d->mutex);
}

/* A receiver that has become slow keeps only a few in memory, one that is closed (by a hold, by
 * a new configuration, or by what another node knows) none; nor does a system of which nothing is
 * being sent, for no end of anything would let them begin. */
struct part *dispatch_shed(struct dispatch *d)
{
    int64_t now = clock_mono_us();
    struct part *all = NULL, **end = &all;

    (void)pthread_mutex_lock(&d->mutex);
    for (struct lane *l = d->lanes; l != NULL; l = l->next) {
        /* Its tokens let them begin; but a claim does not last for ever. */
        bool paced = l->system->pace != NULL && now - l->moved_us < PACED_MOST_US && !d->resting;
        size_t keep = paced ? memory_of(l) : LANE_SLOW_MOST;

        if (l->waiting == 0)
            continue;
        if ((l->system->active == 0 && !paced) || is_blocked(d, l, clock_wall_us()))
            keep = 0;

        if (now - l->moved_us > STILL_US)
            set_fast(d, l, false);
        while (l->waiting > keep && (!l->fast || keep == 0)) {
            *end = pop(d, l);
            end = &(*end)->next;
            l->stored = true;
        }
    }
    (void)pthread_mutex_unlock(&d->mutex);
    return all;
}

void dispatch_due(struct dispatch *d, int64_t system, struct dispatch_next *ret)
{
    int64_t now = clock_wall_us();
    bool hungry = false;

    *ret = (struct dispatch_next){ 0 };
    (void)pthread_mutex_lock(&d->mutex);
    for (struct system_live *s = d->systems; s != NULL; s = s->next) {
        if (s->pace == NULL || (system != 0 && s->word != system))
            continue;
        begin_more(d, s, now, ret);
        hungry = hungry || (s->active < s->limit && has_stored(s));
    }
    (void)pthread_mutex_unlock(&d->mutex);
    if (hungry && system != 0)
        d->calls.hungry(d->calls.arg);
}

void dispatch_rest(struct dispatch *d)
{
    (void)pthread_mutex_lock(&d->mutex);
    d->resting = true;
    (void)pthread_mutex_unlock(&d->mutex);
}

/* ---- the feeder ---------------------------------------------------------------------------------
 */

static void set_stored(struct dispatch *d, int64_t queue, bool stored)
{
    (void)pthread_mutex_lock(&d->mutex);
    for (struct lane *l = d->lanes; l != NULL; l = l->next)
        if (l->queue == queue)
            l->stored = stored;
    (void)pthread_mutex_unlock(&d->mutex);
}

void dispatch_note_queue(struct dispatch *d, int64_t queue)
{
    set_stored(d, queue, true);
}

void dispatch_note_empty(struct dispatch *d, int64_t queue)
{
    set_stored(d, queue, false);
}

static size_t room_of(struct dispatch *d, const struct lane *l, int64_t now_us)
{
    const struct system_live *s = l->system;
    const struct endpoint_live *e = l->endpoint;
    int64_t ahead = s->limit < LANE_AHEAD_MOST ? s->limit : LANE_AHEAD_MOST;
    int64_t room = s->limit + ahead - s->active - s->waiting;

    int64_t memory = (int64_t)memory_of(l) - (int64_t)l->waiting;
    int64_t slots = s->limit > s->active && s->pace == NULL ? s->limit - s->active : 0;

    if (room > slots + memory) /* what is claimed must find a place */
        room = slots + memory;
    if (!l->stored || l->queue == 0 || room <= 0 || closed_why(d, l, now_us) != 0)
        return 0;
    if (breaker_is_open(&e->breaker))
        return breaker_may_probe(&e->breaker, now_us) && s->active < s->limit &&
               (s->pace == NULL || paced_has(s->pace));
    return room < LANE_CLAIM_MOST ? (size_t)room : LANE_CLAIM_MOST;
}

void dispatch_note_stored(struct dispatch *d, int64_t system, int64_t endpoint, int64_t queue)
{
    int64_t now = clock_wall_us();

    (void)pthread_mutex_lock(&d->mutex);
    struct lane *l = lane_get(d, system, endpoint);

    l->stored = true;
    l->queue = queue;
    /* It may begin at once, or when a token comes: no end of anything would say so. */
    bool hungry = l->system->pace != NULL || room_of(d, l, now) > 0;

    (void)pthread_mutex_unlock(&d->mutex);
    if (hungry)
        d->calls.hungry(d->calls.arg);
}

bool dispatch_next_lane(struct dispatch *d, struct lane_turn *ret)
{
    int64_t now = clock_wall_us();
    bool found = false;

    (void)pthread_mutex_lock(&d->mutex);
    struct lane *l = d->turn;

    for (size_t i = 0; i < d->lane_count && !found; i++) {
        l = l != NULL && l->next != NULL ? l->next : d->lanes;
        *ret = (struct lane_turn){ .queue = l->queue, .room = room_of(d, l, now) };
        found = ret->room > 0;
    }
    d->turn = l;
    (void)pthread_mutex_unlock(&d->mutex);
    return found;
}

/* ---- configuration, and what others know
 * ---------------------------------------------------------- */

void dispatch_use(struct dispatch *d, struct plan *plan)
{
    (void)pthread_mutex_lock(&d->mutex);
    struct plan *old = d->plan;

    d->plan = plan_ref(plan);
    for (struct system_live *s = d->systems; s != NULL; s = s->next) {
        s->limit = limit_of(plan, s->word);
        s->in_doubt = doubt_of(plan, s->word);
        s->pace = pace_of(d, s->word);
    }
    for (struct lane *l = d->lanes; l != NULL; l = l->next)
        set_fast(d, l, l->fast);
    for (struct endpoint_live *e = d->endpoints; e != NULL; e = e->next)
        e->plan = plan_endpoint_find(plan, e->word);
    (void)pthread_mutex_unlock(&d->mutex);
    plan_unref(old);
    d->calls.hungry(d->calls.arg);
}

void dispatch_learn(struct dispatch *d, int64_t endpoint, bool breaker, int64_t since_us,
                    int64_t until_us)
{
    (void)pthread_mutex_lock(&d->mutex);
    struct endpoint_live *e = endpoint_of(d, endpoint);

    if (!breaker) {
        if (until_us > e->pause_until_us)
            e->pause_until_us = until_us;
    } else if (!breaker_is_open(&e->breaker) && until_us > 0) {
        e->breaker.since_us = since_us;
        e->breaker.until_us = until_us;
        e->breaker.wait_us = until_us - since_us;
    }
    (void)pthread_mutex_unlock(&d->mutex);
}

unsigned dispatch_held_why(struct dispatch *d, int64_t system, int64_t endpoint)
{
    (void)pthread_mutex_lock(&d->mutex);
    const struct endpoint_live *e = endpoint_of(d, endpoint);
    struct system_live *s = system_of(d, system);
    unsigned why = system_why(d, s) | rate_why(s) | endpoint_why(e, clock_wall_us());

    if (breaker_is_open(&e->breaker))
        why |= HELD_BREAKER;
    (void)pthread_mutex_unlock(&d->mutex);
    return why;
}

void dispatch_sending(struct dispatch *d, int64_t system, size_t most, struct buf *to)
{
    (void)pthread_mutex_lock(&d->mutex);
    const struct part *p = system_of(d, system)->sending;

    for (; p != NULL && most > 0; p = p->after, most--) {
        buf_put(to, p->row.id);
        buf_putc(to, '\n');
    }
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
                                       .since_us = e->breaker.since_us,
                                       .until_us = e->breaker.until_us,
                                       .pause_until_us = e->pause_until_us,
                                       .active = e->active,
                                       .waiting = e->waiting };
    if (e != NULL && e->plan != NULL && e->plan->broken != NULL)
        (void)snprintf(ret->broken, sizeof ret->broken, "%s", e->plan->broken);
    (void)pthread_mutex_unlock(&d->mutex);
    return e != NULL;
}

int64_t dispatch_delivered(struct dispatch *d, int64_t system)
{
    (void)pthread_mutex_lock(&d->mutex);
    int64_t n = system_of(d, system)->delivered;

    (void)pthread_mutex_unlock(&d->mutex);
    return n;
}

size_t dispatch_waiting_fast(struct dispatch *d)
{
    return d->waiting_fast;
}
