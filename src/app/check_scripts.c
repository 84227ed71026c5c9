#include "app/check_scripts.h"

#include "app/registry.h"
#include "base/auto.h"
#include "cage/cage.h"

enum { STEP_ARENA = 64 << 20, RECIPE_MOST = 2 * YAML_BYTES };

struct scripts {
    const struct config_files *files;
    struct problem_list *problems;
};

/* `holder` is a map of one key, the name of the service. */
static void check_step(struct scripts *c, const struct yaml_node *holder)
{
    const struct yaml_node *value = holder->first;
    const struct service_type *t = connector_service(&registry, value->key->text);
    AUTO(arena_done) struct arena a = ARENA_INIT(STEP_ARENA);
    AUTO(buf_done) struct buf options = BUF_INIT(RECIPE_MOST);
    struct err err = { 0 };

    if (t == NULL || !t->caged || c->problems->count == PROBLEM_MOST)
        return;
    const struct settings s = {
        .node = value, .own = t->kind.keys, .files = c->files, .arena = &a
    };

    if (!settings_json(&s, &options, &err)) /* only the node can know */
        return;
    const struct cage_recipe recipe = { .service = str_of(t->kind.name),
                                        .options = buf_view(&options) };

    if (cage_check(&recipe, &err))
        return;
    settings_name_file(&s, &err);
    problem_add(c->problems, yaml_position(value), NULL, "step `%s`: %s", t->kind.name, err.text);
}

/* Named steps are looked at where they stand, in `services`. */
static void check_scripts_of(struct scripts *c, const struct yaml_node *owner)
{
    const struct yaml_node *steps = yaml_get(owner, "do");

    for (const struct yaml_node *n = steps != NULL ? steps->first : NULL; n != NULL; n = n->next)
        if (!n->borrowed)
            check_step(c, n);
}

static const struct yaml_node *section_first(const struct config *config, const char *section)
{
    const struct yaml_node *all = yaml_get(config->root, section);

    return all != NULL ? all->first : NULL;
}

void check_scripts(const struct config *config, const struct config_files *files,
                   struct problem_list *problems)
{
    struct scripts c = { .files = files, .problems = problems };
    const struct yaml_node *n;

    for (n = section_first(config, "routes"); n != NULL; n = n->next)
        check_scripts_of(&c, n);
    for (n = section_first(config, "batches"); n != NULL; n = n->next)
        check_scripts_of(&c, n);
    for (n = section_first(config, "services"); n != NULL; n = n->next)
        check_step(&c, n);
}
