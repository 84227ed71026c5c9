#include "engine/run/asker.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/log.h"
#include "core/line/line.h"
#include "engine/asking/calling.h"
#include "engine/flight/flight.h"
#include "engine/road/state.h"
#include "engine/threads/crew.h"
#include "engine/threads/lines.h"

enum { QUESTION_ARENA = 1 << 20 };

/* One question, with everything that the service may touch.  `called` belongs to the flight: it is
 * used when the question has ended, and by lost() instead of that. */
struct question {
    struct crew_call call;
    struct lines *lines; /* a reference, as the call may outlive the road */
    struct plan *plan;   /* a reference: keeps the step alive */
    const struct plan_step *step;
    struct called *called;
    struct arena arena;
    struct facts facts;
    struct sending sending;
    struct buf answer;
    struct verdict verdict;
};

static void question_free(struct question *q)
{
    buf_done(&q->answer);
    arena_done(&q->arena);
    plan_unref(q->plan);
    lines_unref(q->lines);
    free(q);
}

static void question_run(struct crew_call *call)
{
    struct question *q = container_of(call, struct question, call);

    q->step->service->http->ask(q->step->self, &q->sending, &call->call, &q->answer, &q->verdict);
}

/* The walk goes on with what came of it. */
static void question_tell(struct question *q, const struct verdict *v, struct str answer)
{
    struct called *c = q->called;

    c->verdict = *v;
    c->transfer.answer = (struct http_out_answer){ .reach = HTTP_OUT_ANSWERED,
                                                   .status = v->status,
                                                   .ctype = STR("application/json"),
                                                   .body = answer,
                                                   .came = (int64_t)answer.len };
    c->transfer.took_us = clock_mono_us() - c->transfer.began_us;
    c->transfer.done(&c->transfer);
}

static void question_done(struct crew_call *call)
{
    struct question *q = container_of(call, struct question, call);

    question_tell(q, &q->verdict, buf_view(&q->answer));
    question_free(q);
}

/* On the crew's timekeeper, while question_run() still hangs. */
static void question_lost(struct crew_call *call, bool committed)
{
    struct question *q = container_of(call, struct question, call);
    long long ms = (clock_mono_us() - call->began_us) / CLOCK_MS;
    struct verdict v = { .hung = true };

    (void)committed; /* a question changes nothing */
    log_event(LOG_WARN, "call.hang", kv_str("step", q->step->name),
              kv_str("document", q->sending.document), kv_int("ms", ms),
              kv_z("hint", "What the step asks does not answer and cannot be interrupted: its "
                           "thread is given up. Look after the server behind it."));
    (void)verdict_say(&v, VERDICT_UNREACHED, "it did not answer within %lld.%03lld s, and hangs",
                      ms / 1000, ms % 1000);
    question_tell(q, &v, STR(""));
}

static void question_back(struct crew_call *call)
{
    question_free(container_of(call, struct question, call));
}

static void copy_question(struct question *q, const struct sending *from)
{
    struct arena *a = &q->arena;
    struct sending *s = &q->sending;

    *s = *from;
    s->document = arena_copy(a, s->document);
    s->delivery = arena_copy(a, s->delivery);
    q->facts = facts_copy(a, s->facts);
    s->facts = &q->facts;
    s->name = arena_copy(a, s->name);
    s->ctype = arena_copy(a, s->ctype);
    s->gateway = arena_copy(a, s->gateway);
    s->endpoint = arena_copy(a, s->endpoint);
    s->traceparent = arena_copy(a, s->traceparent);
    s->bytes = (struct str){ 0 };
    s->next = NULL;
    s->next_arg = NULL;
}

bool asker_ask(struct road *r, struct called *c)
{
    const struct flight *f = c->io.flight;
    const struct plan_step *s = &f->route->steps[f->walk.step];
    struct question *q = NEW(struct question);

    *q = (struct question){ .call = { .call = { .stop = &r->stopping,
                                                .egress = r->options.egress,
                                                .lines = lines_port(r->lines) },
                                      .patience_us = s->service->http->patience_us(s->self),
                                      .whole = true,
                                      .run = question_run,
                                      .done = question_done,
                                      .lost = question_lost,
                                      .back = question_back },
                            .lines = lines_ref(r->lines),
                            .plan = plan_ref(f->plan),
                            .step = s,
                            .called = c,
                            .answer = BUF_INIT(SERVICE_ASK_ROOM),
                            .arena = ARENA_INIT(QUESTION_ARENA) };
    copy_question(q, &c->sending);
    c->transfer.began_us = clock_mono_us();
    (void)pthread_mutex_lock(&r->mutex);
    bool open = !r->senders_closed;

    if (open)
        crew_submit(r->senders, &q->call);
    (void)pthread_mutex_unlock(&r->mutex);
    if (!open)
        question_free(q);
    return open;
}
