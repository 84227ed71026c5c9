#include "admin/http_api.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "admin/api.h"
#include "admin/api_audit.h"
#include "admin/api_scope.h"
#include "admin/document_view.h"
#include "admin/graphql_request.h"
#include "admin/http_console.h"
#include "admin/http_cookie.h"
#include "admin/http_events.h"
#include "admin/http_login.h"
#include "admin/http_manual.h"
#include "admin/login.h"
#include "admin/payload_range.h"
#include "admin/principal.h"
#include "base/alloc.h"
#include "base/auto.h"
#include "base/http_target.h"
#include "base/json.h"
#include "base/metrics.h"
#include "base/require.h"
#include "core/http_user.h"
#include "engine/admin_keys.h"
#include "engine/desk.h"
#include "engine/engine.h"
#include "engine/intake.h"
#include "store/archive.h"
#include "store/caller.h"
#include "store/document.h"

enum {
    MAGIC = 0x61646d6e,
    ANSWER_MOST = 8 << 20,
    ARENA_MOST = 16 << 20,
    DROPPED_MOST = 64 << 20 /* bytes that are read only to be dropped */
};

struct http_api {
    struct engine *engine;
    struct api *api;
    struct http_events *events;
    struct login *login;
    const struct http_server *server;
    struct metric server_metrics[4 + HTTP_REFUSAL_COUNT];
    char labels[HTTP_REFUSAL_COUNT][64];
};

/* One request, while it waits for the desk or streams its answer. */
struct visit {
    struct http_user user; /* first: http_user.h */
    unsigned magic;
    struct http_api *self;
    struct http_request *request; /* NULL: the client is gone */
    struct desk_job job;
    bool at_desk;

    struct buf body, answer; /* GraphQL; JSON */
    int64_t dropped;         /* of a question that is too large */
    char *content_type;
    int status;

    struct id id;
    bool wants_payload, head_only;
    struct principal who; /* PRINCIPAL_NOBODY: perhaps a caller of a gateway */
    int64_t stage;        /* of the payload; 0: as it was received */
    int64_t caller;
    struct arena arena;
    struct document document;
    bool found, no_stage, is_forbidden;
    struct err err;

    struct payload_reader *reader;
    struct str piece;
    enum range_result range;
    int64_t from, skip,
        left; /* of the payload: where the range begins, what is still before it and in it */
    bool started;
};

/* ---- objects ------------------------------------------------------------------------------ */

static struct visit *visit_new(struct http_request *r, struct http_api *self)
{
    struct visit *v = NEW(struct visit);

    *v = (struct visit){ .user = { .handler = &http_api_handler },
                         .magic = MAGIC,
                         .self = self,
                         .request = r,
                         .body = BUF_INIT(GRAPHQL_BODY_MAX),
                         .answer = BUF_INIT(ANSWER_MOST),
                         .arena = ARENA_INIT(ARENA_MOST) };
    r->user = v;
    return v;
}

static void visit_free(struct visit *v)
{
    payload_close(v->reader);
    buf_done(&v->body);
    buf_done(&v->answer);
    arena_done(&v->arena);
    free(v->content_type);
    v->magic = 0;
    free(v);
}

static struct visit *visit_of(void *user)
{
    struct visit *v = user;

    require(v->magic == MAGIC);
    return v;
}

static void end_with_error(struct visit *v, int status, const char *fields, const char *code,
                           const char *message)
{
    struct http_request *r = v->request;

    visit_free(v);
    http_answer_error(r, status, str_of(fields), code, message);
}

/* Run at the desk, then come back to the loop. */
static void to_desk(struct visit *v, void (*run)(struct desk_job *),
                    void (*done)(struct loop_msg *))
{
    v->job = (struct desk_job){ .loop = http_loop(v->request), .run = run, .done = { .fn = done } };
    v->at_desk = true;
    if (desk_submit(engine_desk(v->self->engine), &v->job))
        return;
    v->at_desk = false;
    if (v->started) {
        struct http_request *r = v->request;

        visit_free(v);
        http_answer_abort(r);
        return;
    }
    end_with_error(v, 503, "Retry-After: 1\r\n", "busy", "Too many questions at once. Try again.");
}

static struct visit *back_from_desk(struct loop_msg *msg)
{
    struct visit *v = visit_of((char *)msg - offsetof(struct visit, job.done));

    v->at_desk = false;
    if (v->request != NULL)
        return v;
    visit_free(v); /* nobody waits any more */
    return NULL;
}

static struct visit *visit_of_job(struct desk_job *job)
{
    return visit_of((char *)job - offsetof(struct visit, job));
}

/* ---- who asks -------------------------------------------------------------------------------- */

/* As a gateway takes it: "Bearer KEY", or the field X-API-Key. */
static struct str token_of(const struct http_request *r)
{
    struct str scheme, rest = str_cut(r->authorization, ' ', &scheme);

    if (r->authorization.ptr == NULL)
        return http_field(r, STR("X-API-Key"));
    return str_eq_nocase(scheme, STR("bearer")) ? str_trim(rest) : (struct str){ 0 };
}

bool http_api_identify(const struct http_api *h, struct http_request *r, struct arena *a,
                       struct principal *ret, int64_t *ret_caller)
{
    struct str token = token_of(r), title;

    *ret = (struct principal){ .engine = h->engine,
                               .login = h->login,
                               .address = arena_copy(a, http_peer(r)) };
    *ret_caller = 0;
    if (token.ptr == NULL)
        return http_cookie_identify(h->login, r, a, ret);
    struct intake_table *t = intake_port.table(engine_intake(h->engine));

    if (intake_is_admin(t, token)) {
        ret->kind = PRINCIPAL_TOKEN;
        ret->name = STR("admin");
        ret->rights = rights_all;
    }
    *ret_caller = intake_caller_of(t, token);
    intake_port.release(t);
    if (ret->kind == PRINCIPAL_NOBODY &&
        admin_keys_find(engine_admin_keys(h->engine), token, a, &title, &ret->rights)) {
        ret->kind = PRINCIPAL_KEY;
        ret->name = str_of(arena_printf(a, "key %.*s", STR_ARG(title)));
    }
    return ret->kind != PRINCIPAL_NOBODY;
}

static bool identify(struct visit *v)
{
    return http_api_identify(v->self, v->request, &v->arena, &v->who, &v->caller);
}

static bool is_near(struct http_request *r)
{
    struct str peer = http_peer(r);

    return str_starts(peer, STR("127.")) || str_is(peer, "::1") ||
           str_starts(peer, STR("::ffff:127."));
}

/* ---- GraphQL -----------------------------------------------------------------------------------
 */

static void graphql_run_at_desk(struct desk_job *job)
{
    struct visit *v = visit_of_job(job);

    v->status =
        api_execute(v->self->api, &v->who, str_of(v->content_type), buf_view(&v->body), &v->answer);
}

static void graphql_done(struct loop_msg *msg)
{
    struct visit *v = back_from_desk(msg);

    if (v == NULL)
        return;
    http_answer(v->request, v->status, STR("Cache-Control: no-store\r\n"), STR("application/json"),
                buf_view(&v->answer));
    visit_free(v);
}

/* As the specification says it, for clients that know nothing else. */
static void graphql_too_large(struct visit *v)
{
    struct http_request *r = v->request;

    visit_free(v);
    http_answer(r, 413, STR("Cache-Control: no-store\r\n"), STR("application/json"),
                STR("{\"errors\":[{\"message\":\"the question is longer than 9 MiB\","
                    "\"extensions\":{\"code\":\"limit\"}}]}"));
}

/* What is too large is read and dropped, as far as that is worth it: most clients read no answer
 * before they have written all. */
static void graphql_bytes(struct visit *v, struct str bytes)
{
    struct err err;

    if (v->dropped == 0 && buf_append(&v->body, bytes, &err))
        return;
    buf_done(&v->body);
    v->dropped += (int64_t)bytes.len;
    if (v->dropped > DROPPED_MOST)
        graphql_too_large(v);
}

static void graphql_head(struct visit *v)
{
    if (v->request->method != HTTP_METHOD_POST) {
        end_with_error(v, 405, "Allow: POST\r\n", "method_not_allowed", "Ask with POST.");
        return;
    }
    if (!identify(v)) {
        end_with_error(v, 401, "WWW-Authenticate: Bearer\r\n", "unauthorized",
                       v->who.refused != NULL
                           ? v->who.refused
                           : "Log in, or send the admin token of the node: Authorization: Bearer "
                             "TOKEN. It is in the file `token` of the data folder.");
        return;
    }
    if (v->request->content_length > DROPPED_MOST ||
        (v->request->content_length > GRAPHQL_BODY_MAX &&
         http_field(v->request, STR("Expect")).ptr != NULL)) {
        graphql_too_large(v);
        return;
    }
    v->content_type = xstrndup(v->request->content_type);
    http_read_body(v->request);
}

/* ---- events ------------------------------------------------------------------------------------
 */

static void events_head(struct visit *v)
{
    struct http_request *r = v->request;

    if (r->method != HTTP_METHOD_GET) {
        end_with_error(v, 405, "Allow: GET\r\n", "method_not_allowed", "Listen with GET.");
        return;
    }
    if (!identify(v)) {
        end_with_error(v, 401, "WWW-Authenticate: Bearer\r\n", "unauthorized",
                       "Log in, or send a key: Authorization: Bearer KEY.");
        return;
    }
    http_events_open(v->self->events, r, &v->who);
    visit_free(v);
}

/* ---- documents ---------------------------------------------------------------------------------
 */

static bool is_known(const struct visit *v)
{
    return v->who.kind != PRINCIPAL_NOBODY;
}

static bool may_see(const struct visit *v)
{
    return is_known(v) ? principal_sees_document(&v->who, RIGHT_SEE, &v->document)
                       : v->caller > 0 && v->caller == v->document.caller;
}

static bool may_take(const struct visit *v)
{
    return !is_known(v) || principal_sees_document(&v->who, RIGHT_DOWNLOAD, &v->document);
}

/* Whose it was an archive does not say: it is for those who may take everything. */
static bool may_look_in_archives(const struct visit *v)
{
    return is_known(v) && rights_everywhere(&v->who.rights, RIGHT_DOWNLOAD) &&
           rights_everywhere(&v->who.rights, RIGHT_SEE);
}

static void show_document(struct visit *v)
{
    struct engine *e = v->self->engine;
    struct document_view view;

    v->found = document_view_make(e, &v->document, false, &v->arena, &view, &v->err);
    if (v->found)
        document_view_json(engine_store(e), &view, &v->answer);
}

/* In the audit log, before a byte goes out. */
static bool note_download(struct visit *v)
{
    char id[ID_TEXT], stage[40] = "";
    struct audit_entry e =
        api_audit_entry(&v->who, STR("payloadDownload"), str_of(id_text(&v->id, id)));
    struct store *s = engine_store(v->self->engine);

    if (!is_known(v) && !caller_name(s, v->caller, &v->arena, &e.actor, &v->err))
        return false;
    if (v->stage != 0)
        (void)snprintf(stage, sizeof stage, "{\"stage\":%lld}", (long long)v->stage);
    e.became = str_of(stage);
    return audit_append(s, &e, &v->err);
}

static void look_up(struct desk_job *job)
{
    struct visit *v = visit_of_job(job);
    struct store *s = engine_store(v->self->engine);

    v->found = document_get(s, &v->id, &v->arena, &v->document, &v->err);
    if (!v->found && v->err.kind == ERR_NONE && v->wants_payload && may_look_in_archives(v) &&
        v->stage == 0)
        (void)archive_source(s, &v->id, &v->document.source, &v->found, &v->err);
    if (!v->found || !may_see(v))
        return;
    if (!v->wants_payload)
        show_document(v);
    else if (!may_take(v))
        v->is_forbidden = true;
    else if (v->stage != 0 && !document_view_stage(&v->document, v->stage, &v->document.source))
        v->no_stage = true;
    else if (!payload_open(s, &v->document.source, &v->reader, &v->err))
        v->reader = NULL;
    else
        v->found = v->head_only || note_download(v);
}

static void read_piece(struct desk_job *job)
{
    struct visit *v = visit_of_job(job);

    do { /* what stands before the range is read, for the digest, and not sent */
        if (!payload_next(v->reader, &v->piece, &v->err))
            return;
        int64_t cut = v->skip < (int64_t)v->piece.len ? v->skip : (int64_t)v->piece.len;

        v->piece = str_from(v->piece, (size_t)cut);
        v->skip -= cut;
        if ((int64_t)v->piece.len > v->left)
            v->piece.len = (size_t)v->left;
    } while (v->piece.len == 0 && v->left > 0);
}

static void piece_done(struct loop_msg *msg);

static void next_piece(struct visit *v)
{
    if (v->left > 0) {
        to_desk(v, read_piece, piece_done);
        return;
    }
    http_answer_end(v->request);
    visit_free(v);
}

static void send_piece(struct visit *v)
{
    v->left -= (int64_t)v->piece.len;
    if (http_answer_bytes(v->request, v->piece))
        next_piece(v);
}

static void piece_done(struct loop_msg *msg)
{
    struct visit *v = back_from_desk(msg);

    if (v == NULL)
        return;
    if (v->err.kind != ERR_NONE) {
        struct http_request *r = v->request;

        visit_free(v);
        http_answer_abort(
            r); /* damaged: the client sees a broken transfer, never wrong bytes as whole */
        return;
    }
    send_piece(v);
}

static void start_answer(struct visit *v)
{
    const struct payload_source *src = &v->document.source;
    char fields[400], etag[SHA256_TEXT];
    int n = snprintf(fields, sizeof fields,
                     "ETag: \"%s\"\r\nAccept-Ranges: bytes\r\nX-Content-Type-Options: nosniff\r\n"
                     "Content-Disposition: attachment\r\nCache-Control: no-store\r\n",
                     digest_text(&src->sha256, etag));

    if (v->range == RANGE_PART)
        n += snprintf(fields + n, sizeof fields - (size_t)n,
                      "Content-Range: bytes %lld-%lld/%lld\r\n", (long long)v->from,
                      (long long)(v->from + v->left - 1), (long long)src->size);
    v->started = true;
    http_answer_start(v->request, v->range == RANGE_PART ? 206 : 200, str_mem(fields, (size_t)n),
                      STR("application/octet-stream"), v->left);
}

static void answer_trouble(struct visit *v, const char *code)
{
    struct err err = v->err; /* the visit ends before the answer goes out */

    if (err.kind == ERR_TRANSIENT)
        end_with_error(v, 503, "Retry-After: 2\r\n", "unavailable", err.text);
    else
        end_with_error(v, 500, "", code, err.text);
}

static void answer_payload_trouble(struct visit *v)
{
    answer_trouble(v, v->err.sys == ENOENT ? "payload_missing" : "payload_corrupt");
}

static void first_piece_done(struct loop_msg *msg)
{
    struct visit *v = back_from_desk(msg);

    if (v == NULL)
        return;
    if (v->err.kind != ERR_NONE) {
        answer_payload_trouble(v);
        return;
    }
    start_answer(v);
    send_piece(v);
}

/* The head waits for the first piece, which is all there is of most payloads: one that
 * is missing or damaged is told as such. */
static void start_payload(struct visit *v)
{
    int64_t size = v->document.source.size;
    char fields[64];

    v->range = payload_range(v->request->range, size, &v->from, &v->left);
    v->skip = v->from;
    if (v->range == RANGE_UNSATISFIABLE) {
        (void)snprintf(fields, sizeof fields, "Content-Range: bytes */%lld\r\n", (long long)size);
        end_with_error(v, 416, fields, "bad_range", "The payload has no such bytes.");
    } else if (v->request->method == HTTP_METHOD_HEAD) {
        start_answer(v);
        http_answer_end(v->request);
        visit_free(v);
    } else {
        to_desk(v, read_piece, first_piece_done);
    }
}

/* An id that is not there and one that the asker may not see give the same answer. */
static void looked_up(struct loop_msg *msg)
{
    struct visit *v = back_from_desk(msg);

    if (v == NULL)
        return;
    if (!v->found && v->err.kind != ERR_NONE) {
        answer_trouble(v, "failed");
    } else if (!v->found || !may_see(v)) {
        end_with_error(v, 404, "", "unknown_document", "There is no such document.");
    } else if (!v->wants_payload) {
        http_answer(v->request, 200, STR("Cache-Control: no-store\r\n"), STR("application/json"),
                    buf_view(&v->answer));
        visit_free(v);
    } else if (v->is_forbidden) {
        end_with_error(v, 403, "", "forbidden", "This needs the right `download` for its systems.");
    } else if (v->no_stage) {
        end_with_error(v, 404, "", "unknown_stage",
                       "No step has stored bytes under this number: see its timeline.");
    } else if (v->reader == NULL) {
        answer_payload_trouble(v);
    } else {
        start_payload(v);
    }
}

static bool read_stage(struct visit *v)
{
    AUTO(buf_done) struct buf value = BUF_INIT(64);
    struct err err;
    bool given;

    if (!http_decode_query(v->request->query, STR("stage"), &value, &given, &err))
        return false;
    return !given || (str_to_i64(buf_view(&value), &v->stage) && v->stage >= 1);
}

/* Whoever does not have the right for any system need not be told what there is. */
static bool may_ask(struct visit *v)
{
    if (!rights_has(&v->who.rights, RIGHT_SEE))
        end_with_error(v, 403, "", "forbidden", "This needs the right `see`.");
    else if (v->wants_payload && !rights_has(&v->who.rights, RIGHT_DOWNLOAD))
        end_with_error(v, 403, "", "forbidden", "This needs the right `download`.");
    else
        return true;
    return false;
}

static void document_head(struct visit *v, struct str rest)
{
    struct str id, tail = str_cut(rest, '/', &id);

    if (v->request->method != HTTP_METHOD_GET && v->request->method != HTTP_METHOD_HEAD) {
        end_with_error(v, 405, "Allow: GET, HEAD\r\n", "method_not_allowed", "Read with GET.");
        return;
    }
    if (!identify(v) && v->caller == 0) {
        end_with_error(v, 401, "WWW-Authenticate: Bearer\r\n", "unauthorized",
                       "Send the key that sent the document, or the admin token.");
        return;
    }
    v->wants_payload = str_is(tail, "payload");
    v->head_only = v->request->method == HTTP_METHOD_HEAD;
    if (is_known(v) && !may_ask(v))
        return;
    if (v->wants_payload && !read_stage(v)) {
        end_with_error(v, 400, "", "bad_stage", "stage is a number from 1 on.");
        return;
    }
    if (v->stage != 0 && !is_known(v)) {
        end_with_error(v, 403, "", "forbidden", "What steps made of it is for the admin token.");
        return;
    }
    if (!id_parse(id, &v->id) || (tail.len > 0 && !v->wants_payload)) {
        end_with_error(v, 404, "", "unknown_document", "There is no such document.");
        return;
    }
    to_desk(v, look_up, looked_up);
}

/* ---- health and metrics
 * -------------------------------------------------------------------------- */

static void answer_ready(struct visit *v)
{
    AUTO(buf_done) struct buf why = BUF_INIT(4096);
    AUTO(buf_done) struct buf text = BUF_INIT(32768);
    struct json_out j = { .to = &text };

    engine_not_ready(v->self->engine, &why);
    bool ready = why.len == 0;

    engine_troubles(v->self->engine, &why);
    json_open(&j, '{');
    json_key(&j, "ready");
    json_bool(&j, ready);
    json_key(&j, "reasons");
    json_open(&j, '[');
    for (struct str rest = buf_view(&why), line; rest.len > 0;) {
        rest = str_cut(rest, '\n', &line);
        json_str(&j, line);
    }
    json_close(&j, ']');
    json_close(&j, '}');
    buf_putc(&text, '\n');
    http_answer(v->request, ready ? 200 : 503, ready ? STR("") : STR("Retry-After: 2\r\n"),
                STR("application/json"), buf_view(&text));
    visit_free(v);
}

static void answer_metrics(struct visit *v)
{
    bool known = identify(v), near = is_near(v->request);

    if (!near && !known) {
        end_with_error(v, 401, "WWW-Authenticate: Bearer\r\n", "unauthorized",
                       "From another machine the metrics need the admin token.");
        return;
    }
    if (!near && !rights_everywhere(&v->who.rights, RIGHT_SEE)) {
        end_with_error(v, 403, "", "forbidden", "This needs the right `see` for all systems.");
        return;
    }
    metrics_print(&v->answer);
    http_answer(v->request, 200, STR("Cache-Control: no-store\r\n"),
                STR("text/plain; version=0.0.4; charset=utf-8"), buf_view(&v->answer));
    visit_free(v);
}

static void answer_health(struct visit *v)
{
    http_answer(v->request, 200, STR(""), STR("text/plain"), STR("ok\n"));
    visit_free(v);
}

/* ---- the handler
 * ----------------------------------------------------------------------------------- */

/* Bodies of documents come on a way of their own. */
static bool is_manual(const struct http_request *r)
{
    static const struct str before = { "/documents/", 11 }, behind = { "/edit", 5 };
    struct str path = r->path;

    if (r->method != HTTP_METHOD_POST)
        return false;
    return str_is(path, "/documents") ||
           (str_starts(path, before) && path.len > before.len + behind.len &&
            str_eq(str_from(path, path.len - behind.len), behind));
}

static void on_head(struct http_request *r, void *arg)
{
    static const struct {
        const char *path;
        void (*answer)(struct visit *v);
    } pages[] = {
        { .path = "/healthz", .answer = answer_health },
        { .path = "/readyz", .answer = answer_ready },
        { .path = "/metrics", .answer = answer_metrics },
        { .path = "/graphql", .answer = graphql_head },
        { .path = "/events", .answer = events_head },
    };

    if (is_manual(r)) {
        http_manual_handler.head(r, arg);
        return;
    }
    if (http_login_takes(r)) {
        http_login_handler.head(r, ((struct http_api *)arg)->login);
        return;
    }
    if (http_console_answer(r))
        return;
    struct visit *v = visit_new(r, arg);

    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++)
        if (str_is(r->path, pages[i].path)) {
            pages[i].answer(v);
            return;
        }
    if (str_starts(r->path, STR("/documents/")))
        document_head(v, str_from(r->path, strlen("/documents/")));
    else
        end_with_error(v, 404, "", "not_found", "There is nothing at this path.");
}

static void on_body(struct http_request *r, struct str bytes)
{
    graphql_bytes(visit_of(r->user), bytes);
}

static void on_end(struct http_request *r)
{
    struct visit *v = visit_of(r->user);

    if (v->dropped > 0)
        graphql_too_large(v);
    else
        to_desk(v, graphql_run_at_desk, graphql_done);
}

static void on_gone(struct http_request *r)
{
    struct visit *v = visit_of(r->user);

    v->request = NULL;
    if (!v->at_desk)
        visit_free(v);
}

static void on_drained(struct http_request *r)
{
    next_piece(visit_of(r->user));
}

const struct http_handler http_api_handler = {
    .head = on_head,
    .body = on_body,
    .end = on_end,
    .gone = on_gone,
    .drained = on_drained,
};

/* ---- life
 * ---------------------------------------------------------------------------------------------- */

struct http_api *http_api_new(struct engine *engine, struct api *api)
{
    struct http_api *h = NEW(struct http_api);

    h->engine = engine;
    h->api = api;
    h->events = http_events_new(engine);
    h->login = login_new(engine);
    return h;
}

struct login *http_api_login(const struct http_api *h)
{
    return h->login;
}

static int64_t stat_of(const struct http_server *server, size_t which)
{
    struct http_stats s;

    http_server_stats(server, &s);
    switch (which) {
    case 0:
        return (int64_t)s.open;
    case 1:
        return (int64_t)s.requests;
    case 2:
        return (int64_t)s.bytes_in;
    case 3:
        return (int64_t)s.bytes_out;
    default:
        return (int64_t)s.refused[which - 4];
    }
}

static int64_t read_stat(void *arg)
{
    const struct metric *m = arg;
    const struct http_api *h = m->arg2;

    return stat_of(h->server, (size_t)(m - h->server_metrics));
}

void http_api_watch(struct http_api *h, const struct http_server *server)
{
    static const struct {
        const char *name, *help;
        enum metric_type type;
    } fixed[] = {
        { "waybill_http_connections", "Connections that are open.", METRIC_GAUGE },
        { "waybill_http_requests_total", "Requests whose head was read.", METRIC_COUNTER },
        { "waybill_http_received_bytes_total", "Bytes that came in over HTTP.", METRIC_COUNTER },
        { "waybill_http_sent_bytes_total", "Bytes that went out over HTTP.", METRIC_COUNTER },
    };

    h->server = server;
    for (size_t i = 0; i < 4 + HTTP_REFUSAL_COUNT; i++) {
        struct metric *m = &h->server_metrics[i];

        if (i < 4) {
            *m = (struct metric){ .name = fixed[i].name,
                                  .help = fixed[i].help,
                                  .type = fixed[i].type };
        } else {
            (void)snprintf(h->labels[i - 4], sizeof h->labels[0], "reason=\"%s\"",
                           http_refusal_name((enum http_refusal)(i - 4)));
            *m = (struct metric){ .name = "waybill_http_refused_total",
                                  .help = "Requests and connections that were refused or cut off.",
                                  .labels = h->labels[i - 4] };
        }
        m->read = read_stat;
        m->arg = m;
        m->arg2 = h;
        metrics_register(m);
    }
}

void http_api_rest(struct http_api *h)
{
    if (h != NULL)
        http_events_stop(h->events);
}

void http_api_free(struct http_api *h)
{
    if (h == NULL)
        return;
    http_events_free(h->events);
    for (size_t i = 0; h->server != NULL && i < 4 + HTTP_REFUSAL_COUNT; i++)
        metrics_forget(&h->server_metrics[i]);
    login_free(h->login);
    free(h);
}
