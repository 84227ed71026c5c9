/* claimer.c - the thread that claims due tasks from the store and loads them.
 *
 * The problem.  Work appears in the store from many sides: a document found no room at birth, a
 * delivery was parked, a retry becomes due, a hold ends, a token comes, another node stored or
 * died.  No work may be missed, idle systems should cost almost no queries, and a long queue of one
 * receiver must not delay the others.
 *
 * The method.  Other threads leave hints (`backlog`, `stored` of a queue, next_due_us, the list
 * `unsettled`) and wake the claimer with road_wake().  A round settles what could not be settled,
 * moves due tasks from `later` to `ready`, then claims one batch from one queue of deliveries and
 * one batch of new documents, until a round finds nothing.  The dispatcher names the queue, in
 * turn, and how many tasks it has room for.
 *
 * Invariants
 *   (1) Hints make the claimer fast, not correct.  It never sleeps longer than SLEEP_MOST_US, and
 *       every LOOK_US it queries the store itself for the queues that have work and for due tasks.
 *       So a lost hint, or work stored by another node, costs at most a second or two.
 *   (2) A hint is cleared before the query that uses it.  Work that is committed after the query
 *       sets the hint again; work committed before it is found.  After a full batch or a failed
 *       claim the claimer sets the hint itself.
 *   (3) Every claimed task becomes a flight, which counts in road.flights from the claim to
 *       road_gone().  A task that cannot be loaded is given back or finished (load.c).
 *   (4) A claim never asks for more than the free flights.  Births take flights at the same time,
 *       so FLIGHTS_MOST may be exceeded by one claim.  The limit of bytes is checked before a claim
 *       whose sizes are not known yet, so it may be exceeded by one claim as well.
 *   (5) The outcome of a delivery that was sent is never dropped.  A settlement that fails is
 *       repeated every UNSETTLED_US, also while the node stops.  Only one that fails permanently
 *       many times is given up: its claim goes back, and the task runs again.
 *
 * Crash.  A claim does not outlive its node.  On SQLite it is a mark in memory, on PostgreSQL a
 * lease that is taken over; after a crash every claimed task is claimed again.  An outcome
 * in `unsettled` is lost with the process; then the rules for sends of unknown outcome apply
 * (doubt.c).
 *
 * Races.  Two nodes may claim from one queue; the store gives each task to one of them.  A queue
 * may close, or its slots fill, between dispatch_next_queue() and the offer of the loaded leg.  The
 * leg is then parked again, which costs a commit.
 */
#include "engine/run/claimer.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/wait.h"
#include "engine/dispatch/dispatch.h"
#include "engine/road/order.h"
#include "engine/road/redrive.h"
#include "engine/road/state.h"
#include "engine/run/load.h"
#include "engine/run/send.h"
#include "engine/run/settling.h"
#include "engine/run/slow.h"
#include "engine/threads/lines.h"
#include "store/govern/allot.h"
#include "store/road/accept.h"
#include "store/store.h"

enum {
    CLAIM_MOST = LOAD_MOST,
    WAKE_MOST = 500,
    QUEUES_MOST = 256,
    SLEEP_MOST_US = 1 * CLOCK_S,
    LOOK_US = 1 * CLOCK_S, /* how often the store itself is queried for queues with work */
    UNSETTLED_US = 200 * CLOCK_MS,
};

/* A settlement that fails permanently even alone in its group will not succeed: give the claim
 * back, and let the task run again. */
static void claimer_give_up(struct flight *f)
{
    log_event(LOG_ERROR, "document.giveup", kv_z("document", f->id),
              kv_z("why", f->settle.op.err.text), kv_z("where", f->settle.op.err.where));
    load_give_back(f);
}

static void submit_again(struct flight *f)
{
    struct store_op *op = settling_op(f);

    writers_submit_always(store_writers(f->road->store), op, op, 1);
}

static void settle_again(struct road *r, struct outbox *out)
{
    enum { TRIES_MOST = 25 };

    (void)pthread_mutex_lock(&r->claimer_mutex);
    struct flight *f = r->unsettled.first;

    r->unsettled = (struct flights){ .end = &r->unsettled.first };
    (void)pthread_mutex_unlock(&r->claimer_mutex);
    for (struct flight *next; f != NULL; f = next) {
        next = f->next;
        if (f->unloaded)
            load_claimed(f, out);
        else if (f->give_back)
            load_give_back(f);
        else if (f->settle.op.err.kind == ERR_PERMANENT && f->tries > TRIES_MOST)
            claimer_give_up(f);
        else if (f->unfilled)
            settle_flight(f, out);
        else
            submit_again(f);
    }
}

/* ---- claiming ---- */

static size_t room(struct road *r)
{
    int64_t left = FLIGHTS_MOST - atomic_load(&r->flights);

    if (left <= 0 || atomic_load(&r->bytes) >= r->options.bytes_most)
        return 0;
    return left < CLAIM_MOST ? (size_t)left : CLAIM_MOST;
}

static size_t claim(struct road *r, int64_t queue, size_t most, struct task *tasks)
{
    struct err err = { 0 };
    size_t count = 0;

    if (!task_claim(r->store, queue, most, task_lease_us(), tasks, &count, &err)) {
        if (!r->claim_failing)
            log_event(LOG_WARN, "task.claim", kv_z("why", err.text));
        r->claim_failing = true;
        return 0;
    }
    r->claim_failing = false;
    atomic_fetch_add(&r->flights, (int64_t)count);
    return count;
}

/* Claim documents that have not been walked. */
static bool claimer_documents(struct road *r, struct outbox *out)
{
    struct task tasks[CLAIM_MOST];
    size_t most = room(r);

    if (!atomic_load(&r->backlog) || atomic_load(&r->idle) || atomic_load(&r->draining) ||
        most == 0)
        return false;
    atomic_store(&r->backlog, false); /* before the claim: invariant (2) */
    size_t count = claim(r, QUEUE_INTAKE, most, tasks);

    if (count == most || r->claim_failing)
        atomic_store(&r->backlog, true);
    struct flight *first = load_documents(r, tasks, count, out);

    if (first != NULL)
        road_queue(r, first);
    send_flush(out);
    return count > 0;
}

/* Claim deliveries from the next queue that has room. */
static bool claimer_queues(struct road *r, struct outbox *out)
{
    struct task tasks[CLAIM_MOST];
    struct queue_turn queue;
    size_t most = room(r);

    if (most == 0 || !dispatch_next_queue(r->dispatch, &queue))
        return false;
    if (queue.room < most)
        most = queue.room;
    dispatch_note_empty(r->dispatch, queue.queue); /* before the claim: invariant (2) */
    size_t count = claim(r, queue.queue, most, tasks);

    if (count == most || r->claim_failing)
        dispatch_note_queue(r->dispatch, queue.queue);
    load_deliveries(r, tasks, count, out);
    send_flush(out);
    return !r->claim_failing; /* other queues may have work; a store that fails has none */
}

/* The next known due time.  One that has come is cleared before the query: invariant (2). */
static int64_t take_due(struct road *r, int64_t now_us)
{
    (void)pthread_mutex_lock(&r->claimer_mutex);
    int64_t due = r->next_due_us;

    if (due != 0 && due <= now_us)
        r->next_due_us = 0;
    (void)pthread_mutex_unlock(&r->claimer_mutex);
    return due;
}

static void set_due(struct road *r, int64_t due_us)
{
    (void)pthread_mutex_lock(&r->claimer_mutex);
    if (due_us != 0 && (r->next_due_us == 0 || due_us < r->next_due_us))
        r->next_due_us = due_us;
    (void)pthread_mutex_unlock(&r->claimer_mutex);
}

/* Move due tasks from `later` to `ready`. */
static bool wake_due(struct road *r, int64_t now_us)
{
    int64_t moved = 0, next = 0, due = take_due(r, now_us);
    struct err err = { 0 };

    if (due == 0 || due > now_us)
        return false;
    if (!task_wake(r->store, now_us, WAKE_MOST, &moved, &next, &err))
        next = now_us + CLOCK_S;
    set_due(r, next);
    return moved > 0;
}

/* Query the store for the queues that have work; those of jobs come first, below 0. */
static void claimer_look(struct road *r)
{
    void (*jobs_due)(void *arg, int64_t queue) = atomic_load(&r->jobs_due);
    int64_t queues[QUEUES_MOST];
    size_t count = QUEUES_MOST;
    struct err err = { 0 };

    for (int64_t above = INT64_MIN; count == QUEUES_MOST; above = queues[QUEUES_MOST - 1]) {
        if (!queues_with_work(r->store, above, queues, QUEUES_MOST, &count, &err))
            return;
        for (size_t i = 0; i < count; i++) {
            int64_t system, endpoint;

            if (queues[i] < 0 && jobs_due != NULL)
                jobs_due(r->jobs_arg, queues[i]);
            else if (queues[i] == QUEUE_INTAKE)
                atomic_store(&r->backlog, true);
            else if (queue_target(r->store, queues[i], &system, &endpoint))
                dispatch_note_stored(r->dispatch, system, endpoint, queues[i]);
        }
    }
    set_due(r, road_now_us(r)); /* other nodes store tasks too: query what is due */
}

/* Slots of systems that several nodes share.  If it fails, this node keeps what it has. */
static void claimer_allot(struct road *r)
{
    struct err err = { 0 };
    size_t count;

    if (r->allotted == NULL)
        return;
    if (allot_list(r->store, r->allotted, ALLOTTED_MOST, &count, &err))
        dispatch_allot(r->dispatch, r->allotted, count);
}

/* ---- the thread ---- */

static bool wait_for_work(struct road *r)
{
    int64_t now = road_now_us(r), wait = SLEEP_MOST_US;

    (void)pthread_mutex_lock(&r->claimer_mutex);
    if (r->next_due_us != 0 && r->next_due_us - now < wait)
        wait = r->next_due_us > now ? r->next_due_us - now : 0;
    if (r->unsettled.first != NULL && wait > UNSETTLED_US)
        wait = UNSETTLED_US;
    if (wait > order_wait_us(r))
        wait = order_wait_us(r);
    int64_t until_us = clock_mono_us() + wait;

    while (!r->claimer_end && !r->claimer_asked &&
           wait_until(&r->claimer_wake, &r->claimer_mutex, until_us)) {
    }
    r->claimer_asked = false;
    bool go_on = !r->claimer_end;

    (void)pthread_mutex_unlock(&r->claimer_mutex);
    return go_on;
}

/* Begin legs that wait for tokens.  The limiter reports tokens by itself; this is for reports that
 * were lost. */
static void claimer_begin_due(struct road *r, struct outbox *out)
{
    struct dispatch_next next;

    dispatch_due(r->dispatch, 0, &next);
    send_park(next.park, out);
    send_chain(next.begin, out);
}

void *claimer_main(void *road)
{
    struct road *r = road;
    int64_t looked_us = 0, order_looked_us = 0;

    do {
        OUTBOX(out, r);
        bool worked = true;

        settle_again(r, &out);
        if (atomic_exchange(&r->redrive_asked, false))
            redrive_newest(r);
        while (worked && !atomic_load(&r->stopping)) {
            int64_t now = road_now_us(r);

            if (clock_mono_us() - looked_us > LOOK_US) {
                claimer_look(r);
                claimer_allot(r);
                dispatch_calm(r->dispatch);
                lines_sweep(r->lines, clock_mono_us());
                looked_us = clock_mono_us();
            }
            claimer_begin_due(r, &out);
            order_work(r, &order_looked_us);
            send_park(dispatch_shed(r->dispatch), &out);
            slow_note(r);
            send_flush(&out);
            worked = wake_due(r, now);
            if (worked)
                claimer_look(r);
            worked = claimer_queues(r, &out) || worked;
            worked = claimer_documents(r, &out) || worked;
        }
    } while (wait_for_work(r));
    return NULL;
}
