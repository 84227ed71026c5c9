#include "engine/road/load.h"

#include "base/clock.h"
#include "base/container_of.h"
#include "base/log.h"
#include "engine/flight/bytes.h"
#include "engine/plan/plan.h"
#include "engine/road/doubt.h"
#include "engine/road/order_keep.h"
#include "engine/road/outcome.h"
#include "engine/road/send.h"
#include "engine/road/settling.h"
#include "engine/road/state.h"
#include "engine/road/work.h"
#include "store/search/document.h"
#include "store/store.h"

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

/* A large document is walked on a thread of the pool. */
static void walk_large(struct pool_job *job)
{
    struct flight *f = container_of(job, struct flight, job);
    struct road *r = f->road;
    OUTBOX(out, r);
    struct err err = { 0 };

    (void)pthread_mutex_lock(&r->stock->large); /* steps need the whole payload in memory */
    if (bytes_peek(f, EXTRACT_BYTES_MOST, &err)) {
        work_on(f, &out);
    } else {
        outcome_read_failed(f, &err);
        settle_flight(f, &out);
    }
    (void)pthread_mutex_unlock(&r->stock->large);
}

struct flight *load_document(struct road *r, const struct task *t, struct outbox *out)
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
    f->past = d.timeline;
    if (!load_plan(f, &err)) {
        release(f, &err);
        return NULL;
    }
    note_recovered(f);
    /* A member of a batch with `join: each` has the batch as its route, the document of a batch has
     * it as its gateway.  The first counts if both are set. */
    f->batch = plan_batch_find(f->plan, d.route);
    if (f->batch == NULL)
        f->batch = plan_batch_find(f->plan, d.gateway);
    f->has_facts =
        f->batch != NULL || d.sender != 0 || d.receiver != 0 || d.type != 0 || d.facts.len > 0;
    if (f->has_facts) /* a retry from the router (operate.h), or out of a batch */
        flight_begin_again(f, &d);
    if (!road_load_bytes(f, &f->variants[0], &err)) {
        load_failed(f, &err, out);
        return NULL;
    }
    if (f->source.size <= SEGMENT_PAYLOAD_MOST)
        return f;
    f->job = (struct pool_job){ .run = walk_large };
    pool_submit(r->pool, &f->job);
    return NULL;
}

void load_delivery(struct road *r, const struct task *t, struct outbox *out)
{
    struct document d;
    struct delivery v;
    struct err err = { 0 };
    bool found = false;

    if (t->attempts == 1 && keep_go(r, t)) {
        (void)atomic_fetch_sub(&r->flights, 1); /* the kept flight is counted already */
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
        drop_task(f); /* a delivery that has ended is never sent */
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
    f->past = d.timeline;
    struct leg *p = flight_add_stored(f, &v);

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
    f->settle.end = SETTLE_DELIVERIES;
    if (v.intent_us != 0 && doubt_settle(f, p, out))
        return;
    if (!road_load_bytes(f, p->variant, &err)) {
        load_failed(f, &err, out);
        return;
    }
    send_legs(f, out);
}

void load_claimed(struct flight *f, struct outbox *out)
{
    struct road *r = f->road;
    struct task t = f->settle.task;

    flight_free(f); /* not road_gone(): the loaded flight takes over its count */
    load_delivery(r, &t, out);
}
