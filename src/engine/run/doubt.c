/* doubt.c - sends to systems that are not idempotent: intent, send, and what follows a crash.
 *
 * The problem.  Between the first byte of a request and its answer nobody on this side knows
 * whether the receiver has the document.  If the process dies in between, a plain queue sends
 * again.  That is wrong for a receiver that books every request.  No protocol removes the moment of
 * doubt; what can be had is certainty about which deliveries are in it, and a policy for those.
 *
 * The method.  Write-ahead: before the first byte, a record that the send begins (the intent) is
 * committed in the row of the delivery.  The settlement of the attempt clears it.  A delivery that
 * is claimed with an intent may have been sent, and the policy of its system decides: `hold` waits
 * for an operator, `assume` counts it as delivered, `probe` asks the receiver with the same key and
 * sends again only after a clear "no".  A delivery without an intent was certainly not sent.
 *
 * Invariants
 *   (1) A leg of such a system begins only from a row, under a claim of its own (TASK_DELIVER).
 *       The dispatcher parks all others (needs_row); doubt_start() asserts it.
 *   (2) No byte of a request leaves before on_intent() has seen the commit of its intent.  The
 *       transfer is marked `once`, so it is not repeated below this level either.
 *   (3) An intent is committed only while the claim is ours.  If it is not, nothing is sent: the
 *       node that took the task over decides.
 *   (4) The leg holds its slot from before the intent until its end, a question in between
 *       included.  So a crash puts at most `concurrency` deliveries of a system in doubt, per node.
 *   (5) The settlement of an attempt clears the intent, unless the receiver is still to be asked
 *       (doubt_keeps_intent).
 *
 * Crash
 *   - before the commit of the intent: nothing was sent; the next claim sends.
 *   - after it and before the first byte: nothing was sent, but the next claim cannot know that;
 *     the policy decides.  This errs on the side of not sending twice.
 *   - after the first byte and before the settlement: the same, and the doubt is real.
 *   - after the settlement: the row has the outcome.
 *   - while the receiver is asked: the intent is still in the row; the next claim asks again.
 *
 * Failures and races
 *   - The commit of the intent fails, or its outcome is unknown: nothing is sent.  send_back()
 * parks the leg, and that settlement clears an intent that was written after all.
 *   - The node stops, or its lease ends.  on_intent() checks the first and parks the leg.  The
 *     transfer thread and the senders check the second before the first byte, and a request that
 * was not sent is reported as such.
 *   - Another node takes the task over while our request is on its way: the settlement has no
 *     effect, and the other node acts on the intent.  docs/in-doubt.md tells what the receiver may
 *     see then.
 *   - The policy changes between load and start: the dispatcher has set the newest one, and
 *     doubt_start() obeys it.
 */
#include "engine/run/doubt.h"

#include <stddef.h>
#include <string.h>

#include "base/clock.h"
#include "base/container_of.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/require.h"
#include "engine/road/outcome.h"
#include "engine/road/state.h"
#include "engine/run/login.h"
#include "engine/run/send.h"
#include "engine/run/sender.h"
#include "engine/run/settling.h"
#include "store/kernel/node.h"
#include "store/road/intent.h"
#include "store/store.h"

struct intent {
    struct intent_op op;
    struct leg *leg;
};

/* ---- the intent ---- */

/* On the writer's thread, after the commit of the intent or its failure. */
static void on_intent(struct store_op *op)
{
    struct intent *i = container_of(op, struct intent, op.op);
    struct leg *p = i->leg;
    struct road *r = p->flight->road;
    OUTBOX(out, r);

    if (!op->ok || !i->op.ours || atomic_load(&r->stopping)) {
        log_event(LOG_INFO, "delivery.unsent", kv_z("document", p->flight->id),
                  kv_str("delivery", p->row.id),
                  kv_z("why", !op->ok       ? op->err.text
                              : !i->op.ours ? "another node took it over"
                                            : "the node is stopping"));
        send_back(p, &out);
    } else {
        fault_point(INTENT_COMMITTED);
        if (!send_begin(p, &out))
            send_ended(p, &out);
    }
}

static void intend(struct leg *p, struct outbox *out)
{
    struct intent *i = ARENA_NEW(&p->own, struct intent);

    *i = (struct intent){ .op = { .op = { .verb = &intent_verb, .done = on_intent },
                                  .task = p->flight->settle.task,
                                  .attempts = p->row.attempts + 1,
                                  .first_us = p->row.first_us != 0 ? p->row.first_us
                                                                   : road_now_us(p->flight->road) },
                          .leg = p };
    p->direct = false; /* the writer's thread goes on with it */
    outbox_add_intent(out, &i->op.op);
}

/* ---- asking the receiver ---- */

/* The receiver has answered the question; on any thread that may compute.  VERDICT_RETRY means that
 * it does not have the delivery. */
static void on_told(struct leg *p, struct outbox *out)
{
    struct flight *f = p->flight;

    if (p->verdict.kind != VERDICT_RETRY) { /* for that, doubt_next() says DOUBT_SEND_NOW */
        send_ended(p, out);
        return;
    }
    flight_note_leg(f, p, TIMELINE_RETRY, clock_mono_us() - p->began_us, p->verdict.message);
    p->asking = false;
    p->row.intent_us = p->row.asked = 0;
    intend(p, out); /* a new intent, under the same slot and id */
}

static bool ask_request(struct leg *p, struct outbox *out);

/* On the transfer thread. */
static void doubt_on_answer(struct transfer *t)
{
    struct leg *p = container_of(t, struct leg, transfer);
    struct road *r = p->flight->road;
    struct task_code c = suspects_enter(&r->suspects, &p->flight->settle.task);

    p->endpoint->type->http->hear(p->endpoint->self, &t->answer, &p->verdict);
    suspects_leave(&r->suspects, c);
    if (login_refused(p, &t->answer) && ask_request(p, &r->hub_outbox))
        return;
    on_told(p, &r->hub_outbox);
}

/* On a sender, or the timekeeper of the senders. */
static void on_sender_told(struct leg *p)
{
    OUTBOX(out, p->flight->road);

    on_told(p, &out);
}

static void ask_with_token(struct leg *p, const struct verdict *failed)
{
    OUTBOX(out, p->flight->road);

    if (failed != NULL)
        p->verdict = *failed;
    if (failed != NULL || !ask_request(p, &out))
        on_told(p, &out);
}

/* False: it could not be built; p->verdict says why. */
static bool ask_request(struct leg *p, struct outbox *out)
{
    static const struct sending nothing = { 0 };
    const struct endpoint_type *type = p->endpoint->type;
    enum tokens_answer token = login_take(p, ask_with_token);

    if (token != TOKEN_HERE)
        return token == TOKEN_WAIT;
    p->request = ARENA_NEW(&p->own, struct http_out_request);
    if (!type->http->ask(p->endpoint->self, &p->sending, &p->own, p->request, &p->verdict))
        return false;
    p->transfer = (struct transfer){ .options = type->http->options(p->endpoint->self),
                                     .request = p->request,
                                     .sending = &nothing,
                                     .done = doubt_on_answer };
    outbox_add_transfer(out, &p->transfer);
    return true;
}

/* False: there is no question to ask, or it could not be built; p->verdict says why. */
static bool doubt_ask(struct leg *p, struct outbox *out)
{
    const struct endpoint_type *type = p->endpoint->type;

    p->asking = true;
    send_clear(p);
    send_fill(p);
    if (type->http == NULL && type->ask != NULL) {
        if (!sender_ask(p, &(struct sender_ends){ .ended = on_sender_told }))
            outbox_add_unsent(out, p);
        return true;
    }
    if (type->http == NULL || type->http->ask == NULL) {
        (void)verdict_say(&p->verdict, VERDICT_FAILED, "nobody can be asked whether it arrived");
        return false;
    }
    return ask_request(p, out);
}

/* ---- begin ---- */

bool doubt_start(struct leg *p, struct outbox *out)
{
    require(p->row.num != 0 && p->flight->settle.task.kind == TASK_DELIVER);
    if (p->row.intent_us == 0) {
        p->asking = false;
        intend(p, out);
        return true;
    }
    if (p->in_doubt == DOUBT_PROBE)
        return doubt_ask(p, out);
    p->asking = false;
    send_clear(p); /* the policy has changed since the leg was loaded */
    (void)verdict_say(&p->verdict, VERDICT_DOUBT,
                      "sent before a crash: whether it arrived is "
                      "not known");
    return false;
}

bool doubt_settle(struct flight *f, struct leg *p, struct outbox *out)
{
    enum doubt_next next =
        doubt_next(&(struct doubt_facts){ .policy = p->in_doubt, .source = DOUBT_INTENT });

    if (next == DOUBT_SEND_NOW)
        p->row.intent_us = p->row.asked = 0;
    if (next == DOUBT_SEND_NOW || next == DOUBT_ASK_NOW)
        return false;
    (void)verdict_say(&p->verdict, VERDICT_DOUBT,
                      "sent before a crash: whether it arrived is "
                      "not known");
    outcome_unknown(p);
    settle_flight(f, out);
    return true;
}
