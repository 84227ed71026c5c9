#include "engine/run/sender.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/require.h"
#include "engine/dispatch/dispatch.h"
#include "engine/road/answers.h"
#include "engine/road/state.h"
#include "engine/threads/crew.h"
#include "engine/threads/lines.h"
#include "engine/walk/answer_doc.h"
#include "store/kernel/node.h"
#include "store/payload/payload.h"
#include "store/store.h"

#define RECOVER_PATIENCE_US (INT64_C(60) * CLOCK_S)
#define SPARE_US            (INT64_C(5) * CLOCK_S) /* for a connector that keeps the time itself */

enum { ARENA_MOST = 2 << 20, NOTE_MOST = 64 << 10, ANSWER_MOST = 1 << 20 };

enum errand { ERRAND_SEND, ERRAND_ASK, ERRAND_RECOVER, ERRAND_TELL };
enum { NOT_NOTED, NOTED, NOT_WANTED }; /* a task in the recorder */

/* One call, with everything that the connector may touch.  `leg` belongs to the flight: it is used
 * before the call and after its end, and by lost() instead of the end. */
struct outing {
    struct crew_call call;
    enum errand errand;
    struct road *road;
    struct lines *lines; /* a reference, as the call may outlive the road */
    struct plan *plan;   /* a reference: keeps the endpoint alive */
    const struct plan_endpoint *endpoint;
    struct leg *leg; /* NULL for a recovery and a notice */
    struct task task;
    int64_t allowed_us; /* when nothing held it back; monotonic */
    struct sender_ends ends;
    void (*told)(void *arg, const struct verdict *v); /* of a notice, with told_arg */
    void *told_arg;
    struct task_code code; /* of the task, in the recorder */
    _Atomic int noted;     /* decides who takes it out again */
    bool refused;

    struct arena arena;
    struct facts facts;
    struct sending sending;
    struct payload_source source; /* of a large body ... */
    struct payload_reader *reader;
    struct err read_err;
    struct buf note; /* of the attempts: what the delivery's row keeps */
    struct sending_answer answer;
    struct verdict verdict;
};

/* ---- copies ---- */

/* Pieces come from the store; a call that was given up reads no more: the store may be gone. */
static bool next_piece(void *arg, struct str *ret, struct err *err)
{
    struct outing *o = arg;
    struct store *s = o->road->store;

    if (!call_own_begin(&o->call.call, err))
        return false;
    bool ok = (o->reader != NULL || payload_open(s, &o->source, &o->reader, err)) &&
              payload_next(o->reader, ret, err);

    call_alive(&o->call.call);
    if (!ok)
        o->read_err = *err;
    return ok;
}

static bool rewind_pieces(void *arg, struct err *err)
{
    struct outing *o = arg;

    if (!call_own_begin(&o->call.call, err))
        return false;
    payload_close(o->reader);
    o->reader = NULL;
    call_alive(&o->call.call);
    return true;
}

static void copy_words(struct outing *o, const struct sending *from)
{
    struct arena *a = &o->arena;
    struct sending *s = &o->sending;

    *s = *from;
    s->document = arena_copy(a, s->document);
    s->delivery = arena_copy(a, s->delivery);
    o->facts = facts_copy(a, s->facts);
    s->facts = &o->facts;
    s->name = arena_copy(a, s->name);
    s->ctype = arena_copy(a, s->ctype);
    s->gateway = arena_copy(a, s->gateway);
    s->endpoint = arena_copy(a, s->endpoint);
    s->traceparent = arena_copy(a, s->traceparent);
    s->note = &o->note;
    if (s->bytes.ptr != NULL)
        s->bytes = arena_copy(a, s->bytes);
}

static void copy_sending(struct outing *o, const struct leg *p)
{
    struct sending *s = &o->sending;

    copy_words(o, &p->sending);
    if (p->row.name.len <= NOTE_MOST)
        buf_put(&o->note, p->row.name);
    s->answer = &o->answer;
    if (s->bytes.ptr == NULL) {
        o->source = p->variant->source;
        s->next = next_piece;
        s->rewind = rewind_pieces;
        s->next_arg = o;
        s->sha256 = &o->source.sha256;
    }
}

/* ---- the recorder: a crash of this thread is the task's, a crash of another is not ---- */

static void note_code(struct outing *o)
{
    int before = NOT_NOTED;

    o->code = suspects_note(&o->road->suspects, &o->task);
    if (!atomic_compare_exchange_strong(&o->noted, &before, NOTED)) /* given up meanwhile */
        suspects_leave(&o->road->suspects, o->code);
}

static void forget_code(struct outing *o)
{
    if (atomic_exchange(&o->noted, NOT_WANTED) == NOTED)
        suspects_leave(&o->road->suspects, o->code);
}

/* ---- on a thread of the crew ---- */

static void outing_run(struct crew_call *call)
{
    struct outing *o = container_of(call, struct outing, call);
    const struct plan_endpoint *e = o->endpoint;

    if (o->errand == ERRAND_RECOVER) {
        e->type->recover(e->self, &call->call);
        return;
    }
    if (o->errand == ERRAND_TELL) {
        e->type->send(e->self, &o->sending, &call->call, &o->verdict);
        return;
    }
    o->refused = o->ends.refused != NULL && !node_may_go_on(o->road->store, o->allowed_us);
    if (o->refused) /* another node may have taken the task over */
        return;
    note_code(o);
    (o->errand == ERRAND_SEND ? e->type->send : e->type->ask)(e->self, &o->sending, &call->call,
                                                              &o->verdict);
}

static void outing_free(struct outing *o)
{
    payload_close(o->reader);
    buf_done(&o->note);
    buf_done(&o->answer.bytes);
    arena_done(&o->arena);
    plan_unref(o->plan);
    lines_unref(o->lines);
    free(o);
}

/* What the receiver answered is kept, and becomes a document, as an answer over HTTP does. */
static void sender_take_answer(struct leg *p, const struct sending_answer *answer)
{
    struct http_out_answer a = { .reach = HTTP_OUT_ANSWERED,
                                 .ctype = str_of(answer->ctype),
                                 .body = buf_view(&answer->bytes),
                                 .came = (int64_t)answer->bytes.len };
    struct str whole = a.body;

    if (a.body.len > VERDICT_ANSWER_MOST)
        a.body.len = VERDICT_ANSWER_MOST;
    answers_take(p, &a);
    a.body = whole;
    bool stores = answer_doc_take(p, &a);

    require(!stores); /* it is in memory as a whole */
}

static void recover_ended(struct road *r);

static void outing_done(struct crew_call *call)
{
    struct outing *o = container_of(call, struct outing, call);
    struct road *r = o->road;
    struct leg *p = o->leg;

    if (p != NULL) {
        struct sender_ends ends = o->ends;
        bool refused = o->refused;

        forget_code(o);
        p->verdict = o->verdict;
        p->read_err = o->read_err;
        if (o->note.len > 0)
            p->row.name = arena_copy(&p->own, buf_view(&o->note));
        if (o->answer.bytes.len > 0)
            sender_take_answer(p, &o->answer);
        outing_free(o);
        if (!refused)
            fault_point(SEND_ANSWERED);
        (refused ? ends.refused : ends.ended)(p);
        return;
    }
    if (o->errand == ERRAND_TELL)
        o->told(o->told_arg, &o->verdict);
    bool recovered = o->errand == ERRAND_RECOVER;

    outing_free(o);
    if (recovered)
        recover_ended(r);
}

/* ---- given up ---- */

static void tell_lost(const struct outing *o, bool committed)
{
    static const char *const errands[] = { "send", "ask", "recover", "tell" };

    log_event(LOG_WARN, "endpoint.hang", kv_str("endpoint", o->endpoint->name),
              kv_z("call", errands[o->errand]), kv_str("delivery", o->sending.delivery),
              kv_int("ms", (clock_mono_us() - o->call.began_us) / CLOCK_MS),
              kv_bool("unclear", committed),
              kv_z("hint", "The receiver does not answer and cannot be interrupted: its thread is "
                           "given up. Look after the share or the server behind it."));
}

static struct verdict lost_verdict(const struct outing *o, bool committed)
{
    struct verdict v = { .hung = true };
    long long ms = (clock_mono_us() - o->call.began_us) / CLOCK_MS;

    (void)verdict_say(&v, committed ? VERDICT_DOUBT : VERDICT_UNREACHED,
                      "it did not answer within %lld.%03lld s, and hangs still: %s", ms / 1000,
                      ms % 1000,
                      committed ? "whether it arrived is not known" : "nothing was sent");
    return v;
}

/* On the crew's timekeeper, while outing_run() still hangs. */
static void outing_lost(struct crew_call *call, bool committed)
{
    struct outing *o = container_of(call, struct outing, call);
    struct leg *p = o->leg;

    dispatch_lost(o->road->dispatch, o->endpoint->word);
    tell_lost(o, committed);
    if (o->errand == ERRAND_RECOVER) {
        recover_ended(o->road);
        return;
    }
    struct verdict v = lost_verdict(o, committed);

    if (p == NULL) {
        o->told(o->told_arg, &v);
        return;
    }
    forget_code(o);
    p->verdict = v;
    o->leg = NULL;
    o->ends.ended(p);
}

static void outing_back(struct crew_call *call)
{
    struct outing *o = container_of(call, struct outing, call);

    log_event(LOG_INFO, "endpoint.return", kv_str("endpoint", o->endpoint->name),
              kv_int("ms", (clock_mono_us() - call->began_us) / CLOCK_MS));
    dispatch_found(o->road->dispatch, o->endpoint->word);
    outing_free(o);
}

/* ---- begin ---- */

static struct outing *outing_new(struct road *r, struct plan *plan, const struct plan_endpoint *e,
                                 enum errand errand)
{
    struct outing *o = NEW(struct outing);

    *o = (struct outing){ .call = { .call = { .stop = &r->stopping,
                                              .egress = r->options.egress,
                                              .lines = lines_port(r->lines) },
                                    .patience_us =
                                        e->timeout_us + (e->type->keeps_time ? SPARE_US : 0),
                                    .run = outing_run,
                                    .done = outing_done,
                                    .lost = outing_lost,
                                    .back = outing_back },
                          .errand = errand,
                          .road = r,
                          .lines = lines_ref(r->lines),
                          .plan = plan_ref(plan),
                          .endpoint = e,
                          .note = BUF_INIT(NOTE_MOST),
                          .answer = { .bytes = BUF_INIT(ANSWER_MOST), .ctype = "" },
                          .arena = ARENA_INIT(ARENA_MOST) };
    return o;
}

/* False: the node stops, and the crew may be gone. */
static bool outing_submit(struct outing *o)
{
    struct road *r = o->road;

    (void)pthread_mutex_lock(&r->mutex);
    bool open = !r->senders_closed;

    if (open)
        crew_submit(r->senders, &o->call);
    (void)pthread_mutex_unlock(&r->mutex);
    if (!open)
        outing_free(o);
    return open;
}

static bool start(struct leg *p, enum errand errand, const struct sender_ends *ends)
{
    struct flight *f = p->flight;
    struct road *r = f->road;
    struct outing *o = outing_new(r, p->plan != NULL ? p->plan : f->plan, p->endpoint, errand);

    o->leg = p;
    o->ends = *ends;
    o->allowed_us = p->began_us;
    copy_sending(o, p);
    /* The time-out is over all for a body that is in memory, and counts silence above that. */
    o->call.whole = o->sending.next == NULL;
    o->task = f->settle.task;
    return outing_submit(o);
}

bool sender_send(struct leg *p, const struct sender_ends *ends)
{
    return start(p, ERRAND_SEND, ends);
}

bool sender_ask(struct leg *p, const struct sender_ends *ends)
{
    return start(p, ERRAND_ASK, ends);
}

bool sender_tell(struct road *r, struct plan *plan, const struct plan_endpoint *e,
                 const struct sending *s, void (*told)(void *arg, const struct verdict *v),
                 void *arg)
{
    if (dispatch_is_hung(r->dispatch, e->word)) {
        struct verdict v = { 0 };

        (void)verdict_say(&v, VERDICT_UNREACHED, "an earlier call to it still hangs");
        told(arg, &v);
        return true;
    }
    struct outing *o = outing_new(r, plan, e, ERRAND_TELL);

    require(s->bytes.ptr != NULL);
    o->told = told;
    o->told_arg = arg;
    copy_words(o, s);
    o->call.whole = true;
    return outing_submit(o);
}

/* ---- recoveries ---- */

static bool can_recover(const struct road *r, const struct plan_endpoint *e)
{
    return (e->area == CONFIG_ANYWHERE || e->area == r->options.area) && e->self != NULL &&
           e->type->recover != NULL;
}

/* The next endpoint, counted as running, with a reference to its plan; NULL: enough are running, or
 * none is left. */
static const struct plan_endpoint *recover_next(struct road *r, struct plan **ret_plan)
{
    const struct plan_endpoint *e = NULL;
    struct recovery *v = &r->recovery;
    struct plan *over = NULL;

    (void)pthread_mutex_lock(&r->mutex);
    while (e == NULL && v->plan != NULL && v->running < RECOVERIES_MOST) {
        if (v->next == v->plan->endpoint_count || r->senders_closed) {
            over = v->plan;
            v->plan = NULL;
        } else if (can_recover(r, &v->plan->endpoints[v->next++])) {
            e = &v->plan->endpoints[v->next - 1];
            v->running++;
            *ret_plan = plan_ref(v->plan);
        }
    }
    (void)pthread_mutex_unlock(&r->mutex);
    plan_unref(over);
    return e;
}

/* False: a thread hangs in there already, or the node stops. */
static bool recover_begin(struct road *r, struct plan *plan, const struct plan_endpoint *e)
{
    if (dispatch_is_hung(r->dispatch, e->word))
        return false;
    struct outing *o = outing_new(r, plan, e, ERRAND_RECOVER);

    o->call.patience_us = RECOVER_PATIENCE_US;
    return outing_submit(o);
}

static void recover_count_end(struct road *r)
{
    (void)pthread_mutex_lock(&r->mutex);
    r->recovery.running--;
    (void)pthread_mutex_unlock(&r->mutex);
}

static void recover_more(struct road *r)
{
    const struct plan_endpoint *e;
    struct plan *plan;

    while ((e = recover_next(r, &plan)) != NULL) {
        if (!recover_begin(r, plan, e))
            recover_count_end(r);
        plan_unref(plan);
    }
}

static void recover_ended(struct road *r)
{
    recover_count_end(r);
    recover_more(r);
}

void sender_recover(struct road *r, struct plan *plan)
{
    (void)pthread_mutex_lock(&r->mutex);
    struct plan *before = r->recovery.plan;

    r->recovery.plan = plan_ref(plan);
    r->recovery.next = 0;
    (void)pthread_mutex_unlock(&r->mutex);
    plan_unref(before);
    recover_more(r);
}
