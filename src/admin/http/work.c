#include "admin/http/work.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "admin/http/visit.h"
#include "admin/login/identify.h"
#include "admin/login/principal.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/http_target.h"
#include "base/json.h"
#include "core/config.h"
#include "core/json_scan.h"
#include "engine/engine.h"
#include "engine/tally/refusals.h"
#include "job/jobs.h"

enum { WORK_ARENA = 64 << 10, WORK_RUN_MOST = 100 /* bytes of the name of a run */ };

struct work {
    struct http_visit visit; /* first */
    const struct identify *known;
    const struct work_method *method;
    struct arena arena; /* copies of the head */
    struct str address;
    struct buf body;
    struct jobs_ack ack;
    enum jobs_taken taken;
    bool ok;
    struct err err;
};

struct work_method {
    const char *path;
    bool (*admits)(struct work *w); /* false: refused, and answered */
    void (*run)(struct background_job *job);
    void (*done)(struct loop_msg *msg);
};

/* ---- objects ---- */

static void work_free(struct http_visit *visit)
{
    struct work *w = container_of(visit, struct work, visit);

    buf_done(&w->body);
    arena_done(&w->arena);
    free(w);
}

static struct work *work_new(struct http_request *r, const struct identify *known)
{
    struct work *w = NEW(struct work);
    size_t most = (size_t)engine_node(known->engine)->message_limit;

    *w = (struct work){ .known = known, .arena = ARENA_INIT(WORK_ARENA), .body = BUF_INIT(most) };
    http_visit_begin(&w->visit, r, &http_work_handler, work_free);
    w->address = arena_copy(&w->arena, http_peer(r));
    return w;
}

static struct work *work_of_job(struct background_job *job)
{
    return container_of(http_visit_of_job(job), struct work, visit);
}

/* NULL: the client is gone, or the store failed, and that was answered. */
static struct work *work_back(struct loop_msg *msg)
{
    struct http_visit *visit = http_visit_back(msg);

    if (visit == NULL)
        return NULL;
    struct work *w = container_of(visit, struct work, visit);

    if (w->ok)
        return w;
    http_visit_error(visit, 503, "Retry-After: 2\r\n", "unavailable", w->err.text);
    return NULL;
}

static void work_too_large(struct work *w)
{
    char why[200];

    (void)snprintf(why, sizeof why,
                   "A message has at most %lld bytes: `node.limits.message_limit`.",
                   (long long)engine_node(w->known->engine)->message_limit);
    http_visit_error(&w->visit, 413, "", "too_large", why);
}

static void work_answer(struct work *w, int status, struct str text)
{
    struct http_request *r = w->visit.request;

    http_answer(r, status, STR("Cache-Control: no-store\r\n"), STR("application/json"), text);
    work_free(&w->visit);
}

/* ---- run: a job that another node has claimed ---- */

static bool work_run_admits(struct work *w)
{
    struct principal who;
    int64_t caller;

    if (!identify(w->known, w->visit.request, &w->arena, &who, &caller)) {
        http_visit_error(&w->visit, 401, "WWW-Authenticate: Bearer\r\n", "unauthorized",
                         who.refused != NULL
                             ? who.refused
                             : "Send a key with the role `worker`: Authorization: Bearer KEY.");
        return false;
    }
    if (rights_everywhere(&who.rights, RIGHT_WORK))
        return true;
    identify_note_forbidden(&who, STR("jobs"), RIGHT_WORK);
    http_visit_error(&w->visit, 403, "", "forbidden", "This needs the right `work`.");
    return false;
}

static void work_drop_json(json_t **v)
{
    json_decref(*v);
}

static bool work_read_claim(struct str body, int64_t *ret_job, int64_t *ret_claim)
{
    struct json_scan check = { 0 };
    struct err err = { 0 };

    if (!json_scan_check(&check, body, &err) || !json_scan_check_end(&check, &err))
        return false;
    AUTO(work_drop_json)
    json_t *said = json_loadb(body.ptr, body.len, JSON_REJECT_DUPLICATES, NULL);

    *ret_job = json_integer_value(json_object_get(said, "job"));
    *ret_claim = json_integer_value(json_object_get(said, "claim"));
    return *ret_job > 0 && *ret_claim > 0;
}

static void work_run_in_background(struct background_job *job)
{
    struct work *w = work_of_job(job);
    int64_t num, claim;

    w->taken = JOBS_TAKEN_WRONG;
    w->ok = !work_read_claim(buf_view(&w->body), &num, &claim) ||
            jobs_take(w->known->jobs, num, claim, &w->taken, &w->err);
}

static void work_run_done(struct loop_msg *msg)
{
    struct work *w = work_back(msg);

    if (w == NULL)
        return;
    switch (w->taken) {
    case JOBS_TAKEN:
        work_answer(w, 202, STR("{}"));
        break;
    case JOBS_TAKEN_LATE:
        http_visit_error(&w->visit, 409, "", "conflict",
                         "This claim does not hold any more: nothing is done.");
        break;
    case JOBS_TAKEN_BUSY:
        http_visit_error(&w->visit, 503, "Retry-After: 1\r\n", "busy",
                         "No slot for jobs is free on this node.");
        break;
    case JOBS_TAKEN_KIND:
        http_visit_error(&w->visit, 503, "Retry-After: 1\r\n", "unavailable",
                         "This node does not run jobs of this kind (`node.jobs.kinds`).");
        break;
    case JOBS_TAKEN_WRONG:
        http_visit_error(&w->visit, 400, "", "bad_request",
                         "A JSON object is expected: {\"job\": N, \"claim\": N}.");
        break;
    }
}

/* ---- ack: a run that was left to somebody outside ---- */

static bool work_ack_admits(struct work *w)
{
    AUTO(buf_done) struct buf run = BUF_INIT(WORK_RUN_MOST);
    struct str secret = http_field(w->visit.request, STR("Waybill-Ack-Token"));
    struct sha256 form;
    struct err err = { 0 };
    bool found = false;

    if (secret.ptr == NULL || !digest_parse(secret, &form)) {
        http_visit_error(&w->visit, 401, "", "unauthorized",
                         "Send the token of the run as it came in the request: "
                         "Waybill-Ack-Token: 64 hex digits.");
        return false;
    }
    if (!http_decode_query(w->visit.request->query, STR("run"), &run, &found, &err) || !found) {
        http_visit_error(&w->visit, 404, "", "not_found",
                         "Post to the whole address that came in Waybill-Ack.");
        return false;
    }
    w->ack.secret = arena_copy(&w->arena, secret);
    w->ack.run = arena_copy(&w->arena, buf_view(&run));
    return true;
}

static void work_ack_in_background(struct background_job *job)
{
    struct work *w = work_of_job(job);

    w->ack.said = buf_view(&w->body);
    w->ok = jobs_acknowledge(w->known->jobs, &w->ack, &w->err);
}

/* For the audit log: somebody tries. */
static void work_note_stranger(const struct work *w)
{
    refusals_note(engine_refusals(w->known->engine),
                  &(struct refusal){ .action = "credentialRefused",
                                     .address = w->address,
                                     .object = STR("jobs"),
                                     .why = "this is not the token of the run" });
}

static void work_answer_taken(struct work *w)
{
    AUTO(buf_done) struct buf text = BUF_INIT(200);
    struct json_out j = { .to = &text };
    char until[CLOCK_TEXT];

    json_open(&j, '{');
    if (w->ack.what == JOBS_ACK_BEAT) {
        json_key(&j, "until");
        json_str(&j, str_of(clock_utc_text(w->ack.until_us, until)));
    } else {
        json_key(&j, "outcome");
        json_str(&j, str_of(job_outcomes[w->ack.outcome]));
    }
    if (w->ack.what == JOBS_ACK_TAKEN && w->ack.stale) {
        json_key(&j, "stale");
        json_bool(&j, true);
    }
    json_close(&j, '}');
    work_answer(w, 200, buf_view(&text));
}

static void work_ack_done(struct loop_msg *msg)
{
    struct work *w = work_back(msg);

    if (w == NULL)
        return;
    switch (w->ack.what) {
    case JOBS_ACK_TAKEN:
    case JOBS_ACK_BEAT:
        work_answer_taken(w);
        break;
    case JOBS_ACK_LATE:
        http_visit_error(&w->visit, 410, "", "gone",
                         "This run is over: it was acknowledged otherwise, took too long, or was "
                         "cancelled.");
        break;
    case JOBS_ACK_STRANGER:
        work_note_stranger(w);
        http_visit_error(&w->visit, 403, "", "forbidden", "This is not the token of this run.");
        break;
    case JOBS_ACK_WRONG:
        http_visit_error(&w->visit, 400, "", "bad_request", w->ack.why);
        break;
    case JOBS_ACK_UNKNOWN:
        http_visit_error(&w->visit, 404, "", "not_found",
                         "Post to the whole address that came in Waybill-Ack.");
        break;
    }
}

/* ---- the handler ---- */

static const struct work_method work_methods[] = {
    { "/work/run", work_run_admits, work_run_in_background, work_run_done },
    { "/work/ack", work_ack_admits, work_ack_in_background, work_ack_done },
};

static void work_on_head(struct http_request *r, void *arg)
{
    struct work *w = work_new(r, arg);

    for (size_t i = 0; i < sizeof work_methods / sizeof work_methods[0]; i++)
        if (str_is(r->path, work_methods[i].path))
            w->method = &work_methods[i];
    if (w->method == NULL)
        http_visit_error(&w->visit, 404, "", "not_found", "There is nothing at this path.");
    else if (r->method != HTTP_METHOD_POST)
        http_visit_error(&w->visit, 405, "Allow: POST\r\n", "method_not_allowed", "Ask with POST.");
    else if (!w->method->admits(w))
        return;
    else if (r->content_length > (int64_t)engine_node(w->known->engine)->message_limit)
        work_too_large(w);
    else
        http_read_body(r);
}

static void work_on_body(struct http_request *r, struct str bytes)
{
    struct work *w = r->user;
    struct err err;

    if (!buf_append(&w->body, bytes, &err))
        work_too_large(w);
}

static void work_on_end(struct http_request *r)
{
    struct work *w = r->user;

    /* Again: a key may have ended while the body arrived. */
    if (w->method->admits(w))
        (void)http_visit_to_background(&w->visit, engine_background(w->known->engine),
                                       w->method->run, w->method->done);
}

const struct http_handler http_work_handler = {
    .head = work_on_head,
    .body = work_on_body,
    .end = work_on_end,
    .gone = http_visit_gone,
};
