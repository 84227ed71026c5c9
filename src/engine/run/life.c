#include "engine/run/life.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/metrics.h"
#include "base/thread.h"
#include "core/line/line.h"
#include "engine/asking/calling.h"
#include "engine/dispatch/dispatch.h"
#include "engine/dispatch/govern.h"
#include "engine/dispatch/limiter.h"
#include "engine/flight/turns.h"
#include "engine/road/endpoints.h"
#include "engine/road/order.h"
#include "engine/road/order_keep.h"
#include "engine/road/outcome.h"
#include "engine/road/redrive.h"
#include "engine/road/state.h"
#include "engine/run/asker.h"
#include "engine/run/claimer.h"
#include "engine/run/send.h"
#include "engine/run/sender.h"
#include "engine/run/settling.h"
#include "engine/run/work.h"
#include "engine/threads/crew.h"
#include "engine/threads/lines.h"
#include "engine/threads/pool.h"
#include "engine/transfer/tokens.h"
#include "engine/transfer/transfer.h"
#include "engine/walk/caging.h"
#include "store/govern/allot.h"
#include "store/kernel/node.h"
#include "store/store.h"

enum {
    TRANSFERS_MOST = 2048,
    CONNECTIONS_MOST = 1024,
    SEND_GRACE_US = 8 * CLOCK_S,
    SENDERS_STOP_US = 2 * CLOCK_S, /* for sends that block when the node stops */
};

/* ---- plans ---- */

static void use_lines(struct road *r, const struct plan *plan)
{
    struct sha256 *keys = xcalloc(plan->endpoint_count + plan->asking_count + 1, sizeof *keys);
    size_t count = 0;

    for (size_t i = 0; i < plan->endpoint_count; i++) {
        const struct plan_endpoint *e = &plan->endpoints[i];

        if (e->self != NULL && e->type->line != NULL)
            keys[count++] = *e->type->line->key(e->self);
    }
    for (const struct plan_asking *a = plan->asking; a != NULL; a = a->next)
        if (a->line_key != NULL)
            keys[count++] = *a->line_key;
    lines_use(r->lines, keys, count);
    free(keys);
}

void road_use(struct road *r, struct plan *plan)
{
    use_lines(r, plan);
    sender_recover(r, plan);
    struct plan *old = road_set_plan(r, plan);

    govern_use(r->options.govern, plan);
    dispatch_use(r->dispatch, plan);
    order_use(r, plan);
    if (!plan_is_idle(plan) && (old == NULL || old->version != plan->version))
        redrive_start(r, plan);
    plan_unref(old);
}

/* ---- called by the dispatcher and the limiter ---- */

static void on_hungry(void *arg)
{
    road_wake(arg);
}

static void on_token(void *arg, int64_t system)
{
    struct road *r = arg;
    OUTBOX(out, r);
    struct dispatch_next next;

    dispatch_due(r->dispatch, system, &next);
    send_park(next.park, &out);
    send_chain(next.begin, &out);
}

static void on_reserve(void *arg, struct rate_op *op)
{
    struct road *r = arg;

    writers_submit_always(store_writers(r->store), &op->op, &op->op, 1);
}

static void on_allot(void *arg, struct allot_op *op)
{
    struct road *r = arg;

    writers_submit_always(store_writers(r->store), &op->op, &op->op, 1);
}

/* ---- life ---- */

static int64_t read_flights(void *arg)
{
    return atomic_load(&((struct road *)arg)->flights);
}

static struct metric flights_metric = { .name = "waybill_flights",
                                        .help = "Documents in memory, on their road.",
                                        .type = METRIC_GAUGE,
                                        .read = read_flights };

/* A node that may have been declared dead sends nothing: others may have taken its tasks over. What
 * was allowed before is not sent after that either: it may be held since. */
static bool may_send(void *arg, const struct transfer *t)
{
    const struct road *r = arg;

    return t->allowed_us != 0 ? node_may_go_on(r->store, t->allowed_us) : node_may_act(r->store);
}

static void life_on_round(void *arg)
{
    struct road *r = arg;

    send_flush(&r->hub_outbox);
}

/* ---- called by what steps ask, and for tokens ---- */

static bool life_send_call(void *arg, struct transfer *t)
{
    return road_transfer(arg, t);
}

static bool life_send_question(void *arg, struct transfer *t)
{
    struct called *c = container_of(t, struct called, transfer);
    const struct flight *f = c->io.flight;

    return f->route->steps[f->walk.step].service->http->ask != NULL ? asker_ask(arg, c)
                                                                    : road_transfer(arg, t);
}

static void life_put_back(void *arg, struct flight *f)
{
    work_put_back(arg, f);
}

static bool life_may_act(void *arg)
{
    const struct road *r = arg;

    return node_may_act(r->store);
}

static void init_sync(struct road *r)
{
    (void)pthread_rwlock_init(&r->plan_lock, NULL);
    (void)pthread_mutex_init(&r->mutex, NULL);
    for (size_t i = 0; i < RECORDER_SLOTS; i++)
        walking_init(&r->walking[i]);
    walking_list_init(&r->waiting);
    (void)pthread_mutex_init(&r->claimer_mutex, NULL);
    (void)pthread_cond_init(&r->filled, NULL);
    (void)pthread_cond_init(&r->claimer_wake, NULL);
}

bool road_start(const struct road_options *o, struct road **ret, struct err *err)
{
    struct road *r = NEW(struct road);

    r->options = *o;
    r->store = o->store;
    r->pool = o->pool;
    r->senders = o->senders;
    r->lines = lines_new();
    r->hub_outbox.road = r;
    init_sync(r);
    r->queue.end = &r->queue.first;
    r->unsettled.end = &r->unsettled.first;
    r->idle = true;
    r->next_due_us = 1; /* query due tasks at once */
    r->mishaps = o->mishaps;
    r->ways = o->ways;
    r->stock = flight_stock_new(o->store, o->ways, r);
    r->limiter =
        limiter_new(&(struct limiter_calls){ .ready = on_token, .reserve = on_reserve, .arg = r });
    bool shared = store_kind(o->store) == DB_POSTGRESQL;

    r->allotted = shared ? xcalloc(ALLOTTED_MOST, sizeof *r->allotted) : NULL;
    r->dispatch =
        dispatch_new(o->govern, &(struct dispatch_calls){ .limiter = r->limiter,
                                                          .area = o->area,
                                                          .senders = SENDERS,
                                                          .changed = endpoints_changed,
                                                          .refusing = endpoints_refusing,
                                                          .report = endpoints_report,
                                                          .hungry = on_hungry,
                                                          .allot = shared ? on_allot : NULL,
                                                          .arg = r });
    r->caging =
        caging_new(r, &(struct caging_calls){ .run = o->cage_run != NULL ? o->cage_run : cage_run,
                                              .stop = o->cage_run != NULL ? NULL : cage_stop,
                                              .go_on = work_go_on });
    r->turns = turns_new(FLIGHTS_MOST / 2, work_on_pool);
    r->calling = calling_new(&(struct calling_options){ .most = FLIGHTS_MOST / 2,
                                                        .send = life_send_question,
                                                        .judge = work_judge_answer,
                                                        .go_on = work_answered,
                                                        .put_back = life_put_back,
                                                        .may_act = life_may_act,
                                                        .arg = r });
    r->tokens = tokens_new(
        &(struct tokens_options){ .send = life_send_call, .arg = r, .now_us = clock_mono_us });
    r->keeping = keep_new(r);
    r->order = order_start(r);
    suspects_start(&r->suspects, store_recorder(r->store));
    r->unknown_left = o->unclean ? FLIGHTS_MOST : 0;
    if (!transfer_start(&(struct transfer_options){ .active_most = TRANSFERS_MOST,
                                                    .connections_most = CONNECTIONS_MOST,
                                                    .pool = r->pool,
                                                    .egress = o->egress,
                                                    .arg = r,
                                                    .may_send = may_send,
                                                    .round = life_on_round },
                        &r->hub, err)) {
        road_free(r);
        return false;
    }
    flights_metric.arg = r;
    metrics_register(&flights_metric);
    outcome_metrics_register();
    settling_metrics_register();
    *ret = r;
    return true;
}

void road_run(struct road *r)
{
    r->worker_count =
        r->options.workers < ROAD_WORKERS_MOST ? r->options.workers : ROAD_WORKERS_MOST;
    for (size_t i = 0; i < r->worker_count; i++)
        thread_start(&r->workers[i], "worker", work_main, r);
    thread_start(&r->claimer, "claimer", claimer_main, r);
    limiter_run(r->limiter);
    r->running = true;
}

static void wait_for_flights(struct road *r, int64_t grace_us)
{
    int64_t until = clock_mono_us() + grace_us;

    while (atomic_load(&r->flights) > 0 && clock_mono_us() < until) {
        OUTBOX(out, r);

        send_park(dispatch_shed(r->dispatch), &out);
        send_flush(&out); /* before the sleep */
        clock_sleep_us(1000);
    }
}

static void end_threads(struct road *r)
{
    (void)pthread_mutex_lock(&r->mutex);
    r->workers_end = true;
    (void)pthread_cond_broadcast(&r->filled);
    (void)pthread_mutex_unlock(&r->mutex);
    (void)pthread_mutex_lock(&r->claimer_mutex);
    r->claimer_end = true;
    (void)pthread_cond_signal(&r->claimer_wake);
    (void)pthread_mutex_unlock(&r->claimer_mutex);
    for (size_t i = 0; i < r->worker_count; i++)
        (void)pthread_join(r->workers[i], NULL);
    (void)pthread_join(r->claimer, NULL);
    limiter_stop(r->limiter);
    r->running = false;
}

void road_rest(struct road *r)
{
    if (r == NULL)
        return;
    atomic_store(&r->stopping, true);
    crew_hurry(r->senders, SENDERS_STOP_US);
    dispatch_rest(r->dispatch);
    keep_sweep(r, true);
    work_put_back(r, caging_close(r->caging));
    work_put_back(r, turns_close(r->turns));
    work_put_back(r, calling_close(r->calling));
    if (r->running)
        wait_for_flights(r, SEND_GRACE_US);
}

/* A delivery without an answer keeps its task in the store; the next process sends it again under
 * the same id, or acts on its intent. */
void road_stop(struct road *r)
{
    if (r == NULL)
        return;
    caging_stop(r->caging);
    (void)pthread_mutex_lock(&r->mutex);
    r->hub_closed = r->senders_closed = true;
    (void)pthread_mutex_unlock(&r->mutex);
    if (r->running)
        end_threads(r);
    lines_stop(r->lines);
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
    caging_free(r->caging);
    turns_free(r->turns);
    calling_free(r->calling);
    tokens_free(r->tokens);
    metrics_forget(&flights_metric);
    outcome_metrics_forget();
    settling_metrics_forget();
    dispatch_free(r->dispatch);
    limiter_free(r->limiter);
    plan_unref(r->plan);
    plan_unref(r->recovery.plan);
    for (size_t i = 0; i < ROAD_PLANS_MOST; i++)
        plan_unref(r->older[i]);
    flight_stock_free(r->stock);
    lines_unref(r->lines);
    free(r->allotted);
    free(r);
}
