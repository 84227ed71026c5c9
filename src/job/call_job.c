/* call_job.c - an HTTP service does the work: one request for each iteration.
 *
 *     import: { kind: call, url: "https://erp.example/import", every: 10s,
 *               body: '{"from": "${state}", "for": "${nominal}"}' }
 *
 * Headers and body may have ${job}, ${run}, ${nominal} and ${state} in them.  The Idempotency-Key
 * is job_key(): the job with its nominal time, the same in each repetition.
 *
 * What the service answers as a JSON object may say more than its status (service_answer.h), unless
 * `answer` makes it a document.
 *
 * With `ack: later` the service answers 202 and works in its own time.  The run is opened outside
 * (job_leave()) before the request is sent, because the acknowledgement may come before the 202.
 * The request has the address for it and a secret:
 *
 *     Waybill-Ack: https://here.example/work/ack?run=17-4711
 *     Waybill-Ack-Token: 64 hex digits
 *
 * An answer that says that the work is not taken on ends the run as failed, any other 2xx as done.
 * Where no whole answer came the service may be at work: its acknowledgement decides, or the
 * time-out.
 *
 * A request cannot be called back.  Who is told to stop leaves it to its end, with all that it
 * needs: the options, too, which may be those of a version that is gone by then.
 *
 * With `answer` the service may give its bytes away only once.  So nothing is sent while the intake
 * would refuse them; bytes that are here are handed in until that succeeds or the run is over, and
 * a run that is told to stop waits a moment longer for them (CALL_KEEP_US).
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/wait.h"
#include "core/grammar.h"
#include "core/problem.h"
#include "core/web/http_client.h"
#include "engine/engine.h"
#include "engine/road/road.h"
#include "engine/transfer/transfer.h"
#include "job/depositing.h"
#include "job/ports.h"
#include "job/service_answer.h"
#include "job/words.h"

enum {
    HTTP_ACCEPTED = 202,
    CALL_ARENA = 16 << 20,
    CALL_ANSWER_MOST = 512 << 10, /* a state with its escapes has room in it */
    CALL_DOCUMENT_MOST = 4 << 20, /* an answer that becomes a document: it is in memory */
    CALL_LOOK_US = 100 * CLOCK_MS /* how often a run that waits looks whether it is to stop */
};

#define CALL_TAKE_US (30 * CLOCK_S) /* a service that acknowledges later says so within */
/* A run that was told to stop waits so long for bytes that are given away once, and tries to hand
 * them in: below its grace (JOBS_GRACE_US). */
#define CALL_KEEP_US (4 * CLOCK_S)

struct call_header {
    struct str name, value;
};

struct call_job {
    _Atomic unsigned refs; /* the settings, and each request that is on its way */
    struct arena arena;
    struct http_client client;
    struct call_header *headers;
    size_t header_count;
    struct str body;
    bool typed; /* there is a Content-Type among the headers */
    bool later; /* the service acknowledges later */
    struct str gateway, name,
        ctype; /* of the document that the answer becomes; empty: it does not */
};

/* ---- options ---- */

static const struct option call_header_each = { .type = OPT_TEXT, .help = "the value" };

static const struct option call_answer_keys[] = {
    OPTION("gateway", OPT_GATEWAY, "the gateway that it counts for, which says how it is extracted",
           .flags = OPT_REQUIRED),
    OPTION("name", OPT_TEXT, "its file name; ${job}, ${run} and ${nominal} are filled in",
           .fallback = "${job}-${nominal}"),
    OPTION("content_type", OPT_TEXT, "its media type; left out: what the service says"),
    { 0 },
};

static const struct option options[] = {
    OPTION("url", OPT_URL, "what is called", .flags = OPT_REQUIRED,
           .words = OPTION_WORDS("http", "https")),
    OPTION("method", OPT_WORD, "the HTTP method",
           .words = OPTION_WORDS("GET", "POST", "PUT", "PATCH", "DELETE"), .fallback = "POST"),
    OPTION("headers", OPT_NAMED,
           "headers of the request; ${job}, ${run}, ${nominal} and ${state} are filled in",
           .flags = OPT_FREE, .each = &call_header_each, .noun = "header"),
    OPTION("body", OPT_TEXT, "the body of the request, filled in like `headers`"),
    OPTION(
        "ack", OPT_WORD,
        "when the service says what became of the work: now, in its answer, or later: it answers "
        "202, and posts it to the address in Waybill-Ack below `location.url`",
        .words = OPTION_WORDS("now", "later"), .fallback = "now"),
    OPTION("answer", OPT_MAP,
           "make the answer a document, 4 MiB at most; one without bytes makes none",
           .keys = call_answer_keys),
    OPTIONS(grammar_login),
    OPTIONS(grammar_tls),
    OPTION("timeout", OPT_DURATION,
           "how long the call may take, and so the run; with `ack: later` the time until the "
           "acknowledgement, 1h if it is left out",
           .least = CLOCK_MS, .most = INT64_C(86400) * CLOCK_S, .fallback = "30s"),
    OPTION("connect_timeout", OPT_DURATION, "how long connecting may take", .least = 1,
           .fallback = "10s"),
    { 0 },
};

static void call_job_check(const struct yaml_node *map, struct problem_list *problems)
{
    const struct yaml_node *headers = yaml_get(map, "headers"), *body = yaml_get(map, "body");

    const struct yaml_node *ack = yaml_get(map, "ack"), *answer = yaml_get(map, "answer");

    if (body != NULL)
        words_check(body, WORDS_STATE, problems);
    if (answer != NULL && yaml_get(answer, "name") != NULL)
        words_check(yaml_get(answer, "name"), WORDS_PLAIN, problems);
    if (answer != NULL && ack != NULL && str_is(ack->text, "later"))
        problem_add(problems, yaml_position(answer), "remove one of them",
                    "with `ack: later` the answer is not the result: it cannot become a document");
    for (const struct yaml_node *n = headers != NULL && headers->kind == YAML_MAP ? headers->first
                                                                                  : NULL;
         n != NULL; n = n->next)
        words_check(n, WORDS_STATE, problems);
}

static bool call_read_headers(const struct settings *s, struct call_job *c, struct err *err)
{
    const struct yaml_node *headers = yaml_get(s->node, "headers");

    if (headers == NULL || headers->kind != YAML_MAP)
        return true;
    c->headers = ARENA_ARRAY(&c->arena, struct call_header, headers->count + 1);
    for (const struct yaml_node *n = headers->first; n != NULL; n = n->next) {
        struct call_header *h = &c->headers[c->header_count++];

        h->name = arena_copy(&c->arena, n->key->text);
        c->typed = c->typed || str_eq_nocase(h->name, STR("content-type"));
        if (!settings_expand(s, n, &h->value, err))
            return err_context(err, "`headers`: `%.*s`", STR_ARG(h->name));
    }
    return true;
}

static bool call_read_document(const struct settings *s, struct call_job *c, struct err *err)
{
    struct settings answer = settings_below(s, "answer");

    return !settings_has(s, "answer") ||
           ((settings_text(&answer, "gateway", &c->gateway, err) &&
             settings_text(&answer, "name", &c->name, err) &&
             settings_text(&answer, "content_type", &c->ctype, err)) ||
            err_context(err, "`answer`"));
}

static void call_unref(struct call_job *c)
{
    if (atomic_fetch_sub(&c->refs, 1) > 1)
        return;
    arena_done(&c->arena);
    free(c);
}

static bool call_make(const struct settings *from, void **ret_self, struct err *err)
{
    struct call_job *c = NEW(struct call_job);
    struct settings s = *from;
    struct str ack;

    *c = (struct call_job){ .refs = 1, .arena = ARENA_INIT(CALL_ARENA) };
    s.arena = &c->arena;
    if (!http_client_read(&s, &c->client, err) || !call_read_headers(&s, c, err) ||
        !settings_text(&s, "body", &c->body, err) || !settings_text(&s, "ack", &ack, err) ||
        !call_read_document(&s, c, err)) {
        call_unref(c);
        return false;
    }
    c->later = str_is(ack, "later");
    if (c->later && c->client.options.timeout_us > CALL_TAKE_US)
        c->client.options.timeout_us = CALL_TAKE_US;
    *ret_self = c;
    return true;
}

static void call_unmake(void *self)
{
    call_unref(self);
}

static bool call_leaves(const void *self)
{
    return ((const struct call_job *)self)->later;
}

/* Without its bytes. */
static struct job_document call_document(const struct call_job *c)
{
    return (struct job_document){
        .gateway = c->gateway, .name = c->name, .ctype = c->ctype, .others = true
    };
}

/* ---- one request ---- */

struct call_request {
    _Atomic unsigned refs; /* the run, and the transfer */
    struct call_job *job;  /* a reference */
    struct arena arena;
    struct transfer transfer;
    struct http_out_request request;
    struct sending sending;
    struct facts facts;
    struct answer_sink sink;
    struct buf drained; /* an answer that is large; what is small is copied to the arena */

    pthread_mutex_t mutex;
    pthread_cond_t answered;
    bool done;
    struct http_out_answer answer;
};

static void call_request_unref(struct call_request *q)
{
    if (atomic_fetch_sub(&q->refs, 1) > 1)
        return;
    call_unref(q->job);
    buf_done(&q->drained);
    arena_done(&q->arena);
    (void)pthread_mutex_destroy(&q->mutex);
    (void)pthread_cond_destroy(&q->answered);
    free(q);
}

static bool call_put_piece(void *arg, struct str piece, struct err *err)
{
    return buf_append(&((struct call_request *)arg)->drained, piece, err);
}

/* On the transfer thread. */
static void call_answered(struct transfer *t)
{
    struct call_request *q = container_of(t, struct call_request, transfer);
    const struct http_out_answer *a = &t->answer;

    (void)pthread_mutex_lock(&q->mutex);
    q->answer = *a;
    q->answer.retry_after = arena_copy(&q->arena, a->retry_after);
    q->answer.ctype = arena_copy(&q->arena, a->ctype);
    q->answer.body = a->is_drained ? buf_view(&q->drained) : arena_copy(&q->arena, a->body);
    q->answer.failure = a->failure != NULL ? arena_text(&q->arena, str_of(a->failure)) : NULL;
    q->done = true;
    (void)pthread_cond_signal(&q->answered);
    (void)pthread_mutex_unlock(&q->mutex);
    call_request_unref(q);
}

static bool call_fill_headers(struct call_request *q, const struct job_io *io, struct err *err)
{
    struct http_out_request *r = &q->request;
    const struct call_job *c = q->job;
    r->fields[r->field_count++] =
        (struct http_out_field){ STR("Idempotency-Key"), arena_copy(&q->arena, job_key(io)) };
    if (!c->typed && q->sending.bytes.len > 0)
        r->fields[r->field_count++] =
            (struct http_out_field){ STR("Content-Type"), STR("application/json") };
    for (size_t i = 0; i < c->header_count; i++) {
        struct str value;

        if (!words_fill(io, c->headers[i].value, &q->arena, &value) || str_has_control(value))
            return err_set(err, ERR_PERMANENT, 0,
                           "the header %.*s cannot be made: its value is too long, or holds a "
                           "control character",
                           STR_ARG(c->headers[i].name));
        if (value.len > 0)
            r->fields[r->field_count++] = (struct http_out_field){ c->headers[i].name, value };
    }
    return true;
}

static bool call_fill_request(struct call_request *q, const struct job_io *io, struct err *err)
{
    const struct call_job *c = q->job;

    q->request.method = c->client.method;
    q->request.url = c->client.url;
    q->sending.facts = &q->facts;
    q->sending.bytes = STR("");
    if (c->body.len > 0 && !words_fill(io, c->body, &q->arena, &q->sending.bytes))
        return err_set(err, ERR_PERMANENT, 0, "the body is larger than %d bytes", WORDS_MOST);
    q->sending.size = (int64_t)q->sending.bytes.len;
    if (!call_fill_headers(q, io, err))
        return false;
    q->transfer = (struct transfer){ .options = &c->client.options,
                                     .request = &q->request,
                                     .sending = &q->sending,
                                     .once = c->later, /* it may be at work already */
                                     .sink = &q->sink,
                                     .done = call_answered };
    return true;
}

static struct call_request *call_request_new(struct call_job *c)
{
    struct call_request *q = NEW(struct call_request);
    size_t most = c->gateway.len > 0 ? CALL_DOCUMENT_MOST : CALL_ANSWER_MOST;

    *q = (struct call_request){
        .refs = 1, .job = c, .arena = ARENA_INIT(CALL_ARENA), .drained = BUF_INIT(most)
    };
    q->sink = (struct answer_sink){ .most = (int64_t)most, .put = call_put_piece, .arg = q };
    atomic_fetch_add(&c->refs, 1);
    (void)pthread_mutex_init(&q->mutex, NULL);
    (void)pthread_cond_init(&q->answered, NULL);
    return q;
}

/* How long a run goes on that was told to stop. */
struct call_patience {
    int64_t keep_us;
    int64_t until_us; /* 0: it was not told yet */
};

static bool call_may_go_on(struct call_patience *p, const struct job_io *io)
{
    if (!call_is_over(io->call))
        return true;
    if (p->until_us == 0)
        p->until_us = clock_mono_us() + p->keep_us;
    return clock_mono_us() < p->until_us && !call_is_given_up(io->call);
}

/* False: it was told to stop before an answer came. */
static bool call_wait(struct call_request *q, const struct job_io *io, struct call_patience *p)
{
    (void)pthread_mutex_lock(&q->mutex);
    while (!q->done && call_may_go_on(p, io))
        (void)wait_until(&q->answered, &q->mutex, clock_mono_us() + CALL_LOOK_US);
    bool done = q->done;

    (void)pthread_mutex_unlock(&q->mutex);
    return done;
}

/* ---- the answer ---- */

/* An answer that says it is JSON, and is not, is a failure: it may have had a state in it. */
static void call_read_answer(const struct http_out_answer *a, struct job_result *ret)
{
    struct err err = { 0 };

    if (a->body.len == 0 || memmem(a->ctype.ptr, a->ctype.len, "json", 4) == NULL)
        return;
    AUTO(service_answer_drop) json_t *answer = service_answer_parse(a->body, &err);

    if (answer == NULL && ret->ok)
        job_fail(ret, "the service answered %lld with something that is not JSON%s%s",
                 (long long)a->status, err.text[0] != '\0' ? ": " : "", err.text);
    if (answer != NULL)
        service_answer_take(answer, ret);
}

/* Until it is taken, or never will be, or the time of the run is over. */
static bool call_hand_in(const struct job_io *io, const struct job_document *d,
                         struct call_patience *p, struct id *ret_id, enum job_deposited *ret,
                         struct err *err)
{
    while (!job_deposit(io, d, ret_id, ret, err)) {
        if (err->kind == ERR_PERMANENT || !call_may_go_on(p, io))
            return false;
        *err = (struct err){ 0 };
        clock_sleep_us(CALL_LOOK_US);
    }
    return true;
}

static void call_deposit(const struct call_job *c, const struct http_out_answer *a,
                         const struct job_io *io, struct call_patience *p, struct job_result *ret)
{
    struct job_document d = call_document(c);
    enum job_deposited how;
    struct err err = { 0 };
    struct id id;

    ret->moved = a->body.len > 0;
    if (!ret->moved) {
        (void)snprintf(ret->message, sizeof ret->message, "the answer has no bytes");
        return;
    }
    d.bytes = a->body;
    d.given = true;
    if (d.ctype.ptr == NULL)
        d.ctype = a->ctype;
    if (!call_hand_in(io, &d, p, &id, &how, &err)) {
        job_fail(ret, "gateway %.*s: %s", STR_ARG(c->gateway), err.text);
        ret->final = err.kind == ERR_PERMANENT;
        return;
    }
    job_say_deposited(ret, &id, how);
}

static void call_job_judge(const struct call_job *c, const struct http_out_answer *a,
                           const struct job_io *io, struct call_patience *p, struct job_result *ret)
{
    struct verdict v;

    http_client_judge(&c->client, a, &v);
    if (v.kind == VERDICT_DELIVERED) {
        ret->moved = true;
        job_done(ret);
    } else {
        job_fail(ret, "%s", v.message);
    }
    ret->credential = v.kind == VERDICT_CREDENTIAL;
    ret->final = v.kind == VERDICT_REJECTED || v.kind == VERDICT_FAILED;
    if (a->reach != HTTP_OUT_ANSWERED)
        return;
    if (c->gateway.len == 0)
        call_read_answer(a, ret);
    else if (ret->ok)
        call_deposit(c, a, io, p, ret);
}

/* The service may be at work without having said so. */
static bool call_is_left(const struct call_job *c, const struct http_out_answer *a)
{
    return c->later && (a->reach == HTTP_OUT_UNCLEAR ||
                        (a->reach == HTTP_OUT_ANSWERED && a->status == HTTP_ACCEPTED));
}

/* False: it must not be sent. */
static bool call_leave(struct call_request *q, struct job_io *io, struct job_result *ret)
{
    struct http_out_request *r = &q->request;
    struct str address, secret;

    if (!q->job->later)
        return true;
    if (!job_leave(io, &address, &secret)) {
        job_fail(ret, "it could not be left to the service");
        return false;
    }
    r->fields[r->field_count++] = (struct http_out_field){ STR("Waybill-Ack"), address };
    r->fields[r->field_count++] = (struct http_out_field){ STR("Waybill-Ack-Token"), secret };
    return true;
}

/* Sends it and waits for the answer. */
static void call_send(struct call_request *q, struct job_io *io, struct job_result *ret)
{
    struct call_patience patience = { .keep_us = q->job->gateway.len > 0 ? CALL_KEEP_US : 0 };
    int64_t began_us = clock_mono_us();

    atomic_fetch_add(&q->refs, 1);
    if (!road_transfer(engine_road(io->ports->engine), &q->transfer)) {
        job_fail(ret, "the node stops");
        call_request_unref(q);
        return;
    }
    if (!call_wait(q, io, &patience)) {
        ret->left = q->job->later;
        job_fail(ret, "it was told to stop before the service answered");
        return;
    }
    job_step(io, "called", clock_mono_us() - began_us);
    ret->left = call_is_left(q->job, &q->answer);
    if (!ret->left)
        call_job_judge(q->job, &q->answer, io, &patience, ret);
}

/* What the service would give away must find its place. */
static bool call_may_ask(const struct call_job *c, const struct job_io *io, struct err *err)
{
    struct job_document d = call_document(c);

    return c->gateway.len == 0 || job_may_deposit(io, &d, err);
}

static void call_job_run(void *self, struct job_io *io, struct job_result *ret)
{
    struct call_request *q = call_request_new(self);
    struct err err = { 0 };

    if (!call_fill_request(q, io, &err)) {
        ret->final = true;
        job_fail(ret, "%s", err.text);
    } else if (!call_may_ask(q->job, io, &err)) {
        ret->final = err.kind == ERR_PERMANENT;
        job_fail(ret, "nothing was asked: gateway %.*s: %s", STR_ARG(q->job->gateway), err.text);
    } else if (call_leave(q, io, ret)) {
        call_send(q, io, ret);
    }
    call_request_unref(q);
}

const struct job_type job_call = {
    .kind = { .name = "call",
              .help = "call an HTTP service, which does the work and may answer a state",
              .keys = options,
              .check = call_job_check,
              .example = "import: { kind: call, url: \"https://erp.example/import\", every: 10s, "
                         "body: '{\"from\": \"${state}\"}' }" },
    .repeatable = true,
    .deposits = true,
    .make = call_make,
    .unmake = call_unmake,
    .leaves = call_leaves,
    .run = call_job_run,
};
