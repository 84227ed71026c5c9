/* outcome.c - from a verdict to a state: what follows an attempt, or the end of a walk.
 *
 * The problem.  A connector reports what it saw (a verdict), and that is often not the whole truth:
 * a time-out may mean that the document arrived.  What follows depends on the verdict, on whether
 * the system is idempotent, on the breaker, on how long retries may go on, and on an intent that a
 * crash left behind.
 *
 * The method.  The decision itself is a pure function, doubt_next() in core/doubt.c, so that all
 * combinations can be tested without a store.  This file gathers its facts, translates its answer
 * into the row of the leg (state, due time, code, message, intent), and adds a line to the timeline
 * of the flight.  Nothing is written here: settling.c commits the row.
 *
 * Invariants
 *   (1) A leg with an outcome is READY, RETRYING, DELIVERED, IN_DOUBT or DEAD.  SENDING and HELD
 *       are never stored: they are derived from slots and reasons.
 *   (2) RETRYING has a due time on the store's clock, because other nodes compare it with theirs;
 *       every other state has none.
 *   (3) The row keeps an intent only while its outcome is still to be asked for
 *       (doubt_keeps_intent).  So, unless the policy is `resend`, a delivery that is claimed with
 * an intent is never simply sent again. (4) A leg that was parked has made no attempt (took_us -1):
 * it counts no attempt, and the time for retries does not begin with it (first_us). (5)
 * DOUBT_SEND_NOW and DOUBT_ASK_NOW never arrive at set_next(): doubt.c acts on them while the leg
 * keeps its slot. (6) A document that is dead or to be tried again has no deliveries: settle.end is
 * not SETTLE_DELIVERIES, and the settlement does not read the legs.
 *
 * Crash.  An outcome exists only in memory until its settlement is committed.  A crash before that
 * forgets it, and the task is claimed again.  A system with `resend` is then sent to again under
 * the same id.  For every other policy the committed intent is found in the row, and the policy
 * decides (outcome_unknown).  A dead document is walked again and dies again.
 *
 * Races.  Each leg gets its outcome on the thread that ended its attempt, and only that thread
 * touches the row.  The counter `open` of the flight orders these writes before the settlement: the
 * last leg to be counted down settles.  The timeline of the flight is therefore not written per
 * leg as it ends but in the settlement (outcome_note).  outcome_unknown() and doubt.c may write at
 * once, because their flights have one leg and so one thread.
 *
 * See docs/in-doubt.md for the policies.
 */
#include "engine/road/outcome.h"

#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/chance.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/require.h"
#include "engine/road/state.h"
#include "engine/tally/mishaps.h"
#include "engine/tally/ways.h"
#include "store/store.h"

enum { AGAIN_FIRST_US = CLOCK_S, AGAIN_MOST_S = 60 };

/* ---- metrics ---- */

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
static struct metric send_time = { .name = "waybill_send_seconds",
                                   .help = "One attempt to send, until the receiver's answer.",
                                   .type = METRIC_HISTOGRAM };
static struct metric *const metrics[] = {
    &deliveries[DELIVERY_DELIVERED], &deliveries[DELIVERY_RETRYING], &deliveries[DELIVERY_READY],
    &deliveries[DELIVERY_IN_DOUBT],  &deliveries[DELIVERY_DEAD],     &send_time
};

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

/* ---- one delivery ---- */

static void set_dead(struct leg *p, const char *code)
{
    p->row.state = DELIVERY_DEAD;
    p->row.code = str_of(code);
}

/* Retry after a back-off, or DEAD if the time for retries is over by then. */
static void set_retry(struct leg *p)
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
        due = p->row.expires_us; /* the claim at that time finds it expired (send_is_late) */
    p->row.state = DELIVERY_RETRYING;
    p->row.due_us = due;
}

/* Ask the receiver after a back-off that grows with each unclear answer. */
static void set_ask(struct leg *p)
{
    int64_t now = road_now_us(p->flight->road);

    p->row.state = DELIVERY_RETRYING;
    p->row.due_us = now + retry_wait_us(&p->endpoint->retry, p->row.asked + 1, chance_u64());
    if (p->row.due_us < now + p->verdict.retry_after_us)
        p->row.due_us = now + p->verdict.retry_after_us;
}

/* `assume`: it counts as delivered, marked as unconfirmed. */
static void set_assumed(struct leg *p)
{
    char why[VERDICT_MESSAGE_MOST];

    (void)snprintf(why, sizeof why, "%s", p->verdict.message);
    (void)verdict_say(&p->verdict, p->verdict.kind, "unconfirmed: %s", why);
    p->row.message = str_of(p->verdict.message);
    p->row.code = STR("unconfirmed");
    p->row.state = DELIVERY_DELIVERED;
}

/* Decides what follows, and keeps or clears the intent in the row. */
static enum doubt_next outcome_next_of(struct leg *p, enum doubt_source source, bool breaker_open)
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

static void set_next(struct leg *p, enum doubt_next next, const char *code)
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
        p->held_why = p->verdict.kind == VERDICT_STRANGE ? HELD_ENDPOINT : HELD_BREAKER;
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

static void note_doubt(struct leg *p)
{
    struct road *r = p->flight->road;

    mishaps_note(r->mishaps, "in_doubt", "endpoint", name_text(r->store, p->row.endpoint),
                 p->verdict.message);
}

static void outcome_of_question(struct leg *p, bool breaker_open)
{
    enum doubt_next next = outcome_next_of(p, DOUBT_ASKED, breaker_open);

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
    case VERDICT_STRANGE:
        return "strange";
    case VERDICT_DOUBT:
        return "in_doubt";
    case VERDICT_REJECTED:
    case VERDICT_FAILED:
        return dead_codes[DEAD_REJECTED];
    }
    return "";
}

void outcome_of_leg(struct leg *p, bool breaker_open)
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
    set_next(p, outcome_next_of(p, DOUBT_SENT, breaker_open), code);
    if (v->kind == VERDICT_DELIVERED)
        return;
    if (p->row.code.len == 0)
        p->row.code = str_of(code);
    mishaps_note(r->mishaps, code, "endpoint", name_text(r->store, p->row.endpoint), v->message);
}

void outcome_parked(struct leg *p, unsigned why)
{
    p->row.state = DELIVERY_READY;
    p->row.due_us = 0;
    p->held_why = why;
    p->took_us = -1;
}

static enum timeline_outcome outcome_timeline_of(const struct leg *p)
{
    switch (p->row.state) {
    case DELIVERY_DELIVERED:
        return TIMELINE_DELIVERED;
    case DELIVERY_RETRYING:
        return p->row.intent_us != 0 ? TIMELINE_DOUBT : TIMELINE_RETRY;
    case DELIVERY_IN_DOUBT:
        return TIMELINE_DOUBT;
    case DELIVERY_DEAD:
        return TIMELINE_DEAD;
    case DELIVERY_CANCELLED:
        return TIMELINE_CANCELLED;
    case DELIVERY_READY:
    case DELIVERY_SENDING:
    case DELIVERY_HELD:
    case DELIVERY_STATES:
        break;
    }
    return TIMELINE_WAITS;
}

/* Only attempts are counted. */
static void count_ways(const struct flight *f, const struct leg *p)
{
    if (p->took_us >= 0)
        ways_count(f->road->ways, p->row.state == DELIVERY_DELIVERED ? WAY_SENT : WAY_FAILED,
                   p->row.endpoint, p->row.system);
}

/* A stored delivery that is parked again without an attempt adds no line: nothing new happened. */
void outcome_note(struct flight *f, const struct leg *p)
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
        flight_note_leg(f, p, TIMELINE_WAITS, -1,
                        p->held_why != 0 ? why.ptr : "waits for its turn");
        return;
    }
    flight_note_leg(f, p, outcome_timeline_of(p), p->took_us, p->verdict.message);
}

void outcome_unknown(struct leg *p)
{
    struct flight *f = p->flight;

    p->took_us = -1;
    p->row.due_us = 0;
    p->row.message = str_of(p->verdict.message);
    p->row.code = STR("in_doubt");
    set_next(p, outcome_next_of(p, DOUBT_INTENT, false), NULL);
    note_doubt(p);
    flight_note_leg(f, p, outcome_timeline_of(p), -1, p->verdict.message);
    log_event(LOG_WARN, "delivery.doubt", kv_z("document", f->id), kv_str("delivery", p->row.id),
              kv_z("state", delivery_states[p->row.state]), kv_int("attempt", p->row.attempts),
              kv_z("why", p->verdict.message));
}

/* ---- the document ---- */

void outcome_dead(struct flight *f, enum timeline_stage stage, struct str what, enum dead_code code,
                  int64_t took_us, const char *message)
{
    struct road *r = f->road;

    if (message != f->message)
        (void)snprintf(f->message, sizeof f->message, "%s", message);
    flight_note(f, stage, TIMELINE_DEAD, what, took_us, f->message);
    f->settle.end = SETTLE_DEAD;
    f->dead = code;
    f->settle.code = str_of(dead_codes[code]);
    f->settle.message = str_of(f->message);
    if (!f->dry)
        mishaps_note(r->mishaps, dead_codes[code], "gateway", name_text(r->store, f->gateway),
                     f->message);
}

/* After a back-off that grows with the attempts. */
static void outcome_set_again(struct flight *f)
{
    struct retry_rule rule = { .first_us = AGAIN_FIRST_US,
                               .most_us = (int64_t)AGAIN_MOST_S * CLOCK_S };

    f->settle.end = SETTLE_AGAIN;
    f->settle.part_count = 0;
    f->settle.code = STR("retry");
    f->settle.message = str_of(f->message);
    f->settle.due_us = road_now_us(f->road) + AGAIN_FIRST_US +
                       retry_wait_us(&rule, f->settle.task.attempts, chance_u64());
}

void outcome_again(struct flight *f, const struct err *err)
{
    (void)snprintf(f->message, sizeof f->message, "%s", err->text);
    flight_note(f, TIMELINE_DOCUMENT, TIMELINE_RETRY, STR(""), -1, f->message);
    outcome_set_again(f);
    if (!f->dry)
        mishaps_note(f->road->mishaps, "read", "document", STR("payload"), f->message);
}

void outcome_later(struct flight *f)
{
    flight_note(f, TIMELINE_DOCUMENT, TIMELINE_WAITS, STR(""), -1, f->message);
    outcome_set_again(f);
}

void outcome_lacks_secret(struct flight *f, const struct plan_route *r)
{
    (void)snprintf(f->message, sizeof f->message, "%s", r->broken);
    flight_note(f, TIMELINE_ROUTE, TIMELINE_RETRY, r->name, -1, f->message);
    outcome_set_again(f);
    mishaps_note(f->road->mishaps, "secret", "route", r->name, f->message);
}

void outcome_step_died(struct flight *f, struct str step, int64_t took_us, const char *message)
{
    (void)snprintf(f->message, sizeof f->message, "%s", message);
    flight_note(f, TIMELINE_STEP, TIMELINE_RETRY, step, took_us, f->message);
    outcome_set_again(f);
    mishaps_note(f->road->mishaps, dead_codes[DEAD_SERVICE_FAILED], "step", step, f->message);
}

/* The run counts as one attempt, however often the service was asked: its tries are lines of the
 * timeline (flight/tries.h).  With an attempt the document is shown as `retrying`. */
static void set_asked_again(struct flight *f, int64_t due_us)
{
    f->settle.end = SETTLE_AGAIN;
    f->settle.part_count = 0;
    f->settle.code = STR("retry");
    f->settle.message = str_of(f->message);
    f->settle.due_us = due_us;
    f->settle.task.attempts = 1;
}

void outcome_step_again(struct flight *f, struct str step, const struct outcome_try *t)
{
    const struct verdict *v = t->verdict;

    (void)snprintf(f->message, sizeof f->message, "%s", v->message);
    flight_note_try(f, step, t->attempt, v->status, t->took_us, f->message);
    set_asked_again(f, t->due_us);
    mishaps_note(f->road->mishaps, usual_code(v->kind), "step", step, f->message);
}

void outcome_held(struct flight *f, int64_t due_us)
{
    set_asked_again(f, due_us);
}

/* The delay is not an attempt: give the count back. */
void outcome_delayed(struct flight *f, int64_t due_us)
{
    f->delayed = true;
    f->settle.end = SETTLE_AGAIN;
    f->settle.part_count = 0;
    f->settle.message = str_of(f->message);
    f->settle.due_us = due_us;
    f->settle.task.attempts--;
}

void outcome_read_failed(struct flight *f, const struct err *err)
{
    if (err->kind == ERR_LIMIT && err->sys == 0) {
        outcome_dead(f, TIMELINE_DOCUMENT, STR("payload"), DEAD_LIMIT, -1, err->text);
        return;
    }
    if (err->kind != ERR_PERMANENT) {
        outcome_again(f, err);
        return;
    }
    outcome_dead(f, TIMELINE_DOCUMENT, STR("payload"),
                 err->sys != 0 ? DEAD_PAYLOAD_MISSING : DEAD_PAYLOAD_CORRUPT, -1, err->text);
}
