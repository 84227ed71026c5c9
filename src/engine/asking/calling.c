#include "engine/asking/calling.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/chance.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/fault.h"
#include "base/log.h"
#include "core/rate.h"
#include "core/service_call.h"
#include "engine/flight/flight.h"

enum {
    WAITING_MOST = 256,       /* for one of them, if it is fast ... */
    WAITING_FIRST = 64,       /* ... if nobody knows yet ... */
    WAITING_LEAST = 4,        /* ... and if it is slow */
    WAITING_US = 5 * CLOCK_S, /* of work that may wait for one service */
    CALLEES_MOST = 256,       /* that are remembered while nobody asks them */
    SMOOTH = 8,               /* a new time counts for so much of the estimate */
    TURN_LEAST_US = 1 * CLOCK_S,
    TURN_MOST_S = 900,
    RATE_LEAST_US = 50 * CLOCK_MS,
    CALM_S = 300 /* documents that wait for an open breaker come back long before */
};

/* One service.  Only `service` is read without the lock. */
struct callee {
    struct callee *next;
    struct str service; /* its own */
    int64_t version;    /* the newest configuration that asks: it decides about the breaker */
    struct breaker breaker;
    struct rate rate;
    int64_t pause_until_us; /* it asked for that */
    size_t active;          /* flights that ask it */
    size_t waiting;         /* flights that wait for a slot, a chain: */
    struct flight *first, **end;
    int64_t each_us;      /* what an answer takes; 0: not known yet */
    int64_t sent_back_us; /* monotonic: the turn of who was sent away last */
    char why[CALLEE_WHY]; /* what opened the breaker */
};

struct calling {
    struct calling_options options;
    pthread_mutex_t mutex; /* guards what follows, and what is in the callees */
    struct callee *callees;
    size_t callee_count;
    size_t count; /* flights that ask or wait */
    bool closed;
};

struct calling *calling_new(const struct calling_options *options)
{
    struct calling *c = NEW(struct calling);

    *c = (struct calling){ .options = *options };
    (void)pthread_mutex_init(&c->mutex, NULL);
    return c;
}

static void callee_free(struct callee *e)
{
    free((void *)(uintptr_t)e->service.ptr);
    free(e);
}

void calling_free(struct calling *c)
{
    if (c == NULL)
        return;
    for (struct callee *e = c->callees, *next; e != NULL; e = next) {
        next = e->next;
        callee_free(e);
    }
    (void)pthread_mutex_destroy(&c->mutex);
    free(c);
}

static const struct plan_step *step_asking(const struct flight *f)
{
    return &f->route->steps[f->walk.step];
}

static const struct service_call *call_of(const struct flight *f)
{
    const struct plan_step *s = step_asking(f);

    return s->service->http->call(s->self);
}

/* ---- services; with the lock held ---- */

/* Those that nobody asks now.  What is forgotten of one is learned again. */
static void forget_callees(struct calling *c)
{
    for (struct callee **at = &c->callees, *e; (e = *at) != NULL;) {
        if (e->active > 0 || e->waiting > 0 || breaker_is_open(&e->breaker)) {
            at = &e->next;
            continue;
        }
        *at = e->next;
        callee_free(e);
        c->callee_count--;
    }
}

static struct callee *callee_of(struct calling *c, struct str service)
{
    for (struct callee *e = c->callees; e != NULL; e = e->next)
        if (str_eq(e->service, service))
            return e;
    if (c->callee_count >= CALLEES_MOST)
        forget_callees(c);
    struct callee *e = NEW(struct callee);

    *e = (struct callee){ .next = c->callees, .service = { xstrndup(service), service.len } };
    e->end = &e->first;
    c->callees = e;
    c->callee_count++;
    return e;
}

static void callee_add(struct callee *e, struct flight *f)
{
    f->next = NULL;
    *e->end = f;
    e->end = &f->next;
    e->waiting++;
}

static struct flight *callee_take(struct callee *e)
{
    struct flight *f = e->first;

    e->first = f->next;
    if (e->first == NULL)
        e->end = &e->first;
    e->waiting--;
    f->next = NULL;
    return f;
}

static void learn_each(struct callee *e, int64_t took_us)
{
    e->each_us = e->each_us == 0 ? took_us + 1 : e->each_us + (took_us - e->each_us) / SMOOTH;
}

/* How many may wait for a slot. */
static size_t room_of_callee(const struct callee *e, const struct service_call *call)
{
    if (e->each_us <= 0)
        return WAITING_FIRST;
    int64_t most = WAITING_US * call->concurrency / e->each_us;

    return most > WAITING_MOST ? WAITING_MOST : most < WAITING_LEAST ? WAITING_LEAST : (size_t)most;
}

/* ---- who is asked now; with the lock held ---- */

static bool go_away(struct calling_away *ret, int64_t wait_us, bool failing, const char *why)
{
    *ret = (struct calling_away){ .wait_us = wait_us, .failing = failing };
    (void)snprintf(ret->why, sizeof ret->why, "%s", why);
    return false;
}

/* A turn behind those that were sent away before, so that they come back one after the other. */
static bool go_away_for_a_turn(struct callee *e, int64_t from_us, int64_t each_us, int64_t least_us,
                               struct calling_away *ret)
{
    int64_t now = clock_mono_us(), most = (int64_t)TURN_MOST_S * CLOCK_S;
    int64_t turn = e->sent_back_us > from_us ? e->sent_back_us : from_us;

    if (turn < now + most)
        turn += each_us;
    e->sent_back_us = turn;
    return go_away(ret, turn - now < least_us ? least_us : turn - now, false,
                   "waits for its turn to ask the service");
}

/* False: the service is left alone. */
static bool may_be_asked(struct callee *e, int64_t now_us, struct calling_away *ret)
{
    if (e->pause_until_us > now_us)
        return go_away(ret, e->pause_until_us - now_us, true, "the service asked for a pause");
    if (!breaker_is_open(&e->breaker) || breaker_may_probe(&e->breaker, now_us))
        return true;
    int64_t wait = e->breaker.until_us - now_us;

    return go_away(ret, (wait > 0 ? wait : 0) + TURN_LEAST_US, true,
                   e->breaker.rejecting ? "the service rejects everything: its breaker is open"
                                        : "the service does not answer: its breaker is open");
}

/* A new version may have what the older ones lacked, such as the right password: it is not held
 * back by their failures, and these do not count any more. */
static void meet_version(struct callee *e, int64_t version)
{
    if (version <= e->version)
        return;
    e->version = version;
    e->breaker = (struct breaker){ 0 };
}

/* Those that were sent away come before those that come for the first time. */
static bool is_overtaking(const struct callee *e, const struct flight *f)
{
    return e->sent_back_us > clock_mono_us() && f->settle.task.rank <= f->received_us;
}

static bool has_rate(struct callee *e, const struct service_call *call, const struct flight *f,
                     struct calling_away *ret)
{
    int64_t wait_us = 0, now = clock_mono_us();
    const struct units_rate *r = &call->rate;

    if (r->count == 0)
        return true;
    if (!is_overtaking(e, f) &&
        rate_pass(&e->rate, r->count, r->per_us, call->burst, now, &wait_us))
        return true;
    return go_away_for_a_turn(e, now + wait_us, r->per_us / (int64_t)r->count, RATE_LEAST_US, ret);
}

/* It has a slot from here on. */
static void take_callee(struct callee *e, struct flight *f)
{
    f->called->callee = e;
    f->called->probe = breaker_ask(&e->breaker, clock_wall_us()) == BREAKER_PROBE;
    e->active++;
}

static bool has_slot(const struct callee *e, const struct service_call *call)
{
    return e->active < (size_t)call->concurrency;
}

enum calling_now { CALLING_BEGIN, CALLING_WAIT, CALLING_AWAY };

static enum calling_now calling_offer(struct calling *c, struct flight *f, struct calling_away *ret)
{
    const struct service_call *call = call_of(f);
    struct callee *e = callee_of(c, call->service);

    if (c->closed) {
        (void)go_away(ret, 0, false, "the node stops");
        return CALLING_AWAY;
    }
    meet_version(e, f->plan->version);
    if (!may_be_asked(e, clock_wall_us(), ret))
        return CALLING_AWAY;
    bool slot = e->waiting == 0 && has_slot(e, call);

    if (c->count >= c->options.most || (!slot && e->waiting >= room_of_callee(e, call))) {
        int64_t each = e->each_us / call->concurrency + 1;

        (void)go_away_for_a_turn(e, clock_mono_us() + (int64_t)e->waiting * each, each,
                                 TURN_LEAST_US, ret);
        return CALLING_AWAY;
    }
    if (slot && !has_rate(e, call, f, ret))
        return CALLING_AWAY;
    c->count++;
    if (slot)
        take_callee(e, f);
    else
        callee_add(e, f);
    return slot ? CALLING_BEGIN : CALLING_WAIT;
}

/* Those whose turn it is, and those that are sent away: two chains. */
struct calling_next {
    struct flight *begin, *away;
};

static void calling_chain(struct flight **chain, struct flight *f)
{
    f->next = *chain;
    *chain = f;
}

static struct calling_next calling_more(struct calling *c, struct callee *e)
{
    struct calling_next next = { 0 };

    while (e->first != NULL && has_slot(e, call_of(e->first))) {
        struct flight *f = callee_take(e);
        struct calling_away *away = &f->called->away;

        if (may_be_asked(e, clock_wall_us(), away) && has_rate(e, call_of(f), f, away)) {
            take_callee(e, f);
            calling_chain(&next.begin, f);
        } else {
            f->called->is_away = true;
            c->count--;
            calling_chain(&next.away, f);
        }
    }
    return next;
}

/* ---- answers ---- */

static void calling_on_answer(struct transfer *t);

/* False: the transfer thread accepts nothing more, and its slot is free again. */
static bool calling_begin(struct calling *c, struct flight *f)
{
    struct called *d = f->called;

    d->calling = c;
    d->transfer.done = calling_on_answer;
    d->verdict = (struct verdict){ 0 };
    f->may_block = true; /* the pool puts the answer */
    fault_point(CALL_BEGIN);
    if (c->options.send(c->options.arg, &d->transfer))
        return true;
    (void)pthread_mutex_lock(&c->mutex);
    if (d->probe)
        breaker_probe_lost(&d->callee->breaker);
    d->callee->active--;
    c->count--;
    (void)pthread_mutex_unlock(&c->mutex);
    return false;
}

static void calling_follow(struct calling *c, struct calling_next next)
{
    for (struct flight *f = next.begin, *after; f != NULL; f = after) {
        after = f->next;
        f->next = NULL;
        if (!calling_begin(c, f))
            c->options.put_back(c->options.arg, f);
    }
    for (struct flight *f = next.away, *after; f != NULL; f = after) {
        after = f->next;
        f->next = NULL;
        c->options.go_on(f);
    }
}

/* The breaker learns nothing from failures on this side. */
static const struct verdict *verdict_for_breaker(const struct calling *c, const struct called *d)
{
    static const struct verdict ours = { .kind = VERDICT_FAILED };
    bool silent = d->verdict.status == 0 && d->verdict.kind != VERDICT_DELIVERED &&
                  (c->closed || !c->options.may_act(c->options.arg));

    return d->read_err.kind != ERR_NONE || d->io.err.kind != ERR_NONE || silent ? &ours
                                                                                : &d->verdict;
}

static void log_callee(const struct flight *f, const struct called *d, bool open)
{
    log_event(open ? LOG_WARN : LOG_INFO, "call.breaker", kv_str("route", f->route->name),
              kv_str("step", step_asking(f)->name), kv_z("is", open ? "open" : "closed"),
              kv_z("why", d->verdict.message));
}

/* Frees the slot.  *ret_put_back: the node stops, and there is no answer to go on with. */
static struct calling_next calling_ended(struct calling *c, struct flight *f, bool *ret_put_back)
{
    struct called *d = f->called;
    struct callee *e = d->callee;
    int64_t now = clock_wall_us();

    (void)pthread_mutex_lock(&c->mutex);
    bool changed = f->plan->version == e->version &&
                   breaker_judge(&e->breaker, &call_of(f)->breaker, verdict_for_breaker(c, d),
                                 d->probe, now, chance_u64());
    bool open = breaker_is_open(&e->breaker);

    if (changed && open)
        (void)snprintf(e->why, sizeof e->why, "%.*s", CALLEE_WHY - 1, d->verdict.message);
    e->active--;
    c->count--;
    learn_each(e, d->transfer.took_us);
    if (d->verdict.retry_after_us > 0 && now + d->verdict.retry_after_us > e->pause_until_us)
        e->pause_until_us = now + d->verdict.retry_after_us;
    *ret_put_back = c->closed && d->verdict.status == 0;
    struct calling_next next = calling_more(c, e);

    (void)pthread_mutex_unlock(&c->mutex);
    if (changed)
        log_callee(f, d, open);
    return next;
}

/* A large answer is there already: the sink has put it. */
static void take_small_answer(struct called *d)
{
    const struct http_out_answer *a = &d->transfer.answer;
    struct flight *f = d->io.flight;

    d->too_large = a->is_too_large;
    if (step_asking(f)->answer != NULL)
        d->ctype = arena_copy(&f->arena, str_first(a->ctype, TIMELINE_NAME_MOST));
    if (d->verdict.kind == VERDICT_DELIVERED && !a->is_drained)
        (void)d->io.io.put(&d->io.io, a->body, &d->failure);
}

/* On the transfer thread. */
static void calling_on_answer(struct transfer *t)
{
    struct called *d = container_of(t, struct called, transfer);
    struct flight *f = d->io.flight;
    struct calling *c = d->calling;
    bool put_back;

    fault_point(CALL_ANSWERED);
    c->options.judge(f, &t->answer);
    take_small_answer(d);
    struct calling_next next = calling_ended(c, f, &put_back);

    if (put_back)
        c->options.put_back(c->options.arg, f);
    else
        c->options.go_on(f);
    calling_follow(c, next);
}

/* ---- for the road ---- */

bool calling_put(struct calling *c, struct flight *f, struct calling_away *ret)
{
    (void)pthread_mutex_lock(&c->mutex);
    enum calling_now now = calling_offer(c, f, ret);

    (void)pthread_mutex_unlock(&c->mutex);
    if (now != CALLING_BEGIN)
        return now == CALLING_WAIT;
    return calling_begin(c, f) || go_away(ret, 0, false, "the node stops");
}

struct callee_look calling_look(struct calling *c, struct str service)
{
    int64_t calm = clock_wall_us() - CALM_S * (int64_t)CLOCK_S;
    struct callee_look look = { 0 };

    (void)pthread_mutex_lock(&c->mutex);
    const struct callee *e = c->callees;

    while (e != NULL && !str_eq(e->service, service))
        e = e->next;
    if (e != NULL && breaker_is_open(&e->breaker) &&
        (e->active > 0 || e->breaker.until_us > calm)) {
        look = (struct callee_look){ .open = true, .rejecting = e->breaker.rejecting };
        (void)snprintf(look.why, sizeof look.why, "%s", e->why);
    }
    (void)pthread_mutex_unlock(&c->mutex);
    return look;
}

struct flight *calling_close(struct calling *c)
{
    struct flight *all = NULL;

    (void)pthread_mutex_lock(&c->mutex);
    c->closed = true;
    for (struct callee *e = c->callees; e != NULL; e = e->next)
        while (e->first != NULL) {
            calling_chain(&all, callee_take(e));
            c->count--;
        }
    (void)pthread_mutex_unlock(&c->mutex);
    return all;
}
