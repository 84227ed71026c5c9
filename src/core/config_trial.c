/* config_trial.c - a configuration in which one step takes the place of the routes.
 *
 * The step is a text of its own, as it would stand in a chain.  It is read as the only step of the
 * only route, so that names in it (services, batches) mean what they mean in the configuration. */
#include "base/auto.h"
#include "core/config_check.h"

enum {
    STEP_MOST = 64 << 10,
    /* Where the step stands in the text around it. */
    LINES = 3,
    COLUMNS = 4
};

static bool wrap_step(struct str step, struct buf *to, struct err *err)
{
    struct str line;
    bool ok = buf_append(to, STR("routes:\n- name: try\n  do:\n  - "), err);

    while (ok && step.len > 0) {
        step = str_cut(step, '\n', &line);
        ok = buf_append(to, line, err) && buf_append(to, STR("\n    "), err);
    }
    return ok;
}

static struct yaml_node *value_of_key(struct yaml_node *map, const char *key)
{
    for (struct yaml_node *n = map->first; n != NULL; n = n->next)
        if (str_is(n->key->text, key))
            return n;
    return NULL;
}

/* `routes` of the second tree instead of those of the first. */
static void put_routes(struct yaml_node *root, struct yaml_node *routes)
{
    struct yaml_node *old = value_of_key(root, "routes");

    if (old != NULL) {
        struct yaml_node *next = old->next;
        const struct yaml_node *key = old->key;

        *old = *routes;
        old->next = next;
        old->key = key;
        return;
    }
    routes->next = NULL;
    if (root->last != NULL)
        root->last->next = routes;
    else
        root->first = routes;
    root->last = routes;
    root->count++;
}

static void move_place(struct place *p)
{
    p->line = p->line > LINES ? p->line - LINES : 1;
    p->column = p->column > COLUMNS ? p->column - COLUMNS : 1;
}

/* Places count in the text of the step, not in the one that was made around it. */
static void move_node(struct yaml_node *n, struct arena *a)
{
    move_place(&n->place);
    if (n->key == NULL)
        return;
    struct yaml_node *key = ARENA_NEW(a, struct yaml_node);

    *key = *n->key;
    move_place(&key->place);
    n->key = key;
}

static void move_places(struct yaml_node *tree, struct arena *a)
{
    struct yaml_node *above[YAML_DEPTH], *at = tree;
    size_t depth = 0;

    while (at != NULL) {
        move_node(at, a);
        if (at->first != NULL && depth < YAML_DEPTH) {
            above[depth++] = at;
            at = at->first;
            continue;
        }
        while (at->next == NULL && depth > 0)
            at = above[--depth];
        at = depth > 0 ? at->next : NULL;
    }
}

static struct yaml_node *load_step(struct str text, struct arena *a, struct problem_list *problems)
{
    size_t before = problems->count;
    struct yaml_node *tree = yaml_load(text, a, problems);

    for (size_t i = before; i < problems->count; i++)
        move_place(&problems->items[i].place);
    if (tree == NULL)
        return NULL;
    move_places(tree, a);
    return value_of_key(tree, "routes");
}

void config_put_step(struct yaml_node *root, struct str step, struct arena *a,
                     struct problem_list *problems)
{
    AUTO(buf_done) struct buf text = BUF_INIT(STEP_MOST);
    const struct place at = { .line = 1, .column = 1 };
    struct err err = { 0 };

    if (root->kind != YAML_MAP)
        return;
    if (str_trim(step).len == 0) {
        problem_add(problems, at, "write one as in a route, such as `jq: .a`", "there is no step");
        return;
    }
    if (!wrap_step(step, &text, &err)) {
        problem_add(problems, at, "put what is long into a file, and name that",
                    "the step has more than %d bytes", STEP_MOST);
        return;
    }
    struct yaml_node *routes = load_step(buf_view(&text), a, problems);

    if (routes != NULL)
        put_routes(root, routes);
}
