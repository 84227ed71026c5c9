#include "app/check_steps.h"

#include "app/registry.h"
#include "base/auto.h"
#include "cage/cage.h"
#include "core/connector.h"

enum { OPTIONS_MOST = 64 << 20 };

struct checking {
    const struct config *config;
    const struct config_files *files;
    struct problem_list *problems;
};

static bool have_no_secret(void *arg, struct str name, struct arena *a, struct str *ret,
                           struct err *err)
{
    (void)arg;
    (void)a;
    (void)ret;
    return err_set(err, ERR_CONFIG, 0, "the secret %.*s is not known here", STR_ARG(name));
}

static void check_step(const struct checking *c, const struct yaml_node *step)
{
    const struct yaml_node *value = step->first;
    const struct service_type *t = connector_service(&registry, value->key->text);
    AUTO(arena_done) struct arena arena = ARENA_INIT(OPTIONS_MOST);
    AUTO(buf_done) struct buf options = BUF_INIT(OPTIONS_MOST);
    struct err err = { 0 };

    if (t == NULL || !t->caged)
        return;
    struct settings s = {
        .node = value,
        .own = t->kind.keys,
        .file = c->config->file,
        .secret = have_no_secret,
        .reach = c->config->has_node ? &c->config->node : NULL,
        .files = c->files,
        .arena = &arena,
    };

    if (!settings_json(&s, &options, &err))
        return;
    struct cage_recipe recipe = { .service = str_of(t->kind.name), .options = buf_view(&options) };

    if (cage_check(&recipe, &err))
        return;
    settings_name_file(&s, &err);
    problem_add(c->problems, step->place, NULL, "%s", err.text);
}

static void check_caged_steps(const struct checking *c, const struct yaml_node *steps)
{
    if (steps == NULL || steps->kind != YAML_LIST)
        return;
    for (const struct yaml_node *n = steps->first; n != NULL; n = n->next)
        if (!n->borrowed) /* a named step is made once, where it stands */
            check_step(c, n);
}

void check_steps(const struct config *config, const struct config_files *files,
                 struct problem_list *problems)
{
    const struct checking c = { config, files, problems };
    const struct yaml_node *batches = yaml_get(config->root, "batches");
    const struct yaml_node *services = yaml_get(config->root, "services");

    for (size_t i = 0; i < config->route_count; i++)
        check_caged_steps(&c, config->routes[i].steps);
    for (const struct yaml_node *n = services != NULL ? services->first : NULL; n != NULL;
         n = n->next)
        check_step(&c, n);
    if (batches == NULL || batches->kind != YAML_MAP)
        return;
    for (const struct yaml_node *n = batches->first; n != NULL; n = n->next)
        check_caged_steps(&c, yaml_get(n, "do"));
}
