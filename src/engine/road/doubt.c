#include "engine/road/doubt.h"

#include <stddef.h>
#include <string.h>

#include "base/clock.h"
#include "base/container_of.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/require.h"
#include "engine/road/outcome.h"
#include "engine/road/send.h"
#include "engine/road/settling.h"
#include "engine/road/state.h"
#include "store/kernel/node.h"
#include "store/road/intent.h"
#include "store/store.h"

struct intent {
    struct intent_op op;
    struct leg *leg;
};

/* ---- the intent ---- */

/* On the writer's thread.  A claim that was lost, a store that failed and a node that stops
 * have sent nothing; settling that takes the intent away where it was written after all. */
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
    p->direct = false; /* it goes on in another thread */
    outbox_add_intent(out, &i->op.op);
}

/* ---- asking ---- */

/* What the receiver said; on any thread that may compute. */
static void on_told(struct leg *p, struct outbox *out)
{
    struct flight *f = p->flight;

    if (p->verdict.kind != VERDICT_RETRY) { /* else doubt_next() says DOUBT_SEND_NOW */
        send_ended(p, out);
        return;
    }
    flight_note_leg(f, p, TIMELINE_RETRY, clock_mono_us() - p->began_us, p->verdict.message);
    p->asking = false;
    p->row.intent_us = p->row.asked = 0;
    intend(p, out); /* it keeps its slot, and its id */
}

/* On the transfer thread. */
static void doubt_on_answer(struct transfer *t)
{
    struct leg *p = container_of(t, struct leg, transfer);
    struct road *r = p->flight->road;
    struct task_code c = suspects_enter(&r->suspects, &p->flight->settle.task);

    p->endpoint->type->http->hear(p->endpoint->self, &t->answer, &p->verdict);
    suspects_leave(&r->suspects, c);
    on_told(p, &r->hub_outbox);
}

/* On a thread of the pool. */
static void doubt_on_pool(struct pool_job *job)
{
    struct leg *p = container_of(job, struct leg, job);
    struct road *r = p->flight->road;
    OUTBOX(out, r);
    struct task_code c = suspects_enter(&r->suspects, &p->flight->settle.task);

    p->endpoint->type->ask(p->endpoint->self, &p->sending, &r->stopping, &p->verdict);
    suspects_leave(&r->suspects, c);
    payload_close(p->reader); /* it may be read again, to be sent */
    p->reader = NULL;
    on_told(p, &out);
}

/* False: there is nobody to ask. */
static bool doubt_ask(struct leg *p, struct outbox *out)
{
    static const struct sending nothing = { 0 };
    const struct endpoint_type *type = p->endpoint->type;

    p->asking = true;
    send_clear(p);
    send_fill(p);
    if (type->http == NULL && type->ask != NULL) {
        p->job = (struct pool_job){ .run = doubt_on_pool };
        pool_submit(p->flight->road->pool, &p->job);
        return true;
    }
    if (type->http == NULL || type->http->ask == NULL) {
        (void)verdict_say(&p->verdict, VERDICT_FAILED, "nobody can be asked whether it arrived");
        return false;
    }
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

/* ---- which of them ---- */

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
    send_clear(p); /* the policy is a new one since it was loaded */
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
