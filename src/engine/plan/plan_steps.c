/* plan_steps.c - the steps of a chain. */
#include "cage/cage.h"
#include "core/service_call.h"
#include "engine/plan/plan_answer.h"
#include "engine/plan/plan_batch.h"
#include "engine/plan/plan_build.h"
#include "engine/plan/plan_cage.h"
#include "engine/plan/plan_call.h"
#include "engine/plan/plan_keyed.h"
#include "engine/plan/plan_subscribe.h"

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
                               .key = value->key,
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
        step->endpoints[step->endpoint_count++] = plan_endpoint_named(b->plan, to->text);
        return true;
    }
    for (const struct yaml_node *n = to->first; n != NULL; n = n->next)
        step->endpoints[step->endpoint_count++] = plan_endpoint_named(b->plan, n->text);
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

/* Finds secrets, and remembers that one was asked for, and whether it was there. */
struct secret_watch {
    secret_find *find;
    void *arg;
    bool asked, missing;
};

static bool plan_find_watched(void *arg, struct str name, struct arena *a, struct str *ret,
                              struct err *err)
{
    struct secret_watch *w = arg;

    w->asked = true;
    if (w->find(w->arg, name, a, ret, err))
        return true;
    w->missing = true;
    return false;
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
    b->lacks_secret = w.missing;
    if (may_quote && !ok && !w.missing)
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
    if (step->service->http != NULL && !plan_read_step_answer(b, &s, &step->answer, err))
        return false;
    if (step->service->http != NULL)
        plan_add_asking(b, step);
    if (step->service->http != NULL && step->service->http->ask != NULL &&
        !plan_compile_values(yaml_get(map, "values"), &step->extractor, err))
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

void plan_steps(struct builder *b, const struct yaml_node *list, struct str id,
                struct plan_route *r)
{
    struct arena *a = &b->plan->arena;
    struct plan_step *steps = ARENA_ARRAY(a, struct plan_step, 2 * list->count + 1);
    struct err err = { 0 };
    size_t number = 0;

    r->steps = steps;
    for (const struct yaml_node *n = list->first; n != NULL; n = n->next) {
        b->step = str_of(arena_printf(a, "%.*s:%zu", STR_ARG(id), ++number));
        if (build_steps_of(b, n, steps, &r->step_count, &err))
            continue;
        if (err.kind == ERR_LIMIT) /* planned, and reported in a warning already */
            r->broken = arena_text(a, str_of(err.text));
        else
            r->broken = plan_broken(b, n->place, &err);
        r->lacks_secret = b->lacks_secret;
        b->plan->lacks_secret = b->plan->lacks_secret || b->lacks_secret;
        return;
    }
}
