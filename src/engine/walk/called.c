#include "engine/walk/called.h"

#include <stdio.h>

#include "base/auto.h"
#include "base/chance.h"
#include "base/clock.h"
#include "core/service_call.h"
#include "engine/asking/calling.h"
#include "engine/flight/bytes.h"
#include "engine/flight/foretold.h"
#include "engine/flight/tries.h"
#include "engine/road/outcome.h"
#include "engine/road/state.h"
#include "engine/walk/answer_step.h"
#include "store/payload/payload.h"
#include "store/store.h"

enum { QUESTION_DIGITS = 32 };

static const struct service_call *rule_of_call(const struct plan_step *s)
{
    return s->service->http->call(s->self);
}

/* ---- the request ---- */

/* By threads of the pool, while the flight waits. */
static bool next_of_document(void *arg, struct str *ret, struct err *err)
{
    struct called *c = arg;

    if ((c->reader == NULL &&
         !payload_open(c->io.flight->stock->store, &c->io.in->source, &c->reader, err)) ||
        !payload_next(c->reader, ret, err)) {
        c->read_err = *err;
        return false;
    }
    return true;
}

static bool put_answer(void *arg, struct str piece, struct err *err)
{
    struct called *c = arg;

    return c->io.io.put(&c->io.io, piece, &c->failure) ||
           err_set(err, ERR_TRANSIENT, 0, "%s", c->failure.message);
}

/* What is asked is the same in every run, unless a record is part of it: then it is known by its
 * digest. */
static struct str call_question(struct flight *f)
{
    char text[SHA256_TEXT];

    if (!f->reads_records)
        return STR("");
    struct sha256 sum = variant_sha256(f, f->walk.bytes);

    return arena_copy(&f->arena, str_first(str_of(digest_text(&sum, text)), QUESTION_DIGITS));
}

static struct str call_key(struct flight *f, const struct plan_step *s, struct str question)
{
    char again[32] = "";

    if (f->again > 0)
        (void)snprintf(again, sizeof again, ":again%lld", (long long)f->again);
    return str_of(arena_printf(&f->arena, "%s:%.*s:%lld%s%s%.*s", f->id, STR_ARG(s->name),
                               (long long)f->step_count + 1, again, question.len > 0 ? ":" : "",
                               STR_ARG(question)));
}

/* The facts of the document and what the expressions of `values` find in it.  A name of `values` is
 * never an attribute: one whose expression finds nothing has no value. */
static bool call_facts(struct flight *f, const struct plan_step *s, const struct facts **ret,
                       struct extract_failure *ret_failure)
{
    const struct variant *bytes = f->walk.bytes;
    struct extract_source source = { .body = buf_view(&bytes->buf),
                                     .whole = variant_is_in_memory(bytes),
                                     .head = f->head,
                                     .name = f->name };
    struct facts found = { 0 }, *all = ARENA_NEW(&f->arena, struct facts);

    if (!extract_run(s->extractor, &source, &f->arena, &found, ret_failure))
        return false;
    *all = f->facts;
    all->attributes =
        ARENA_ARRAY(&f->arena, struct fact, found.attribute_count + f->facts.attribute_count + 1);
    all->attribute_count = 0;
    for (size_t i = 0; i < found.attribute_count; i++)
        all->attributes[all->attribute_count++] = found.attributes[i];
    for (size_t i = 0; i < f->facts.attribute_count; i++)
        if (!extractor_seeks(s->extractor, f->facts.attributes[i].name))
            all->attributes[all->attribute_count++] = f->facts.attributes[i];
    *ret = all;
    return true;
}

static enum way fill_facts(struct flight *f, const struct plan_step *s, struct called *c)
{
    struct extract_failure failure = { 0 };
    struct err err = { 0 };

    c->sending.facts = &f->facts;
    if (s->service->http->ask == NULL || s->extractor == NULL)
        return WAY_ON;
    if (!variant_peek(f, f->walk.bytes, &err)) {
        outcome_read_failed(f, &err);
        return WAY_DEAD;
    }
    bool ok = call_facts(f, s, &c->sending.facts, &failure);

    variant_unpeek(f);
    return ok ? WAY_ON : step_dead(f, s, failure.code, -1, failure.message);
}

static void fill_request(struct flight *f, const struct plan_step *s, struct called *c)
{
    const struct service_http *http = s->service->http;
    struct variant *v = f->walk.bytes;

    c->sending = (struct sending){ .document = str_of(f->id),
                                   .delivery = call_key(f, s, c->question),
                                   .facts = &f->facts,
                                   .name = f->name,
                                   .ctype = f->ctype,
                                   .gateway = name_text(f->stock->store, f->gateway),
                                   .endpoint = s->name,
                                   .traceparent = str_of(f->traceparent),
                                   .received_us = f->received_us,
                                   .attempt = c->attempt,
                                   .size = variant_size(v) };
    if (variant_is_in_memory(v)) {
        c->sending.bytes = buf_view(&v->buf);
    } else {
        c->sending.next = next_of_document;
        c->sending.next_arg = c;
    }
    c->sink = (struct answer_sink){ .most = c->io.most, .put = put_answer, .arg = c };
    c->transfer = (struct transfer){ .options = http->ask == NULL ? http->options(s->self) : NULL,
                                     .request = &c->request,
                                     .sending = &c->sending,
                                     .sink = &c->sink };
}

/* An answer that is joined with the document is in memory with it. */
static int64_t answer_most(const struct plan_step *s)
{
    int64_t most = rule_of_call(s)->answer_most;

    return s->service->http->join != NULL && most > SEGMENT_PAYLOAD_MOST ? SEGMENT_PAYLOAD_MOST
                                                                         : most;
}

static enum way begin_called(struct flight *f, const struct plan_step *s, const struct tries *past,
                             struct str question)
{
    struct called *c = ARENA_NEW(&f->arena, struct called);
    struct err err = { 0 };

    if (!f->dry && !variant_rest(f, f->walk.bytes, &err)) {
        outcome_again(f, &err);
        return WAY_DEAD;
    }
    c->from_us = clock_mono_us();
    c->attempt = past->count + 1;
    c->first_us = past->first_us;
    c->question = question;
    step_io_init(&c->io, f, s, answer_most(s), NULL);
    fill_request(f, s, c);
    f->called = c;
    enum way way = fill_facts(f, s, c);

    if (way != WAY_ON) {
        called_drop(f);
        return way;
    }
    if (s->service->http->ask == NULL &&
        !s->service->http->prepare(s->self, &c->sending, &f->arena, &c->request, &c->verdict)) {
        way = step_dead(f, s, DEAD_SERVICE_FAILED, -1, c->verdict.message);

        called_drop(f);
        return way;
    }
    f->walk.need = WALK_NEEDS_ANSWER;
    return WAY_WAITS;
}

/* ---- the answer ---- */

/* The step has made `made` of the answer. */
static enum way go_on_with(struct flight *f, const struct plan_step *s, struct variant *made,
                           int64_t from_us, const struct step_answer *a)
{
    if (s->answer != NULL && made->is_kept) { /* for the run that takes it from there */
        made->status = a->status;
        made->ctype = a->ctype;
    }
    enum way way = step_go_on(f, s, made, from_us);

    return way == WAY_ON && !answer_step_take(f, s, a) ? WAY_DEAD : way;
}

/* ---- what was kept ---- */

static enum way use_kept(struct flight *f, const struct plan_step *s, const struct tries *past,
                         struct str question)
{
    int64_t from = clock_mono_us();
    struct step_answer answer = { call_key(f, s, question), past->status, past->bytes.size,
                                  past->ctype };
    struct variant *v;
    enum way way = step_take_kept(f, s, &past->bytes, "not asked again: its answer was kept", &v);

    return way == WAY_ON ? go_on_with(f, s, v, from, &answer) : way;
}

static enum way ask_nobody(struct flight *f, const struct plan_step *s)
{
    struct err err = { 0 };

    (void)err_set(
        &err, ERR_TRANSIENT, 0,
        "the step %.*s asks a service, which is not done here: what it would answer is not "
        "known; files of `waybill test` can say it",
        STR_ARG(s->name));
    outcome_read_failed(f, &err);
    return WAY_DEAD;
}

/* ---- the answer ---- */

static void keep_answer(struct flight *f, struct variant *made, const struct called *c)
{
    made->is_kept = made != f->walk.bytes;
    made->question = c->question;
}

static enum way join_answer(struct flight *f, const struct plan_step *s, struct called *c)
{
    struct service_failure failure = { .code = DEAD_SERVICE_FAILED };
    AUTO(buf_done) struct buf out = BUF_INIT(SERVICE_BYTES_MOST);
    struct service_document d = step_document(f);
    struct err err = { 0 };

    if (!step_load(f, &err)) {
        outcome_read_failed(f, &err);
        return WAY_DEAD;
    }
    if (!s->service->http->join(s->self, buf_view(&f->walk.bytes->buf), buf_view(&c->io.out),
                                c->verdict.status, &d, &out, &failure))
        return step_dead(f, s, failure.code, clock_mono_us() - c->from_us, failure.message);
    f->step_count++;
    struct variant *made = flight_add_made(f, s->name, &out);

    keep_answer(f, made, c);
    return step_go_on(f, s, made, c->from_us);
}

static enum way use_none(struct flight *f, const struct plan_step *s, const struct called *c,
                         const struct step_answer *a)
{
    enum way way = step_none(f, s, c->from_us);

    return answer_step_take(f, s, a) ? way : WAY_DEAD;
}

/* Also an answer that is the same as the document is kept. */
static enum way use_answer(struct flight *f, const struct plan_step *s, struct called *c)
{
    struct step_answer answer = { c->sending.delivery, c->verdict.status, c->io.size, c->ctype };
    struct variant *made;

    if (s->service->http->join != NULL)
        return join_answer(f, s, c);
    if (c->verdict.status == 204)
        return use_none(f, s, c, &answer);
    if (answer_step_needs_thread(f, s, c->io.size)) {
        f->walk.need = WALK_NEEDS_THREAD;
        return WAY_WAITS;
    }
    f->step_count++;
    if (c->io.upload == NULL) {
        made = flight_add_made(f, s->name, &c->io.out);
    } else if (!step_io_take(&c->io, s->name, &made)) {
        f->step_count--;
        outcome_read_failed(f, &c->io.err);
        return WAY_DEAD;
    }
    keep_answer(f, made, c);
    return go_on_with(f, s, made, c->from_us, &answer);
}

/* By the rules of deliveries. */
static enum way ask_again(struct flight *f, const struct plan_step *s, struct called *c)
{
    const struct retry_rule *rule = &rule_of_call(s)->retry;
    int64_t now = road_now_us(f->road), took = clock_mono_us() - c->from_us;
    int64_t first = c->first_us != 0 ? c->first_us : now - took;
    int64_t due = now + retry_wait_us(rule, c->attempt, chance_u64());

    if (due < now + c->verdict.retry_after_us)
        due = now + c->verdict.retry_after_us;
    if (f->dry || retry_is_over(rule, first, due))
        return step_dead(f, s, DEAD_RETRIES_EXHAUSTED, took, c->verdict.message);
    if (f->expires_us != 0 && due > f->expires_us)
        due = f->expires_us;
    step_keep_made(f);
    outcome_step_again(
        f, s->name,
        &(struct outcome_try){
            .verdict = &c->verdict, .attempt = c->attempt, .took_us = took, .due_us = due });
    return WAY_DEAD;
}

/* Nothing has happened but a wait: no line tells of it. */
static enum way sent_away(struct flight *f, const struct calling_away *away)
{
    int64_t due = road_now_us(f->road) + away->wait_us;

    if (f->expires_us != 0 && due > f->expires_us)
        due = f->expires_us;
    step_keep_made(f);
    if (!f->recovered)
        buf_clear(&f->timeline);
    (void)snprintf(f->message, sizeof f->message, "%s", away->why);
    if (away->failing)
        outcome_held(f, due);
    else
        outcome_delayed(f, due);
    return WAY_DEAD;
}

static enum way refuse_answer(struct flight *f, const struct plan_step *s, const struct called *c)
{
    (void)snprintf(f->message, sizeof f->message,
                   "the answer of the service is larger than %lld bytes; see `most`",
                   (long long)c->io.most);
    return step_dead(f, s, DEAD_LIMIT, clock_mono_us() - c->from_us, f->message);
}

static enum way end_called(struct flight *f, const struct plan_step *s)
{
    struct called *c = f->called;

    if (c->is_away)
        return sent_away(f, &c->away);
    if (c->read_err.kind != ERR_NONE || c->io.err.kind != ERR_NONE) {
        outcome_read_failed(f, c->read_err.kind != ERR_NONE ? &c->read_err : &c->io.err);
        return WAY_DEAD;
    }
    if (c->too_large || c->failure.message[0] != '\0')
        return refuse_answer(f, s, c);
    switch (c->verdict.kind) {
    case VERDICT_DELIVERED:
        return use_answer(f, s, c);
    case VERDICT_REJECTED:
        return step_dead(f, s, DEAD_REJECTED, clock_mono_us() - c->from_us, c->verdict.message);
    case VERDICT_FAILED:
        return step_dead(f, s, DEAD_SERVICE_FAILED, clock_mono_us() - c->from_us,
                         c->verdict.message);
    case VERDICT_RETRY:
    case VERDICT_UNREACHED:
    case VERDICT_CREDENTIAL:
    case VERDICT_STRANGE:
    case VERDICT_DOUBT:
        break;
    }
    return ask_again(f, s, c);
}

/* ---- what was said before ---- */

static enum way take_foretold(struct flight *f, const struct plan_step *s,
                              const struct foretold_answer *a)
{
    struct called *c = f->called;
    const struct http_out_answer answer = { .reach = HTTP_OUT_ANSWERED,
                                            .status = a->status,
                                            .body = str_first(a->body, VERDICT_ANSWER_MOST),
                                            .came = (int64_t)a->body.len };

    s->service->http->judge(s->self, &answer, &c->verdict);
    if (c->verdict.kind == VERDICT_DELIVERED)
        (void)c->io.io.put(&c->io.io, a->body, &c->failure);
    return end_called(f, s);
}

/* The request is made as for a service that is asked. */
static enum way use_foretold(struct flight *f, const struct plan_step *s, const struct tries *past,
                             struct str question)
{
    struct foretold *t = f->foretold;

    if (t == NULL || t->asked++ >= t->count)
        return ask_nobody(f, s);
    enum way way = begin_called(f, s, past, question);

    if (way == WAY_WAITS) {
        way = take_foretold(f, s, &t->list[t->asked - 1]);
        called_drop(f);
    }
    return way;
}

void called_drop(struct flight *f)
{
    if (f->called == NULL)
        return;
    payload_close(f->called->reader);
    step_io_done(&f->called->io);
    f->called = NULL;
}

enum way called_run(struct flight *f, const struct plan_step *s)
{
    if (f->called != NULL) {
        enum way way = end_called(f, s);

        if (way != WAY_WAITS)
            called_drop(f);
        return way;
    }
    struct str question = call_question(f);
    struct tries past = tries_asked(f, s->name, f->step_count + 1, question);

    if (past.has_bytes)
        return use_kept(f, s, &past, question);
    return f->dry ? use_foretold(f, s, &past, question) : begin_called(f, s, &past, question);
}
