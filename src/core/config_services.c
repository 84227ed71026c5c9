/* config_services.c - named steps: puts the step of `services` where a chain names it.
 *
 *     services: { clean: { replace: { find: " ", with: "" } } }
 *     routes:   [ { name: a, do: [ clean, deliver: out ] } ]
 *
 * It is done before everything else is checked, so that the rules about steps (what ends a chain,
 * what joins a batch) see the step itself, and so does who builds the chain.  A service is a step
 * of a kind, never the name of another one: there are no cycles. */
#include "core/config_check.h"
#include "core/connector.h"

static bool is_kind(const struct check *c, struct str name)
{
    return kind_find(c->options->connectors, ROLE_SERVICE, name) != NULL;
}

/* The step of a service; NULL: it is none, which the check of its section reports. */
static const struct yaml_node *step_of(const struct check *c, const struct yaml_node *service)
{
    const struct yaml_node *step = service->kind == YAML_MAP ? service->first : NULL;

    return step != NULL && service->count == 1 && is_kind(c, step->key->text) ? step : NULL;
}

static void lend_step(struct check *c, struct yaml_node *use, const struct yaml_node *step)
{
    struct yaml_node *copy = ARENA_NEW(c->tree, struct yaml_node);

    *copy = *step;
    copy->next = NULL;
    use->kind = YAML_MAP;
    use->first = use->last = copy;
    use->count = 1;
    use->borrowed = true;
}

/* `- clean`, or `- clean:` */
static void resolve_use(struct check *c, const struct check_names *services, struct yaml_node *use)
{
    bool map = use->kind == YAML_MAP && use->count == 1;
    struct str name = map ? use->first->key->text : yaml_text(use);
    const struct check_name *found = is_kind(c, name) ? NULL : check_names_find(services, name);
    const struct yaml_node *step = found != NULL ? step_of(c, found->node) : NULL;
    char quoted[PROBLEM_QUOTE];

    if (step == NULL)
        return;
    if (map && !yaml_is_null(use->first))
        problem_add(c->problems, yaml_position(use->first),
                    "write the name alone, or another service with other options",
                    "`%s` has its options in `services`", problem_quote(quoted, name));
    else
        lend_step(c, use, step);
}

static void resolve_chain(struct check *c, const struct check_names *services,
                          const struct yaml_node *owner)
{
    const struct yaml_node *steps = yaml_get(owner, "do");

    if (steps == NULL || steps->kind != YAML_LIST)
        return;
    for (struct yaml_node *n = steps->first; n != NULL; n = n->next)
        resolve_use(c, services, n);
}

static void refuse_names_of_kinds(struct check *c, const struct check_names *services)
{
    char name[PROBLEM_QUOTE];

    for (size_t i = 0; i < services->count; i++)
        if (is_kind(c, services->items[i].text))
            problem_add(c->problems, services->items[i].node->key->place,
                        "choose another name: a step of this name would mean two things",
                        "`%s` is a service by itself",
                        problem_quote(name, services->items[i].text));
}

void check_services(struct check *c)
{
    static const char *const sections[] = { "routes", "batches" };
    struct check_names services = check_names_of(c, "services");

    refuse_names_of_kinds(c, &services);
    for (size_t i = 0; services.count > 0 && i < sizeof sections / sizeof sections[0]; i++) {
        const struct yaml_node *all = yaml_get(c->root, sections[i]);

        for (const struct yaml_node *n = all != NULL ? all->first : NULL; n != NULL; n = n->next)
            resolve_chain(c, &services, n);
    }
}
