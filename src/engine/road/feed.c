/* feed.c - the feeder: what waits in the store is claimed, loaded and sent on its road.
 *
 * One thread that may block.  It sleeps until somebody says that there is work, until the
 * next delivery is due, or for a second: nothing waits on an event that can be missed.
 * What was interrupted by a crash stands first in its queue and runs first. */
#include <stdio.h>

#include "base/chance.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/require.h"
#include "base/wait.h"
#include "engine/road/road_inside.h"
#include "store/payload/payload.h"
#include "store/search/document.h"
#include "store/store.h"

enum {
    CLAIM_MOST = 256,
    WAKE_MOST = 500,
    QUEUES_MOST = 256,
    SLEEP_MOST_US = 1 * CLOCK_S,
    LOOK_US = 1 * CLOCK_S, /* how often the store itself is asked which queues have work */
    UNSETTLED_US = 200 * CLOCK_MS,
};

/* ---- being told --------------------------------------------------------------------------------
 */

void feed_wake(struct road *r)
{
    (void)pthread_mutex_lock(&r->feed_mutex);
    r->feed_asked = true;
    (void)pthread_cond_signal(&r->feed_wake);
    (void)pthread_mutex_unlock(&r->feed_mutex);
}

void feed_note_due(struct road *r, int64_t due_us)
{
    (void)pthread_mutex_lock(&r->feed_mutex);
    if (r->next_due_us == 0 || due_us < r->next_due_us) {
        r->next_due_us = due_us;
        r->feed_asked = true;
        (void)pthread_cond_signal(&r->feed_wake);
    }
    (void)pthread_mutex_unlock(&r->feed_mutex);
}

static void put_unsettled(struct flight *f)
{
    struct road *r = f->road;

    (void)pthread_mutex_lock(&r->feed_mutex);
    f->next = NULL;
    *r->unsettled.end = f;
    r->unsettled.end = &f->next;
    r->unsettled.count++;
    (void)pthread_mutex_unlock(&r->feed_mutex);
}

void feed_unsettled(struct flight *f)
{
    if (f->tries++ == 0)
        log_event(LOG_WARN, "document.unsettled", kv_z("document", f->id),
                  kv_z("why", f->settle.op.err.text),
                  kv_z("hint", "What came of it is kept in memory and written when the store "
                               "can be."));
    put_unsettled(f);
}

void feed_load(struct flight *f)
{
    f->unloaded = true;
    put_unsettled(f);
    feed_wake(f->road);
}

/* The task is due again in a moment; a claim that cannot be given back now is given back
 * later. */
static void give_back(struct flight *f)
{
    int64_t due = road_now_us(f->road) + CLOCK_S;
    struct err err = { 0 };
    bool ours;

    f->give_back = true;
    if (!task_fail(f->road->store, &f->settle.task, due, STR("it could not be loaded"), &ours,
                   &err)) {
        f->settle.op.err = err;
        feed_unsettled(f);
        return;
    }
    feed_note_due(f->road, due);
    road_gone(f);
}

/* An operation that fails alone for ever would fail for ever: then the claim goes back, and
 * the task runs again. */
static void give_up(struct flight *f)
{
    log_event(LOG_ERROR, "document.giveup", kv_z("document", f->id),
              kv_z("why", f->settle.op.err.text), kv_z("where", f->settle.op.err.where));
    give_back(f);
}

static void load_delivery(struct road *r, const struct task *t);

static void load_claimed(struct flight *f)
{
    struct road *r = f->road;
    struct task t = f->settle.task;

    flight_free(f); /* its place among the flights is that of the one that is loaded */
    load_delivery(r, &t);
}

static void settle_again(struct road *r)
{
    enum { TRIES_MOST = 25 };

    (void)pthread_mutex_lock(&r->feed_mutex);
    struct flight *f = r->unsettled.first;

    r->unsettled = (struct flights){ .end = &r->unsettled.first };
    (void)pthread_mutex_unlock(&r->feed_mutex);
    for (struct flight *next; f != NULL; f = next) {
        next = f->next;
        if (f->unloaded)
            load_claimed(f);
        else if (f->give_back)
            give_back(f);
        else if (f->settle.op.err.kind == ERR_PERMANENT && f->tries > TRIES_MOST)
            give_up(f);
        else if (f->unfilled)
            outcome_settle(f);
        else
            writers_submit_always(store_writers(r->store), &f->settle.op, &f->settle.op, 1);
    }
}

/* ---- loading
 * -------------------------------------------------------------------------------------- */

/* The bytes, when they are small enough to be kept in memory. */
static bool load_bytes(struct flight *f, struct variant *v, struct err *err)
{
    if (v->source.size > SEGMENT_PAYLOAD_MOST)
        return true;
    f->counted = v->source.size;
    (void)atomic_fetch_add(&f->road->bytes, f->counted);
    return variant_load(f, v, err);
}

/* The version under which it was accepted; but one that routes nothing left it to the next. */
static bool load_plan(struct flight *f, struct err *err)
{
    f->plan = f->settle.task.kind == TASK_DELIVER ? road_plan(f->road)
                                                  : road_plan_of(f->road, f->config, err);
    if (f->plan != NULL && plan_is_idle(f->plan)) {
        plan_unref(f->plan);
        f->plan = road_plan(f->road);
        f->config = f->plan->version;
    }
    return f->plan != NULL;
}

/* What cannot be loaded now is tried again later; what is gone is a dead letter. */
static void load_failed(struct flight *f, const struct err *err)
{
    if (f->part_count > 0 && f->settle.task.kind == TASK_DELIVER) {
        struct part *p = f->parts[0];

        p->row.message = str_of(arena_text(&f->arena, str_of(err->text)));
        p->verdict.message[0] = '\0';
        p->took_us = -1;
        if (err->kind == ERR_PERMANENT && p->row.intent_us != 0) {
            p->row.state = DELIVERY_IN_DOUBT; /* it was sent, and can never be sent again */
            p->row.intent_us = p->row.asked = 0;
        } else if (err->kind == ERR_PERMANENT) {
            p->row.state = DELIVERY_DEAD;
            p->row.code =
                str_of(dead_codes[err->sys != 0 ? DEAD_PAYLOAD_MISSING : DEAD_PAYLOAD_CORRUPT]);
        } else {
            p->row.state = DELIVERY_RETRYING;
            p->row.due_us = road_now_us(f->road) + INT64_C(5) * CLOCK_S;
        }
        f->settle.end = SETTLE_PARTS;
    } else {
        outcome_read_failed(f, err);
    }
    outcome_settle(f);
}

/* A document that is not there any more has no business with a task, nor has a delivery that
 * ended. */
static void drop_task(struct flight *f)
{
    struct err err = { 0 };
    bool ours;

    log_event(LOG_WARN, "task.orphan", kv_int("task", f->settle.task.id));
    if (task_finish(f->road->store, &f->settle.task, &ours, &err))
        road_gone(f);
    else
        give_back(f); /* it is met again */
}

static void release(struct flight *f, const struct err *why)
{
    log_event(LOG_WARN, "task.wait", kv_int("task", f->settle.task.id), kv_z("why", why->text));
    give_back(f);
}

static void note_recovered(struct flight *f)
{
    struct road *r = f->road;

    if (atomic_load(&r->unknown_left) == 0 && f->settle.task.rescues == 0)
        return;
    if (atomic_load(&r->unknown_left) > 0)
        atomic_fetch_sub(&r->unknown_left, 1);
    f->recovered = true;
    flight_note(f, TRAIL_RECOVERY, TRAIL_UNKNOWN, STR(""), -1, "sent before a crash: unknown");
}

/* A large document is walked on a thread of the pool. */
static void walk_large(struct pool_job *job)
{
    struct flight *f = container_of(job, struct flight, job);
    struct road *r = f->road;
    struct err err = { 0 };

    (void)pthread_mutex_lock(&r->stock->large); /* their steps need all of it in memory */
    if (!bytes_peek(f, EXTRACT_BYTES_MOST, &err)) {
        outcome_read_failed(f, &err);
        outcome_settle(f);
    } else {
        struct task_code c = road_enter(r, &f->settle.task);

        walk(f);
        road_leave(r, c);
    }
    (void)pthread_mutex_unlock(&r->stock->large);
    send_flush(r);
}

static struct flight *load_document(struct road *r, const struct task *t)
{
    struct flight *f = flight_new(r->stock);
    struct document d;
    struct err err = { 0 };
    bool found;

    f->settle.task = *t;
    if (!document_live(r->store, t->id, &f->arena, &d, &found, &err)) {
        release(f, &err);
        return NULL;
    }
    if (!found) {
        drop_task(f);
        return NULL;
    }
    flight_fill(f, &d);
    if (!load_plan(f, &err)) {
        release(f, &err);
        return NULL;
    }
    note_recovered(f);
    /* The batch that let it go on by itself, which may be another one than it is the document of.
     */
    f->batch = plan_batch_find(f->plan, d.route);
    if (f->batch == NULL)
        f->batch = plan_batch_find(f->plan, d.gateway);
    f->has_facts =
        f->batch != NULL || d.sender != 0 || d.receiver != 0 || d.type != 0 || d.facts.len > 0;
    if (f->has_facts) /* a retry that starts at the router (operate.h) */
        flight_begin_again(f, &d);
    if (!load_bytes(f, &f->variants[0], &err)) {
        load_failed(f, &err);
        return NULL;
    }
    if (f->source.size <= SEGMENT_PAYLOAD_MOST)
        return f;
    f->job = (struct pool_job){ .run = walk_large };
    pool_submit(r->pool, &f->job);
    return NULL;
}

static void load_delivery(struct road *r, const struct task *t)
{
    struct document d;
    struct delivery v;
    struct err err = { 0 };
    bool found = false;

    if (t->attempts == 1 && keep_go(r, t)) {
        (void)atomic_fetch_sub(&r->flights, 1); /* it is one already */
        return;
    }
    struct flight *f = flight_new(r->stock);

    f->settle.task = *t;
    if (!delivery_get(r->store, t->id, &f->arena, &v, &err)) {
        if (err.kind != ERR_NONE)
            release(f, &err);
        else
            drop_task(f);
        return;
    }
    if (v.state != DELIVERY_READY && v.state != DELIVERY_RETRYING) {
        drop_task(f); /* it ended, and is not sent whatever gave it a task */
        return;
    }
    if (!document_live(r->store, v.doc, &f->arena, &d, &found, &err)) {
        release(f, &err);
        return;
    }
    if (!found) {
        drop_task(f);
        return;
    }
    flight_fill(f, &d);
    flight_fill_facts(f, &d);
    struct part *p = flight_add_stored(f, &v);

    p->variant = &f->variants[0];
    if (v.has_bytes)
        f->variants[0].source = v.bytes;
    if (!load_plan(f, &err)) {
        release(f, &err);
        return;
    }
    const struct plan_system *system = plan_system_find(f->plan, v.system);

    p->in_doubt = system != NULL ? system->in_doubt : DOUBT_HOLD;
    if (p->in_doubt == DOUBT_RESEND || v.intent_us != 0)
        note_recovered(f);
    f->settle.end = SETTLE_PARTS;
    if (v.intent_us != 0 && doubt_settle(f, p))
        return;
    if (!load_bytes(f, p->variant, &err)) {
        load_failed(f, &err);
        return;
    }
    send_parts(f);
}

/* ---- claiming
 * ---------------------------------------------------------------------------------------- */

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

    if (!task_claim(r->store, queue, most, (int64_t)ROAD_LEASE_S * CLOCK_S, tasks, &count, &err)) {
        if (!r->claim_failing)
            log_event(LOG_WARN, "task.claim", kv_z("why", err.text));
        r->claim_failing = true;
        return 0;
    }
    r->claim_failing = false;
    atomic_fetch_add(&r->flights, (int64_t)count);
    return count;
}

/* Documents that nobody has walked yet. */
static bool feed_documents(struct road *r)
{
    struct task tasks[CLAIM_MOST];
    size_t most = room(r);
    struct flight *first = NULL, **end = &first;

    if (!atomic_load(&r->backlog) || atomic_load(&r->idle) || most == 0)
        return false;
    atomic_store(&r->backlog, false); /* before the claim: what comes now asks again */
    size_t count = claim(r, QUEUE_INTAKE, most, tasks);

    if (count == most || r->claim_failing)
        atomic_store(&r->backlog, true);
    for (size_t i = 0; i < count; i++) {
        struct flight *f = load_document(r, &tasks[i]);

        if (f != NULL) {
            *end = f;
            end = &f->next;
        }
    }
    *end = NULL;
    if (first != NULL)
        road_queue(r, first);
    send_flush(r);
    return count > 0;
}

/* Deliveries whose lane has room, lane by lane in turn. */
static bool feed_lanes(struct road *r)
{
    struct task tasks[CLAIM_MOST];
    struct lane_turn turn;
    size_t most = room(r);

    if (most == 0 || !dispatch_next_lane(r->dispatch, &turn))
        return false;
    if (turn.room < most)
        most = turn.room;
    dispatch_note_empty(r->dispatch, turn.queue); /* before the claim: what is stored now says so */
    size_t count = claim(r, turn.queue, most, tasks);

    if (count == most || r->claim_failing)
        dispatch_note_queue(r->dispatch, turn.queue);
    for (size_t i = 0; i < count; i++)
        load_delivery(r, &tasks[i]);
    send_flush(r);
    return !r->claim_failing; /* there may be other lanes, but not while the store is away */
}

/* The next due time that is known; it is forgotten, for what is noted from now on counts. */
static int64_t take_due(struct road *r, int64_t now_us)
{
    (void)pthread_mutex_lock(&r->feed_mutex);
    int64_t due = r->next_due_us;

    if (due != 0 && due <= now_us)
        r->next_due_us = 0;
    (void)pthread_mutex_unlock(&r->feed_mutex);
    return due;
}

static void set_due(struct road *r, int64_t due_us)
{
    (void)pthread_mutex_lock(&r->feed_mutex);
    if (due_us != 0 && (r->next_due_us == 0 || due_us < r->next_due_us))
        r->next_due_us = due_us;
    (void)pthread_mutex_unlock(&r->feed_mutex);
}

/* What is due moves from later to ready. */
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

/* Which queues have work, from the store itself. */
static void look(struct road *r)
{
    int64_t queues[QUEUES_MOST];
    size_t count = QUEUES_MOST;
    struct err err = { 0 };

    for (int64_t above = -1; count == QUEUES_MOST; above = queues[QUEUES_MOST - 1]) {
        if (!queues_with_work(r->store, above, queues, QUEUES_MOST, &count, &err))
            return;
        for (size_t i = 0; i < count; i++) {
            int64_t system, endpoint;

            if (queues[i] == QUEUE_INTAKE)
                atomic_store(&r->backlog, true);
            else if (lane_of_queue(r->store, queues[i], &system, &endpoint))
                dispatch_note_stored(r->dispatch, system, endpoint, queues[i]);
        }
    }
    set_due(r, road_now_us(r)); /* ask again what is due: other nodes store too */
}

/* ---- the thread
 * ---------------------------------------------------------------------------------------- */

static bool wait_for_work(struct road *r)
{
    int64_t now = road_now_us(r), wait = SLEEP_MOST_US;

    (void)pthread_mutex_lock(&r->feed_mutex);
    if (r->next_due_us != 0 && r->next_due_us - now < wait)
        wait = r->next_due_us > now ? r->next_due_us - now : 0;
    if (r->unsettled.first != NULL && wait > UNSETTLED_US)
        wait = UNSETTLED_US;
    if (wait > order_wait_us(r))
        wait = order_wait_us(r);
    int64_t until_us = clock_mono_us() + wait;

    while (!r->feed_end && !r->feed_asked && wait_until(&r->feed_wake, &r->feed_mutex, until_us)) {
    }
    r->feed_asked = false;
    bool go_on = !r->feed_end;

    (void)pthread_mutex_unlock(&r->feed_mutex);
    return go_on;
}

/* What waits for its rate: the pace says when, and nothing depends on that. */
static void begin_due(struct road *r)
{
    struct dispatch_next next;

    dispatch_due(r->dispatch, 0, &next);
    send_park(next.park);
    send_chain(next.begin);
}

void *feed_main(void *arg)
{
    struct road *r = arg;
    int64_t looked_us = 0, order_looked_us = 0;

    do {
        bool worked = true;

        settle_again(r);
        if (atomic_exchange(&r->redrive_asked, false))
            redrive_newest(r);
        while (worked && !atomic_load(&r->stopping)) {
            int64_t now = road_now_us(r);

            if (clock_mono_us() - looked_us > LOOK_US) {
                look(r);
                looked_us = clock_mono_us();
            }
            begin_due(r);
            order_work(r, &order_looked_us);
            send_park(dispatch_shed(r->dispatch));
            send_flush(r);
            worked = wake_due(r, now);
            if (worked)
                look(r);
            worked = feed_lanes(r) || worked;
            worked = feed_documents(r) || worked;
        }
    } while (wait_for_work(r));
    return NULL;
}
