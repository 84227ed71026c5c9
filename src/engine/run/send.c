#include "engine/run/send.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/container_of.h"
#include "base/fault.h"
#include "base/require.h"
#include "engine/dispatch/dispatch.h"
#include "engine/flight/bytes.h"
#include "engine/road/answers.h"
#include "engine/road/order.h"
#include "engine/road/outcome.h"
#include "engine/road/state.h"
#include "engine/run/doubt.h"
#include "engine/run/envelope.h"
#include "engine/run/login.h"
#include "engine/run/sender.h"
#include "engine/run/settling.h"
#include "engine/walk/answer_doc.h"
#include "store/kernel/node.h"
#include "store/payload/payload.h"
#include "store/store.h"

/* ---- the bytes of a large document, read by a thread that may block ---- */

static bool send_next_piece(void *arg, struct str *ret, struct err *err)
{
    struct leg *p = arg;

    if ((p->reader == NULL &&
         !payload_open(p->flight->road->store, &p->variant->source, &p->reader, err)) ||
        !payload_next(p->reader, ret, err)) {
        p->read_err = *err;
        return false;
    }
    return true;
}

/* Missing or damaged bytes are final, whatever verdict the connector gave. */
static void judge_bytes(struct leg *p)
{
    if (p->read_err.kind != ERR_PERMANENT)
        return;
    p->verdict.code =
        dead_codes[p->read_err.sys != 0 ? DEAD_PAYLOAD_MISSING : DEAD_PAYLOAD_CORRUPT];
    (void)verdict_say(&p->verdict, VERDICT_FAILED, "%s", p->read_err.text);
}

void send_fill(struct leg *p)
{
    struct flight *f = p->flight;
    const struct variant *v = p->variant;
    bool in_memory = v->source.size == 0 || (int64_t)v->buf.len == v->source.size;

    p->sending = (struct sending){ .document = str_of(f->id),
                                   .delivery = p->row.id,
                                   .facts = &f->facts,
                                   .name = f->name,
                                   .ctype = f->ctype,
                                   .gateway = name_text(f->road->store, f->gateway),
                                   .endpoint = p->endpoint->name,
                                   .traceparent = str_of(f->traceparent),
                                   .received_us = f->received_us,
                                   .attempt = p->row.attempts,
                                   .size = in_memory ? (int64_t)v->buf.len : v->source.size };
    if (in_memory) {
        p->sending.bytes = buf_view(&v->buf);
    } else {
        p->sending.next = send_next_piece;
        p->sending.next_arg = p;
        p->sending.sha256 = &v->source.sha256;
    }
}

/* ---- end ---- */

static void one_over(struct flight *f, struct outbox *out)
{
    if (atomic_fetch_sub(&f->open, 1) == 1)
        settle_flight(f, out);
}

void send_park(struct leg *first, struct outbox *out)
{
    for (struct leg *p = first, *after; p != NULL; p = after) {
        after = p->next;
        outcome_parked(p, 0);
        one_over(p->flight, out);
    }
}

/* Failures on this side (unreadable bytes, a node that stops or may not send) say nothing about the
 * endpoint, so the breaker gets a verdict that it ignores. */
static const struct verdict *breaker_verdict(const struct leg *p)
{
    static const struct verdict ours = { .kind = VERDICT_FAILED };
    const struct road *r = p->flight->road;
    bool silent = p->verdict.status == 0 && p->verdict.kind != VERDICT_DELIVERED &&
                  (atomic_load(&r->stopping) || !node_may_go_on(r->store, p->began_us));

    return p->read_err.kind != ERR_NONE || silent ? &ours : &p->verdict;
}

/* Ends a leg that has its verdict, and appends to the chain the legs that may begin now. */
static void end_leg(struct leg *p, struct leg ***chain_end, struct outbox *out)
{
    struct flight *f = p->flight;
    struct dispatch_next next;

    p->took_us = clock_mono_us() - p->began_us;
    judge_bytes(p);
    bool open = dispatch_ended(f->road->dispatch, p, breaker_verdict(p), &next);

    payload_close(p->reader);
    p->reader = NULL;
    outcome_of_leg(p, open);
    one_over(f, out);
    send_park(next.park, out);
    if (next.begin != NULL) {
        **chain_end = next.begin;
        while (**chain_end != NULL)
            *chain_end = &(**chain_end)->next;
    }
}

static void send_begin_all(struct leg *first, struct outbox *out);

void send_back(struct leg *p, struct outbox *out)
{
    struct flight *f = p->flight;
    struct dispatch_next next;

    dispatch_back(f->road->dispatch, p, &next);
    outcome_parked(p, 0);
    one_over(f, out);
    send_park(next.park, out);
    send_begin_all(next.begin, out);
}

void send_ended(struct leg *p, struct outbox *out)
{
    struct leg *chain = NULL, **end = &chain;

    end_leg(p, &end, out);
    send_begin_all(chain, out);
}

/* ---- begin ---- */

static bool send_http(struct leg *p, struct outbox *out);

/* On a thread that may block. */
static void answer_stored(struct pool_job *job)
{
    struct leg *p = container_of(job, struct leg, job);
    OUTBOX(out, p->flight->road);

    answer_doc_store(p);
    send_ended(p, &out);
}

/* On the transfer thread. */
static void send_on_answer(struct transfer *t)
{
    struct leg *p = container_of(t, struct leg, transfer);
    struct road *r = p->flight->road;

    fault_point(SEND_ANSWERED);
    if (t->answer.is_too_large) /* the receiver has answered: no more of it is wanted */
        t->answer.reach = HTTP_OUT_ANSWERED;
    struct task_code c = suspects_enter(&r->suspects, &p->flight->settle.task);

    p->endpoint->type->http->judge(p->endpoint->self, &t->answer, &p->verdict);
    suspects_leave(&r->suspects, c);
    if (login_refused(p, &t->answer)) {
        payload_close(p->reader);
        p->reader = NULL;
        send_fill(p); /* the document without what was sent around it */
        if (!send_http(p, &r->hub_outbox))
            send_ended(p, &r->hub_outbox);
        return;
    }
    answers_take(p, &t->answer);
    if (answer_doc_take(p, &t->answer)) {
        p->job = (struct pool_job){ .run = answer_stored };
        pool_submit(r->pool, &p->job);
        return;
    }
    send_ended(p, &r->hub_outbox);
}

/* On a sender, or the timekeeper of the senders. */
static void sender_ended(struct leg *p)
{
    OUTBOX(out, p->flight->road);

    send_ended(p, &out);
}

static void sender_refused(struct leg *p)
{
    OUTBOX(out, p->flight->road);

    send_back(p, &out);
}

/* Whether the delivery has expired.  One with an intent may have been sent, so its outcome must be
 * found out first. */
static bool send_is_late(struct leg *p)
{
    int64_t at = p->row.expires_us;
    char text[CLOCK_TEXT];

    if (at == 0 || p->row.intent_us != 0 || road_now_us(p->flight->road) < at)
        return false;
    p->asking = false;
    send_clear(p);
    p->verdict.code = dead_codes[DEAD_EXPIRED];
    (void)verdict_say(&p->verdict, VERDICT_FAILED, "expired at %s, before it could be sent",
                      clock_utc_text(at, text));
    return true;
}

void send_clear(struct leg *p)
{
    p->began_us = clock_mono_us();
    p->verdict.retry_after_us = p->verdict.status = 0;
    p->verdict.code = NULL;
    p->answer = NULL;
    p->document = NULL;
    p->answer_came = ANSWER_NOT_ASKED;
    p->verdict.hung = false;
    p->verdict.message[0] = '\0';
    p->read_err.kind = ERR_NONE;
    p->login.renewed = false;
}

static bool send_prepared(struct leg *p, struct outbox *out);

/* On a thread that may block. */
static void send_read(struct pool_job *job)
{
    struct leg *p = container_of(job, struct leg, job);
    OUTBOX(out, p->flight->road);

    if (!send_prepared(p, &out))
        send_ended(p, &out);
}

static void send_with_token(struct leg *p, const struct verdict *failed)
{
    OUTBOX(out, p->flight->road);

    if (failed != NULL)
        p->verdict = *failed;
    if (failed != NULL || !send_http(p, &out))
        send_ended(p, &out);
}

/* False: the attempt has ended with p->verdict. */
static bool send_http(struct leg *p, struct outbox *out)
{
    const struct endpoint_http *http = p->endpoint->type->http;
    enum tokens_answer token = login_take(p, send_with_token);

    if (token != TOKEN_HERE)
        return token == TOKEN_WAIT;
    if (p->sending.next == NULL || http->reads == NULL || !http->reads(p->endpoint->self))
        return send_prepared(p, out);
    p->direct = false; /* it goes on there */
    p->job = (struct pool_job){ .run = send_read };
    pool_submit(p->flight->road->pool, &p->job);
    return true;
}

static bool send_prepared(struct leg *p, struct outbox *out)
{
    const struct endpoint_type *type = p->endpoint->type;
    struct arena *a = p->direct ? &p->flight->arena : &p->own;

    p->request = ARENA_NEW(a, struct http_out_request);
    if (!type->http->prepare(p->endpoint->self, &p->sending, a, p->request, &p->verdict))
        return false;
    payload_close(p->reader); /* what prepare() has read is read again */
    p->reader = NULL;
    if (p->request->before.len > 0)
        envelope_put(p);
    p->transfer = (struct transfer){ .options = type->http->options(p->endpoint->self),
                                     .request = p->request,
                                     .sending = &p->sending,
                                     .once = p->in_doubt != DOUBT_RESEND,
                                     .allowed_us = p->began_us,
                                     .done = send_on_answer };
    if (p->endpoint->answer != NULL)
        p->transfer.sink = answer_doc_sink(p);
    outbox_add_transfer(out, &p->transfer);
    return true;
}

bool send_begin(struct leg *p, struct outbox *out)
{
    send_clear(p);
    p->row.attempts++;
    send_fill(p);
    fault_point(SEND_BEGIN);
    if (p->endpoint->type->http == NULL) {
        if (!sender_send(p,
                         &(struct sender_ends){ .ended = sender_ended, .refused = sender_refused }))
            outbox_add_unsent(out, p);
        return true;
    }
    return send_http(p, out);
}

/* Begins legs that have slots.  A leg that ends at once may free its slot for others, which join
 * the same chain: a loop and not a recursion, whose depth would have no bound. */
static void send_begin_all(struct leg *first, struct outbox *out)
{
    struct leg *chain = first, **end = &chain;

    while (*end != NULL)
        end = &(*end)->next;
    while (chain != NULL) {
        struct leg *p = chain;

        chain = p->next;
        if (chain == NULL)
            end = &chain;
        p->next = NULL;
        if (send_is_late(p) ||
            (p->in_doubt == DOUBT_RESEND ? !send_begin(p, out) : !doubt_start(p, out)))
            end_leg(p, &end, out);
    }
}

void send_chain(struct leg *first, struct outbox *out)
{
    send_begin_all(first, out);
}

/* A large variant is uploaded and sent from the store, so that it does not stay in memory. */
static bool has_large(const struct flight *f)
{
    for (size_t i = 0; i < f->made_count; i++)
        if (f->made[i]->buf.len > SEGMENT_PAYLOAD_MOST)
            return true;
    return false;
}

void send_legs(struct flight *f, struct outbox *out)
{
    struct leg *chain = NULL, **end = &chain;
    size_t count = f->leg_count;
    struct err err = { 0 };

    if (f->source.size > SEGMENT_PAYLOAD_MOST) /* sent from the store */
        buf_done(&f->received.buf);
    /* Nothing was sent yet: safe to repeat. */
    if (!order_mark(f, &err) || (has_large(f) && !variants_seal(f, &err))) {
        outcome_again(f, &err);
        settle_flight(f, out);
        return;
    }

    /* One more than the legs, so that the flight is not settled before the loop ends. */
    atomic_store(&f->open, (int)count + 1);
    for (size_t i = 0; i < count; i++) {
        struct leg *p = f->legs[i];
        unsigned why;

        p->took_us = -1;
        switch (dispatch_offer(f->road->dispatch, p, &why)) {
        case DISPATCH_BEGIN:
            p->direct = true;
            *end = p;
            end = &p->next;
            *end = NULL;
            break;
        case DISPATCH_PARK:
            outcome_parked(p, why);
            one_over(f, out);
            break;
        case DISPATCH_WAIT:
            break;
        }
    }
    send_begin_all(chain, out);
    one_over(f, out);
}

/* The node stops.  A leg with an intent is settled as not sent, or it would be in doubt.  All
 * others keep their tasks in the store as they are. */
static void drop_unsent(struct transfer *first, struct outbox *out)
{
    for (struct transfer *t = first, *next; t != NULL; t = next) {
        struct leg *p = container_of(t, struct leg, transfer);

        next = t->next;
        if (p->in_doubt != DOUBT_RESEND)
            send_back(p, out);
    }
}

/* False: the transfer thread accepts nothing more. */
static bool submit(struct road *r, struct transfer *first, struct transfer *last)
{
    (void)pthread_mutex_lock(&r->mutex);
    bool open = !r->hub_closed;

    if (open)
        transfer_submit(r->hub, first, last);
    (void)pthread_mutex_unlock(&r->mutex);
    return open;
}

void send_flush(struct outbox *out)
{
    struct transfer *first, *last;
    struct leg *p = NULL;

    /* What is not sent may make other legs begin, so the loop goes on. */
    while ((first = outbox_take_transfers(out, &last)) != NULL ||
           (p = outbox_take_unsent(out)) != NULL) {
        if (first == NULL)
            send_back(p, out);
        else if (!submit(out->road, first, last))
            drop_unsent(first, out);
    }
    outbox_submit(out);
}
