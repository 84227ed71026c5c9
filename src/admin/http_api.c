#include "admin/http_api.h"

#include <stdio.h>
#include <stdlib.h>

#include "admin/api.h"
#include "admin/graphql/request.h"
#include "admin/http/console.h"
#include "admin/http/document.h"
#include "admin/http/events.h"
#include "admin/http/manual.h"
#include "admin/http/peer.h"
#include "admin/http/visit.h"
#include "admin/http/work.h"
#include "admin/login/http_login.h"
#include "admin/login/identify.h"
#include "admin/login/login.h"
#include "admin/login/principal.h"
#include "base/alloc.h"
#include "base/auto.h"
#include "base/container_of.h"
#include "base/json.h"
#include "base/metrics.h"
#include "core/config.h"
#include "engine/engine.h"
#include "engine/intake/intake.h"
#include "engine/intake/intake_table.h"
#include "engine/upkeep/admin_keys.h"
#include "job/jobs.h"

enum {
    ANSWER_MOST = 8 << 20,
    ARENA_MOST = 16 << 20,
    DROPPED_MOST = 64 << 20 /* bytes of a body that are read only to be discarded */
};

struct http_api {
    struct identify known; /* also the place of engine and login */
    struct api *api;
    struct http_events *events;
    struct http_peers *peers;
    const struct config_networks *monitors;
    const struct http_server *server;
    struct metric server_metrics[4 + HTTP_REFUSAL_COUNT];
    char labels[HTTP_REFUSAL_COUNT][64];
};

/* One request, until it is answered. */
struct visit {
    struct http_visit visit; /* first */
    struct http_api *self;
    struct principal who;
    int64_t caller;
    struct arena arena;
    struct buf body, answer;
    int64_t dropped; /* bytes that were discarded because the body is too large */
    char *content_type;
    int status;
    int wait_s; /* of a status 429 */
};

/* ---- objects ---- */

static void visit_free(struct http_visit *visit)
{
    struct visit *v = container_of(visit, struct visit, visit);

    buf_done(&v->body);
    buf_done(&v->answer);
    arena_done(&v->arena);
    free(v->content_type);
    free(v);
}

static struct visit *visit_new(struct http_request *r, struct http_api *self)
{
    struct visit *v = NEW(struct visit);

    *v = (struct visit){ .self = self,
                         .body = BUF_INIT(GRAPHQL_BODY_MAX),
                         .answer = BUF_INIT(ANSWER_MOST),
                         .arena = ARENA_INIT(ARENA_MOST) };
    http_visit_begin(&v->visit, r, &http_api_handler, visit_free);
    return v;
}

static void http_api_end_with_error(struct visit *v, int status, const char *fields,
                                    const char *code, const char *message)
{
    http_visit_error(&v->visit, status, fields, code, message);
}

/* ---- who asks ---- */

static bool knows_caller(struct visit *v)
{
    return identify(&v->self->known, v->visit.request, &v->arena, &v->who, &v->caller);
}

/* It comes from one of node.monitors. */
static bool is_listed(const struct visit *v)
{
    const struct config_networks *monitors = v->self->monitors;

    return http_peer_is_in(v->visit.request, monitors->items, monitors->count);
}

/* ---- GraphQL ---- */

static void graphql_run_in_background(struct background_job *job)
{
    struct visit *v = container_of(http_visit_of_job(job), struct visit, visit);

    v->status = api_execute(v->self->api, &v->who, str_of(v->content_type), buf_view(&v->body),
                            &v->answer, &v->wait_s);
}

static void graphql_done(struct loop_msg *msg)
{
    struct http_visit *visit = http_visit_back(msg);

    if (visit == NULL)
        return;
    struct visit *v = container_of(visit, struct visit, visit);
    char fields[80] = "Cache-Control: no-store\r\n";

    if (v->status == 429)
        (void)snprintf(fields, sizeof fields, "Cache-Control: no-store\r\nRetry-After: %d\r\n",
                       v->wait_s);
    http_answer(v->visit.request, v->status, str_of(fields), STR("application/json"),
                buf_view(&v->answer));
    visit_free(&v->visit);
}

/* Answers in the form of the GraphQL specification, which GraphQL clients expect. */
static void graphql_too_large(struct visit *v)
{
    struct http_request *r = v->visit.request;

    visit_free(&v->visit);
    http_answer(r, 413, STR("Cache-Control: no-store\r\n"), STR("application/json"),
                STR("{\"errors\":[{\"message\":\"the question is longer than 9 MiB\","
                    "\"extensions\":{\"code\":\"limit\"}}]}"));
}

/* A body that is too large is read and discarded, up to DROPPED_MOST: most clients read the answer
 * only after they have written the whole body. */
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

/* False: refused, and answered. */
static bool graphql_admits(struct visit *v)
{
    if (knows_caller(v))
        return true;
    http_api_end_with_error(
        v, 401, "WWW-Authenticate: Bearer\r\n", "unauthorized",
        v->who.refused != NULL
            ? v->who.refused
            : "Log in, or send the admin token of the node: Authorization: Bearer "
              "TOKEN. It is in the file `token` of the data folder.");
    return false;
}

static void graphql_head(struct visit *v)
{
    if (v->visit.request->method != HTTP_METHOD_POST) {
        http_api_end_with_error(v, 405, "Allow: POST\r\n", "method_not_allowed", "Ask with POST.");
        return;
    }
    if (!graphql_admits(v))
        return;
    if (v->visit.request->content_length > DROPPED_MOST ||
        (v->visit.request->content_length > GRAPHQL_BODY_MAX &&
         http_field(v->visit.request, STR("Expect")).ptr != NULL)) {
        graphql_too_large(v);
        return;
    }
    v->content_type = xstrndup(v->visit.request->content_type);
    http_read_body(v->visit.request);
}

/* ---- events ---- */

static void events_head(struct visit *v)
{
    struct http_request *r = v->visit.request;

    if (r->method != HTTP_METHOD_GET) {
        http_api_end_with_error(v, 405, "Allow: GET\r\n", "method_not_allowed", "Listen with GET.");
        return;
    }
    if (!knows_caller(v)) {
        http_api_end_with_error(v, 401, "WWW-Authenticate: Bearer\r\n", "unauthorized",
                                "Log in, or send a key: Authorization: Bearer KEY.");
        return;
    }
    http_events_open(v->self->events, r, &v->who);
    visit_free(&v->visit);
}

/* ---- health and metrics ---- */

static void put_reasons(struct json_out *j, struct str lines)
{
    json_key(j, "reasons");
    json_open(j, '[');
    for (struct str line; lines.len > 0;) {
        lines = str_cut(lines, '\n', &line);
        json_str(j, line);
    }
    json_close(j, ']');
}

static void answer_ready(struct visit *v)
{
    AUTO(buf_done) struct buf why = BUF_INIT(4096);
    AUTO(buf_done) struct buf text = BUF_INIT(32768);
    struct json_out j = { .to = &text };

    engine_not_ready(v->self->known.engine, &why);
    bool ready = why.len == 0;

    json_open(&j, '{');
    json_key(&j, "ready");
    json_bool(&j, ready);
    if (is_listed(v) || (knows_caller(v) && rights_everywhere(&v->who.rights, RIGHT_SEE))) {
        engine_troubles(v->self->known.engine, &why);
        jobs_tell(v->self->known.jobs, &why);
        put_reasons(&j, buf_view(&why));
    }
    json_close(&j, '}');
    buf_putc(&text, '\n');
    http_answer(v->visit.request, ready ? 200 : 503, ready ? STR("") : STR("Retry-After: 2\r\n"),
                STR("application/json"), buf_view(&text));
    visit_free(&v->visit);
}

static void answer_metrics(struct visit *v)
{
    bool known = knows_caller(v), listed = is_listed(v);

    if (!listed && !known) {
        http_api_end_with_error(v, 401, "WWW-Authenticate: Bearer\r\n", "unauthorized",
                                "Send a key with the right `see` for all systems, or list your "
                                "address in `node.monitors`.");
        return;
    }
    if (!listed && !rights_everywhere(&v->who.rights, RIGHT_SEE)) {
        http_api_end_with_error(v, 403, "", "forbidden",
                                "This needs the right `see` for all systems.");
        return;
    }
    metrics_print(&v->answer);
    http_answer(v->visit.request, 200, STR("Cache-Control: no-store\r\n"),
                STR("text/plain; version=0.0.4; charset=utf-8"), buf_view(&v->answer));
    visit_free(&v->visit);
}

static void answer_health(struct visit *v)
{
    http_answer(v->visit.request, 200, STR(""), STR("text/plain"), STR("ok\n"));
    visit_free(&v->visit);
}

/* ---- the handler ---- */

/* Uploads of documents have a handler of their own, which streams the body. */
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

static void http_api_on_head(struct http_request *r, void *arg)
{
    struct http_api *self = arg;
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
        http_manual_handler.head(r, &self->known);
        return;
    }
    if (http_login_takes(r)) {
        http_login_handler.head(r, self->known.login);
        return;
    }
    if (http_console_answer(r))
        return;
    if (str_starts(r->path, STR("/documents/"))) {
        http_document_handler.head(r, &self->known);
        return;
    }
    if (str_starts(r->path, STR("/work/"))) {
        http_work_handler.head(r, &self->known);
        return;
    }
    if (str_starts(r->path, STR("/peer/"))) {
        http_peer_handler.head(r, self->peers);
        return;
    }
    struct visit *v = visit_new(r, self);

    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++)
        if (str_is(r->path, pages[i].path)) {
            pages[i].answer(v);
            return;
        }
    http_api_end_with_error(v, 404, "", "not_found", "There is nothing at this path.");
}

static void http_api_on_body(struct http_request *r, struct str bytes)
{
    graphql_bytes(r->user, bytes);
}

static void http_api_on_end(struct http_request *r)
{
    struct visit *v = r->user;

    /* Authenticate again: rights may have been revoked while the body arrived. */
    if (v->dropped > 0)
        graphql_too_large(v);
    else if (graphql_admits(v))
        (void)http_visit_to_background(&v->visit, engine_background(v->self->known.engine),
                                       graphql_run_in_background, graphql_done);
}

const struct http_handler http_api_handler = {
    .head = http_api_on_head,
    .body = http_api_on_body,
    .end = http_api_on_end,
    .gone = http_visit_gone,
};

/* ---- life ---- */

struct http_api *http_api_new(struct engine *engine, struct jobs *jobs, struct api *api,
                              const struct config_networks *monitors)
{
    struct http_api *h = NEW(struct http_api);

    h->known.engine = engine;
    h->known.jobs = jobs;
    h->api = api;
    h->monitors = monitors;
    h->events = http_events_new(engine, &h->known);
    h->known.login = login_new(engine);
    h->peers = http_peers_new(&h->known);
    return h;
}

struct login *http_api_login(const struct http_api *h)
{
    return h->known.login;
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
    if (h == NULL)
        return;
    http_events_stop(h->events);
    http_peers_rest(h->peers);
}

void http_api_free(struct http_api *h)
{
    if (h == NULL)
        return;
    http_peers_free(h->peers);
    http_events_free(h->events);
    for (size_t i = 0; h->server != NULL && i < 4 + HTTP_REFUSAL_COUNT; i++)
        metrics_forget(&h->server_metrics[i]);
    login_free(h->known.login);
    free(h);
}
