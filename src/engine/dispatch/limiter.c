/* limiter.c - the rate limiter: tokens of systems, in pieces that are reserved ahead.
 *
 * The problem.  A rate of a system holds for all nodes together, so the count lives in the store;
 * but one commit per token would be far slower than the deliveries.  And nobody may block for a
 * token: callers hold the lock of the dispatcher.
 *
 * The method.  A system has one timeline of send times in the store (core/rate.h).  This node
 * reserves a piece of it, about a quarter of a second long, in one commit, and hands out its times
 * from memory.  The next piece is reserved when half of the times are used, so that a steady load
 * never waits for a commit.  A caller that gets no token leaves the time at which to ask again
 * (`wanted`, `due_us`); the thread of the limiter sleeps until the earliest such time and calls
 * ready().
 *
 * Invariants, under the lock
 *   (1) At most one reservation of a system is under way (`reserving`); until its on_reserved()
 *       the writer owns `op`.
 *   (2) A token comes only from a piece whose reservation is committed.  Pieces of all nodes are
 *       disjoint, so no time is handed out twice, whatever the clocks show.
 *   (3) `ahead` is empty or lies behind `now` on the timeline.  It becomes `now` when nothing of
 *       `now` is left.
 *   (4) After paced_take() with `wait`, or paced_has(), was refused, `wanted` is set and due_us is
 *       not later than the next chance, or a reservation is under way whose end sets due_us.
 *   (5) limiter.reserving counts the operations that the writers own.  limiter_stop() waits until
 *       it is 0, so no completion comes after it.
 *
 * Clocks.  A piece is in the time of the store.  Each piece keeps the difference between the
 * store's clock and the monotonic clock at its reservation, so a step of the wall clock changes
 * nothing; a step of the store's clock is handled by rate_reserve().
 *
 * Crash and failure.  A piece that was reserved and not used is lost: after a crash, after a
 * commit whose outcome is unknown, or when the rule changes while the reservation is under way.
 * The system is then sent to a little less than allowed, never more.  A failed reservation is
 * repeated after AGAIN_US.
 *
 * Races.  A token may be gone, or the slots full, when ready() arrives; the receiver of the call
 * asks again and is refused again with a new time.  A call that never comes delays nothing for
 * long: the claimer asks for all systems in every round, at least once a second.
 *
 * Locks: the lock of the dispatcher is taken before this one.  So ready(), which takes the
 * dispatcher's, is called without it; reserve() is called with it and only queues.
 */
#include "engine/dispatch/limiter.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/fault.h"
#include "base/thread.h"
#include "base/wait.h"

enum {
    KEEP_NS = 100 * 1000000,   /* legs whose tokens come within this may wait in memory ... */
    KEEP_MOST = 128,           /* ... up to so many */
    SLOW_NS = 1000000000,      /* a rate with a longer interval is slow */
    AHEAD_TIMES = 8,           /* a piece of fewer times has no successor reserved ahead */
    AGAIN_US = 200 * CLOCK_MS, /* the pause after a failed reservation */
    HELD_US = CLOCK_S,         /* how long a wait is shown after it has ended */
};

/* A reserved piece, and the offset of the store's clock at its reservation. */
struct hand {
    struct rate_piece piece;
    int64_t clock_ns; /* the store's clock when the monotonic clock shows 0 */
};

struct paced {
    struct paced *next;
    struct limiter *limiter;
    int64_t system;
    struct rate_rule rule;
    struct hand now, ahead; /* in use, and reserved for later; until_ns 0: none */
    int64_t times;          /* in `now`, when it was new */
    struct rate_op op;
    bool reserving;
    int64_t not_before_us; /* a reservation before this time would be refused; monotonic */
    bool wanted;           /* ready() is to be called ... */
    int64_t due_us;        /* ... at this time; monotonic */
    int64_t held_us;       /* the latest time until which a caller had to wait; monotonic */
};

struct limiter {
    struct limiter_calls calls;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct paced *systems;
    size_t reserving;
    bool running, end;
    pthread_t thread;
};

struct limiter *limiter_new(const struct limiter_calls *calls)
{
    struct limiter *p = NEW(struct limiter);

    p->calls = *calls;
    (void)pthread_mutex_init(&p->mutex, NULL);
    (void)pthread_cond_init(&p->changed, NULL);
    return p;
}

void limiter_free(struct limiter *p)
{
    if (p == NULL)
        return;
    limiter_stop(p);
    for (struct paced *x = p->systems, *next; x != NULL; x = next) {
        next = x->next;
        free(x);
    }
    free(p);
}

static bool same_rule(const struct rate_rule *a, const struct rate_rule *b)
{
    return a->interval_ns == b->interval_ns && a->burst == b->burst;
}

struct paced *limiter_system(struct limiter *p, int64_t system, struct rate_rule rule)
{
    (void)pthread_mutex_lock(&p->mutex);
    struct paced *x = p->systems;

    while (x != NULL && x->system != system)
        x = x->next;
    if (x == NULL) {
        x = NEW(struct paced);
        *x = (struct paced){ .next = p->systems, .limiter = p, .system = system };
        p->systems = x;
    }
    if (!same_rule(&x->rule, &rule)) { /* pieces reserved under the old rule are dropped */
        x->rule = rule;
        x->now = x->ahead = (struct hand){ 0 };
        x->not_before_us = x->held_us = x->due_us = 0;
        (void)pthread_cond_broadcast(&p->changed);
    }
    (void)pthread_mutex_unlock(&p->mutex);
    return x;
}

/* ---- with the lock held ---- */

static void want(struct paced *x, int64_t due_us)
{
    if (x->wanted && x->due_us <= due_us)
        return;
    x->wanted = true;
    x->due_us = due_us;
    (void)pthread_cond_broadcast(&x->limiter->changed);
}

static void note_held(struct paced *x, int64_t until_us)
{
    if (x->held_us < until_us)
        x->held_us = until_us;
}

static void take_answer(struct paced *x, const struct rate_op *o)
{
    int64_t clock = o->now_ns - o->mono_us * 1000, now = clock_mono_us();
    struct hand got = { .piece = o->piece, .clock_ns = clock };

    if (!o->op.ok) {
        x->not_before_us = now + AGAIN_US;
    } else if (!same_rule(&o->rule, &x->rule)) {
        x->not_before_us = 0; /* reserve again under the new rule */
    } else if (!o->granted) {
        x->not_before_us = (o->wait_until_ns - clock) / 1000 + 1;
    } else if (x->now.piece.until_ns > clock + now * 1000 && x->ahead.piece.until_ns == 0 &&
               x->now.piece.until_ns <= got.piece.next_ns) {
        x->ahead = got;
    } else {
        x->now = got;
        x->times = (got.piece.until_ns - got.piece.next_ns) / x->rule.interval_ns;
    }
    if (x->wanted)
        x->due_us = now; /* call ready() now; a refusal then sets the next time */
}

static void on_reserved(struct store_op *op)
{
    struct paced *x = container_of(op, struct paced, op.op);
    struct limiter *p = x->limiter;

    (void)pthread_mutex_lock(&p->mutex);
    x->reserving = false;
    p->reserving--;
    take_answer(x, &x->op);
    (void)pthread_cond_broadcast(&p->changed);
    (void)pthread_mutex_unlock(&p->mutex);
}

/* Reserve a piece, unless a reservation is under way or would certainly be refused. */
static void limiter_reserve(struct paced *x, int64_t now_us)
{
    struct limiter *p = x->limiter;

    if (x->reserving || p->end || x->not_before_us > now_us)
        return;
    x->op = (struct rate_op){ .op = { .verb = &rate_verb, .done = on_reserved },
                              .system = x->system,
                              .rule = x->rule,
                              .last = x->now.piece };
    x->reserving = true;
    p->reserving++;
    p->calls.reserve(p->calls.arg, &x->op);
}

static int64_t clock_of(const struct hand *h, int64_t now_us)
{
    return h->clock_ns + now_us * 1000;
}

/* Reserve the next piece before this one is used up.  The store refuses pieces that lie further
 * ahead than the burst, so do not ask for those. */
static void reserve_ahead(struct paced *x, int64_t now_us)
{
    int64_t left = (x->now.piece.until_ns - x->now.piece.next_ns) / x->rule.interval_ns;
    int64_t far = x->now.piece.until_ns - clock_of(&x->now, now_us);

    if (x->ahead.piece.until_ns == 0 && x->times >= AHEAD_TIMES && left < x->times / 2 &&
        far / x->rule.interval_ns < x->rule.burst)
        limiter_reserve(x, now_us);
}

/* ---- tokens ---- */

/* Move on to the piece reserved ahead when nothing of the present one is left. */
static void shift(struct paced *x, int64_t now_us)
{
    struct rate_piece copy = x->now.piece;
    int64_t wait;

    if (x->ahead.piece.until_ns == 0 ||
        rate_take(&copy, &x->rule, clock_of(&x->now, now_us), &wait) != RATE_RESERVE)
        return;
    x->now = x->ahead;
    x->ahead = (struct hand){ 0 };
    x->times = (x->now.piece.until_ns - x->now.piece.next_ns) / x->rule.interval_ns;
}

/* There is no token now: reserve if needed, and schedule ready(). */
static void limiter_refuse(struct paced *x, enum rate_answer a, int64_t wait_ns, int64_t now_us)
{
    int64_t due = now_us + CLOCK_S; /* the end of a reservation under way moves it forward */

    if (a == RATE_WAIT) {
        due = (wait_ns - x->now.clock_ns) / 1000 + 1;
        note_held(x, due);
    } else {
        limiter_reserve(x, now_us);
        if (!x->reserving && x->not_before_us > now_us) {
            due = x->not_before_us;
            note_held(x, due);
        }
    }
    want(x, due);
}

bool paced_take(struct paced *x, bool wait)
{
    int64_t until = 0;

    (void)pthread_mutex_lock(&x->limiter->mutex);
    int64_t now = clock_mono_us();

    shift(x, now);
    enum rate_answer a = rate_take(&x->now.piece, &x->rule, clock_of(&x->now, now), &until);

    if (a == RATE_GO)
        reserve_ahead(x, now);
    else if (wait)
        limiter_refuse(x, a, until, now);
    (void)pthread_mutex_unlock(&x->limiter->mutex);
    return a == RATE_GO;
}

/* Takes from a copy of the piece, so no token is used up. */
bool paced_has(struct paced *x)
{
    int64_t until = 0;

    (void)pthread_mutex_lock(&x->limiter->mutex);
    int64_t now = clock_mono_us();

    shift(x, now);
    struct rate_piece copy = x->now.piece;
    enum rate_answer a = rate_take(&copy, &x->rule, clock_of(&x->now, now), &until);

    if (a != RATE_GO)
        limiter_refuse(x, a, until, now);
    (void)pthread_mutex_unlock(&x->limiter->mutex);
    return a == RATE_GO;
}

static int64_t interval_of(const struct paced *x)
{
    (void)pthread_mutex_lock(&x->limiter->mutex);
    int64_t t = x->rule.interval_ns;

    (void)pthread_mutex_unlock(&x->limiter->mutex);
    return t;
}

size_t paced_keep(const struct paced *x)
{
    int64_t n = KEEP_NS / interval_of(x) + 1;

    return n < KEEP_MOST ? (size_t)n : KEEP_MOST;
}

bool paced_is_slow(const struct paced *x)
{
    return interval_of(x) > SLOW_NS;
}

bool paced_is_held(struct paced *x)
{
    (void)pthread_mutex_lock(&x->limiter->mutex);
    bool held = x->held_us + HELD_US > clock_mono_us();

    (void)pthread_mutex_unlock(&x->limiter->mutex);
    return held;
}

/* ---- the thread ---- */

/* A system whose ready() is due; NULL: none, and *ret_until_us is when the next one is. */
static struct paced *find_due(struct limiter *p, int64_t now_us, int64_t *ret_until_us)
{
    *ret_until_us = now_us + INT64_C(3600) * CLOCK_S;
    for (struct paced *x = p->systems; x != NULL; x = x->next) {
        if (!x->wanted)
            continue;
        if (x->due_us <= now_us)
            return x;
        if (x->due_us < *ret_until_us)
            *ret_until_us = x->due_us;
    }
    return NULL;
}

static void *limiter_main(void *arg)
{
    struct limiter *p = arg;
    bool dead = false;

    (void)pthread_mutex_lock(&p->mutex);
    while (!p->end) {
        int64_t until_us;
        struct paced *x = find_due(p, clock_mono_us(), &until_us);

        if (x == NULL || dead) {
            (void)wait_until(&p->changed, &p->mutex, until_us);
            continue;
        }
        x->wanted = false;
        int64_t system = x->system;

        (void)pthread_mutex_unlock(&p->mutex);
        dead = fault_error(PACE_READY);
        if (!dead)
            p->calls.ready(p->calls.arg, system);
        (void)pthread_mutex_lock(&p->mutex);
    }
    (void)pthread_mutex_unlock(&p->mutex);
    return NULL;
}

void limiter_run(struct limiter *p)
{
    thread_start(&p->thread, "limiter", limiter_main, p);
    p->running = true;
}

void limiter_stop(struct limiter *p)
{
    (void)pthread_mutex_lock(&p->mutex);
    p->end = true;
    (void)pthread_cond_broadcast(&p->changed);
    while (p->reserving > 0)
        (void)pthread_cond_wait(&p->changed, &p->mutex);
    (void)pthread_mutex_unlock(&p->mutex);
    if (p->running)
        (void)pthread_join(p->thread, NULL);
    p->running = false;
}
