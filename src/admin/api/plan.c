/* plan.c - the live configuration: gateways, routes, types. */
#include <stdio.h>
#include <string.h>

#include "admin/api/parts.h"
#include "base/auto.h"
#include "base/clock.h"
#include "core/connector.h"
#include "engine/engine.h"
#include "engine/plan/areas.h"
#include "engine/plan/plan.h"
#include "engine/road/road.h"
#include "engine/tally/charts.h"
#include "store/govern/failing.h"
#include "store/search/document.h"
#include "store/store.h"

enum { WHY_MOST = 512, ONE_MOST = 16 << 20 };

/* A gateway accepts documents of any system, so it takes the right for all systems. */
static bool sees_all(const struct graphql_call *call)
{
    return rights_everywhere(&api_principal(call)->rights, RIGHT_SEE);
}

static struct str api_plan_copy(struct arena *a, const char *z)
{
    return z != NULL ? arena_copy(a, str_of(z)) : (struct str){ 0 };
}

/* ---- gateways ---- */

struct shown_gateway {
    struct str name, title, kind, area, auth, path, every, broken;
    int64_t word, accepted, repeated, refused, line;
};

/* The counts of the last day, over all nodes. */
static bool add_counts(struct graphql_call *call, struct shown_gateway *list, size_t n,
                       struct err *err)
{
    struct gateway_counts *counts = ARENA_ARRAY(call->arena, struct gateway_counts, n + 1);

    for (size_t i = 0; i < n; i++)
        counts[i] = (struct gateway_counts){ .gateway = list[i].word };
    if (n > 0 && !charts_gateways(engine_charts(api_engine(call)), counts, n, err))
        return false;
    for (size_t i = 0; i < n; i++) {
        list[i].accepted = counts[i].accepted;
        list[i].repeated = counts[i].repeated;
        list[i].refused = counts[i].refused;
    }
    return true;
}

/* The value of a key as written in the configuration, or its default. */
static struct str api_plan_said(const struct graphql_call *call, const struct config_gateway *c,
                                const char *key)
{
    const struct option_kind *kind =
        kind_find(engine_connectors(api_engine(call)), ROLE_GATEWAY, str_of(c->kind));
    const struct option *o = kind_key(ROLE_GATEWAY, kind, str_of(key));
    const struct yaml_node *n = yaml_get(c->node, key);
    struct arena *a = call->arena;

    if (o == NULL)
        return (struct str){ 0 };
    return n != NULL ? arena_copy(a, yaml_text(n)) : api_plan_copy(a, o->fallback);
}

/* Removes user and password from a URL. */
static struct str bare_url(struct arena *a, struct str url)
{
    struct str scheme, rest = str_cut(url, ':', &scheme), host;

    if (!str_starts(rest, STR("//")))
        return url;
    (void)str_cut(str_from(rest, 2), '/', &host);
    struct str tail = str_from(rest, 2 + host.len);

    for (size_t i = host.len; i > 0; i--)
        if (host.ptr[i - 1] == '@')
            return str_of(arena_printf(a, "%.*s://%.*s%.*s", STR_ARG(scheme),
                                       STR_ARG(str_from(host, i)), STR_ARG(tail)));
    return url;
}

static struct str path_of(const struct graphql_call *call, const struct config_gateway *c)
{
    static const char *const keys[] = { "path", "url", "listen" };
    const struct gateway_type *type =
        connector_gateway(engine_connectors(api_engine(call)), str_of(c->kind));

    if (type != NULL && type->path != NULL)
        return str_of(arena_printf(call->arena, "%s%s", type->path, c->name));
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        struct str text = api_plan_said(call, c, keys[i]);

        if (text.len > 0)
            return bare_url(call->arena, text);
    }
    return (struct str){ 0 };
}

/* What nodes report of gateways that they cannot run. */
struct reported {
    unsigned served; /* areas */
    struct failing *list;
    size_t count;
};

static struct str why_broken(struct graphql_call *call, const struct plan_gateway *p,
                             const struct reported *all)
{
    AUTO(buf_done) struct buf why = BUF_INIT(WHY_MOST);
    char room[AREAS_TEXT];
    const char *unserved = areas_why(all->served, p->area, room);

    if (p->broken != NULL)
        return arena_copy(call->arena, str_of(p->broken));
    if (unserved != NULL)
        return arena_copy(call->arena, str_of(unserved));
    engine_gateway_why(api_engine(call), p->name, &why);
    for (size_t i = 0; why.len == 0 && i < all->count; i++)
        if (all->list[i].word == p->word)
            buf_printf(&why, "node on %.*s: %.*s", STR_ARG(all->list[i].host),
                       STR_ARG(all->list[i].message));
    return arena_copy(call->arena, buf_view(&why));
}

static bool gateways(struct graphql_call *call, struct err *err)
{
    struct reported all = { .list = ARENA_ARRAY(call->arena, struct failing, FAILINGS_MOST) };

    if (!areas_served(api_store(call), &all.served, err) ||
        !failing_list(api_store(call), call->arena, all.list, &all.count, err))
        return false;
    struct plan *plan = road_plan(engine_road(api_engine(call)));
    size_t n = sees_all(call) ? plan->gateway_count : 0;
    struct shown_gateway *list = ARENA_ARRAY(call->arena, struct shown_gateway, n + 1);
    struct arena *a = call->arena;

    for (size_t i = 0; i < n; i++) {
        const struct config_gateway *c = &plan->config->gateways[i];

        list[i] =
            (struct shown_gateway){ .name = api_plan_copy(a, c->name),
                                    .title = arena_copy(a, yaml_text(yaml_get(c->node, "title"))),
                                    .kind = api_plan_copy(a, c->kind),
                                    .area = api_plan_said(call, c, "area"),
                                    .auth = api_plan_said(call, c, "auth"),
                                    .path = path_of(call, c),
                                    .every = api_plan_said(call, c, "every"),
                                    .broken = why_broken(call, &plan->gateways[i], &all),
                                    .word = plan->gateways[i].word,
                                    .line = c->place.line };
    }
    plan_unref(plan);
    return add_counts(call, list, n, err) && graphql_set_structs(call, list, n, sizeof *list);
}

static bool gateway_last(struct graphql_call *call, struct err *err)
{
    const struct shown_gateway *g = call->parent;
    AUTO(arena_done) struct arena one = ARENA_INIT(ONE_MOST);
    struct document_filter f = { .gateway = g->word };
    struct document d;
    int64_t next = 0;
    size_t n = 0;

    do
        if (!document_list(api_store(call), &f, next, 1, &one, &d, &n, &next, err))
            return false;
    while (n == 0 && next != 0 && clock_mono_us() < call->deadline_us - CLOCK_S);
    return n == 0 ? graphql_set_null(call) : graphql_set_int(call, d.received_us);
}

/* ---- routes ---- */

struct texts {
    struct str *list;
    size_t count;
};

struct shown_route {
    struct str name, title, broken;
    struct texts sender, receiver, type, steps, endpoints;
    int64_t line;
};

/* Reads a text or a list of texts.  An empty result means any, as "*" does. */
static struct texts api_plan_read_names(struct arena *a, const struct yaml_node *node)
{
    bool list = node != NULL && node->kind == YAML_LIST;
    struct texts t = { .list = ARENA_ARRAY(a, struct str, (list ? node->count : 1) + 1) };

    for (const struct yaml_node *n = list ? node->first : node; n != NULL; n = n->next) {
        if (n->text.len > 0 && !str_is(n->text, "*"))
            t.list[t.count++] = arena_copy(a, n->text);
        if (!list)
            break; /* a single value: `next` is another key */
    }
    return t;
}

static size_t count_endpoints(const struct plan_route *p)
{
    size_t n = 0;

    for (size_t i = 0; i < p->step_count; i++)
        n += p->steps[i].kind == STEP_DELIVER ? p->steps[i].endpoint_count : 0;
    return n;
}

static void read_steps(struct arena *a, const struct config_route *c, const struct plan_route *p,
                       struct shown_route *to)
{
    to->steps.list = ARENA_ARRAY(a, struct str, c->step_count + 1);
    to->endpoints.list = ARENA_ARRAY(a, struct str, count_endpoints(p) + 1);
    for (const struct yaml_node *n = c->steps->first; n != NULL; n = n->next)
        if (n->first != NULL && n->first->key != NULL && to->steps.count < c->step_count)
            to->steps.list[to->steps.count++] = arena_copy(a, n->first->key->text);
    for (size_t i = 0; i < p->step_count; i++)
        for (size_t k = 0; p->steps[i].kind == STEP_DELIVER && k < p->steps[i].endpoint_count; k++)
            to->endpoints.list[to->endpoints.count++] =
                arena_copy(a, p->steps[i].endpoints[k]->name);
}

/* A route is in scope when it names a system in scope as sender or receiver. */
static bool sees_route(const struct graphql_call *call, const struct shown_route *r)
{
    const struct rights *rights = &api_principal(call)->rights;
    bool sees = sees_all(call);

    for (size_t i = 0; !sees && i < r->sender.count; i++)
        sees = rights_cover_system(rights, RIGHT_SEE, r->sender.list[i]);
    for (size_t i = 0; !sees && i < r->receiver.count; i++)
        sees = rights_cover_system(rights, RIGHT_SEE, r->receiver.list[i]);
    return sees;
}

static bool routes(struct graphql_call *call, struct err *err)
{
    struct plan *plan = road_plan(engine_road(api_engine(call)));
    size_t all = plan->route_count, n = 0;
    struct shown_route *shown = ARENA_ARRAY(call->arena, struct shown_route, all + 1);
    const void **list = ARENA_ARRAY(call->arena, const void *, all + 1);
    struct arena *a = call->arena;

    (void)err;
    for (size_t i = 0; i < all; i++) {
        const struct config_route *c = &plan->config->routes[i];
        const struct plan_route *p = &plan->routes[i];

        shown[i] =
            (struct shown_route){ .name = arena_copy(a, p->name),
                                  .title = arena_copy(a, yaml_text(yaml_get(c->node, "title"))),
                                  .broken = api_plan_copy(a, p->broken),
                                  .sender = api_plan_read_names(a, yaml_get(c->when, "sender")),
                                  .receiver = api_plan_read_names(a, yaml_get(c->when, "receiver")),
                                  .type = api_plan_read_names(a, yaml_get(c->when, "type")),
                                  .line = c->place.line };
        read_steps(a, c, p, &shown[i]);
        if (sees_route(call, &shown[i]))
            list[n++] = &shown[i];
    }
    plan_unref(plan);
    return graphql_set_objects(call, list, n);
}

/* A field that is a struct texts in the parent. */
static bool texts_at(struct graphql_call *call, struct err *err)
{
    const struct texts *t = (const void *)((const char *)call->parent + call->offset);

    (void)err;
    return graphql_set_texts(call, t->list, t->count);
}

#define TEXTS_AT(field_, struct_, member_)                                      \
    {                                                                           \
        .field = (field_), .fn = texts_at, .offset = offsetof(struct_, member_) \
    }

/* ---- types ---- */

struct shown_type {
    struct str name, title;
    struct texts search;
    int64_t line;
};

static bool types(struct graphql_call *call, struct err *err)
{
    struct plan *plan = road_plan(engine_road(api_engine(call)));
    size_t n = plan->config->type_count;
    struct shown_type *shown = ARENA_ARRAY(call->arena, struct shown_type, n + 1);
    struct arena *a = call->arena;

    (void)err;
    for (size_t i = 0; i < n; i++) {
        const struct config_entry *c = &plan->config->types[i];
        const struct yaml_node *search = yaml_get(c->node, "search");

        shown[i] =
            (struct shown_type){ .name = api_plan_copy(a, c->name),
                                 .title = arena_copy(a, yaml_text(yaml_get(c->node, "title"))),
                                 .line = c->place.line };
        shown[i].search.list = ARENA_ARRAY(a, struct str, (search != NULL ? search->count : 0) + 1);
        for (const struct yaml_node *k = search != NULL ? search->first : NULL; k != NULL;
             k = k->next)
            shown[i].search.list[shown[i].search.count++] = arena_copy(a, k->key->text);
    }
    plan_unref(plan);
    return graphql_set_structs(call, shown, n, sizeof *shown);
}

const struct graphql_resolver api_plan[] = {
    { .field = "Query.gateways", .fn = gateways },
    GRAPHQL_MEMBER("Gateway.name", struct shown_gateway, name),
    API_TEXT_AT("Gateway.title", struct shown_gateway, title),
    GRAPHQL_MEMBER("Gateway.kind", struct shown_gateway, kind),
    API_TEXT_AT("Gateway.area", struct shown_gateway, area),
    API_TEXT_AT("Gateway.auth", struct shown_gateway, auth),
    API_TEXT_AT("Gateway.path", struct shown_gateway, path),
    API_TEXT_AT("Gateway.every", struct shown_gateway, every),
    GRAPHQL_MEMBER("Gateway.accepted", struct shown_gateway, accepted),
    GRAPHQL_MEMBER("Gateway.repeated", struct shown_gateway, repeated),
    GRAPHQL_MEMBER("Gateway.refused", struct shown_gateway, refused),
    { .field = "Gateway.lastReceived", .fn = gateway_last },
    API_TEXT_AT("Gateway.broken", struct shown_gateway, broken),
    GRAPHQL_MEMBER("Gateway.line", struct shown_gateway, line),
    { .field = "Query.routes", .fn = routes },
    GRAPHQL_MEMBER("Route.name", struct shown_route, name),
    API_TEXT_AT("Route.title", struct shown_route, title),
    TEXTS_AT("Route.sender", struct shown_route, sender),
    TEXTS_AT("Route.receiver", struct shown_route, receiver),
    TEXTS_AT("Route.type", struct shown_route, type),
    TEXTS_AT("Route.steps", struct shown_route, steps),
    TEXTS_AT("Route.endpoints", struct shown_route, endpoints),
    API_TEXT_AT("Route.broken", struct shown_route, broken),
    GRAPHQL_MEMBER("Route.line", struct shown_route, line),
    { .field = "Query.types", .fn = types },
    GRAPHQL_MEMBER("DocumentType.name", struct shown_type, name),
    API_TEXT_AT("DocumentType.title", struct shown_type, title),
    TEXTS_AT("DocumentType.search", struct shown_type, search),
    GRAPHQL_MEMBER("DocumentType.line", struct shown_type, line),
};
const size_t api_plan_count = sizeof api_plan / sizeof api_plan[0];
