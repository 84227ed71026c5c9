/* flow.c - the map: between which gateways, routes, endpoints and systems documents flow, how many,
 * and where there is trouble. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admin/api/parts.h"
#include "base/auto.h"
#include "base/clock.h"
#include "core/route_when.h"
#include "core/state.h"
#include "engine/dispatch/dispatch.h"
#include "engine/dispatch/govern.h"
#include "engine/engine.h"
#include "engine/plan/plan.h"
#include "engine/road/road.h"
#include "engine/tally/ways.h"
#include "store/search/document.h"
#include "store/store.h"
#include "store/watch/chart.h"

enum {
    EDGES_MOST = 10000,
    LATEST = DOCUMENTS_PAGE_MOST, /* newest documents whose gateway and route are added */
    PAGE_BYTES = 64 << 20,
    WHY_MOST = 400
};

enum node_kind { NODE_GATEWAY, NODE_ROUTE, NODE_BATCH, NODE_ENDPOINT, NODE_SYSTEM };

static const char *const node_words[] = { "gateway", "route", "batch", "endpoint", "system" };

struct node {
    enum node_kind kind;
    int64_t word;
};

struct edge {
    struct node from, to;
    int64_t lately;
    const char *trouble; /* NULL: none */
};

struct flow {
    struct graphql_call *call;
    struct plan *plan;
    struct edge *edges;
    size_t count;
};

/* ---- edges ---- */

static bool is_node(struct node a, struct node b)
{
    return a.kind == b.kind && a.word == b.word;
}

/* Finds or adds an edge; NULL: the table is full, and the map is incomplete. */
static struct edge *edge_of(struct flow *f, struct node from, struct node to)
{
    for (size_t i = 0; i < f->count; i++)
        if (is_node(f->edges[i].from, from) && is_node(f->edges[i].to, to))
            return &f->edges[i];
    if (f->count == EDGES_MOST)
        return NULL;
    f->edges[f->count] = (struct edge){ .from = from, .to = to };
    return &f->edges[f->count++];
}

static void api_flow_add(struct flow *f, struct node from, struct node to, int64_t lately)
{
    struct edge *e = edge_of(f, from, to);

    if (e != NULL)
        e->lately += lately;
}

/* The node of a route.  The document of a batch takes the route of its batch, which is shown as the
 * node of the batch. */
static bool find_route(const struct plan *p, int64_t word, struct node *ret)
{
    for (size_t i = 0; i < p->route_count; i++)
        if (p->routes[i].word == word) {
            *ret = (struct node){ NODE_ROUTE, word };
            return true;
        }
    *ret = (struct node){ NODE_BATCH, word };
    return plan_batch_find(p, word) != NULL;
}

/* ---- what the configuration says ---- */

/* Copies go to the subscribers by way of the router: that they get them is what the map shows. */
static void api_flow_add_subscribers(struct flow *f, struct node from, const struct plan_step *s)
{
    for (size_t i = 0; i < s->subscription_count; i++) {
        const struct yaml_node *to = s->subscriptions[i]->to, *n;

        for (n = route_value_first(to); n != NULL; n = route_value_next(to, n)) {
            const struct plan_system *system = plan_system_named(f->plan, n->text);

            if (system != NULL)
                api_flow_add(f, from, (struct node){ NODE_SYSTEM, system->word }, 0);
        }
    }
}

static void add_steps(struct flow *f, struct node from, const struct plan_route *r)
{
    for (size_t i = 0; i < r->step_count; i++) {
        const struct plan_step *s = &r->steps[i];

        for (size_t k = 0; s->kind == STEP_DELIVER && k < s->endpoint_count; k++)
            api_flow_add(f, from, (struct node){ NODE_ENDPOINT, s->endpoints[k]->word }, 0);
        if (s->kind == STEP_BATCH && s->batch != NULL)
            api_flow_add(f, from, (struct node){ NODE_BATCH, s->batch->word }, 0);
        if (s->kind == STEP_SUBSCRIBE)
            api_flow_add_subscribers(f, from, s);
    }
}

/* An endpoint without a system serves the receiver of each document: adds an edge to each receiver
 * that the route names. */
static void add_receivers(struct flow *f, const struct plan_route *r, const struct config_route *c)
{
    const struct yaml_node *names = yaml_get(c->when, "receiver");
    bool list = names != NULL && names->kind == YAML_LIST;

    for (const struct yaml_node *n = list ? names->first : names; n != NULL; n = n->next) {
        const struct plan_system *to = plan_system_named(f->plan, n->text);

        for (size_t i = 0; to != NULL && i < r->step_count; i++)
            for (size_t k = 0; r->steps[i].kind == STEP_DELIVER && k < r->steps[i].endpoint_count;
                 k++)
                if (r->steps[i].endpoints[k]->system == NULL)
                    api_flow_add(f, (struct node){ NODE_ENDPOINT, r->steps[i].endpoints[k]->word },
                                 (struct node){ NODE_SYSTEM, to->word }, 0);
        if (!list)
            return; /* a single value: `next` is another key */
    }
}

static void api_flow_add_configured(struct flow *f)
{
    const struct plan *p = f->plan;

    for (size_t i = 0; i < p->route_count; i++) {
        add_steps(f, (struct node){ NODE_ROUTE, p->routes[i].word }, &p->routes[i]);
        add_receivers(f, &p->routes[i], &p->config->routes[i]);
    }
    for (size_t i = 0; i < p->batch_count; i++)
        add_steps(f, (struct node){ NODE_BATCH, p->batches[i].word }, &p->batches[i].chain);
    for (size_t i = 0; i < p->endpoint_count; i++)
        if (p->endpoints[i].system != NULL)
            api_flow_add(f, (struct node){ NODE_ENDPOINT, p->endpoints[i].word },
                         (struct node){ NODE_SYSTEM, p->endpoints[i].system->word }, 0);
}

/* ---- what was seen ---- */

static bool nodes_of(const struct plan *p, const struct way_seen *w, struct node *from,
                     struct node *to)
{
    switch (w->kind) {
    case WAY_TAKEN:
        *from = (struct node){ NODE_GATEWAY, w->from };
        return plan_gateway_find(p, w->from) != NULL && find_route(p, w->to, to);
    case WAY_MADE:
        *to = (struct node){ NODE_ENDPOINT, w->to };
        return plan_endpoint_find(p, w->to) != NULL && find_route(p, w->from, from);
    case WAY_SENT:
    case WAY_FAILED:
        *from = (struct node){ NODE_ENDPOINT, w->from };
        *to = (struct node){ NODE_SYSTEM, w->to };
        return plan_endpoint_find(p, w->from) != NULL && plan_system_find(p, w->to) != NULL;
    }
    return false;
}

static void api_flow_add_way(struct flow *f, const struct way_seen *w)
{
    struct node from, to;
    struct edge *e;

    if (!nodes_of(f->plan, w, &from, &to) || (e = edge_of(f, from, to)) == NULL)
        return;
    if (w->kind != WAY_FAILED)
        e->lately += w->lately;
    else if (w->lately > 0)
        e->trouble = arena_printf(f->call->arena, "%lld attempts failed within a minute",
                                  (long long)w->lately);
}

static void api_flow_add_seen(struct flow *f)
{
    struct way_seen *ways = ARENA_ARRAY(f->call->arena, struct way_seen, WAYS_MOST);
    size_t n = ways_list(engine_ways(api_engine(f->call)), ways);

    for (size_t i = 0; i < n; i++)
        api_flow_add_way(f, &ways[i]);
}

/* What other nodes counted in a minute, or the part of it that is `seconds` of 60. */
static bool api_flow_add_minute(struct flow *f, int64_t minute_us, int64_t seconds, struct err *err)
{
    struct chart_count *all = ARENA_ARRAY(f->call->arena, struct chart_count, CHART_COUNTS_MOST);
    size_t n;

    if (!chart_others(api_store(f->call), minute_us, minute_us + 60 * CLOCK_S, all, &n, err))
        return false;
    for (size_t i = 0; i < n; i++)
        if (all[i].kind <= WAY_FAILED)
            api_flow_add_way(f, &(struct way_seen){ .kind = (enum way_kind)all[i].kind,
                                                    .from = all[i].one,
                                                    .to = all[i].two,
                                                    .lately = (all[i].n * seconds + 59) / 60 });
    return true;
}

/* The minute under way, and as much of the one before as makes it 60 seconds. */
static bool api_flow_add_elsewhere(struct flow *f, struct err *err)
{
    int64_t wall = clock_wall_us(), minute = wall / (60 * CLOCK_S) * 60 * CLOCK_S;

    return api_flow_add_minute(f, minute, 60, err) &&
           api_flow_add_minute(f, minute - 60 * CLOCK_S, 60 - (wall - minute) / CLOCK_S, err);
}

/* No configuration says which gateways lead to which routes.  The newest documents show it, even
 * after a restart, when nothing is counted yet. */
static bool add_latest(struct flow *f, struct err *err)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(PAGE_BYTES);
    struct document *docs = ARENA_ARRAY(&a, struct document, LATEST);
    struct document_filter any = { 0 };
    int64_t next;
    size_t n;

    if (!document_list(api_store(f->call), &any, 0, LATEST, &a, docs, &n, &next, err))
        return false;
    for (size_t i = 0; i < n; i++) {
        struct node to;

        if (docs[i].route != 0 && plan_gateway_find(f->plan, docs[i].gateway) != NULL &&
            find_route(f->plan, docs[i].route, &to))
            api_flow_add(f, (struct node){ NODE_GATEWAY, docs[i].gateway }, to, 0);
    }
    return true;
}

/* ---- trouble ---- */

static void api_flow_tell_held(struct flow *f, struct edge *e)
{
    AUTO(buf_done) struct buf why = BUF_INIT(WHY_MOST);
    struct dispatch *d = road_dispatch(engine_road(api_engine(f->call)));
    const struct plan_endpoint *p = plan_endpoint_find(f->plan, e->from.word);
    unsigned held = dispatch_held_why(d, e->to.word, e->from.word);

    if (p != NULL && p->broken != NULL) {
        e->trouble = arena_text(f->call->arena, str_of(p->broken));
        return;
    }
    if (held == 0)
        return;
    buf_puts(&why, "held: ");
    held_reasons_print(held, &why);
    e->trouble = arena_text(f->call->arena, buf_view(&why));
}

static void tell_gateway(struct flow *f, struct edge *e)
{
    AUTO(buf_done) struct buf why = BUF_INIT(WHY_MOST);
    const struct plan_gateway *g = plan_gateway_find(f->plan, e->from.word);

    if (g->broken != NULL)
        buf_puts(&why, g->broken);
    else
        engine_gateway_why(api_engine(f->call), g->name, &why);
    if (why.len > 0)
        e->trouble = arena_text(f->call->arena, buf_view(&why));
}

static void tell_route(struct flow *f, struct edge *e)
{
    for (size_t i = 0; i < f->plan->route_count; i++)
        if (f->plan->routes[i].word == e->from.word && f->plan->routes[i].broken != NULL)
            e->trouble = arena_text(f->call->arena, str_of(f->plan->routes[i].broken));
}

static void tell_trouble(struct flow *f)
{
    for (size_t i = 0; i < f->count; i++) {
        struct edge *e = &f->edges[i];

        if (e->from.kind == NODE_ENDPOINT)
            api_flow_tell_held(f, e);
        else if (e->from.kind == NODE_GATEWAY)
            tell_gateway(f, e);
        else if (e->from.kind == NODE_ROUTE)
            tell_route(f, e);
    }
}

/* ---- the answer ---- */

/* A caller who may see some systems only gets the edges from endpoints to these systems. */
static bool may_show(struct graphql_call *call, const struct edge *e)
{
    const struct rights *r = &api_principal(call)->rights;

    return rights_everywhere(r, RIGHT_SEE) ||
           (e->to.kind == NODE_SYSTEM &&
            rights_cover_system(r, RIGHT_SEE, name_text(api_store(call), e->to.word)));
}

static bool flow(struct graphql_call *call, struct err *err)
{
    struct flow f = { .call = call,
                      .plan = road_plan(engine_road(api_engine(call))),
                      .edges = ARENA_ARRAY(call->arena, struct edge, EDGES_MOST) };
    const void **list = ARENA_ARRAY(call->arena, const void *, EDGES_MOST);
    size_t n = 0;

    api_flow_add_configured(&f);
    api_flow_add_seen(&f);
    bool ok = api_flow_add_elsewhere(&f, err) && add_latest(&f, err);

    if (ok)
        tell_trouble(&f);
    plan_unref(f.plan);
    for (size_t i = 0; i < f.count; i++)
        if (may_show(call, &f.edges[i]))
            list[n++] = &f.edges[i];
    return ok && graphql_set_objects(call, list, n);
}

static bool set_node(struct graphql_call *call, struct node n)
{
    return graphql_set_z(call, arena_printf(call->arena, "%s:%.*s", node_words[n.kind],
                                            STR_ARG(name_text(api_store(call), n.word))));
}

static bool edge_from(struct graphql_call *call, struct err *err)
{
    (void)err;
    return set_node(call, ((const struct edge *)call->parent)->from);
}

static bool edge_to(struct graphql_call *call, struct err *err)
{
    (void)err;
    return set_node(call, ((const struct edge *)call->parent)->to);
}

/* Counters are sampled every 10 seconds, so the count covers the last 50 to 60 seconds. */
static bool edge_rate(struct graphql_call *call, struct err *err)
{
    (void)err;
    return graphql_set_float(call, (double)((const struct edge *)call->parent)->lately);
}

const struct graphql_resolver api_flow[] = {
    { .field = "Query.flow", .fn = flow },
    { .field = "FlowEdge.from", .fn = edge_from },
    { .field = "FlowEdge.to", .fn = edge_to },
    { .field = "FlowEdge.perMinute", .fn = edge_rate },
    GRAPHQL_MEMBER("FlowEdge.trouble", struct edge, trouble),
};
const size_t api_flow_count = sizeof api_flow / sizeof api_flow[0];
