#include "engine/run/settling.h"

#include <stdio.h>

#include "base/auto.h"
#include "base/chance.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/metrics.h"
#include "engine/dispatch/dispatch.h"
#include "engine/flight/bytes.h"
#include "engine/flight/turns.h"
#include "engine/road/answers.h"
#include "engine/road/naming.h"
#include "engine/road/order.h"
#include "engine/road/order_keep.h"
#include "engine/road/outbox.h"
#include "engine/road/outcome.h"
#include "engine/road/redrive.h"
#include "engine/road/state.h"
#include "engine/tally/mishaps.h"
#include "engine/walk/answer_doc.h"
#include "engine/walk/join.h"
#include "engine/walk/keyed.h"
#include "engine/walk/parts.h"
#include "store/road/retain_days.h"
#include "store/store.h"

enum { AGAIN_MOST_US = 20 * CLOCK_MS }; /* so that two that overtake each other part */

static struct metric ended = { .name = "waybill_documents_ended_total",
                               .help = "Documents that are over: delivered, done or cancelled." };
static struct metric dead = { .name = "waybill_documents_dead_total",
                              .help =
                                  "Documents that became dead letters before they were routed." };
static struct metric run_time = { .name = "waybill_run_seconds",
                                  .help = "From the claim of a document to its settlement.",
                                  .type = METRIC_HISTOGRAM };

void settling_metrics_register(void)
{
    metrics_register(&ended);
    metrics_register(&dead);
    metrics_register(&run_time);
}

void settling_metrics_forget(void)
{
    metrics_forget(&ended);
    metrics_forget(&dead);
    metrics_forget(&run_time);
}

/* ---- the operation ---- */

static bool fill_leg(struct flight *f, struct leg *p, bool has_row, struct settle_delivery *to,
                     struct err *err)
{
    if (has_row && p->row.queue == 0 &&
        !queue_for(f->road->store, p->row.system, p->row.endpoint, &p->row.queue, err))
        return false;
    *to = p->row;
    to->aside = p->row.num != 0 && order_steps_aside(p);
    if (p->variant != &f->received)
        to->bytes = &p->variant->settle;
    to->answer = answers_keep(p);
    return true;
}

static bool fill_legs(struct flight *f, struct err *err)
{
    struct settle_op *s = &f->settle;
    bool over = s->task.kind != TASK_DELIVER;

    for (size_t i = 0; i < f->leg_count; i++)
        over = over && f->legs[i]->row.state == DELIVERY_DELIVERED;
    s->parts = ARENA_ARRAY(&f->arena, struct settle_delivery, f->leg_count);
    s->part_count = f->leg_count;
    if (!variants_seal(f, err))
        return false;
    for (size_t i = 0; i < f->leg_count; i++)
        if (!fill_leg(f, f->legs[i], !over, &s->parts[i], err))
            return false;
    for (size_t i = 0; i < f->leg_count; i++) {
        outcome_note(f, f->legs[i]);
        answer_doc_note(f, f->legs[i]);
    }
    s->end = over ? SETTLE_OVER : SETTLE_DELIVERIES;
    s->state = DOCUMENT_DELIVERED;
    return true;
}

/* With `keep: stages` what the steps made is stored with whatever came of the run, but not of each
 * attempt; so is what was made of a record.  What cannot be made again is stored in any case, once.
 */
static bool is_stage(const struct flight *f, const struct variant *v)
{
    bool ends = f->settle.end != SETTLE_AGAIN;

    return !v->is_stored && (v->is_kept || (ends && (f->keeps_stages || v->is_of_record)));
}

static bool fill_stages(struct flight *f, struct err *err)
{
    struct settle_op *s = &f->settle;
    size_t count = 0;

    for (size_t i = 0; i < f->made_count; i++)
        count += is_stage(f, f->made[i]);
    if (count == 0 || s->task.kind == TASK_DELIVER)
        return true;
    if (!variants_seal(f, err))
        return false;
    s->stages = ARENA_ARRAY(&f->arena, struct settle_bytes *, count);
    s->stage_count = 0;
    for (size_t i = 0; i < f->made_count; i++)
        if (is_stage(f, f->made[i]))
            s->stages[s->stage_count++] = &f->made[i]->settle;
    return true;
}

/* ---- commit 2 ---- */

static const char *state_word(const struct flight *f)
{
    const struct settle_op *s = &f->settle;
    enum delivery_state states[SETTLE_DELIVERIES_MOST];

    switch (s->end) {
    case SETTLE_OVER:
        return document_states[s->state];
    case SETTLE_DEAD:
        return "dead";
    case SETTLE_JOIN:
        return document_states[DOCUMENT_ACTIVE];
    case SETTLE_AGAIN:
        return f->delayed ? document_states[DOCUMENT_ACTIVE] : "retrying";
    case SETTLE_DELIVERIES:
        break;
    }
    for (size_t i = 0; i < s->part_count; i++)
        states[i] = s->parts[i].state;
    return document_states[document_derive(states, s->part_count)];
}

/* Limits the log lines of a failure that repeats: only some are logged at `level`, with the number
 * (*ret_more) of those that were not. */
static enum log_level level_of_failure(struct flight *f, enum log_level level, struct str code,
                                       int64_t object, int64_t *ret_more)
{
    return mishaps_may_say(f->road->mishaps, code, object, ret_more) ? level : LOG_DEBUG;
}

static void log_leg(struct flight *f, const struct leg *p)
{
    int64_t more;
    enum log_level level = level_of_failure(f, p->row.state == DELIVERY_DEAD ? LOG_WARN : LOG_INFO,
                                            p->row.code, p->row.endpoint, &more);

    log_event(level, "delivery.fail", kv_z("document", f->id), kv_str("delivery", p->row.id),
              kv_z("state", delivery_states[p->row.state]), kv_str("code", p->row.code),
              kv_int("attempt", p->row.attempts), kv_int("status", p->row.status),
              kv_z("why", p->verdict.message), kv_int("more", more));
}

/* One line per run of a document, with its stages, and one per failed attempt. */
static void log_run(struct flight *f)
{
    bool failed = f->settle.end == SETTLE_DEAD || (f->settle.end == SETTLE_AGAIN && !f->delayed);
    enum log_level level = LOG_INFO;
    int64_t more = 0;

    for (size_t i = 0; i < f->leg_count; i++)
        if (f->legs[i]->row.state != DELIVERY_DELIVERED && f->legs[i]->took_us >= 0)
            log_leg(f, f->legs[i]);
    if (failed)
        level = level_of_failure(f, LOG_WARN, f->settle.code, f->gateway, &more);
    log_event(level, "document.run", kv_z("document", f->id),
              kv_str("gateway", name_text(f->road->store, f->gateway)),
              kv_str("sender", f->facts.sender), kv_str("receiver", f->facts.receiver),
              kv_str("type", f->facts.type), kv_int("size", f->source.size),
              kv_z("state", state_word(f)), kv_str("stages", buf_view(&f->stages)),
              kv_int("us", clock_mono_us() - f->began_us), kv_str("code", f->settle.code),
              kv_str("why", f->settle.message), kv_int("more", more));
}

/* Give the claimer hints about the tasks that this commit has made.  A new delivery in a lane has
 * none yet. */
static void settling_note_stored(const struct flight *f)
{
    const struct settle_op *s = &f->settle;

    for (size_t i = 0; i < s->part_count; i++)
        if (s->parts[i].state == DELIVERY_READY &&
            (s->parts[i].lane == 0 || s->task.kind == TASK_DELIVER))
            dispatch_note_stored(f->road->dispatch, s->parts[i].system, s->parts[i].endpoint,
                                 s->parts[i].queue);
        else if (s->parts[i].state == DELIVERY_RETRYING)
            road_note_due(f->road, s->parts[i].due_us);
    if (s->end == SETTLE_AGAIN)
        road_note_due(f->road, s->due_us);
}

/* What the settlement was to name is named. */
static bool settling_adopted(const struct flight *f)
{
    return f->settle.ours && f->settle.end != SETTLE_AGAIN;
}

static void drop_and_go(struct pool_job *job)
{
    struct flight *f = container_of(job, struct flight, job);
    bool adopted = settling_adopted(f);

    if (!adopted)
        variants_drop_uploads(f);
    answer_doc_drop_uploads(f, adopted);
    road_gone(f);
}

/* What was uploaded and no row names is deleted, on a thread that may block.  When the node stops
 * the next start sweeps it. */
static void settling_gone(struct flight *f)
{
    bool adopted = settling_adopted(f);
    bool left = (!adopted && variants_have_uploads(f)) || answer_doc_has_uploads(f, adopted);

    parts_drop(f);
    if (!left || atomic_load(&f->road->stopping)) {
        road_gone(f);
        return;
    }
    f->job = (struct pool_job){ .run = drop_and_go };
    pool_submit(f->road->pool, &f->job);
}

/* On the writer's thread.  A failed settlement is repeated; `ours` false: the claim was lost. */
static void on_settled(struct store_op *op)
{
    struct flight *f = container_of(op, struct flight, settle.op);
    struct settle_op *s = &f->settle;

    fault_point(SETTLED);
    if (!op->ok) {
        f->unknown = f->unknown || op->err.kind == ERR_UNCERTAIN;
        f->refused = f->parts != NULL && op->err.kind == ERR_LIMIT && op->err.sys == 0;
        f->unfilled = f->refused;
        road_unsettled(f);
        return;
    }
    turns_leave(f->road->turns, f);
    if (s->overtaken) {
        road_settle_again(f);
        return;
    }
    if (s->ours)
        log_run(f);
    else if (f->unknown)
        log_event(LOG_INFO, "document.known", kv_z("document", f->id),
                  kv_z("why", "its claim is over: the commit of which nobody knew was done"));
    else
        log_event(LOG_WARN, "document.lost", kv_z("document", f->id),
                  kv_z("why", "another node took it over; what it did counts"));
    metric_add(s->end == SETTLE_DEAD ? &dead : &ended,
               s->end == SETTLE_DEAD || s->end == SETTLE_OVER || s->over);
    metric_observe_us(&run_time, clock_mono_us() - f->began_us);
    if (s->ours || f->unknown)
        settling_note_stored(f);
    if (s->end != SETTLE_AGAIN && flight_has_caller(f) && f->road->caller_settled != NULL)
        f->road->caller_settled(f->road->caller_arg, f->source.num);
    if (f->answer_count > 0)
        road_note_backlog(f->road);
    if (s->end == SETTLE_DEAD)
        redrive_note_dead(f);
    if (!s->keep || !keep_put(f))
        settling_gone(f);
}

/* The retention depends on the type and on the final state. */
static void fill_keep(struct flight *f)
{
    struct settle_op *s = &f->settle;
    struct store *store = f->road->store;
    int64_t type = naming_word(f->road, NAME_TYPE, f->facts.type);

    s->keep_days = retain_days(store, type, s->end == SETTLE_OVER ? s->state : DOCUMENT_DELIVERED);
    s->keep_cancelled = retain_days(store, type, DOCUMENT_CANCELLED);
}

struct store_op *settling_op(struct flight *f)
{
    if (f->parts != NULL)
        return parts_settlement(f, on_settled);
    return f->answer_count > 0 ? answer_doc_settlement(f, on_settled) : &f->settle.op;
}

/* The last chunk goes beyond a limit of the store: that will not change. */
static void refuse_parts(struct flight *f)
{
    struct err why = f->settle.op.err;

    parts_drop(f);
    outcome_dead(f, TIMELINE_STEP, STR(""), DEAD_LIMIT, -1, why.text);
}

/* Another run has changed a record that this one read, and nothing of its settlement was done: it
 * runs again, and it was no attempt.  Nothing was sent (keyed.h). */
static void run_again(struct flight *f)
{
    struct settle_op *s = &f->settle;

    s->overtaken = false;
    s->stage_count = 0;
    if (s->end == SETTLE_JOIN)
        join_undo(f);
    parts_drop(f);
    for (size_t i = 0; i < f->made_count; i++)
        f->made[i]->is_of_record = false; /* the next run makes another one */
    variants_drop_unkept(f);
    if (!f->recovered)
        buf_clear(&f->timeline);
    (void)snprintf(f->message, sizeof f->message,
                   "another document has changed its record meanwhile: it runs again");
    outcome_delayed(f, road_now_us(f->road) + (int64_t)(chance_u64() % AGAIN_MOST_US));
}

/* What a document out of a batch begins with next time is the chain of the batch: by its route it
 * is known (load.c), and would else join once more. */
static const struct plan_route *settling_route(const struct flight *f)
{
    return f->settle.end == SETTLE_AGAIN && f->batch != NULL ? &f->batch->chain : f->route;
}

void settle_flight(struct flight *f, struct outbox *out)
{
    struct settle_op *s = &f->settle;

    if (f->refused)
        refuse_parts(f);
    f->refused = false;
    if (s->overtaken)
        run_again(f);
    if (s->end == SETTLE_DEAD || s->end == SETTLE_AGAIN)
        keyed_drop(f);
    if (s->task.kind != TASK_DELIVER)
        naming_fill(f->road, &f->facts, settling_route(f), &f->arena, s);
    if ((s->end == SETTLE_DELIVERIES && !fill_legs(f, &s->op.err)) ||
        (s->end == SETTLE_JOIN && !join_fill(f, &s->op.err)) || !fill_stages(f, &s->op.err)) {
        f->unfilled = true;
        road_unsettled(f);
        return;
    }
    f->unfilled = false;
    s->is_first = f->was_born;
    s->aloft = f->noted;
    s->config = f->config;
    fill_keep(f);
    s->doc = f->source.num;
    s->gateway = f->gateway;
    s->seq = f->seq;
    s->child = f->child;
    answer_doc_fill(f);
    if (s->end == SETTLE_DEAD || s->end == SETTLE_AGAIN) /* its next run looks again */
        s->answers = (struct answered){ 0 };
    s->keep =
        s->end == SETTLE_DELIVERIES && f->parts == NULL && f->answer_count == 0 && keep_wants(f);
    s->timeline = buf_view(&f->timeline);
    s->trims = f->past.len > TIMELINE_FULL;
    s->op = (struct store_op){ .verb = &settle_verb, .done = on_settled };
    outbox_add_settlement(out, settling_op(f));
}
