#include "admin/http/peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admin/api/audit.h"
#include "admin/http/visit.h"
#include "admin/links/link_reach.h"
#include "admin/login/identify.h"
#include "admin/login/principal.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/log.h"
#include "core/call.h"
#include "core/config.h"
#include "engine/engine.h"
#include "engine/plan/plan.h"
#include "engine/road/road.h"
#include "engine/threads/background.h"
#include "link/desk.h"
#include "table/away/away.h"

enum { PEER_ARENA = 4 << 20, PEER_THREADS = 4, PEER_WAITING_MOST = 32, FIELD_MOST = 100 };

#define PEER_LASTS_US (120 * CLOCK_S) /* of one question, at most */

struct http_peers {
    const struct identify *known;
    struct desk *desk;
    struct background *pool;
    _Atomic bool stop; /* the node stops */
};

struct peer_visit {
    struct http_visit visit; /* first */
    struct http_peers *self;
    enum desk_method method;
    struct arena arena;
    struct principal who;
    struct buf body;
    struct desk_visit desk;
    bool ok;
    struct err err;
};

struct http_peers *http_peers_new(const struct identify *known)
{
    struct http_peers *p = NEW(struct http_peers);

    p->known = known;
    p->desk = desk_new();
    p->pool = background_new(PEER_THREADS, PEER_WAITING_MOST);
    return p;
}

void http_peers_rest(struct http_peers *p)
{
    atomic_store(&p->stop, true);
}

void http_peers_free(struct http_peers *p)
{
    if (p == NULL)
        return;
    background_free(p->pool);
    desk_free(p->desk);
    free(p);
}

/* ---- objects ---- */

static size_t peer_most(const struct http_peers *p)
{
    size_t most = (size_t)engine_node(p->known->engine)->message_limit;

    return most < AWAY_MESSAGE_LEAST ? AWAY_MESSAGE_LEAST : most;
}

static void peer_free(struct http_visit *visit)
{
    struct peer_visit *v = container_of(visit, struct peer_visit, visit);

    buf_done(&v->desk.frame);
    buf_done(&v->body);
    arena_done(&v->arena);
    free(v);
}

static struct peer_visit *peer_new(struct http_request *r, struct http_peers *self)
{
    struct peer_visit *v = NEW(struct peer_visit);

    *v = (struct peer_visit){ .self = self,
                              .arena = ARENA_INIT(PEER_ARENA),
                              .body = BUF_INIT(peer_most(self)),
                              .desk = { .most = peer_most(self),
                                        .frame = BUF_INIT(AWAY_WHOLE_MOST) } };
    http_visit_begin(&v->visit, r, &http_peer_handler, peer_free);
    return v;
}

/* Every answer says how large a message may be. */
static const char *peer_fields(const struct peer_visit *v, char to[static FIELD_MOST],
                               const char *more)
{
    (void)snprintf(to, FIELD_MOST, "Cache-Control: no-store\r\nWaybill-Message-Limit: %zu\r\n%s",
                   v->desk.most, more);
    return to;
}

static void peer_refuse(struct peer_visit *v, int status, const char *code, const char *message)
{
    char fields[FIELD_MOST];

    http_visit_error(&v->visit, status, peer_fields(v, fields, ""), code, message);
}

static void peer_too_large(struct peer_visit *v)
{
    char why[120];

    (void)snprintf(why, sizeof why, "A message has at most %zu bytes: `node.limits.message_limit`.",
                   v->desk.most);
    peer_refuse(v, 413, "too_large", why);
}

/* ---- who asks ---- */

static bool peer_admits(struct peer_visit *v)
{
    static const char role[] = "Send a key with the role `peer`: Authorization: Bearer KEY.";
    int64_t caller;

    if (!identify(v->self->known, v->visit.request, &v->arena, &v->who, &caller)) {
        http_visit_error(&v->visit, 401, "WWW-Authenticate: Bearer\r\n", "unauthorized",
                         v->who.refused != NULL ? v->who.refused : role);
        return false;
    }
    if (v->who.kind == PRINCIPAL_KEY && rights_everywhere(&v->who.rights, RIGHT_PEER)) {
        v->desk.peer = str_from(v->who.name, strlen("key ")); /* its title */
        return true;
    }
    identify_note_forbidden(&v->who, STR("peer"), RIGHT_PEER);
    peer_refuse(v, 403, "forbidden", role);
    return false;
}

/* ---- answering ---- */

/* What another location has installed here is in the audit log. */
static void peer_audit(struct peer_visit *v)
{
    struct audit_entry entry;
    struct err err = { 0 };

    if (v->desk.installed[0] == '\0')
        return;
    entry = api_audit_entry(&v->who, STR("peerInstall"), str_of(v->desk.installed));
    if (!audit_append(engine_store(v->self->known->engine), &entry, &err))
        log_event(LOG_ERROR, "peer.unlogged", kv_z("what", v->desk.installed),
                  kv_z("why", err.text));
}

static void peer_run_in_background(struct background_job *job)
{
    struct peer_visit *v = container_of(http_visit_of_job(job), struct peer_visit, visit);
    struct engine *engine = v->self->known->engine;
    struct plan *plan = road_plan(engine_road(engine));
    struct settings settings = link_reach_settings(engine, plan->config, &v->arena);
    struct call call = { .stop = &v->self->stop,
                         .egress = engine_egress(engine),
                         .until_us = clock_mono_us() + PEER_LASTS_US };

    settings.node = plan->config->root;
    v->desk.settings = &settings;
    v->desk.call = &call;
    v->desk.store = engine_store(engine);
    v->ok = desk_answer(v->self->desk, &v->desk, v->method, buf_view(&v->body), &v->err);
    v->desk.settings = NULL;
    v->desk.call = NULL;
    plan_unref(plan);
    peer_audit(v);
}

static void peer_done(struct loop_msg *msg)
{
    struct http_visit *visit = http_visit_back(msg);
    char fields[FIELD_MOST];

    if (visit == NULL)
        return;
    struct peer_visit *v = container_of(visit, struct peer_visit, visit);

    if (!v->ok) {
        peer_refuse(v, 400, "bad_request", v->err.text);
        return;
    }
    http_answer(visit->request, 200, str_of(peer_fields(v, fields, "")),
                STR("application/octet-stream"), buf_view(&v->desk.frame));
    peer_free(visit);
}

/* ---- the handler ---- */

static bool peer_find_method(struct peer_visit *v)
{
    struct str name = str_from(v->visit.request->path, strlen("/peer/"));

    while (v->method < DESK_METHODS && !str_is(name, desk_methods[v->method]))
        v->method++;
    return v->method < DESK_METHODS;
}

static void peer_on_head(struct http_request *r, void *arg)
{
    struct peer_visit *v = peer_new(r, arg);

    if (!peer_find_method(v))
        http_visit_error(&v->visit, 404, "", "not_found", "There is nothing at this path.");
    else if (r->method != HTTP_METHOD_POST)
        http_visit_error(&v->visit, 405, "Allow: POST\r\n", "method_not_allowed", "Ask with POST.");
    else if (!peer_admits(v))
        return;
    else if (r->content_length > (int64_t)v->desk.most)
        peer_too_large(v);
    else
        http_read_body(r);
}

static void peer_on_body(struct http_request *r, struct str bytes)
{
    struct peer_visit *v = r->user;
    struct err err;

    if (!buf_append(&v->body, bytes, &err))
        peer_too_large(v);
}

static void peer_on_end(struct http_request *r)
{
    struct peer_visit *v = r->user;

    /* Again: a key may have ended while the body arrived. */
    if (peer_admits(v))
        (void)http_visit_to_background(&v->visit, v->self->pool, peer_run_in_background, peer_done);
}

const struct http_handler http_peer_handler = {
    .head = peer_on_head,
    .body = peer_on_body,
    .end = peer_on_end,
    .gone = http_visit_gone,
};
