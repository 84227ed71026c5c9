#include "engine/plan/plan.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "cage/cage.h"
#include "core/grammar.h"
#include "core/service_call.h"
#include "core/units.h"
#include "engine/plan/folders.h"
#include "engine/plan/plan_answer.h"
#include "engine/plan/plan_batch.h"
#include "engine/plan/plan_build.h"
#include "engine/plan/plan_cage.h"
#include "engine/plan/plan_call.h"
#include "engine/plan/plan_keyed.h"
#include "engine/plan/plan_retain.h"
#include "engine/plan/plan_subscribe.h"
#include "store/people/secret.h"
#include "store/road/accept.h"
#include "store/store.h"

#define PLAN_BYTES_MOST ((size_t)256 << 20)

static bool read_handling(struct builder *b, const struct yaml_node *node,
                          const struct option *keys, struct plan_handling *h, struct err *err)
{
    struct settings s = plan_settings(b, node, NULL, keys);
    struct str prio;

    if (node == NULL || node->kind != YAML_MAP)
        return true;
    if (settings_has(&s, "priority")) { /* no default here: the type may set it */
        if (!settings_text(&s, "priority", &prio, err))
            return false;
        h->prio = str_is(prio, "high") ? PRIO_HIGH : str_is(prio, "low") ? PRIO_LOW : PRIO_NORMAL;
    }
    return settings_duration(&s, "expires", &h->expires_us, err) &&
           settings_duration(&s, "delay", &h->delay_us, err);
}

static int plan_by_name(const void *a, const void *b)
{
    return str_cmp(((const struct plan_type *)a)->name, ((const struct plan_type *)b)->name);
}

/* Expressions that this build cannot extract were reported in a warning and are skipped. */
static struct extractor *build_search(struct arena *a, const struct yaml_node *type)
{
    const struct yaml_node *search = yaml_get(type, "search");
    struct yaml_node *first = NULL, **end = &first;
    struct extractor *x = NULL;
    struct err why = { 0 };

    for (const struct yaml_node *n = search != NULL ? search->first : NULL; n != NULL;
         n = n->next) {
        struct yaml_node *one = ARENA_NEW(a, struct yaml_node);

        *one = *n;
        one->next = NULL;
        if (!plan_compile_attributes(one, &x, &why))
            continue;
        extractor_free(x);
        *end = one;
        end = &one->next;
    }
    return first != NULL && plan_compile_attributes(first, &x, &why) ? x : NULL;
}

static bool plan_build_types(struct builder *b, struct err *err)
{
    struct plan *p = b->plan;
    const struct config *c = p->config;

    p->types = ARENA_ARRAY(&p->arena, struct plan_type, c->type_count + 1);
    for (size_t i = 0; i < c->type_count; i++) {
        struct plan_type *t = &p->types[i];

        *t = (struct plan_type){ .name = str_of(c->types[i].name) };
        if (!read_handling(b, c->types[i].node, grammar_type, &t->handling, err))
            return err_context(err, "type %s", c->types[i].name);
        t->search = build_search(&p->arena, c->types[i].node);
        if (t->handling.prio != 0 || t->handling.expires_us != 0 || t->handling.delay_us != 0 ||
            t->search != NULL)
            p->type_count = c->type_count;
    }
    qsort(p->types, p->type_count, sizeof *p->types, plan_by_name);
    return true;
}

static const struct plan_type *type_named(const struct plan *p, struct str name)
{
    struct plan_type key = { .name = name };

    return bsearch(&key, p->types, p->type_count, sizeof *p->types, plan_by_name);
}

static const struct plan_type *plan_type_of(const struct plan *p, struct str type)
{
    const struct plan_type *t = NULL;

    if (p->type_count > 0 && type.ptr != NULL) {
        t = type_named(p, type);
        if (t == NULL)
            t = type_named(p, STR("*"));
    }
    return t;
}

const struct extractor *plan_search_of(const struct plan *p, struct str type)
{
    const struct plan_type *t = plan_type_of(p, type);

    return t != NULL ? t->search : NULL;
}

struct plan_handling plan_handling_of(const struct plan *p, const struct plan_route *r,
                                      struct str type)
{
    struct plan_handling h = r->handling;
    const struct plan_type *t = plan_type_of(p, type);

    if (t == NULL)
        return h;
    if (h.prio == 0)
        h.prio = t->handling.prio;
    if (h.expires_us == 0)
        h.expires_us = t->handling.expires_us;
    if (h.delay_us == 0)
        h.delay_us = t->handling.delay_us;
    return h;
}

static bool add_types(struct builder *b, struct err *err)
{
    const struct config *c = b->plan->config;
    struct str *names = xcalloc(c->type_count + 1, sizeof *names);
    int64_t *ids = xcalloc(c->type_count + 1, sizeof *ids);

    for (size_t i = 0; i < c->type_count; i++)
        names[i] = str_of(c->types[i].name);
    bool ok = b->apart || names_add(b->store, NAME_TYPE, names, c->type_count, ids, err);

    free(names);
    free(ids);
    return ok && plan_build_types(b, err);
}

/* ---- systems ---- */

static enum doubt_policy plan_doubt_of(struct str word)
{
    static const char *const words[] = { "resend", "hold", "probe", "assume" };

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (str_is(word, words[i]))
            return (enum doubt_policy)i;
    return DOUBT_RESEND;
}

/* If the time zone is unknown on this node, the window never opens and deliveries wait. */
static void build_windows(struct builder *b, struct window_maker *windows,
                          const struct config_entry *c, struct plan_system *s)
{
    const struct yaml_node *node = yaml_get(c->node, "window");
    struct err err = { 0 };

    if (node == NULL || yaml_is_null(node) || window_set_build(windows, node, &s->windows, &err))
        return;
    (void)err_context(&err, "system %s", c->name);
    (void)plan_broken(b, c->place, &err);
}

static bool plan_read_rate(const struct settings *limits, struct rate_rule *ret, struct err *err)
{
    struct units_rate rate = { 0 };
    uint64_t burst = 0;

    if (!settings_rate(limits, &rate, &burst, err))
        return false;
    if (rate.count > 0)
        *ret = rate_rule(rate.count, rate.per_us, burst);
    return true;
}

static bool build_order(struct builder *b, const struct settings *own, const struct config_entry *c,
                        struct plan_system *s, struct err *err)
{
    const struct yaml_node *by = yaml_get(c->node, "order_by");
    struct str order, on_dead;
    struct err why = { 0 };

    if (!settings_text(own, "order", &order, err) || !settings_text(own, "on_dead", &on_dead, err))
        return false;
    s->order = str_is(order, "key")        ? ORDER_KEY
               : str_is(order, "receiver") ? ORDER_RECEIVER
                                           : ORDER_NONE;
    s->on_dead = str_is(on_dead, "skip") ? ORDER_SKIP : ORDER_STOP;
    b->plan->ordered = b->plan->ordered || s->order != ORDER_NONE;
    /* A key that this build cannot extract was reported in a warning.  Without a key the order is
     * that of the receiver, which is stricter. */
    if (s->order == ORDER_KEY && by != NULL && !plan_compile_key(by, &s->order_by, &why))
        s->order_by = NULL;
    return true;
}

static bool plan_build_systems(struct builder *b, struct err *err)
{
    struct plan *p = b->plan;
    const struct config *c = p->config;
    struct window_maker windows = window_maker(c->root, &p->arena);

    p->systems = ARENA_ARRAY(&p->arena, struct plan_system, c->system_count + 1);
    for (size_t i = 0; i < c->system_count; i++) {
        struct plan_system *s = &p->systems[i];
        struct settings own = plan_settings(b, c->systems[i].node, NULL, grammar_system);
        struct settings limits = settings_below(&own, "limits");
        struct str doubt;

        s->name = str_of(c->systems[i].name);
        if (!settings_int(&limits, "concurrency", &s->concurrency, err) ||
            !settings_text(&own, "in_doubt", &doubt, err) ||
            !build_order(b, &own, &c->systems[i], s, err))
            return err_context(err, "system %s", c->systems[i].name);
        s->in_doubt = plan_doubt_of(doubt);
        build_windows(b, &windows, &c->systems[i], s);
        if (!plan_read_rate(&limits, &s->rate, err))
            return err_context(err, "system %s", c->systems[i].name);
    }
    p->system_count = c->system_count;
    return WORDS_OF(b, NAME_SYSTEM, p->systems, p->system_count, err);
}

/* ---- endpoints ---- */

static bool plan_read_answers(struct plan_endpoint *e, const struct settings *s, struct err *err)
{
    struct settings keep = settings_below(s, "keep");
    struct str word;

    if (!settings_text(&keep, "answers", &word, err))
        return false;
    e->answers = str_is(word, "all")    ? ANSWERS_ALL
                 : str_is(word, "none") ? ANSWERS_NONE
                                        : ANSWERS_OF_FAILURES;
    return true;
}

/* Of a kind that has the key. */
static bool plan_read_connections(struct plan_endpoint *e, const struct settings *s,
                                  struct err *err)
{
    if (e->type == NULL || kind_key(ROLE_ENDPOINT, &e->type->kind, STR("connections")) == NULL)
        return true;
    return settings_int(s, "connections", &e->connections, err);
}

static bool plan_read_rules(struct plan_endpoint *e, const struct settings *s, struct err *err)
{
    return settings_duration(s, "timeout", &e->timeout_us, err) &&
           plan_read_connections(e, s, err) &&
           service_call_read_retry(s, &e->retry, &e->breaker, err) && plan_read_answers(e, s, err);
}

static void build_endpoint(struct builder *b, const struct config_endpoint *c,
                           struct plan_endpoint *e)
{
    struct err err = { 0 };

    e->name = str_of(c->name);
    e->area = c->area;
    e->type = connector_endpoint(b->connectors, str_of(c->kind));
    struct settings s =
        plan_settings(b, c->node, grammar_endpoint, e->type != NULL ? e->type->kind.keys : NULL);

    s.folders = folders_port(b->store, b->plan->config, NAME_ENDPOINT, c->name,
                             b->plan->version == 0, NULL, &b->plan->arena);
    if (c->system != NULL)
        e->system = plan_system_named(b->plan, str_of(c->system));
    if (!plan_read_rules(e, &s, &err) || !plan_read_answer(b, &s, e->name, &e->answer, &err))
        e->broken = plan_broken(b, c->place, &err);
    else if (e->type == NULL)
        e->broken =
            arena_printf(&b->plan->arena, "endpoints of kind %s are not in this build", c->kind);
    else if (!e->type->make(&s, &e->self, &err)) {
        (void)err_context(&err, "endpoint %s", c->name);
        e->broken = plan_broken(b, c->place, &err);
        e->self = NULL;
    }
}

static bool plan_build_endpoints(struct builder *b, struct err *err)
{
    struct plan *p = b->plan;
    const struct config *c = p->config;

    p->endpoints = ARENA_ARRAY(&p->arena, struct plan_endpoint, c->endpoint_count + 1);
    for (size_t i = 0; i < c->endpoint_count; i++)
        build_endpoint(b, &c->endpoints[i], &p->endpoints[i]);
    p->endpoint_count = c->endpoint_count;
    if (!WORDS_OF(b, NAME_ENDPOINT, p->endpoints, p->endpoint_count, err))
        return false;
    for (size_t i = 0; i < p->endpoint_count; i++)
        if (p->endpoints[i].answer != NULL)
            p->endpoints[i].answer->word = p->endpoints[i].word;
    return true;
}

/* ---- routes ---- */

static void build_route(struct builder *b, const struct config_route *c, struct plan_route *r,
                        size_t number)
{
    struct arena *a = &b->plan->arena;
    struct err err = { 0 };

    r->name = str_of(c->name != NULL ? c->name : arena_printf(a, "route-%zu", number + 1));
    if (!read_handling(b, c->node, grammar_route, &r->handling, &err))
        r->broken = plan_broken(b, c->place, &err);
    else
        plan_steps(b, c->steps, r->name, r);
    r->keeps_stages = str_is(yaml_text(yaml_get(c->node, "keep")), "stages");
}

static bool plan_build_routes(struct builder *b, struct err *err)
{
    struct plan *p = b->plan;
    const struct config *c = p->config;

    p->routes = ARENA_ARRAY(&p->arena, struct plan_route, c->route_count + 1);
    for (size_t i = 0; i < c->route_count; i++)
        build_route(b, &c->routes[i], &p->routes[i], i);
    p->route_count = c->route_count;
    return WORDS_OF(b, NAME_ROUTE, p->routes, p->route_count, err) && plan_name_answers(b, err) &&
           plan_name_asking(b, err) && router_build(c, &p->router, err);
}

/* ---- gateways ---- */

static bool plan_build_gateways(struct builder *b, struct err *err)
{
    struct plan *p = b->plan;
    const struct config *c = p->config;

    p->gateways = ARENA_ARRAY(&p->arena, struct plan_gateway, c->gateway_count + 1);
    for (size_t i = 0; i < c->gateway_count; i++) {
        struct plan_gateway *g = &p->gateways[i];
        struct err why = { 0 };

        g->name = str_of(c->gateways[i].name);
        g->area = c->gateways[i].area;
        if (connector_gateway(b->connectors, str_of(c->gateways[i].kind)) == NULL)
            g->broken = arena_printf(&p->arena, "gateways of kind %s are not in this build",
                                     c->gateways[i].kind);
        else if (c->gateways[i].extract != NULL &&
                 !extractor_compile(c->gateways[i].extract, false, &g->extractor, &why))
            g->broken = arena_text(&p->arena, str_of(why.text));
        else if (!plan_read_answers_of(b, &c->gateways[i], g, &why))
            g->broken = arena_text(&p->arena, str_of(why.text));
    }
    p->gateway_count = c->gateway_count;
    return WORDS_OF(b, NAME_GATEWAY, p->gateways, p->gateway_count, err);
}

/* ---- alerts ---- */

static void build_alerts(struct builder *b)
{
    struct settings base = plan_settings(b, NULL, NULL, NULL);
    struct place place = { 0 };
    struct err err = { 0 };

    if (!plan_alerts_build(b->plan, &base, &place, &err))
        (void)plan_broken(b, place, &err);
}

/* ---- life ---- */

static bool plan_plan_build(const struct builder *made, struct config *config, int64_t version,
                            struct plan **ret, struct err *err)
{
    struct plan *p = NEW(struct plan);
    struct builder b = *made;

    b.plan = p;
    p->refs = 1;
    p->config = config_ref(config);
    p->version = version;
    p->arena = (struct arena)ARENA_INIT(PLAN_BYTES_MOST);
    plan_subscriptions(&b);
    bool ok = plan_build_systems(&b, err) && plan_build_endpoints(&b, err) && add_types(&b, err) &&
              plan_build_retention(&b, err) && plan_batches(&b, err) &&
              plan_build_routes(&b, err) && plan_build_gateways(&b, err);

    if (ok)
        build_alerts(&b);

    INDEX_WORDS(p, systems_by_word, p->systems, p->system_count);
    INDEX_WORDS(p, endpoints_by_word, p->endpoints, p->endpoint_count);
    INDEX_WORDS(p, gateways_by_word, p->gateways, p->gateway_count);
    if (ok && b.bad)
        ok = err_set(err, ERR_CONFIG, 0, "the configuration cannot be used");
    if (!ok) {
        plan_unref(p);
        return false;
    }
    *ret = p;
    return true;
}

bool plan_build(struct config *config, int64_t version, const struct connectors *connectors,
                struct store *store, struct problem_list *problems, struct plan **ret,
                struct err *err)
{
    struct builder b = { .connectors = connectors, .store = store, .problems = problems };

    return plan_plan_build(&b, config, version, ret, err);
}

bool plan_build_apart(struct config *config, const struct connectors *connectors,
                      struct store *store, const struct config *in_force,
                      struct problem_list *problems, struct plan **ret, struct err *err)
{
    struct builder b = { .connectors = connectors,
                         .store = store,
                         .in_force = in_force,
                         .problems = problems,
                         .apart = true };

    return plan_plan_build(&b, config, 0, ret, err);
}

struct plan *plan_ref(struct plan *p)
{
    (void)atomic_fetch_add(&p->refs, 1);
    return p;
}

static void free_route(const struct plan_route *r)
{
    for (size_t i = 0; i < r->step_count; i++) {
        const struct plan_step *s = &r->steps[i];

        extractor_free(s->extractor);
        plan_free_cage(s);
        if (s->self != NULL && s->service->unmake != NULL)
            s->service->unmake(s->self);
    }
}

void plan_unref(struct plan *p)
{
    if (p == NULL || atomic_fetch_sub(&p->refs, 1) != 1)
        return;
    router_free(p->router);
    for (size_t i = 0; i < p->route_count; i++)
        free_route(&p->routes[i]);
    for (size_t i = 0; i < p->batch_count; i++)
        free_route(&p->batches[i].chain);
    for (size_t i = 0; i < p->system_count; i++)
        extractor_free(p->systems[i].order_by);
    for (size_t i = 0; i < p->type_count; i++)
        extractor_free(p->types[i].search);
    for (size_t i = 0; i < p->gateway_count; i++)
        extractor_free(p->gateways[i].extractor);
    plan_answers_free(p);
    for (size_t i = 0; i < p->endpoint_count; i++)
        if (p->endpoints[i].self != NULL && p->endpoints[i].type->unmake != NULL)
            p->endpoints[i].type->unmake(p->endpoints[i].self);
    config_unref(p->config);
    arena_done(&p->arena);
    free(p);
}
