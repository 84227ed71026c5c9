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

static bool plan_find_secret(void *arg, struct str name, struct arena *a, struct str *ret,
                             struct err *err)
{
    return secret_get(arg, name, a, ret, err);
}

static struct settings plan_settings(struct builder *b, const struct yaml_node *node,
                                     const struct option *common, const struct option *own)
{
    return (struct settings){ .node = node,
                              .common = common,
                              .own = own,
                              .secret = plan_find_secret,
                              .secret_arg = b->store,
                              .reach = &b->plan->config->node,
                              .files = &b->plan->config->files,
                              .arena = &b->plan->arena };
}

/* A secret that a version in force puts into documents can be read in them; of any other one a
 * proposal shows the name alone. */
static bool plan_find_stand_in(void *arg, struct str name, struct arena *a, struct str *ret,
                               struct err *err)
{
    const struct builder *b = arg;

    if (b->in_force != NULL && config_steps_name_secret(b->in_force, name))
        return secret_get(b->store, name, a, ret, err);
    *ret = str_of(arena_printf(a, "(secret %.*s)", STR_ARG(name)));
    return true;
}

struct settings plan_step_settings(struct builder *b, const struct yaml_node *node,
                                   const struct option *own)
{
    struct settings s = plan_settings(b, node, NULL, own);

    if (b->apart) {
        s.secret = plan_find_stand_in;
        s.secret_arg = b;
    }
    return s;
}

const char *plan_broken(struct builder *b, struct place place, const struct err *err)
{
    if (b->problems != NULL) {
        problem_add(b->problems, place, NULL, "%s", err->text);
        b->bad = true;
    }
    return arena_text(&b->plan->arena, str_of(err->text));
}

/* ---- name ids ---- */

/* New names get negative ids, which no stored name has. */
static void find_words(struct store *s, enum name_kind kind, const struct str *names, size_t count,
                       int64_t *ret_ids)
{
    for (size_t i = 0; i < count; i++)
        if (!name_find(s, kind, names[i], &ret_ids[i]))
            ret_ids[i] = -(int64_t)i - 1;
}

bool plan_words(struct builder *b, enum name_kind kind, const void *first, size_t size,
                size_t count, size_t name_at, size_t word_at, struct err *err)
{
    struct str *names = xcalloc(count + 1, sizeof *names);
    int64_t *ids = xcalloc(count + 1, sizeof *ids);

    for (size_t i = 0; i < count; i++)
        names[i] = *(const struct str *)((const char *)first + i * size + name_at);
    bool ok = b->apart || names_add(b->store, kind, names, count, ids, err);

    if (b->apart)
        find_words(b->store, kind, names, count, ids);
    for (size_t i = 0; ok && i < count; i++)
        *(int64_t *)((uintptr_t)first + i * size + word_at) = ids[i];
    free(names);
    free(ids);
    return ok;
}

static size_t plan_home(int64_t word, size_t slots)
{
    return (size_t)((uint64_t)word * UINT64_C(0x9e3779b97f4a7c15) >> 24) % slots;
}

static void index_words(struct arena *a, struct plan_index *x, const void *first, size_t size,
                        size_t count, size_t word_at)
{
    x->slots = count * 2 + 1;
    x->at = ARENA_ARRAY(a, uint32_t, x->slots);
    for (size_t i = 0; i < count; i++) {
        size_t k =
            plan_home(*(const int64_t *)((const char *)first + i * size + word_at), x->slots);

        while (x->at[k] != 0)
            k = (k + 1) % x->slots;
        x->at[k] = (uint32_t)i + 1;
    }
}

/* The element with this name id, or NULL. */
static const void *find_word(const struct plan_index *x, const void *first, size_t size,
                             size_t word_at, int64_t word)
{
    if (x->slots == 0)
        return NULL;
    for (size_t k = plan_home(word, x->slots); x->at[k] != 0; k = (k + 1) % x->slots) {
        const char *one = (const char *)first + (x->at[k] - 1) * size;

        if (*(const int64_t *)(one + word_at) == word)
            return one;
    }
    return NULL;
}

#define INDEX_WORDS(p, index, list, count)                                 \
    index_words(&(p)->arena, &(p)->index, (list), sizeof *(list), (count), \
                offsetof(typeof(*(list)), word))
#define FIND_WORD(p, index, list, value) \
    find_word(&(p)->index, (list), sizeof *(list), offsetof(typeof(*(list)), word), (value))

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
    struct str text;
    struct units_rate rate;
    int64_t burst = 0;

    if (!settings_has(limits, "rate"))
        return true;
    if (!settings_text(limits, "rate", &text, err) || !units_rate(text, &rate, err) ||
        !settings_int(limits, "burst", &burst, err))
        return false;
    *ret = rate_rule(rate.count, rate.per_us, burst > 0 ? (uint64_t)burst : units_rate_burst(rate));
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

const struct plan_system *plan_system_find(const struct plan *p, int64_t word)
{
    return FIND_WORD(p, systems_by_word, p->systems, word);
}

const struct plan_system *plan_system_named(const struct plan *p, struct str name)
{
    for (size_t i = 0; i < p->system_count; i++)
        if (str_eq(p->systems[i].name, name))
            return &p->systems[i];
    return NULL;
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

static bool plan_read_rules(struct plan_endpoint *e, const struct settings *s, struct err *err)
{
    return settings_duration(s, "timeout", &e->timeout_us, err) &&
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

const struct plan_endpoint *plan_endpoint_find(const struct plan *p, int64_t word)
{
    return FIND_WORD(p, endpoints_by_word, p->endpoints, word);
}

static const struct plan_endpoint *endpoint_named(const struct plan *p, struct str name)
{
    for (size_t i = 0; i < p->endpoint_count; i++)
        if (str_eq(p->endpoints[i].name, name))
            return &p->endpoints[i];
    return NULL;
}

/* ---- steps ---- */

/* Expands a bare value, which is the first option of its step, to a map. */
static const struct yaml_node *as_map(struct arena *a, const struct yaml_node *value,
                                      const struct option *keys)
{
    if (value->kind == YAML_MAP || yaml_is_null(value))
        return value;
    struct yaml_node *map = ARENA_NEW(a, struct yaml_node), *one = ARENA_NEW(a, struct yaml_node);
    struct yaml_node *key = ARENA_NEW(a, struct yaml_node);

    key->text = str_of(keys[0].name);
    *one = *value;
    one->key = key;
    one->next = NULL;
    *map = (struct yaml_node){ .kind = YAML_MAP,
                               .place = value->place,
                               .text = STR(""),
                               .first = one,
                               .last = one,
                               .count = 1 };
    return map;
}

static bool build_deliver(struct builder *b, const struct yaml_node *map, struct plan_step *step)
{
    const struct yaml_node *to = yaml_get(map, "to");
    size_t count = to->kind == YAML_LIST ? to->count : 1;

    step->kind = STEP_DELIVER;
    step->endpoints = ARENA_ARRAY(&b->plan->arena, const struct plan_endpoint *, count);
    if (to->kind != YAML_LIST) {
        step->endpoints[step->endpoint_count++] = endpoint_named(b->plan, to->text);
        return true;
    }
    for (const struct yaml_node *n = to->first; n != NULL; n = n->next)
        step->endpoints[step->endpoint_count++] = endpoint_named(b->plan, n->text);
    return true;
}

/* The expressions of a step that are evaluated on each of its parts; NULL: it has none. */
static bool compile_parts(const struct yaml_node *map, struct extractor **ret, struct err *err)
{
    if (yaml_get(map, "sender") == NULL && yaml_get(map, "receiver") == NULL &&
        yaml_get(map, "type") == NULL && yaml_get(map, "attributes") == NULL)
        return true;
    return extractor_compile(map, true, ret, err);
}

/* Finds secrets, and remembers that one was asked for. */
struct secret_watch {
    secret_find *find;
    void *arg;
    bool asked;
};

static bool plan_find_watched(void *arg, struct str name, struct arena *a, struct str *ret,
                              struct err *err)
{
    struct secret_watch *w = arg;

    w->asked = true;
    return w->find(w->arg, name, a, ret, err);
}

/* What a service says of its options may quote them, and so a secret, unless it is discreet. */
static bool make_service(struct builder *b, struct settings s, struct plan_step *step,
                         struct err *err)
{
    struct secret_watch w = { .find = s.secret, .arg = s.secret_arg };

    s.secret = plan_find_watched;
    s.secret_arg = &w;
    bool ok = step->service->caged ? plan_build_cage(b, &s, step, err)
                                   : step->service->make(&s, &step->self, err);

    bool may_quote = w.asked && !step->service->discreet;

    if (may_quote && ok && step->cage != NULL)
        cage_conceal(step->cage); /* a secret may change after the version was checked */
    if (may_quote && !ok)
        (void)err_set(err, err->kind, err->sys, "it cannot be made with the secrets it names");
    return ok;
}

static bool build_service(struct builder *b, const struct yaml_node *map,
                          const struct option_kind *kind, struct plan_step *step, struct err *err)
{
    struct settings s = plan_step_settings(b, map, kind->keys);

    step->kind = STEP_SERVICE;
    step->service = connector_service(b->connectors, step->name);
    if (step->service == NULL)
        return err_set(err, ERR_LIMIT, 0, "this build cannot run the step `%.*s` yet",
                       STR_ARG(step->name));
    if (!make_service(b, s, step, err))
        return false;
    if (step->service->as != NULL)
        step->service = step->service->as(step->self);
    if (!plan_build_keyed(&s, map, step, err))
        return false;
    return !step->service->describes || compile_parts(map, &step->extractor, err);
}

static bool build_step(struct builder *b, const struct yaml_node *node, struct plan_step *step,
                       struct err *err)
{
    const struct yaml_node *value = node->first;
    const struct option_kind *kind = kind_find(b->connectors, ROLE_SERVICE, value->key->text);
    const struct yaml_node *map = as_map(&b->plan->arena, value, kind->keys);

    step->name = str_of(kind->name);
    if (str_is(step->name, "deliver"))
        return build_deliver(b, map, step);
    if (str_is(step->name, "route")) {
        step->kind = STEP_ROUTE;
        return extractor_compile(map, false, &step->extractor, err);
    }
    if (str_is(step->name, "drop")) {
        step->kind = STEP_DROP;
        step->reason = yaml_text(yaml_get(map, "reason"));
        return true;
    }
    if (str_is(step->name, "subscribe"))
        return plan_subscribe_step(b, map, step, err);
    if (str_is(step->name, "batch"))
        return plan_join_step(b, map, kind, step, err);
    return build_service(b, map, kind, step, err);
}

/* A step as written is one of the plan, or two. */
static bool build_steps_of(struct builder *b, const struct yaml_node *node, struct plan_step *steps,
                           size_t *count, struct err *err)
{
    struct plan_step *step = &steps[(*count)++];

    if (!build_step(b, node, step, err))
        return false;
    return plan_call_parts(node).ptr == NULL ||
           plan_call_split(b, node, step, &steps[(*count)++], err);
}

void plan_steps(struct builder *b, const struct yaml_node *list, struct plan_route *r)
{
    struct arena *a = &b->plan->arena;
    struct plan_step *steps = ARENA_ARRAY(a, struct plan_step, 2 * list->count + 1);
    struct err err = { 0 };

    r->steps = steps;
    for (const struct yaml_node *n = list->first; n != NULL; n = n->next) {
        if (build_steps_of(b, n, steps, &r->step_count, &err))
            continue;
        if (err.kind == ERR_LIMIT) /* planned, and reported in a warning already */
            r->broken = arena_text(a, str_of(err.text));
        else
            r->broken = plan_broken(b, n->place, &err);
        return;
    }
}

static void build_route(struct builder *b, const struct config_route *c, struct plan_route *r,
                        size_t number)
{
    struct arena *a = &b->plan->arena;
    struct err err = { 0 };

    r->name = str_of(c->name != NULL ? c->name : arena_printf(a, "route-%zu", number + 1));
    if (!read_handling(b, c->node, grammar_route, &r->handling, &err))
        r->broken = plan_broken(b, c->place, &err);
    else
        plan_steps(b, c->steps, r);
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
    return WORDS_OF(b, NAME_ROUTE, p->routes, p->route_count, err) &&
           router_build(c, &p->router, err);
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

const struct plan_gateway *plan_gateway_find(const struct plan *p, int64_t word)
{
    return FIND_WORD(p, gateways_by_word, p->gateways, word);
}

const struct plan_batch *plan_batch_find(const struct plan *p, int64_t word)
{
    for (size_t i = 0; i < p->batch_count; i++)
        if (p->batches[i].word == word)
            return &p->batches[i];
    return NULL;
}

/* ---- alerts ---- */

static void build_alerts(struct builder *b)
{
    struct settings base = plan_settings(b, NULL, NULL, NULL);
    struct place place = { 0 };
    struct err err = { 0 };

    if (!plan_alerts_build(b->plan->config, &base, &b->plan->alerts, &place, &err))
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
