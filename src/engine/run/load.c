#include "engine/run/load.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/require.h"
#include "engine/flight/bytes.h"
#include "engine/flight/turns.h"
#include "engine/plan/plan.h"
#include "engine/road/order_keep.h"
#include "engine/road/outcome.h"
#include "engine/road/state.h"
#include "engine/run/caller.h"
#include "engine/run/doubt.h"
#include "engine/run/send.h"
#include "engine/run/settling.h"
#include "engine/run/work.h"
#include "engine/walk/parts.h"
#include "store/payload/payload_fetch.h"
#include "store/search/document.h"
#include "store/store.h"

enum { LOAD_ARENA_MOST = 1 << 20 };

void load_give_back(struct flight *f)
{
    int64_t due = road_now_us(f->road) + CLOCK_S;
    struct err err = { 0 };
    bool ours;

    f->give_back = true;
    if (!task_fail(f->road->store, &f->settle.task, due, STR("it could not be loaded"), &ours,
                   &err)) {
        f->settle.op.err = err;
        road_unsettled(f);
        return;
    }
    road_note_due(f->road, due);
    turns_leave(f->road->turns, f);
    parts_drop(f);
    road_gone(f);
}

/* Small payloads are read into memory; large ones stay in the store. */
static bool road_load_bytes(struct flight *f, struct variant *v, struct err *err)
{
    if (v->source.size > SEGMENT_PAYLOAD_MOST)
        return true;
    f->counted = v->source.size;
    (void)atomic_fetch_add(&f->road->bytes, f->counted);
    return variant_load(f, v, err);
}

/* A run uses the version under which the document was accepted, or the plan in force if that
 * version has no routes.  A delivery uses the plan in force. */
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

/* The payload cannot be read: missing or damaged is final, any other failure is retried. */
static void load_failed(struct flight *f, const struct err *err, struct outbox *out)
{
    if (f->leg_count > 0 && f->settle.task.kind == TASK_DELIVER) {
        struct leg *p = f->legs[0];

        p->row.message = str_of(arena_text(&f->arena, str_of(err->text)));
        p->verdict.message[0] = '\0';
        p->took_us = -1;
        if (err->kind == ERR_PERMANENT && p->row.intent_us != 0) {
            p->row.state = DELIVERY_IN_DOUBT; /* it may have arrived, and cannot be sent again */
            p->row.intent_us = p->row.asked = 0;
        } else if (err->kind == ERR_PERMANENT) {
            p->row.state = DELIVERY_DEAD;
            p->row.code =
                str_of(dead_codes[err->sys != 0 ? DEAD_PAYLOAD_MISSING : DEAD_PAYLOAD_CORRUPT]);
        } else {
            p->row.state = DELIVERY_RETRYING;
            p->row.due_us = road_now_us(f->road) + INT64_C(5) * CLOCK_S;
        }
        f->settle.end = SETTLE_DELIVERIES;
    } else {
        outcome_read_failed(f, err);
    }
    settle_flight(f, out);
}

/* Finish a task whose document or delivery has ended or does not exist any more. */
static void drop_task(struct flight *f)
{
    struct err err = { 0 };
    bool ours;

    log_event(LOG_WARN, "task.orphan", kv_int("task", f->settle.task.id));
    if (task_finish(f->road->store, &f->settle.task, &ours, &err))
        road_gone(f);
    else
        load_give_back(f); /* the next claim drops it */
}

static void release(struct flight *f, const struct err *why)
{
    log_event(LOG_WARN, "task.wait", kv_int("task", f->settle.task.id), kv_z("why", why->text));
    load_give_back(f);
}

/* After an unclean start or a takeover a task may have been sent already: note that. */
static void note_recovered(struct flight *f)
{
    struct road *r = f->road;

    if (atomic_load(&r->unknown_left) == 0 && f->settle.task.rescues == 0)
        return;
    if (atomic_load(&r->unknown_left) > 0)
        atomic_fetch_sub(&r->unknown_left, 1);
    f->recovered = true;
    flight_note(f, TIMELINE_RECOVERY, TIMELINE_UNKNOWN, STR(""), -1,
                "sent before a crash: unknown");
}

/* ---- many at once ---- */

static struct flight *flight_of(struct road *r, const struct task *t)
{
    struct flight *f = flight_new(r->stock);

    f->settle.task = *t;
    return f;
}

/* Brings the small payloads of these flights (NULL: none) into memory; the others are read one by
 * one by road_load_bytes(), which also says what is the matter with a missing one. */
static void fetch_bytes(struct road *r, struct flight **flights, size_t count)
{
    struct payload_fetch wanted[LOAD_MOST];
    size_t n = 0;

    for (size_t i = 0; i < count; i++)
        if (flights[i] != NULL)
            wanted[n++] = (struct payload_fetch){ .source = flights[i]->received.source,
                                                  .to = &flights[i]->received.buf };
    payload_fetch(r->store, wanted, n);
}

typedef bool load_some(struct road *r, struct flight **flights, size_t count, struct outbox *out,
                       struct err *err);

/* Rows are read together.  One that cannot be read is found by reading each alone, so that the
 * others are not given back with it. */
static void load_all(struct road *r, struct flight **flights, size_t count, load_some *load,
                     struct outbox *out)
{
    struct err err = { 0 };

    if (count == 0 || load(r, flights, count, out, &err))
        return;
    bool alone = count > 1 && err.kind == ERR_PERMANENT;

    for (size_t i = 0; i < count; i++) {
        struct err own = err;

        if (alone) {
            own = (struct err){ 0 };
            if (load(r, &flights[i], 1, out, &own))
                continue;
        }
        release(flights[i], &own);
        flights[i] = NULL;
    }
}

/* ---- documents ---- */

/* False: the flight was handed on. */
static bool fill_document(struct flight *f, const struct document_look *look)
{
    const struct document *d = &look->document;
    struct err err = { 0 };

    if (!look->found) {
        drop_task(f);
        return false;
    }
    flight_fill(f, d);
    if (!load_plan(f, &err)) {
        release(f, &err);
        return false;
    }
    note_recovered(f);
    flight_begin_run(f, d);
    caller_note_gone(f);
    return true;
}

/* False: the flight was handed on. */
static bool load_its_bytes(struct flight *f, struct outbox *out)
{
    struct err err = { 0 };

    if (!road_load_bytes(f, &f->received, &err)) {
        load_failed(f, &err, out);
        return false;
    }
    if (f->source.size <= SEGMENT_PAYLOAD_MOST)
        return true;
    work_on_pool(f);
    return false;
}

static bool load_some_documents(struct road *r, struct flight **flights, size_t count,
                                struct outbox *out, struct err *err)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(LOAD_ARENA_MOST);
    struct document_look *looks = ARENA_ARRAY(&a, struct document_look, count);

    for (size_t i = 0; i < count; i++)
        looks[i] = (struct document_look){ .num = flights[i]->settle.task.id,
                                           .arena = &flights[i]->arena };
    if (!document_find(r->store, looks, count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!fill_document(flights[i], &looks[i]))
            flights[i] = NULL;
    fetch_bytes(r, flights, count);
    for (size_t i = 0; i < count; i++)
        if (flights[i] != NULL && !load_its_bytes(flights[i], out))
            flights[i] = NULL;
    return true;
}

struct flight *load_documents(struct road *r, const struct task *tasks, size_t count,
                              struct outbox *out)
{
    struct flight *flights[LOAD_MOST], *first = NULL, **end = &first;

    require(count <= LOAD_MOST);
    for (size_t i = 0; i < count; i++)
        flights[i] = flight_of(r, &tasks[i]);
    load_all(r, flights, count, load_some_documents, out);
    for (size_t i = 0; i < count; i++)
        if (flights[i] != NULL) {
            *end = flights[i];
            end = &flights[i]->next;
        }
    *end = NULL;
    return first;
}

/* ---- deliveries ---- */

/* False: the flight was handed on. */
static bool fill_delivery(struct flight *f, const struct delivery_look *look,
                          const struct document_look *of, struct outbox *out)
{
    const struct delivery *v = &look->delivery;
    struct err err = { 0 };

    if (!look->found || !of->found ||
        (v->state != DELIVERY_READY && v->state != DELIVERY_RETRYING)) {
        drop_task(f); /* a delivery that has ended is never sent */
        return false;
    }
    flight_fill(f, &of->document);
    flight_fill_facts(f, &of->document);
    f->past = of->document.timeline;
    struct leg *p = flight_add_stored(f, v);

    p->variant = &f->received;
    if (v->has_bytes)
        f->received.source = v->bytes;
    if (!load_plan(f, &err)) {
        release(f, &err);
        return false;
    }
    const struct plan_system *system = plan_system_find(f->plan, v->system);

    p->in_doubt = system != NULL ? system->in_doubt : DOUBT_HOLD;
    if (p->in_doubt == DOUBT_RESEND || v->intent_us != 0)
        note_recovered(f);
    caller_note_gone(f);
    f->settle.end = SETTLE_DELIVERIES;
    return v->intent_us == 0 || !doubt_settle(f, p, out);
}

static bool find_deliveries(struct road *r, struct flight **flights, size_t count,
                            struct delivery_look *looks, struct document_look *of, struct err *err)
{
    for (size_t i = 0; i < count; i++)
        looks[i] = (struct delivery_look){ .num = flights[i]->settle.task.id,
                                           .arena = &flights[i]->arena };
    if (!delivery_find(r->store, looks, count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        of[i] = (struct document_look){ .num = looks[i].found ? looks[i].delivery.doc : 0,
                                        .arena = &flights[i]->arena };
    return document_find(r->store, of, count, err);
}

static bool load_some_deliveries(struct road *r, struct flight **flights, size_t count,
                                 struct outbox *out, struct err *err)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(LOAD_ARENA_MOST);
    struct delivery_look *looks = ARENA_ARRAY(&a, struct delivery_look, count);
    struct document_look *of = ARENA_ARRAY(&a, struct document_look, count);

    if (!find_deliveries(r, flights, count, looks, of, err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!fill_delivery(flights[i], &looks[i], &of[i], out))
            flights[i] = NULL;
    fetch_bytes(r, flights, count);
    for (size_t i = 0; i < count; i++) {
        struct err unread = { 0 };

        if (flights[i] == NULL)
            continue;
        if (road_load_bytes(flights[i], &flights[i]->received, &unread))
            send_legs(flights[i], out);
        else
            load_failed(flights[i], &unread, out);
    }
    return true;
}

void load_deliveries(struct road *r, const struct task *tasks, size_t count, struct outbox *out)
{
    struct flight *flights[LOAD_MOST];
    size_t n = 0;

    require(count <= LOAD_MOST);
    for (size_t i = 0; i < count; i++)
        if (tasks[i].attempts == 1 && keep_go(r, &tasks[i]))
            (void)atomic_fetch_sub(&r->flights, 1); /* the kept flight is counted already */
        else
            flights[n++] = flight_of(r, &tasks[i]);
    load_all(r, flights, n, load_some_deliveries, out);
}

void load_claimed(struct flight *f, struct outbox *out)
{
    struct road *r = f->road;
    struct task t = f->settle.task;

    flight_free(f); /* not road_gone(): the loaded flight takes over its count */
    load_deliveries(r, &t, 1, out);
}
