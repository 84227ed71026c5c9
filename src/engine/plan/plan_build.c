#include "engine/plan/plan_build.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "store/people/secret.h"

static bool plan_find_secret(void *arg, struct str name, struct arena *a, struct str *ret,
                             struct err *err)
{
    return secret_get(arg, name, a, ret, err);
}

struct settings plan_settings(struct builder *b, const struct yaml_node *node,
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

/* ---- secrets of a proposal ----
 *
 * Who may propose a step sees what comes out of it, and could let it give out any secret.  So it
 * has the secrets that it has in force already, and of any other one the name alone. */

struct stand_in {
    const struct builder *builder;
    const struct yaml_node *step; /* its options */
    const struct option *own;
};

/* No key comes out of a step that is discreet, whatever its other options are: it may have those
 * that such a step in force has, each in its place. */
static bool keys_are_in_force(const struct stand_in *x, struct str name)
{
    struct config_option_place at = { .step = x->step->key->text, .first = str_of(x->own->name) };

    for (const struct yaml_node *o = x->step->first; o != NULL; o = o->next) {
        at.option = o->key->text;
        if (config_names_secret(o, name) &&
            !config_option_has_secret(x->builder->in_force, &at, name))
            return false;
    }
    return true;
}

static bool may_have_secret(const struct stand_in *x, struct str name)
{
    const struct builder *b = x->builder;
    const struct config *proposed = b->plan->config;

    if (b->in_force == proposed)
        return true; /* nobody proposes it to somebody else: workbench.h */
    if (b->in_force == NULL || x->step->key == NULL || x->step->kind != YAML_MAP)
        return false;
    const struct service_type *t = connector_service(b->connectors, x->step->key->text);

    return (t != NULL && t->discreet && keys_are_in_force(x, name)) ||
           config_has_step(b->in_force, proposed, x->step);
}

static bool plan_find_stand_in(void *arg, struct str name, struct arena *a, struct str *ret,
                               struct err *err)
{
    const struct stand_in *x = arg;

    if (may_have_secret(x, name))
        return secret_get(x->builder->store, name, a, ret, err);
    *ret = str_of(arena_printf(a, "(secret %.*s)", STR_ARG(name)));
    return true;
}

struct settings plan_step_settings(struct builder *b, const struct yaml_node *node,
                                   const struct option *own)
{
    struct settings s = plan_settings(b, node, NULL, own);

    if (b->apart) {
        struct stand_in *x = ARENA_NEW(&b->plan->arena, struct stand_in);

        *x = (struct stand_in){ .builder = b, .step = node, .own = own };
        s.secret = plan_find_stand_in;
        s.secret_arg = x;
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
