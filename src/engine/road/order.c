/* order.c - ordered deliveries: the engine's share.  The store's is store/road/order.c.
 *
 * The problem.  Documents of one key must reach an ordered system in the order of their acceptance,
 * over retries, crashes and several nodes.  Documents are walked in parallel and overtake each
 * other there, so the order must be restored before the send.
 *
 * The method.  The store decides.  A lane is a system and a key; order_mark() computes the lane of
 * each new leg, and the settlement of the run puts the delivery into it without a task.  The commit
 * that ends the delivery before it, or that routes the last earlier document of the gateway, gives
 * it a task.  This file hears of that (on_going) and hands the delivery on: to a flight that is
 * still in memory (order_keep.c), or to the claimer.
 *
 * Invariants
 *   (1) The number of a lane depends on the system, the received bytes and the `order_by` in
 *       force, never on the node or on the variant that is sent.
 *   (2) A leg in a lane is never sent from its run: the dispatcher parks it (needs_row), and only
 *       the task that the store gives it later is sent.
 *   (3) At most one delivery of a lane is on its way, on whichever node (store/road/order.h).
 *   (4) Nothing here is needed for the order itself, only for speed and for what nobody is notified
 *       of.  order_scan() finds every lane whose head could go.
 *   (5) A blocked lane is reported once per blocking delivery, while the last TOLD_MOST of them are
 *       remembered.
 *
 * What nobody is notified of, and how it is found
 *   - Another node routes the document for which a lane waits: order_ask_again() polls, after 4 ms
 *     and then at growing intervals up to 250 ms, while the store knows of such lanes.
 *   - An operator retries, cancels or discards: the store calls going() without deliveries, and the
 *     claimer scans at once.
 *   - A dead delivery whose system now has `on_dead: skip`, or is not ordered any more: the scan
 *     steps it aside.
 *   - Anything else that was missed: the scan once a second, SCAN_PAGES pages at a time.
 *
 * Crash.  Lanes, positions and turns are rows.  A task that came claimed for a flight in memory is
 * claimed again like every other claim of a dead process, and its delivery is still the only one of
 * its lane that is on its way.
 *
 * Races.  The store asks within the transaction whether this node keeps a delivery (on_keeps), and
 * calls on_going() after the commit.  The flight may have been swept in between.  Then keep_go()
 * fails and the claim is loaded from the store instead (load_later).
 *
 * See docs/order.md for what is promised.
 */
#include "engine/road/order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/metrics.h"
#include "engine/dispatch/dispatch.h"
#include "engine/flight/bytes.h"
#include "engine/road/order_keep.h"
#include "engine/road/state.h"
#include "engine/tally/mishaps.h"
#include "store/road/order.h"
#include "store/store.h"

enum {
    SCAN_US = 1 * CLOCK_S,
    SCAN_PAGES = 16,
    SWEEP_US = 100 * CLOCK_MS,
    ASK_FIRST_US = 4 * CLOCK_MS,  /* the delay of the first poll for what another node routes ... */
    ASK_MOST_US = 250 * CLOCK_MS, /* ... and of the later ones, at most */
    TOLD_MOST = 1024,
};

struct ordering {
    struct road *road;
    _Atomic bool ordered; /* the plan in force has an ordered system */
    _Atomic bool maybe;   /* the store may have lanes */
    _Atomic bool poked;   /* an operator changed documents: scan now */
    _Atomic bool moved;   /* a delivery got its turn since the last poll */
    int64_t above;        /* the scan continues above this lane; -1: from the first */
    int64_t asked_us, ask_wait_us;
    int64_t blocked;              /* blocked lanes, counted by the present scan ... */
    int64_t lanes;                /* ... and all lanes */
    _Atomic int64_t blocked_last; /* of the last complete scan */
    int64_t told[TOLD_MOST];      /* ring of the deliveries that were reported as blocking */
    size_t told_next;
};

static int64_t read_blocked(void *arg)
{
    return atomic_load(&((struct ordering *)arg)->blocked_last);
}

static struct metric blocked_metric = {
    .name = "waybill_lanes_blocked",
    .help =
        "Lanes of ordered systems whose first delivery is dead or in doubt, with others behind.",
    .type = METRIC_GAUGE,
    .read = read_blocked
};

/* The task is claimed for a flight that has left the memory: let the claimer load it. */
static void load_later(struct ordering *o, const struct task *t)
{
    struct flight *f = flight_new(o->road->stock);

    (void)atomic_fetch_add(&o->road->flights, 1);
    f->settle.task = *t;
    road_load_later(f);
}

static bool on_keeps(void *arg, int64_t delivery)
{
    struct ordering *o = arg;

    return keep_has(o->road->keeping, delivery);
}

/* On the writer's thread, after the commit. */
static void on_going(void *arg, const struct order_going *going, size_t count)
{
    struct ordering *o = arg;
    struct road *r = o->road;
    int64_t system, endpoint;

    if (count == 0 && atomic_load(&o->maybe)) {
        atomic_store(&o->poked, true);
        road_wake(r);
    }
    for (size_t i = 0; i < count; i++) {
        keep_note_moved(r->keeping, going[i].lane);
        if (going[i].claimed) {
            if (!going[i].own && !keep_go(r, &going[i].task))
                load_later(o, &going[i].task);
        } else if (queue_target(r->store, going[i].queue, &system, &endpoint))
            dispatch_note_stored(r->dispatch, system, endpoint, going[i].queue);
    }
    if (count > 0) {
        atomic_store(&o->moved, true);
        road_wake(r);
    }
}

struct ordering *order_start(struct road *r)
{
    struct ordering *o = NEW(struct ordering);

    o->road = r;
    o->above = -1;
    o->maybe = true; /* an earlier configuration may have left lanes */
    blocked_metric.arg = o;
    metrics_register(&blocked_metric);
    order_listen(r->store,
                 &(struct order_listener){ .going = on_going, .keeps = on_keeps, .arg = o });
    return o;
}

void order_done(struct ordering *o)
{
    if (o == NULL)
        return;
    order_listen(o->road->store, NULL);
    metrics_forget(&blocked_metric);
    free(o);
}

void order_use(struct road *r, const struct plan *plan)
{
    atomic_store(&r->order->ordered, plan->ordered);
    atomic_store(&r->order->maybe, true);
    order_number(r->store, plan->ordered);
}

/* ---- lanes ---- */

static struct str order_key_of(struct flight *f, const struct plan_system *s)
{
    struct str body = buf_view(&f->received.buf);
    struct extract_source source = {
        .body = body, .whole = (int64_t)body.len == f->source.size, .head = f->head, .name = f->name
    };
    struct facts found = { 0 };
    struct extract_failure failure;

    if (s->order != ORDER_KEY || s->order_by == NULL ||
        !extract_run(s->order_by, &source, &f->arena, &found, &failure))
        return STR("");
    return facts_attribute(&found, PLAN_KEY);
}

/* A digest of system and key, never 0.  Two keys with the same number share a lane, which costs
 * parallelism and breaks no order. */
static int64_t lane_number(int64_t system, struct str key)
{
    struct digest d = digest_start();
    int64_t lane;

    digest_add(&d, str_mem((const char *)&system, sizeof system));
    digest_add(&d, key);
    struct sha256 sum = digest_end(&d);

    memcpy(&lane, sum.bytes, sizeof lane);
    return (lane & INT64_MAX) | 1;
}

bool order_mark(struct flight *f, struct err *err)
{
    struct road *r = f->road;

    if (!atomic_load_explicit(&r->order->ordered, memory_order_relaxed) ||
        f->settle.task.kind == TASK_DELIVER)
        return true;
    if (!variant_peek(f, &f->received, err))
        return false;
    struct plan *plan = road_plan(r);

    for (size_t i = 0; i < f->leg_count; i++) {
        struct settle_delivery *row = &f->legs[i]->row;
        const struct plan_system *s = plan_system_find(plan, row->system);

        if (s == NULL || s->order == ORDER_NONE)
            continue;
        row->lane = lane_number(s->word, order_key_of(f, s));
        row->seq = f->seq;
        row->child = order_child(f->child, i);
    }
    plan_unref(plan);
    variant_unpeek(f);
    return true;
}

static bool may_pass(struct road *r, int64_t system)
{
    struct plan *plan = road_plan(r);
    const struct plan_system *s = plan_system_find(plan, system);
    /* The deliveries of a system that is not ordered any more do not wait for a dead one. */
    bool pass = s != NULL && (s->order == ORDER_NONE || s->on_dead == ORDER_SKIP);

    plan_unref(plan);
    return pass;
}

bool order_steps_aside(const struct leg *p)
{
    return p->row.lane != 0 && p->row.state == DELIVERY_DEAD &&
           may_pass(p->flight->road, p->row.system);
}

/* ---- on the claimer's thread ---- */

static bool was_told(struct ordering *o, int64_t delivery)
{
    for (size_t i = 0; i < TOLD_MOST; i++)
        if (o->told[i] == delivery)
            return true;
    o->told[o->told_next] = delivery;
    o->told_next = (o->told_next + 1) % TOLD_MOST;
    return false;
}

static void tell_stop(struct ordering *o, const struct order_stop *s)
{
    struct road *r = o->road;
    struct str system = name_text(r->store, s->system);
    char message[200];

    if (was_told(o, s->delivery))
        return;
    (void)snprintf(message, sizeof message,
                   "blocked by %.*s, which is %s; retry, resolve or cancel it",
                   STR_ARG(s->document), s->state == DELIVERY_DEAD ? "dead" : "in doubt");
    mishaps_note(r->mishaps, "lane_blocked", "system", system, message);
    log_event(LOG_WARN, "lane.blocked", kv_str("system", system), kv_str("blocked_by", s->document),
              kv_str("delivery", s->id), kv_z("state", delivery_states[s->state]),
              kv_z("hint", "What stands behind it waits. Retry, resolve or cancel it; `on_dead: "
                           "skip` lets the others pass."));
}

static void look_at_stops(struct ordering *o, const struct order_scan *scan)
{
    struct err err = { 0 };

    for (size_t i = 0; i < scan->stop_count; i++) {
        const struct order_stop *s = &scan->stops[i];

        if (s->state == DELIVERY_DEAD && may_pass(o->road, s->system)) {
            if (!order_step_aside(o->road->store, s->delivery, &err))
                return;
        } else if (s->blocks) {
            o->blocked++;
            tell_stop(o, s);
        }
    }
}

/* False: this was the last page, or the store failed. */
static bool scan_page(struct ordering *o, struct order_scan *scan)
{
    struct arena arena = ARENA_INIT(1 << 20);
    struct err err = { 0 };
    bool ok = order_scan(o->road->store, o->above, &arena, scan, &err);

    if (ok) {
        look_at_stops(o, scan);
        o->lanes += (int64_t)scan->lane_count;
        o->above = scan->more ? scan->above : -1;
    }
    arena_done(&arena);
    if (!ok || scan->more)
        return ok;
    atomic_store(&o->blocked_last, o->blocked);
    if (o->lanes == 0 && !atomic_load(&o->ordered))
        atomic_store(&o->maybe, false);
    if (atomic_load(&o->ordered)) /* order_use() came in between */
        atomic_store(&o->maybe, true);
    o->blocked = o->lanes = 0;
    return false;
}

static void road_order_scan(struct ordering *o)
{
    struct order_scan *page = NEW(struct order_scan);

    for (int i = 0; i < SCAN_PAGES && scan_page(o, page); i++) {
    }
    free(page);
}

static void road_order_ask_again(struct ordering *o)
{
    int64_t now = clock_mono_us();
    struct err err = { 0 };

    if (!order_is_asking(o->road->store)) {
        o->ask_wait_us = ASK_FIRST_US;
        return;
    }
    if (atomic_exchange(&o->moved, false))
        o->ask_wait_us = ASK_FIRST_US;
    if (now - o->asked_us < o->ask_wait_us)
        return;
    (void)order_ask_again(o->road->store, &err); /* on failure the next poll repeats it */
    o->asked_us = now;
    o->ask_wait_us = o->ask_wait_us * 2 < ASK_MOST_US ? o->ask_wait_us * 2 : ASK_MOST_US;
}

void order_work(struct road *r, int64_t *looked_us)
{
    struct ordering *o = r->order;

    if (!atomic_load_explicit(&o->maybe, memory_order_relaxed))
        return;
    road_order_ask_again(o);
    keep_sweep(r, false);
    if (!atomic_exchange(&o->poked, false) && *looked_us != 0 &&
        clock_mono_us() - *looked_us < SCAN_US)
        return;
    road_order_scan(o);
    *looked_us = clock_mono_us();
}

int64_t order_wait_us(struct road *r)
{
    int64_t wait = keep_count(r->keeping) > 0 ? SWEEP_US : SCAN_US;

    return order_is_asking(r->store) && r->order->ask_wait_us < wait ? r->order->ask_wait_us : wait;
}
