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
