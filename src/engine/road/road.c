#include "engine/road/road.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/log.h"
#include "base/thread.h"
#include "engine/dispatch/govern.h"
#include "engine/dispatch/pace.h"
#include "engine/road/road_inside.h"
#include "engine/threads/pool.h"
#include "engine/transfer/transfer.h"
#include "store/govern/endpoint_state.h"
#include "store/kernel/node.h"
#include "store/store.h"

enum {
    BATCH = 32, /* flights a worker takes at once */
    TRANSFERS_MOST = 2048,
    CONNECTIONS_MOST = 1024,
    KEPT_SHARE = 4,    /* so many that wait in lanes weigh as one */
    BUSY_FLIGHTS = 48, /* flights that wait for our own work, before more are put off */
    SEND_GRACE_US = 8 * CLOCK_S,
};
/* One thing at a time for so long at most: a suspect may wait for its receiver, or be gone. */
#define CAREFUL_US (INT64_C(600) * CLOCK_S)

/* ---- plans ----------------------------------------------------------------------------------- */

struct plan *road_plan(struct road *r)
{
    (void)pthread_rwlock_rdlock(&r->plan_lock);
    struct plan *p = plan_ref(r->plan);

    (void)pthread_rwlock_unlock(&r->plan_lock);
    return p;
}

static struct plan *known_plan(struct road *r, int64_t version)
{
    struct plan *p = NULL;

    (void)pthread_rwlock_rdlock(&r->plan_lock);
    if (r->plan->version == version)
        p = r->plan;
    for (size_t i = 0; i < ROAD_PLANS_MOST && p == NULL; i++)
        if (r->older[i] != NULL && r->older[i]->version == version)
            p = r->older[i];
    if (p != NULL)
        (void)plan_ref(p);
    (void)pthread_rwlock_unlock(&r->plan_lock);
    return p;
}

struct plan *road_plan_of(struct road *r, int64_t version, struct err *err)
{
    struct plan *p = known_plan(r, version), *old;

    if (p != NULL)
        return p;
    p = r->options.plan_of(r->options.arg, version, err);
    if (p == NULL)
        return NULL;
    (void)pthread_rwlock_wrlock(&r->plan_lock);
    old = r->older[r->older_next];
    r->older[r->older_next] = plan_ref(p);
    r->older_next = (r->older_next + 1) % ROAD_PLANS_MOST;
    (void)pthread_rwlock_unlock(&r->plan_lock);
    plan_unref(old);
    return p;
}

static void recover_endpoints(const struct plan *p)
{
    for (size_t i = 0; i < p->endpoint_count; i++)
        if (p->endpoints[i].self != NULL && p->endpoints[i].type->recover != NULL)
            p->endpoints[i].type->recover(p->endpoints[i].self);
}

void road_use(struct road *r, struct plan *plan)
{
    recover_endpoints(plan);
    (void)pthread_rwlock_wrlock(&r->plan_lock);
    struct plan *old = r->plan, *oldest = NULL;

    r->plan = plan_ref(plan);
    if (old != NULL && old->version != plan->version) { /* documents on their way name it */
        oldest = r->older[r->older_next];
        r->older[r->older_next] = plan_ref(old);
        r->older_next = (r->older_next + 1) % ROAD_PLANS_MOST;
    }
    (void)pthread_rwlock_unlock(&r->plan_lock);
    plan_unref(oldest);
    atomic_store(&r->idle, plan_is_idle(plan));
    govern_use(r->options.govern, plan);
    dispatch_use(r->dispatch, plan);
    order_use(r, plan);
    if (!plan_is_idle(plan) && (old == NULL || old->version != plan->version))
        redrive_start(r, plan);
    plan_unref(old);
}

/* ---- the recorder ------------------------------------------------------------------------------
 */

static int take_slot(struct road *r)
{
    uint64_t taken = atomic_load(&r->recorder_slots);

    for (;;) {
        int slot = ~taken != 0 ? __builtin_ctzll(~taken) : RECORDER_SLOTS;

        if (slot >= RECORDER_SLOTS)
            return -1; /* more threads than slots: this one flies without */
        if (atomic_compare_exchange_weak(&r->recorder_slots, &taken, taken | UINT64_C(1) << slot))
            return slot;
    }
}

static bool is_suspect(struct road *r, const struct task *t)
{
    for (size_t i = 0; i < r->suspect_count; i++)
        if (atomic_load(&r->suspects[i]) == t->id)
            return true;
    return false;
}

/* It came to an end without bringing us down. */
static void forgive(struct road *r, const struct task *t)
{
    for (size_t i = 0; i < r->suspect_count; i++) {
        int64_t id = t->id;

        if (id != 0 && atomic_compare_exchange_strong(&r->suspects[i], &id, 0))
            (void)atomic_fetch_sub(&r->suspects_left, 1);
    }
}

static bool must_be_careful(struct road *r)
{
    if (atomic_load(&r->suspects_left) == 0)
        return false;
    if (clock_mono_us() < r->careful_until_us)
        return true;
    for (size_t i = 0; i < r->suspect_count; i++)
        forgive(r, &(struct task){ .id = atomic_load(&r->suspects[i]) });
    return false;
}

struct task_code road_enter(struct road *r, const struct task *t)
{
    struct task_code c = { .slot = take_slot(r), .alone = must_be_careful(r) };

    if (c.alone)
        (void)pthread_mutex_lock(&r->alone);
    if (c.slot >= 0)
        recorder_mark(store_recorder(r->store), (size_t)c.slot, t, c.alone && is_suspect(r, t));
    return c;
}

void road_leave(struct road *r, struct task_code c)
{
    if (c.slot >= 0) {
        recorder_clear(store_recorder(r->store), (size_t)c.slot);
        (void)atomic_fetch_and(&r->recorder_slots, ~(UINT64_C(1) << c.slot));
    }
    if (c.alone)
        (void)pthread_mutex_unlock(&r->alone);
}

/* ---- workers
 * ------------------------------------------------------------------------------------- */

void road_queue(struct road *r, struct flight *first)
{
    struct flight *last = first;
    size_t count = 1;

    for (; last->next != NULL; count++)
        last = last->next;
    (void)pthread_mutex_lock(&r->mutex);
    *r->queue.end = first;
    r->queue.end = &last->next;
    r->queue.count += count;
    bool wake = r->sleeping > 0;

    (void)pthread_mutex_unlock(&r->mutex);
    if (wake)
        (void)pthread_cond_signal(&r->filled);
}

static size_t take(struct road *r, struct flight **ret)
{
    size_t n = 0;

    (void)pthread_mutex_lock(&r->mutex);
    while (r->queue.first == NULL && !r->workers_end) {
        r->sleeping++;
        (void)pthread_cond_wait(&r->filled, &r->mutex);
        r->sleeping--;
    }
    for (; r->queue.first != NULL && n < BATCH; n++) {
        ret[n] = r->queue.first;
        r->queue.first = ret[n]->next;
        ret[n]->next = NULL;
    }
    r->queue.count -= n;
    if (r->queue.first == NULL)
        r->queue.end = &r->queue.first;
    (void)pthread_mutex_unlock(&r->mutex);
    return n;
}

static void walk_one(struct flight *f)
{
    struct road *r = f->road;
    struct task_code c = road_enter(r, &f->settle.task);

    if (f->settle.task.kind == TASK_DELIVER)
        send_parts(f);
    else
        walk(f);
    road_leave(r, c);
}

static void *work(void *arg)
{
    struct road *r = arg;
    struct flight *batch[BATCH];
    size_t n;

    while ((n = take(r, batch)) > 0) {
        for (size_t i = 0; i < n; i++)
            walk_one(batch[i]);
        send_flush(r);
    }
    return NULL;
}

/* ---- claim at birth
 * --------------------------------------------------------------------------------- */

bool road_reserve(struct road *r, int64_t size)
{
    if (atomic_load(&r->idle) || atomic_load(&r->backlog) || atomic_load(&r->stopping) ||
        size > SEGMENT_PAYLOAD_MOST)
        return false;
    if (atomic_fetch_add(&r->flights, 1) >= FLIGHTS_MOST ||
        atomic_load(&r->bytes) + size > r->options.bytes_most) {
        (void)atomic_fetch_sub(&r->flights, 1);
        return false;
    }
    (void)atomic_fetch_add(&r->bytes, size);
    return true;
}

void road_unreserve(struct road *r, int64_t size)
{
    (void)atomic_fetch_sub(&r->flights, 1);
    (void)atomic_fetch_sub(&r->bytes, size);
}

void road_born(struct road *r, const struct accept_op *a, struct buf *body)
{
    struct flight *f = flight_new(r->stock);
    struct err err;

    f->settle.task = a->task;
    f->source = (struct payload_source){
        .id = a->id, .num = a->num, .size = a->size, .sha256 = a->sha256, .place = a->place
    };
    f->variants[0].source = f->source;
    (void)id_text(&a->id, f->id);
    flight_trace(f);
    f->gateway = a->gateway;
    f->received_us = a->received_us;
    f->seq = a->seq;
    f->config = a->config;
    f->name = arena_copy(&f->arena, a->name);
    f->ctype = arena_copy(&f->arena, a->ctype);
    f->head = arena_copy(&f->arena, a->head);
    struct buf room = f->variants[0].buf; /* what is empty goes back for the next one */

    f->variants[0].buf = *body;
    f->variants[0].buf.cap = room.cap;
    room.cap = body->cap;
    *body = room;
    f->counted = a->size;
    f->was_born = true;
    f->plan = road_plan_of(r, a->config, &err); /* in force, or just replaced: known */
    if (f->plan == NULL)
        f->plan = road_plan(r);
    road_queue(r, f);
}

void road_note_backlog(struct road *r)
{
    if (!atomic_exchange(&r->backlog, true))
        feed_wake(r);
}

bool road_is_busy(struct road *r)
{
    return __atomic_load_n(&r->queue.count, __ATOMIC_RELAXED) + dispatch_waiting_fast(r->dispatch) +
               keep_count(r->keeping) / KEPT_SHARE >
           BUSY_FLIGHTS;
}

void road_gone(struct flight *f)
{
    struct road *r = f->road;

    if (atomic_load(&r->suspects_left) > 0)
        forgive(r, &f->settle.task);
    (void)atomic_fetch_sub(&r->bytes, f->counted);
    flight_free(f);
    (void)atomic_fetch_sub(&r->flights, 1);
    if (atomic_load(&r->backlog))
        feed_wake(r);
}

/* ---- endpoints
 * ---------------------------------------------------------------------------------------- */

struct endpoint_note {
    struct pool_job job;
    struct road *road;
    int64_t endpoint;
    struct breaker breaker;
    int64_t pause_until_us;
    char why[200];
};

static void write_note(struct pool_job *job)
{
    struct endpoint_note *n = container_of(job, struct endpoint_note, job);
    struct store *s = n->road->store;
    struct endpoint_state state = { .endpoint = n->endpoint,
                                    .node = store_node(s),
                                    .since_us = n->breaker.since_us,
                                    .until_us = n->breaker.until_us,
                                    .breaker = true,
                                    .message = str_of(n->why) };
    struct err err = { 0 };
    bool ok = breaker_is_open(&n->breaker) ? endpoint_state_put(s, &state, &err)
                                           : endpoint_state_drop(s, n->endpoint, true, &err);

    state.breaker = false;
    state.since_us = clock_wall_us();
    state.until_us = n->pause_until_us;
    if (ok && n->pause_until_us > 0)
        ok = endpoint_state_put(s, &state, &err);
    if (!ok)
        log_event(LOG_WARN, "endpoint.unsaved", kv_z("why", err.text));
    free(n);
}

static void on_endpoint(void *arg, int64_t endpoint, const struct breaker *b,
                        int64_t pause_until_us, const char *why)
{
    struct road *r = arg;
    struct endpoint_note *n = NEW(struct endpoint_note);
    struct str name = store_word_name(r->store, endpoint);

    *n = (struct endpoint_note){ .job = { .run = write_note },
                                 .road = r,
                                 .endpoint = endpoint,
                                 .breaker = *b,
                                 .pause_until_us = pause_until_us };
    (void)snprintf(n->why, sizeof n->why, "%s", why);
    if (breaker_is_open(b))
        log_event(LOG_WARN, "endpoint.open", kv_str("endpoint", name), kv_z("why", why),
                  kv_int("wait_ms", (b->until_us - clock_wall_us()) / CLOCK_MS),
                  kv_z("hint", "Its deliveries wait and use up nothing; one probes now and then."));
    else if (pause_until_us > 0)
        log_event(LOG_INFO, "endpoint.pause", kv_str("endpoint", name), kv_z("why", why),
                  kv_int("wait_ms", (pause_until_us - clock_wall_us()) / CLOCK_MS));
    else
        log_event(LOG_INFO, "endpoint.close", kv_str("endpoint", name));
    pool_submit(r->pool, &n->job);
}

static void on_hungry(void *arg)
{
    feed_wake(arg);
}

bool road_learn(struct road *r, struct err *err)
{
    enum { MOST = 256 };
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct endpoint_state states[MOST];
    size_t count;

    if (!endpoint_state_list(r->store, &a, states, MOST, &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        dispatch_learn(r->dispatch, states[i].endpoint, states[i].breaker, states[i].since_us,
                       states[i].until_us);
    return true;
}

/* ---- rates -------------------------------------------------------------------------------------
 */

static void on_token(void *arg, int64_t system)
{
    struct road *r = arg;
    struct dispatch_next next;

    dispatch_due(r->dispatch, system, &next);
    send_park(next.park);
    send_chain(next.begin);
    send_flush(r);
}

static void on_reserve(void *arg, struct rate_op *op)
{
    struct road *r = arg;

    writers_submit_always(store_writers(r->store), &op->op, &op->op, 1);
}

void road_look(struct road *r)
{
    feed_wake(r);
}

bool road_transfer(struct road *r, struct transfer *t)
{
    (void)pthread_mutex_lock(&r->mutex);
    bool open = !r->hub_closed;

    if (open)
        transfer_submit(r->hub, t, t);
    (void)pthread_mutex_unlock(&r->mutex);
    return open;
}

int64_t road_now_us(const struct road *r)
{
    return govern_time(r->options.govern).early_us;
}

struct flight_stock *road_stock(struct road *r)
{
    return r->stock;
}

struct dispatch *road_dispatch(struct road *r)
{
    return r->dispatch;
}

/* ---- life
 * ------------------------------------------------------------------------------------------------
 */

static int64_t read_flights(void *arg)
{
    return atomic_load(&((struct road *)arg)->flights);
}

static struct metric flights_metric = { .name = "waybill_flights",
                                        .help = "Documents in memory, on their road.",
                                        .type = METRIC_GAUGE,
                                        .read = read_flights };

/* A node that others may have declared dead sends nothing: its work is theirs. */
static bool may_send(void *arg, const struct transfer *t)
{
    const struct road *r = arg;

    (void)t;
    return node_may_act(r->store);
}

static void on_round(void *arg)
{
    send_flush(arg);
}

static void init_sync(struct road *r)
{
    (void)pthread_rwlock_init(&r->plan_lock, NULL);
    (void)pthread_mutex_init(&r->mutex, NULL);
    (void)pthread_mutex_init(&r->alone, NULL);
    (void)pthread_mutex_init(&r->feed_mutex, NULL);
    (void)pthread_cond_init(&r->filled, NULL);
    (void)pthread_cond_init(&r->feed_wake, NULL);
}

static void start_careful(struct road *r)
{
    struct suspect found[RECORDER_SLOTS];

    r->suspect_count = recorder_suspects(store_recorder(r->store), found);
    for (size_t i = 0; i < r->suspect_count; i++)
        r->suspects[i] = found[i].task.id;
    r->suspects_left = r->suspect_count;
    r->careful_until_us = clock_mono_us() + CAREFUL_US;
}

bool road_start(const struct road_options *o, struct road **ret, struct err *err)
{
    struct road *r = NEW(struct road);

    r->options = *o;
    r->store = o->store;
    r->pool = o->pool;
    init_sync(r);
    r->queue.end = &r->queue.first;
    r->unsettled.end = &r->unsettled.first;
    r->idle = true;
    r->next_due_us = 1; /* ask at once */
    r->mishaps = o->mishaps;
    r->ways = o->ways;
    r->stock = flight_stock_new(o->store, o->ways, r);
    r->pace = pace_new(&(struct pace_calls){ .ready = on_token, .reserve = on_reserve, .arg = r });
    r->dispatch = dispatch_new(
        o->govern, &(struct dispatch_calls){
                       .pace = r->pace, .changed = on_endpoint, .hungry = on_hungry, .arg = r });
    r->keeping = keep_new(r);
    r->order = order_start(r);
    start_careful(r);
    r->unknown_left = o->unclean ? FLIGHTS_MOST : 0;
    if (!transfer_start(&(struct transfer_options){ .active_most = TRANSFERS_MOST,
                                                    .connections_most = CONNECTIONS_MOST,
                                                    .pool = r->pool,
                                                    .arg = r,
                                                    .may_send = may_send,
                                                    .round = on_round },
                        &r->hub, err)) {
        road_free(r);
        return false;
    }
    flights_metric.arg = r;
    metrics_register(&flights_metric);
    outcome_metrics_register();
    *ret = r;
    return true;
}

/* The threads begin when there is a plan. */
void road_run(struct road *r)
{
    r->worker_count =
        r->options.workers < ROAD_WORKERS_MOST ? r->options.workers : ROAD_WORKERS_MOST;
    for (size_t i = 0; i < r->worker_count; i++)
        thread_start(&r->workers[i], "worker", work, r);
    thread_start(&r->feeder, "feeder", feed_main, r);
    pace_run(r->pace);
    r->running = true;
}

static void wait_for_flights(struct road *r, int64_t grace_us)
{
    int64_t until = clock_mono_us() + grace_us;

    while (atomic_load(&r->flights) > 0 && clock_mono_us() < until) {
        send_park(dispatch_shed(r->dispatch));
        send_flush(r);
        clock_sleep_us(1000);
    }
}

static void end_threads(struct road *r)
{
    (void)pthread_mutex_lock(&r->mutex);
    r->workers_end = true;
    (void)pthread_cond_broadcast(&r->filled);
    (void)pthread_mutex_unlock(&r->mutex);
    (void)pthread_mutex_lock(&r->feed_mutex);
    r->feed_end = true;
    (void)pthread_cond_signal(&r->feed_wake);
    (void)pthread_mutex_unlock(&r->feed_mutex);
    for (size_t i = 0; i < r->worker_count; i++)
        (void)pthread_join(r->workers[i], NULL);
    (void)pthread_join(r->feeder, NULL);
    pace_stop(r->pace);
    r->running = false;
}

void road_rest(struct road *r)
{
    if (r == NULL)
        return;
    atomic_store(&r->stopping, true);
    dispatch_rest(r->dispatch);
    keep_sweep(r, true);
    if (r->running)
        wait_for_flights(r, SEND_GRACE_US);
}

/* What is still on its way stays in the store, and is sent by the next process under the
 * same id. */
void road_stop(struct road *r)
{
    if (r == NULL)
        return;
    (void)pthread_mutex_lock(&r->mutex);
    r->hub_closed = true;
    (void)pthread_mutex_unlock(&r->mutex);
    if (r->running)
        end_threads(r);
    transfer_stop(r->hub, 0);
    r->hub = NULL;
}

void road_drain(struct road *r)
{
    if (r != NULL)
        writers_drain(store_writers(r->store));
}

void road_free(struct road *r)
{
    if (r == NULL)
        return;
    order_done(r->order);
    keep_free(r->keeping);
    metrics_forget(&flights_metric);
    outcome_metrics_forget();
    dispatch_free(r->dispatch);
    pace_free(r->pace);
    plan_unref(r->plan);
    for (size_t i = 0; i < ROAD_PLANS_MOST; i++)
        plan_unref(r->older[i]);
    flight_stock_free(r->stock);
    free(r);
}
