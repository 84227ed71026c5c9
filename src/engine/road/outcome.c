/* outcome.c - what came of a flight: states, timeline, commit 2, log.  See road.h. */
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/chance.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/require.h"
#include "engine/road/road_inside.h"
#include "store/road/retain_days.h"
#include "store/store.h"

enum { AGAIN_FIRST_US = CLOCK_S, AGAIN_MOST_S = 60 };

static _Thread_local struct {
    struct store_op *first, *last;
    size_t count;
} gathered;

/* ---- metrics --------------------------------------------------------------------------------- */

static struct metric deliveries[DELIVERY_STATES] = {
#define OUTCOME(state, word)                                                                    \
    [state] = { .name = "waybill_deliveries_total",                                             \
                .help =                                                                         \
                    "Attempts to deliver and deliveries that had to wait, by what came of it.", \
                .labels = "outcome=\"" word "\"" }
    OUTCOME(DELIVERY_DELIVERED, "delivered"), OUTCOME(DELIVERY_RETRYING, "retry"),
    OUTCOME(DELIVERY_READY, "parked"),        OUTCOME(DELIVERY_IN_DOUBT, "in_doubt"),
    OUTCOME(DELIVERY_DEAD, "dead"),
};

static struct metric ended = { .name = "waybill_documents_ended_total",
                               .help = "Documents that are over: delivered, done or cancelled." };
static struct metric dead = { .name = "waybill_documents_dead_total",
                              .help =
                                  "Documents that became dead letters before they were routed." };
static struct metric run_time = { .name = "waybill_run_seconds",
                                  .help = "From the claim of a document to its settlement.",
                                  .type = METRIC_HISTOGRAM };
static struct metric send_time = { .name = "waybill_send_seconds",
                                   .help = "One attempt to send, until the receiver's answer.",
                                   .type = METRIC_HISTOGRAM };
static struct metric *const metrics[] = { &deliveries[DELIVERY_DELIVERED],
                                          &deliveries[DELIVERY_RETRYING],
                                          &deliveries[DELIVERY_READY],
                                          &deliveries[DELIVERY_IN_DOUBT],
                                          &deliveries[DELIVERY_DEAD],
                                          &ended,
                                          &dead,
                                          &run_time,
                                          &send_time };

void outcome_metrics_register(void)
{
    for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++)
        metrics_register(metrics[i]);
}

void outcome_metrics_forget(void)
{
    for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++)
        metrics_forget(metrics[i]);
}

/* ---- one delivery ------------------------------------------------------------------------------
 */

static void set_dead(struct part *p, const char *code)
{
    p->row.state = DELIVERY_DEAD;
    p->row.code = str_of(code);
}

/* Tried again later, unless that would be too late. */
static void set_retry(struct part *p)
{
    const struct retry_rule *rule = &p->endpoint->retry;
    int64_t now = road_now_us(p->flight->road);
    int64_t due = now + retry_wait_us(rule, p->row.attempts, chance_u64());

    if (p->verdict.retry_after_us > 0 && due < now + p->verdict.retry_after_us)
        due = now + p->verdict.retry_after_us;
    if (retry_is_over(rule, p->row.first_us, due)) {
        set_dead(p, dead_codes[DEAD_RETRIES_EXHAUSTED]);
        return;
    }
    if (p->row.expires_us != 0 && due > p->row.expires_us)
        due = p->row.expires_us; /* it is not tried then: it is too late */
    p->row.state = DELIVERY_RETRYING;
    p->row.due_us = due;
}

/* Its receiver is asked a moment later, and then less and less often. */
static void set_ask(struct part *p)
{
    int64_t now = road_now_us(p->flight->road);

    p->row.state = DELIVERY_RETRYING;
    p->row.due_us = now + retry_wait_us(&p->endpoint->retry, p->row.asked + 1, chance_u64());
    if (p->row.due_us < now + p->verdict.retry_after_us)
        p->row.due_us = now + p->verdict.retry_after_us;
}

/* It counts as delivered, and says that nobody knows. */
static void set_assumed(struct part *p)
{
    char why[VERDICT_MESSAGE_MOST];

    (void)snprintf(why, sizeof why, "%s", p->verdict.message);
    (void)verdict_say(&p->verdict, p->verdict.kind, "unconfirmed: %s", why);
    p->row.message = str_of(p->verdict.message);
    p->row.code = STR("unconfirmed");
    p->row.state = DELIVERY_DELIVERED;
}

/* What follows; sets what the row says of its intent. */
static enum doubt_next next_of(struct part *p, enum doubt_source source, bool breaker_open)
{
    const struct verdict *v = &p->verdict;
    struct road *r = p->flight->road;
    const struct doubt_facts facts = { .policy = p->in_doubt,
                                       .source = source,
                                       .verdict = v->kind,
                                       .answered = v->status != 0,
                                       .breaker_open = breaker_open,
                                       .over = source == DOUBT_ASKED &&
                                               retry_is_over(&p->endpoint->retry, p->row.first_us,
                                                             road_now_us(r)),
                                       .asked = p->row.asked };
    enum doubt_next next = doubt_next(&facts);

    p->row.asked += source == DOUBT_ASKED && v->kind == VERDICT_DOUBT;
    if (!doubt_keeps_intent(&facts, next))
        p->row.intent_us = p->row.asked = 0;
    else if (p->row.intent_us == 0)
        p->row.intent_us = road_now_us(r);
    return next;
}

static void set_next(struct part *p, enum doubt_next next, const char *code)
{
    switch (next) {
    case DOUBT_DELIVERED:
        p->row.state = DELIVERY_DELIVERED;
        p->row.message = p->row.code = STR("");
        return;
    case DOUBT_UNCONFIRMED:
        set_assumed(p);
        return;
    case DOUBT_SEND_LATER:
        set_retry(p);
        return;
    case DOUBT_WAIT:
        p->row.state = DELIVERY_READY;
        p->held_why = HELD_BREAKER;
        return;
    case DOUBT_ASK_LATER:
        set_ask(p);
        return;
    case DOUBT_IN_DOUBT:
        p->row.state = DELIVERY_IN_DOUBT;
        return;
    case DOUBT_DEAD:
        set_dead(p, code);
        return;
    case DOUBT_SEND_NOW:
    case DOUBT_ASK_NOW:
        break;
    }
    unreachable("what is done at once has no outcome yet");
}

static void note_doubt(struct part *p)
{
    struct road *r = p->flight->road;

    mishaps_note(r->mishaps, "in_doubt", "endpoint", store_word_name(r->store, p->row.endpoint),
                 p->verdict.message);
}

static void outcome_of_question(struct part *p, bool breaker_open)
{
    enum doubt_next next = next_of(p, DOUBT_ASKED, breaker_open);

    p->row.code = STR("in_doubt");
    set_next(p, next, NULL);
    if (p->row.state != DELIVERY_DELIVERED)
        note_doubt(p);
}

static const char *usual_code(enum verdict_kind kind)
{
    switch (kind) {
    case VERDICT_DELIVERED:
        break;
    case VERDICT_RETRY:
        return "retry";
    case VERDICT_UNREACHED:
        return "unreached";
    case VERDICT_CREDENTIAL:
        return "credential";
    case VERDICT_DOUBT:
        return "in_doubt";
    case VERDICT_REJECTED:
    case VERDICT_FAILED:
        return dead_codes[DEAD_REJECTED];
    }
    return "";
}

void outcome_of_part(struct part *p, bool breaker_open)
{
    const struct verdict *v = &p->verdict;
    struct road *r = p->flight->road;
    const char *code = v->code;

    p->row.status = v->status;
    p->row.message = str_of(v->message);
    p->row.due_us = 0;
    if (v->kind != VERDICT_DELIVERED && p->row.first_us == 0)
        p->row.first_us = road_now_us(r) - p->took_us;
    if (p->asking) {
        outcome_of_question(p, breaker_open);
        return;
    }
    metric_observe_us(&send_time, p->took_us);
    if (code == NULL)
        code = usual_code(v->kind);
    set_next(p, next_of(p, DOUBT_SENT, breaker_open), code);
    if (v->kind == VERDICT_DELIVERED)
        return;
    if (p->row.code.len == 0)
        p->row.code = str_of(code);
    mishaps_note(r->mishaps, code, "endpoint", store_word_name(r->store, p->row.endpoint),
                 v->message);
}

void outcome_parked(struct part *p, unsigned why)
{
    p->row.state = DELIVERY_READY;
    p->row.due_us = 0;
    p->held_why = why;
    p->took_us = -1;
}

static enum trail_outcome trail_of(const struct part *p)
{
    switch (p->row.state) {
    case DELIVERY_DELIVERED:
        return TRAIL_DELIVERED;
    case DELIVERY_RETRYING:
        return p->row.intent_us != 0 ? TRAIL_DOUBT : TRAIL_RETRY;
    case DELIVERY_IN_DOUBT:
        return TRAIL_DOUBT;
    case DELIVERY_DEAD:
        return TRAIL_DEAD;
    case DELIVERY_CANCELLED:
        return TRAIL_CANCELLED;
    case DELIVERY_READY:
    case DELIVERY_SENDING:
    case DELIVERY_HELD:
    case DELIVERY_STATES:
        break;
    }
    return TRAIL_WAITS;
}

/* An attempt was made. */
static void count_ways(const struct flight *f, const struct part *p)
{
    if (p->took_us >= 0)
        ways_count(f->road->ways, p->row.state == DELIVERY_DELIVERED ? WAY_SENT : WAY_FAILED,
                   p->row.endpoint, p->row.system);
}

/* A stored delivery that is parked again without an attempt tells nothing new. */
static void note_part(struct flight *f, const struct part *p)
{
    AUTO(buf_done) struct buf why = BUF_INIT(200);

    metric_add(&deliveries[p->row.state], 1);
    count_ways(f, p);
    if (p->took_us < 0 && p->row.num != 0)
        return;
    if (p->took_us < 0) {
        if (p->held_why != 0)
            buf_puts(&why, "held: ");
        held_reasons_print(p->held_why, &why);
        flight_note_part(f, p, TRAIL_WAITS, -1, p->held_why != 0 ? why.ptr : "waits for its turn");
        return;
    }
    flight_note_part(f, p, trail_of(p), p->took_us, p->verdict.message);
}

void outcome_unknown(struct part *p)
{
    struct flight *f = p->flight;

    p->took_us = -1;
    p->row.due_us = 0;
    p->row.message = str_of(p->verdict.message);
    p->row.code = STR("in_doubt");
    set_next(p, next_of(p, DOUBT_INTENT, false), NULL);
    note_doubt(p);
    flight_note_part(f, p, trail_of(p), -1, p->verdict.message);
    log_event(LOG_WARN, "delivery.doubt", kv_z("document", f->id), kv_str("delivery", p->row.id),
              kv_z("state", delivery_states[p->row.state]), kv_int("attempt", p->row.attempts),
              kv_z("why", p->verdict.message));
}

/* ---- the document
 * -------------------------------------------------------------------------------- */

void outcome_dead(struct flight *f, enum trail_stage stage, struct str what, enum dead_code code,
                  int64_t took_us, const char *message)
{
    struct road *r = f->road;

    if (message != f->message)
        (void)snprintf(f->message, sizeof f->message, "%s", message);
    flight_note(f, stage, TRAIL_DEAD, what, took_us, f->message);
    f->settle.end = SETTLE_DEAD;
    f->dead = code;
    f->settle.code = str_of(dead_codes[code]);
    f->settle.message = str_of(f->message);
    if (!f->dry)
        mishaps_note(r->mishaps, dead_codes[code], "gateway", store_word_name(r->store, f->gateway),
                     f->message);
}

void outcome_again(struct flight *f, const struct err *err)
{
    struct retry_rule rule = { .first_us = AGAIN_FIRST_US,
                               .most_us = (int64_t)AGAIN_MOST_S * CLOCK_S };

    (void)snprintf(f->message, sizeof f->message, "%s", err->text);
    flight_note(f, TRAIL_DOCUMENT, TRAIL_RETRY, STR(""), -1, f->message);
    f->settle.end = SETTLE_AGAIN;
    f->settle.part_count = 0;
    f->settle.code = STR("retry");
    f->settle.message = str_of(f->message);
    f->settle.due_us = road_now_us(f->road) + AGAIN_FIRST_US +
                       retry_wait_us(&rule, f->settle.task.attempts, chance_u64());
    if (!f->dry)
        mishaps_note(f->road->mishaps, "read", "document", STR("payload"), f->message);
}

/* No attempt was made. */
void outcome_delayed(struct flight *f, int64_t due_us)
{
    f->delayed = true;
    f->settle.end = SETTLE_AGAIN;
    f->settle.part_count = 0;
    f->settle.message = str_of(f->message);
    f->settle.due_us = due_us;
    f->settle.task.attempts--;
}

/* Bytes that cannot be read: gone or damaged is for ever, anything else may pass. */
void outcome_read_failed(struct flight *f, const struct err *err)
{
    if (err->kind == ERR_LIMIT && err->sys == 0) {
        outcome_dead(f, TRAIL_DOCUMENT, STR("payload"), DEAD_LIMIT, -1, err->text);
        return;
    }
    if (err->kind != ERR_PERMANENT) {
        outcome_again(f, err);
        return;
    }
    outcome_dead(f, TRAIL_DOCUMENT, STR("payload"),
                 err->sys != 0 ? DEAD_PAYLOAD_MISSING : DEAD_PAYLOAD_CORRUPT, -1, err->text);
}

static int64_t word_of(struct road *r, enum word_kind kind, struct str name)
{
    int64_t word;

    return name.ptr != NULL && store_word_find(r->store, kind, name, &word) ? word : 0;
}

static void fill_facts(struct flight *f)
{
    struct settle_op *s = &f->settle;
    struct road *r = f->road;
    AUTO(buf_done) struct buf facts = BUF_INIT(FACTS_BYTES_MOST);

    s->has_facts = true;
    s->sender = f->facts.sender_unknown ? 0 : word_of(r, WORD_SYSTEM, f->facts.sender);
    s->receiver = f->facts.receiver_unknown ? 0 : word_of(r, WORD_SYSTEM, f->facts.receiver);
    s->type = word_of(r, WORD_TYPE, f->facts.type);
    f->facts.type_unknown = s->type == 0 && f->facts.type.ptr != NULL;
    s->route = f->route != NULL ? f->route->word : 0;
    if (s->end == SETTLE_JOIN) /* its way begins anew with its batch, as whose member it joined */
        f->facts.begin = (struct facts_begin){ 0 };
    facts_write(&f->facts, &facts);
    s->facts = facts.len > 0 ? arena_copy(&f->arena, buf_view(&facts)) : (struct str){ 0 };
}

static bool fill_part(struct flight *f, struct part *p, bool has_row, struct settle_part *to,
                      struct err *err)
{
    if (has_row && p->row.queue == 0 &&
        !lane_queue(f->road->store, p->row.system, p->row.endpoint, &p->row.queue, err))
        return false;
    *to = p->row;
    to->aside = p->row.num != 0 && order_steps_aside(p);
    if (p->variant != f->variants)
        to->bytes = &p->variant->settle;
    return true;
}

static bool fill_parts(struct flight *f, struct err *err)
{
    struct settle_op *s = &f->settle;
    bool over = s->task.kind != TASK_DELIVER;

    for (size_t i = 0; i < f->part_count; i++)
        over = over && f->parts[i]->row.state == DELIVERY_DELIVERED;
    s->parts = ARENA_ARRAY(&f->arena, struct settle_part, f->part_count);
    s->part_count = f->part_count;
    if (!variants_seal(f, err))
        return false;
    for (size_t i = 0; i < f->part_count; i++)
        if (!fill_part(f, f->parts[i], !over, &s->parts[i], err))
            return false;
    for (size_t i = 0; i < f->part_count; i++)
        note_part(f, f->parts[i]);
    s->end = over ? SETTLE_OVER : SETTLE_PARTS;
    s->state = DOCUMENT_DELIVERED;
    return true;
}

/* ---- commit 2
 * -------------------------------------------------------------------------------------- */

static const char *state_word(const struct flight *f)
{
    const struct settle_op *s = &f->settle;
    enum delivery_state states[SETTLE_PARTS_MOST];

    switch (s->end) {
    case SETTLE_OVER:
        return document_states[s->state];
    case SETTLE_DEAD:
        return "dead";
    case SETTLE_JOIN:
        return document_states[DOCUMENT_ACTIVE];
    case SETTLE_AGAIN:
        return f->delayed ? document_states[DOCUMENT_ACTIVE] : "retrying";
    case SETTLE_PARTS:
        break;
    }
    for (size_t i = 0; i < s->part_count; i++)
        states[i] = s->parts[i].state;
    return document_states[document_derive(states, s->part_count)];
}

/* Failures of one kind that come in a flood are said now and then; `more` were not. */
static enum log_level level_of_failure(struct flight *f, enum log_level level, struct str code,
                                       int64_t object, int64_t *ret_more)
{
    return mishaps_may_say(f->road->mishaps, code, object, ret_more) ? level : LOG_DEBUG;
}

static void log_part(struct flight *f, const struct part *p)
{
    int64_t more;
    enum log_level level = level_of_failure(f, p->row.state == DELIVERY_DEAD ? LOG_WARN : LOG_INFO,
                                            p->row.code, p->row.endpoint, &more);

    log_event(level, "delivery.fail", kv_z("document", f->id), kv_str("delivery", p->row.id),
              kv_z("state", delivery_states[p->row.state]), kv_str("code", p->row.code),
              kv_int("attempt", p->row.attempts), kv_int("status", p->row.status),
              kv_z("why", p->verdict.message), kv_int("more", more));
}

/* One line for the document and this run of its chain, with its stages inside. */
static void log_run(struct flight *f)
{
    bool failed = f->settle.end == SETTLE_DEAD || (f->settle.end == SETTLE_AGAIN && !f->delayed);
    enum log_level level = LOG_INFO;
    int64_t more = 0;

    for (size_t i = 0; i < f->part_count; i++)
        if (f->parts[i]->row.state != DELIVERY_DELIVERED && f->parts[i]->took_us >= 0)
            log_part(f, f->parts[i]);
    if (failed)
        level = level_of_failure(f, LOG_WARN, f->settle.code, f->gateway, &more);
    log_event(level, "document.run", kv_z("document", f->id),
              kv_str("gateway", store_word_name(f->road->store, f->gateway)),
              kv_str("sender", f->facts.sender), kv_str("receiver", f->facts.receiver),
              kv_str("type", f->facts.type), kv_int("size", f->source.size),
              kv_z("state", state_word(f)), kv_str("stages", buf_view(&f->stages)),
              kv_int("us", clock_mono_us() - f->began_us), kv_str("code", f->settle.code),
              kv_str("why", f->settle.message), kv_int("more", more));
}

/* Those that wait in the store now are there to be claimed. */
static void note_stored(const struct flight *f)
{
    const struct settle_op *s = &f->settle;

    for (size_t i = 0; i < s->part_count; i++)
        if (s->parts[i].state == DELIVERY_READY &&
            (s->parts[i].lane == 0 || s->task.kind == TASK_DELIVER))
            dispatch_note_stored(f->road->dispatch, s->parts[i].system, s->parts[i].endpoint,
                                 s->parts[i].queue);
        else if (s->parts[i].state == DELIVERY_RETRYING)
            feed_note_due(f->road, s->parts[i].due_us);
    if (s->end == SETTLE_AGAIN)
        feed_note_due(f->road, s->due_us);
}

/* On the writer's thread. */
static void on_settled(struct store_op *op)
{
    struct flight *f = container_of(op, struct flight, settle.op);
    struct settle_op *s = &f->settle;

    fault_point(SETTLED);
    if (!op->ok) {
        f->unknown = f->unknown || op->err.kind == ERR_UNCERTAIN;
        feed_unsettled(f);
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
        note_stored(f);
    if (s->end == SETTLE_DEAD)
        redrive_note_dead(f);
    if (!s->keep || !keep_put(f))
        road_gone(f);
}

static void gather(struct store_op *op)
{
    op->next = NULL;
    if (gathered.last != NULL)
        gathered.last->next = op;
    else
        gathered.first = op;
    gathered.last = op;
    gathered.count++;
}

/* By its type, and by what becomes of it. */
static void fill_keep(struct flight *f)
{
    struct settle_op *s = &f->settle;
    struct store *store = f->road->store;
    int64_t type = word_of(f->road, WORD_TYPE, f->facts.type);

    s->keep_days = retain_days(store, type, s->end == SETTLE_OVER ? s->state : DOCUMENT_DELIVERED);
    s->keep_cancelled = retain_days(store, type, DOCUMENT_CANCELLED);
}

/* May block on the store when a lane is new, or bytes are large.  What was sent is never
 * forgotten: a flight whose outcome cannot be written down now waits for that. */
void outcome_settle(struct flight *f)
{
    struct settle_op *s = &f->settle;

    if (s->task.kind != TASK_DELIVER)
        fill_facts(f);
    if ((s->end == SETTLE_PARTS && !fill_parts(f, &s->op.err)) ||
        (s->end == SETTLE_JOIN && !join_fill(f, &s->op.err))) {
        f->unfilled = true;
        feed_unsettled(f);
        return;
    }
    f->unfilled = false;
    s->is_first = f->was_born;
    s->config = f->config;
    fill_keep(f);
    s->doc = f->source.num;
    s->gateway = f->gateway;
    s->seq = f->seq;
    s->keep = s->end == SETTLE_PARTS && keep_wants(f);
    s->trail = buf_view(&f->trail);
    s->op = (struct store_op){ .verb = &settle_verb, .done = on_settled };
    gather(&s->op);
}

void outcome_flush(struct road *r)
{
    if (gathered.first == NULL)
        return;
    fault_point(SETTLE_SUBMIT);
    writers_submit_always(store_writers(r->store), gathered.first, gathered.last, gathered.count);
    gathered.first = gathered.last = NULL;
    gathered.count = 0;
}
