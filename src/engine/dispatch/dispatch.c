/* dispatch.c - offers, slots and turns: the decisions of the dispatcher.  See dispatch.h.
 *
 * The problem.  Many systems share one process, and a receiver that is dead, slow or limited by a
 * rate must not occupy the memory and the threads that the others need.  At the same time a
 * receiver that answers quickly should get its next delivery without a round trip to the store.
 *
 * The method.  Each leg is offered once.  It begins at once, or waits in the memory of its queue,
 * or is parked: it becomes a row with a task, and the claimer offers it again later.  Whoever ends
 * a leg gets from dispatch_ended() the legs that take over the free slots, so in normal operation
 * no thread of its own drives the sends.  The flag `stored` of a queue says that the store may
 * have tasks for it.  While it is set, new documents are parked behind those tasks, and the
 * claimer claims from that queue, queue by queue in turn.
 *
 * Invariants, under the lock
 *   (1) A leg is in exactly one place: in the memory of its queue (counted by `waiting`), in the
 *       list `sending` of its system with a slot (counted by `active`), or with the caller.
 *   (2) A slot is taken only while active < limit, by a leg that blocks a sender only while
 *       blocking is below a quarter of the senders, and by one to an endpoint with connections only
 *       while one of these is free.  A new plan may lower a limit below what is active; then
 *       nothing begins until enough legs have ended.
 *   (3) A leg begins only when neither the governor nor its endpoint has a reason to hold it, with
 *       a token if the system has a rate, and through a closed breaker or as its only probe.
 *   (4) A leg that needs a row (needs_row) never begins without one.  This is checked at the offer
 *       and again when a waiting leg gets its slot, because the plan may have changed meanwhile.
 *   (5) The memory of a queue is bounded by memory_of() at the offer; dispatch_shed() parks what
 *       is too much later, when the receiver has become slow or is closed.
 *   (6) waiting_fast is the sum of `waiting` over the queues that are fast, made_fast that of
 *       `waiting_made`.  The intake of this node waits for the second alone: legs claimed ahead are
 *       always there while a backlog drains, and must not keep new documents out.
 *
 * Why nothing waits for ever.  A waiting leg begins when a leg of its system ends, or one that had
 * a connection to its endpoint, or when the rate limiter reports a token.  If neither can happen,
 * because nothing of the system is being sent or the queue is closed, dispatch_shed() parks the leg
 * at the next round of the claimer.  A parked leg is found by the claimer, which also queries the
 * store once a second.
 *
 * Crash.  Everything here is memory.  The task of every leg, waiting or sending, is a claimed row
 * of the store, so a crash at any point loses slots and positions and no delivery.  Breakers and
 * pauses that matter to other nodes are stored by endpoints.c.
 *
 * Races
 *   - park() sets `stored` before the row is committed, so that later documents do not overtake
 *     it.  The claimer may clear the flag, claim nothing and come too early; the settlement sets
 *     the flag again after its commit (dispatch_note_stored).  The cost is one empty claim.
 *   - An answer of the governor is cached until its time or generation changes.  The generation
 *     is read before the question, so a change in between only causes a second question.
 *   - calls.changed() and calls.hungry() run after the lock is released, because they take other
 *     locks.  Two changes of one endpoint may be stored in the wrong order; a stale open breaker
 *     costs a wait and one probe, whose success deletes it.
 *
 * Locks: those of the governor and the rate limiter are taken under this one, never around it.
 */
#include "engine/dispatch/dispatch.h"

#include "base/alloc.h"
#include "base/chance.h"
#include "base/clock.h"
#include "base/require.h"
#include "engine/dispatch/dispatch_queues.h"
#include "engine/dispatch/govern.h"
#include "engine/dispatch/limiter.h"

enum {
    QUEUE_WAITING_MOST = 512,      /* legs that wait in memory, per queue ... */
    QUEUE_SLOW_MOST = 16,          /* ... and per queue of a slow receiver */
    QUEUE_CLAIM_MOST = 256,        /* tasks of one claim */
    AHEAD_MOST = 256,              /* tasks claimed beyond the free slots, per system ... */
    AHEAD_SLOW_MOST = 32,          /* ... and for one that is slow or has a rate ... */
    AHEAD_SLOTS = 4,               /* ... and, for a fast one, per slot ... */
    AHEAD_ALL_MOST = 512,          /* ... until so many wait in memory, of all systems */
    FAST_US = 50 * CLOCK_MS,       /* a receiver is fast if its sends take less on average ... */
    SLOW_US = 2 * FAST_US,         /* ... until they take this long ... */
    STILL_US = 200 * CLOCK_MS,     /* ... or none of them has ended for this time */
    STALLED_US = 1 * CLOCK_S,      /* after this what waits for a still one is parked */
    OVERTAKEN_US = 60 * CLOCK_S,   /* a leg that has waited longer keeps its position */
    CALM_US = 60 * CLOCK_S,        /* added to the longest time between two attempts */
    PACED_MOST_US = 600 * CLOCK_S, /* the longest wait in memory for a token */
    SENDERS_PART = 4,              /* a system gets this part of the senders */
    LOST_MOST = 16,                /* senders that may be lost in one endpoint */
};

/* ---- queues in memory, with the lock held ---- */

/* The position before the first leg of lower priority (a higher `prio`) that may be overtaken. */
static struct leg **dispatch_place_of(struct send_queue *l, const struct leg *p)
{
    struct leg **at = &l->first;

    while (*at != NULL &&
           ((*at)->row.prio <= p->row.prio || p->began_us - (*at)->began_us > OVERTAKEN_US))
        at = &(*at)->next;
    return at;
}

/* The leg joins (1) the memory of this queue or leaves it (-1). */
static void count_waiting(struct dispatch *d, struct send_queue *l, const struct leg *p, int by)
{
    int made = p->loaded ? 0 : by;

    l->waiting += (size_t)by;
    l->waiting_made += (size_t)made;
    l->system->waiting += by;
    l->endpoint->waiting += by;
    if (l->fast) {
        d->waiting_fast += (size_t)by;
        d->made_fast += (size_t)made;
    }
}

static void dispatch_push(struct dispatch *d, struct send_queue *l, struct leg *p)
{
    struct leg **at = l->end;

    p->began_us = clock_mono_us();
    if (l->waiting == 0)
        l->moved_us = p->began_us;
    else if (p->row.prio < l->last_prio)
        at = dispatch_place_of(l, p);
    p->next = *at;
    *at = p;
    if (p->next == NULL) {
        l->end = &p->next;
        l->last_prio = p->row.prio;
    }
    count_waiting(d, l, p, 1);
}

static struct leg *pop(struct dispatch *d, struct send_queue *l)
{
    struct leg *p = l->first;

    l->first = p->next;
    if (l->first == NULL)
        l->end = &l->first;
    p->next = NULL;
    count_waiting(d, l, p, -1);
    return p;
}

static void dispatch_take_slot(struct send_queue *l, struct leg *p)
{
    struct system_live *s = l->system;

    s->active++;
    l->endpoint->active++;
    p->blocking = dispatch_blocks(l->endpoint);
    s->blocking += p->blocking;
    p->before = NULL;
    p->after = s->sending;
    if (s->sending != NULL)
        s->sending->before = p;
    s->sending = p;
}

static void give_slot(struct send_queue *l, struct leg *p)
{
    l->system->active--;
    l->endpoint->active--;
    l->system->blocking -= p->blocking;
    if (p->after != NULL)
        p->after->before = p->before;
    if (p->before != NULL)
        p->before->after = p->after;
    else
        l->system->sending = p->after;
}

/* 0: no limit. */
static int64_t connections_of(const struct endpoint_live *e)
{
    return e->plan != NULL ? e->plan->connections : 0;
}

/* How many legs of this queue may begin beside those in progress; may be negative. */
static int64_t free_slots(const struct dispatch *d, const struct send_queue *l)
{
    const struct system_live *s = l->system;
    int64_t n = s->limit - s->active;

    if (d->calls.senders > 0 && dispatch_blocks(l->endpoint)) {
        int64_t senders = d->calls.senders / SENDERS_PART - s->blocking;

        n = senders < n ? senders : n;
    }
    if (connections_of(l->endpoint) > 0) {
        int64_t left = connections_of(l->endpoint) - l->endpoint->active;

        n = left < n ? left : n;
    }
    return n;
}

static void note_time(struct dispatch *d, struct send_queue *l, int64_t began_us)
{
    int64_t now = clock_mono_us();

    l->took_us += (now - began_us - l->took_us) / 8;
    l->moved_us = now;
    dispatch_set_fast(d, l, l->took_us < (l->fast ? SLOW_US : FAST_US));
}

/* The reasons to hold this system (held_reason), from the cache while it is valid. */
static unsigned system_why(struct dispatch *d, struct system_live *s)
{
    uint64_t generation = govern_generation(d->govern);
    int64_t now = clock_mono_us();

    if (now >= s->ask_us || generation != s->generation) {
        s->why = govern_why(d->govern, s->word, now, &s->ask_us);
        s->generation = generation; /* as it was before the question: see Races */
    }
    return s->why | (s->gone ? HELD_ENDPOINT : 0);
}

/* The reason of an open breaker; 0: it is closed. */
static unsigned breaker_why(const struct endpoint_live *e)
{
    if (!breaker_is_open(&e->breaker))
        return 0;
    return e->strange[0] != '\0' ? HELD_ENDPOINT : HELD_BREAKER;
}

/* The reasons to hold this endpoint, its breaker excepted. */
static unsigned endpoint_why(const struct endpoint_live *e, int64_t now_us)
{
    if (e->plan == NULL || e->plan->broken != NULL || e->elsewhere)
        return HELD_ENDPOINT;
    return (e->pause_until_us > now_us ? HELD_PAUSE : 0u) |
           (e->lost >= LOST_MOST ? HELD_THREADS : 0u);
}

/* The reasons of the system and the endpoint of a queue, the breaker excepted. */
static unsigned dispatch_closed_why(struct dispatch *d, const struct send_queue *l, int64_t now_us)
{
    return system_why(d, l->system) | endpoint_why(l->endpoint, now_us);
}

static bool is_blocked(struct dispatch *d, const struct send_queue *l, int64_t now_us)
{
    return dispatch_closed_why(d, l, now_us) != 0 || breaker_is_open(&l->endpoint->breaker);
}

bool dispatch_may_send(struct dispatch *d, const struct send_queue *l, int64_t now_us)
{
    const struct breaker *b = &l->endpoint->breaker;

    return dispatch_closed_why(d, l, now_us) == 0 &&
           (!breaker_is_open(b) || breaker_may_probe(b, now_us));
}

/* Called when a slot is free, because a token that was taken is used up. */
static bool take_token(const struct system_live *s, bool wait)
{
    return s->limiter == NULL || paced_take(s->limiter, wait);
}

/* How many legs of this queue may wait in memory. */
static size_t memory_of(const struct send_queue *l)
{
    if (l->system->limiter != NULL)
        return paced_keep(l->system->limiter);
    return l->fast ? QUEUE_WAITING_MOST : QUEUE_SLOW_MOST;
}

static unsigned rate_why(const struct system_live *s)
{
    return s->limiter != NULL && paced_is_held(s->limiter) ? HELD_RATE : 0;
}

/* ---- offers ---- */

/* Give the leg the settings of the newest plan, and a reference that lasts for the attempt. */
static void use_newest(struct dispatch *d, struct leg *p)
{
    struct plan *old = p->plan;

    p->endpoint = p->queue->endpoint->plan;
    p->in_doubt = p->queue->system->in_doubt;
    p->plan = d->plan != p->flight->plan ? plan_ref(d->plan) : NULL;
    plan_unref(old);
}

/* A send to a system that is not idempotent needs a row for its intent (doubt.c); an ordered
 * delivery needs one because the store decides when it is its turn (order.c); one whose bytes
 * are made of a record needs one because the next run could make others (keyed.h). */
static bool needs_row(const struct leg *p)
{
    return (p->in_doubt != DOUBT_RESEND || p->row.lane != 0 || p->flight->reads_records) &&
           p->row.num == 0;
}

static enum dispatch_answer park(struct send_queue *l, const struct leg *p, unsigned why,
                                 unsigned *ret_why)
{
    /* A new ordered delivery waits in its lane without a task: there is nothing to claim yet. */
    if (p->row.lane == 0 || p->row.num != 0)
        l->stored = true;
    *ret_why = why;
    return DISPATCH_PARK;
}

static enum dispatch_answer offer(struct dispatch *d, struct leg *p, unsigned *ret_why)
{
    struct send_queue *l = dispatch_queue_of(d, p->row.system, p->row.endpoint);
    int64_t now = clock_wall_us();
    bool from_store = p->row.num != 0;
    unsigned why = dispatch_closed_why(d, l, now);

    p->queue = l;
    *ret_why = 0;
    if (why != 0)
        return park(l, p, why | breaker_why(l->endpoint), ret_why);
    use_newest(d, p);
    bool room = free_slots(d, l) > 0;

    if (breaker_is_open(&l->endpoint->breaker)) {
        if (needs_row(p) || !room || !breaker_may_probe(&l->endpoint->breaker, now) ||
            !take_token(l->system, true))
            return park(l, p, breaker_why(l->endpoint) | rate_why(l->system), ret_why);
        (void)breaker_ask(&l->endpoint->breaker, now);
        p->probe = true;
        dispatch_take_slot(l, p);
        return DISPATCH_BEGIN;
    }
    if ((l->stored && !from_store) || needs_row(p))
        return park(l, p, rate_why(l->system), ret_why);
    /* A leg without a row does not wait for a slow rate: it becomes a row, whose reason for
     * waiting an operator can see. */
    bool wait = from_store || l->system->limiter == NULL || !paced_is_slow(l->system->limiter);

    if (room && l->waiting == 0 && take_token(l->system, wait)) {
        dispatch_take_slot(l, p);
        return DISPATCH_BEGIN;
    }
    if (!room)
        allotment_want(l->system);
    if (!wait || l->waiting >= memory_of(l))
        return park(l, p, wait ? rate_why(l->system) : HELD_RATE, ret_why);
    dispatch_push(d, l, p);
    return DISPATCH_WAIT;
}

enum dispatch_answer dispatch_offer(struct dispatch *d, struct leg *p, unsigned *ret_why)
{
    (void)pthread_mutex_lock(&d->mutex);
    enum dispatch_answer answer = offer(d, p, ret_why);

    (void)pthread_mutex_unlock(&d->mutex);
    return answer;
}

/* ---- ends ---- */

/* Fill the free slots of a system from its queues in turn, as far as its tokens allow. */
static void begin_more(struct dispatch *d, struct system_live *s, int64_t now_us,
                       struct dispatch_next *ret)
{
    struct leg **begin = &ret->begin, **park = &ret->park;
    struct send_queue *l = s->turn != NULL ? s->turn->next_of_system : s->queues;
    size_t idle = 0;

    while (*begin != NULL)
        begin = &(*begin)->next;
    while (*park != NULL)
        park = &(*park)->next;
    while (s->waiting > 0 && s->active < s->limit && idle <= d->queue_count) {
        if (l == NULL)
            l = s->queues;
        if (l->waiting > 0 && free_slots(d, l) > 0 && !is_blocked(d, l, now_us)) {
            struct leg *p = l->first;

            use_newest(d, p);
            idle = 0;
            if (needs_row(p)) { /* the policy of its system has changed */
                l->stored = true;
                *park = pop(d, l);
                park = &p->next;
                continue;
            }
            if (!take_token(s, true))
                return;
            (void)pop(d, l);
            dispatch_take_slot(l, p);
            *begin = p;
            begin = &p->next;
            s->turn = l;
        } else {
            idle++;
        }
        l = l->next_of_system;
    }
}

/* The leg that ended had a connection, which legs of other systems may be waiting for. */
static void begin_others(struct dispatch *d, const struct send_queue *ended, int64_t now_us,
                         struct dispatch_next *ret)
{
    const struct endpoint_live *e = ended->endpoint;

    if (connections_of(e) == 0)
        return;
    for (struct send_queue *l = d->queues; l != NULL && e->waiting > 0; l = l->next)
        if (l->endpoint == e && l->system != ended->system && l->waiting > 0)
            begin_more(d, l->system, now_us, ret);
}

/* Take out of memory the legs of this system or endpoint that may not begin, to be parked. */
static struct leg *empty_closed(struct dispatch *d, const struct system_live *s,
                                const struct endpoint_live *e, int64_t now_us)
{
    struct leg *all = NULL, **end = &all;

    for (struct send_queue *l = d->queues; l != NULL; l = l->next)
        while (l->waiting > 0 && (l->system == s || l->endpoint == e) && is_blocked(d, l, now_us)) {
            *end = pop(d, l);
            end = &(*end)->next;
            l->stored = true;
        }
    return all;
}

/* How many legs of a system may wait in memory behind those in progress, claimed ahead so that a
 * receiver does not wait for a claim.  For a fast one the next claim is made when no more than half
 * of them are left: a claim is a commit, and should bring many. */
static int64_t legs_ahead(const struct dispatch *d, const struct send_queue *l)
{
    int64_t slots = l->system->limit;

    if (!l->fast || d->waiting_fast >= AHEAD_ALL_MOST)
        return slots < AHEAD_SLOW_MOST ? slots : AHEAD_SLOW_MOST;
    return slots < AHEAD_MOST / AHEAD_SLOTS ? slots * AHEAD_SLOTS : AHEAD_MOST;
}

/* Other systems have legs in the store that a free connection may be for. */
static bool others_stored(const struct dispatch *d, const struct send_queue *ended)
{
    if (connections_of(ended->endpoint) == 0)
        return false;
    for (const struct send_queue *l = d->queues; l != NULL; l = l->next)
        if (l->endpoint == ended->endpoint && l->system != ended->system && l->stored)
            return true;
    return false;
}

static bool has_stored(const struct system_live *s)
{
    for (const struct send_queue *l = s->queues; l != NULL; l = l->next_of_system)
        if (l->stored)
            return true;
    return false;
}

/* A leg of this queue has ended: whether to wake the claimer.  It is woken once for what is claimed
 * ahead, and again after its next claim. */
static bool wants_more(const struct dispatch *d, const struct send_queue *l, bool opened)
{
    struct system_live *s = l->system;
    bool low = !s->woken && s->waiting <= legs_ahead(d, l) / 2;
    bool hungry = (s->active < s->limit || low || opened) && has_stored(s);

    s->woken = s->woken || hungry;
    return hungry;
}

/* True: the breaker changed between open and closed. */
static bool judge_breaker(struct endpoint_live *e, const struct leg *p, const struct verdict *v,
                          int64_t now_us)
{
    return breaker_judge(&e->breaker, &e->rule, v, p->probe, now_us,
                         v->kind == VERDICT_DELIVERED ? 0 : chance_u64());
}

/* A verdict of another kind that leaves the breaker open says why it is open now. */
static void note_strange(struct endpoint_live *e, const struct verdict *v)
{
    if (v->kind == VERDICT_STRANGE)
        report_set(e->strange, "", v->message[0] != '\0' ? v->message : "it is another one");
    else if (v->kind != VERDICT_FAILED)
        e->strange[0] = '\0';
}

static void note_rejecting(struct endpoint_live *e, const struct verdict *v)
{
    if (v->kind == VERDICT_REJECTED && e->breaker.rejecting)
        report_rejecting(e, str_of(v->message));
}

static void note_refusing(struct endpoint_live *e, enum refusing_change change, const char *why)
{
    if (change == REFUSING_BEGAN)
        report_set(e->refusing_why, "it answers and takes nothing: ", why);
}

static void tell_refusing(const struct dispatch *d, const struct endpoint_live *e,
                          enum refusing_change change, const char *why)
{
    if (change != REFUSING_SAME && d->calls.refusing != NULL)
        d->calls.refusing(d->calls.arg, e->word, change == REFUSING_BEGAN ? why : NULL);
}

/* The longest time between two attempts while something waits for it. */
static int64_t patience_us(const struct endpoint_live *e)
{
    return e->plan != NULL ? e->plan->retry.most_us + e->plan->timeout_us + CALM_US : 0;
}

/* Something is to be sent to it from here, now or when a hold, a window or a rate allows it. */
static bool is_awaited(const struct dispatch *d, const struct endpoint_live *e)
{
    if (e->plan == NULL || e->elsewhere)
        return false;
    if (e->active > 0 || e->waiting > 0)
        return true;
    for (const struct send_queue *l = d->queues; l != NULL; l = l->next)
        if (l->endpoint == e && l->stored)
            return true;
    return false;
}

static void calm(const struct dispatch *d, struct endpoint_live *e, int64_t now_us)
{
    int64_t since = now_us - patience_us(e);

    if (e->refusing.count == 0 || e->refusing.last_us >= since || e->pause_until_us > now_us ||
        is_awaited(d, e))
        return;
    tell_refusing(d, e, refusing_calm(&e->refusing, since), NULL);
}

void dispatch_calm(struct dispatch *d)
{
    int64_t now = clock_wall_us();

    (void)pthread_mutex_lock(&d->mutex);
    for (struct endpoint_live *e = d->endpoints; e != NULL; e = e->next) {
        calm(d, e, now);
        (void)report_note(e);
        report_tell(d, e);
    }
    (void)pthread_mutex_unlock(&d->mutex);
}

bool dispatch_ended(struct dispatch *d, struct leg *p, const struct verdict *v,
                    struct dispatch_next *ret)
{
    struct send_queue *l = p->queue;
    struct endpoint_live *e = l->endpoint;
    int64_t now = clock_wall_us();

    *ret = (struct dispatch_next){ 0 };
    (void)pthread_mutex_lock(&d->mutex);
    give_slot(l, p);
    l->system->delivered += v->kind == VERDICT_DELIVERED;
    note_time(d, l, p->began_us);
    bool changed = judge_breaker(e, p, v, now);
    bool probed = p->probe;
    enum refusing_change refusing = refusing_judge(&e->refusing, &e->rule, v, now);

    note_strange(e, v);
    note_rejecting(e, v);
    note_refusing(e, refusing, v->message);
    if (report_note(e))
        report_tell(d, e);
    if (v->retry_after_us > 0 && now + v->retry_after_us > e->pause_until_us) {
        e->pause_until_us = now + v->retry_after_us;
        changed = true;
    }
    p->probe = false;
    if ((l->system->waiting > 0 || e->waiting > 0) && is_blocked(d, l, now))
        ret->park = empty_closed(d, l->system, e, now);
    begin_more(d, l->system, now, ret);
    begin_others(d, l, now, ret);
    bool open = breaker_is_open(&e->breaker);
    bool hungry = wants_more(d, l, probed && !open) || others_stored(d, l);
    struct breaker b = e->breaker;
    int64_t pause = e->pause_until_us > now ? e->pause_until_us : 0;
    bool strange = breaker_why(e) == HELD_ENDPOINT;

    (void)pthread_mutex_unlock(&d->mutex);
    if (changed || (probed && open))
        d->calls.changed(d->calls.arg, e->word, &b, pause, v->message, strange);
    tell_refusing(d, e, refusing, v->message);
    if (hungry)
        d->calls.hungry(d->calls.arg);
    return open;
}

void dispatch_back(struct dispatch *d, struct leg *p, struct dispatch_next *ret)
{
    struct send_queue *l = p->queue;

    *ret = (struct dispatch_next){ 0 };
    (void)pthread_mutex_lock(&d->mutex);
    give_slot(l, p);
    if (p->probe)
        breaker_probe_lost(&l->endpoint->breaker);
    p->probe = false;
    begin_more(d, l->system, clock_wall_us(), ret);
    begin_others(d, l, clock_wall_us(), ret);
    (void)pthread_mutex_unlock(&d->mutex);
}

/* A fast receiver has stood still for a moment.  Nothing more is claimed for it; what waits is not
 * parked yet, because each leg would cost a commit and a claim when it goes on. */
static bool is_pausing(const struct send_queue *l, int64_t now_us)
{
    return l->system->limiter == NULL && l->took_us < FAST_US && now_us - l->moved_us < STALLED_US;
}

struct leg *dispatch_shed(struct dispatch *d)
{
    int64_t now = clock_mono_us();
    struct leg *all = NULL, **end = &all;

    (void)pthread_mutex_lock(&d->mutex);
    for (struct send_queue *l = d->queues; l != NULL; l = l->next) {
        /* The limiter reports tokens, so the legs of a limited system may stay without a send in
         * progress; not for ever, because they occupy claims. */
        bool paced = l->system->limiter != NULL && now - l->moved_us < PACED_MOST_US && !d->resting;
        size_t keep = paced ? memory_of(l) : QUEUE_SLOW_MOST;

        if (l->waiting == 0)
            continue;
        if ((l->system->active == 0 && !paced && !allotment_is_due(l->system)) ||
            is_blocked(d, l, clock_wall_us()))
            keep = 0;

        if (now - l->moved_us > STILL_US)
            dispatch_set_fast(d, l, false);
        while (l->waiting > keep && (keep == 0 || (!l->fast && !is_pausing(l, now)))) {
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
        if ((s->limiter == NULL && s->allotment == NULL) || (system != 0 && s->word != system))
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

/* ---- for the claimer ---- */

static void set_stored(struct dispatch *d, int64_t queue, bool stored)
{
    (void)pthread_mutex_lock(&d->mutex);
    for (struct send_queue *l = d->queues; l != NULL; l = l->next)
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

static size_t room_of(struct dispatch *d, const struct send_queue *l, int64_t now_us)
{
    const struct system_live *s = l->system;
    const struct endpoint_live *e = l->endpoint;
    int64_t ahead = legs_ahead(d, l);
    int64_t open = free_slots(d, l);
    int64_t room = l->fast && s->waiting > ahead / 2 ? 0 : open + ahead - s->waiting;

    int64_t memory = (int64_t)memory_of(l) - (int64_t)l->waiting;
    int64_t slots = open > 0 && s->limiter == NULL ? open : 0;

    if (room > slots + memory) /* each claimed task must find a slot or a place in memory */
        room = slots + memory;
    if (!l->stored || l->queue == 0 || room <= 0 || dispatch_closed_why(d, l, now_us) != 0)
        return 0;
    if (breaker_is_open(&e->breaker))
        return breaker_may_probe(&e->breaker, now_us) && open > 0 &&
               (s->limiter == NULL || paced_has(s->limiter));
    return room < QUEUE_CLAIM_MOST ? (size_t)room : QUEUE_CLAIM_MOST;
}

void dispatch_note_stored(struct dispatch *d, int64_t system, int64_t endpoint, int64_t queue)
{
    int64_t now = clock_wall_us();

    (void)pthread_mutex_lock(&d->mutex);
    struct send_queue *l = dispatch_queue_of(d, system, endpoint);

    l->stored = true;
    l->queue = queue;
    if (l->system->active >= l->system->limit && dispatch_may_send(d, l, now))
        allotment_want(l->system);
    /* Wake the claimer if the task may begin at once or with the next token: in these cases no
     * leg has to end first. */
    bool hungry = l->system->limiter != NULL || room_of(d, l, now) > 0;

    (void)pthread_mutex_unlock(&d->mutex);
    if (hungry)
        d->calls.hungry(d->calls.arg);
}

bool dispatch_next_queue(struct dispatch *d, struct queue_turn *ret)
{
    int64_t now = clock_wall_us();
    bool found = false;

    (void)pthread_mutex_lock(&d->mutex);
    struct send_queue *l = d->turn;

    for (size_t i = 0; i < d->queue_count && !found; i++) {
        l = l != NULL && l->next != NULL ? l->next : d->queues;
        *ret = (struct queue_turn){ .queue = l->queue, .room = room_of(d, l, now) };
        found = ret->room > 0;
    }
    if (found)
        l->system->woken = false;
    d->turn = l;
    (void)pthread_mutex_unlock(&d->mutex);
    return found;
}

unsigned dispatch_system_why(struct dispatch *d, int64_t system)
{
    (void)pthread_mutex_lock(&d->mutex);
    unsigned why = system_why(d, dispatch_system(d, system));

    (void)pthread_mutex_unlock(&d->mutex);
    return why;
}

unsigned dispatch_held_why(struct dispatch *d, int64_t system, int64_t endpoint)
{
    (void)pthread_mutex_lock(&d->mutex);
    const struct endpoint_live *e = dispatch_endpoint(d, endpoint);
    struct system_live *s = dispatch_system(d, system);
    unsigned why =
        system_why(d, s) | rate_why(s) | endpoint_why(e, clock_wall_us()) | breaker_why(e);

    (void)pthread_mutex_unlock(&d->mutex);
    return why;
}
