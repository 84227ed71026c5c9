/* config_batches.c - checks of batches: the routes into them, and keys that depend on each other.
 */
#include "core/config_check.h"
#include "core/grammar.h"

const char *const check_batch_words[] = { "batch", "count", "bytes", "part", NULL };

static const struct yaml_node *batch_named(const struct check *c, struct str name)
{
    const struct yaml_node *all = yaml_get(c->root, "batches");

    if (all == NULL || all->kind != YAML_MAP)
        return NULL;
    for (const struct yaml_node *b = all->first; b != NULL; b = b->next)
        if (str_eq(b->key->text, name))
            return b;
    return NULL;
}

static bool config_batches_is_step(const struct yaml_node *step, const char *name)
{
    return step->kind == YAML_MAP && step->first != NULL && str_is(step->first->key->text, name);
}

static struct str joined(const struct yaml_node *step)
{
    const struct yaml_node *value = step->first;

    return yaml_text(value->kind == YAML_MAP ? yaml_get(value, "name") : value);
}

static void config_batches_say_unknown(struct check *c, const struct yaml_node *step,
                                       struct str name)
{
    const struct yaml_node *all = yaml_get(c->root, "batches");
    char quoted[PROBLEM_QUOTE], text[1400];
    struct check_hint hint;

    check_hint_start(&hint, c, name);
    if (all != NULL && all->kind == YAML_MAP)
        for (const struct yaml_node *b = all->first; b != NULL; b = b->next)
            check_hint_add(&hint, b->key->text);
    problem_add(c->problems, yaml_position(step->first), check_hint_text(&hint, "defined", text),
                "there is no batch `%s`", problem_quote(quoted, name));
}

/* A document that joins a batch is delivered with it: no `deliver` may precede `batch`, and with
 * `join: each` no step at all. */
static void check_join(struct check *c, const struct yaml_node *steps, const struct yaml_node *step)
{
    const struct yaml_node *batch = batch_named(c, joined(step));
    char name[PROBLEM_QUOTE];

    if (joined(step).len == 0)
        return;
    if (batch == NULL) {
        config_batches_say_unknown(c, step, joined(step));
        return;
    }
    for (const struct yaml_node *n = steps->first; n != NULL && n != step; n = n->next)
        if (config_batches_is_step(n, "deliver")) {
            problem_add(c->problems, yaml_position(n), "put `deliver` into the `do` of the batch",
                        "a document that joins batch `%s` is delivered with it, not before",
                        problem_quote(name, batch->key->text));
            return;
        }
    if (str_is(yaml_text(yaml_get(batch, "join")), "each") && steps->first != step)
        problem_add(c->problems, yaml_position(steps->first),
                    "put these steps into the `do` of the batch",
                    "documents join batch `%s` as they came, for they go on one by one",
                    problem_quote(name, batch->key->text));
}

static void check_chain(struct check *c, const struct yaml_node *steps)
{
    if (steps == NULL || steps->kind != YAML_LIST)
        return;
    for (const struct yaml_node *n = steps->first; n != NULL; n = n->next)
        if (config_batches_is_step(n, "batch"))
            check_join(c, steps, n);
}

/* Refuses a key that has no meaning with the value of `join`. */
static void config_batches_check_key(struct check *c, const struct yaml_node *batch,
                                     const char *key, const char *const *joins, const char *hint)
{
    const struct yaml_node *join = yaml_get(batch, "join"), *value = yaml_get(batch, key);
    struct str word = join != NULL ? yaml_text(join) : STR("text");

    if (value == NULL)
        return;
    for (size_t i = 0; joins[i] != NULL; i++)
        if (str_is(word, joins[i]))
            return;
    problem_add(c->problems, yaml_position(value), hint, "`%s` is not used with `join: %.*s`", key,
                (int)(word.len < 20 ? word.len : 20), word.ptr);
}

/* `root` becomes an XML element, whose name may not begin with a digit. */
static void check_root(struct check *c, const struct yaml_node *batch)
{
    const struct yaml_node *root = yaml_get(batch, "root");
    struct str name = yaml_text(root);
    char quoted[PROBLEM_QUOTE];

    if (name.len == 0 || !str_is(yaml_text(yaml_get(batch, "join")), "xml"))
        return;
    char first = name.ptr[0];

    if (!((first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z') || first == '_'))
        problem_add(c->problems, root->place, "let it begin with a letter or `_`",
                    "`%s` is no name of an XML element", problem_quote(quoted, name));
}

static void check_batch(struct check *c, const struct yaml_node *batch)
{
    static const char *const text[] = { "text", NULL }, *const wrap[] = { "json", "xml", NULL };
    static const char *const around[] = { "text", "json", "xml", NULL };
    const struct yaml_node *steps = yaml_get(batch, "do"), *empty = yaml_get(batch, "empty");
    char name[PROBLEM_QUOTE];

    config_batches_check_key(c, batch, "separator", text, "only texts have something between them");
    config_batches_check_key(c, batch, "root", wrap, "`join: xml` and `join: json` have one");
    config_batches_check_key(c, batch, "header", around, "leave it out");
    config_batches_check_key(c, batch, "footer", around, "leave it out");
    check_root(c, batch);
    if (yaml_get(batch, "at") == NULL && yaml_get(batch, "age") == NULL &&
        yaml_get(batch, "count") == NULL && yaml_get(batch, "bytes") == NULL)
        problem_add(c->problems, batch->key->place, "say `at`, `age`, `count` or `bytes`",
                    "nothing says when batch `%s` closes", problem_quote(name, batch->key->text));
    if (str_is(yaml_text(empty), "send") &&
        (yaml_get(batch, "at") == NULL || str_is(yaml_text(yaml_get(batch, "join")), "each")))
        problem_add(c->problems, empty->place, "such as at: \"0 22 * * *\"",
                    "`empty: send` needs `at`, and something to send");
    for (const struct yaml_node *n = steps != NULL && steps->kind == YAML_LIST ? steps->first
                                                                               : NULL;
         n != NULL; n = n->next)
        if (config_batches_is_step(n, "batch"))
            problem_add(c->problems, yaml_position(n->first),
                        "a `route` step may lead it to a route that does",
                        "a batch joins no batch by itself");
}

void check_batches(struct check *c)
{
    const struct yaml_node *all = yaml_get(c->root, "batches"),
                           *routes = yaml_get(c->root, "routes");

    if (routes != NULL && routes->kind == YAML_LIST)
        for (const struct yaml_node *r = routes->first; r != NULL; r = r->next)
            if (r->kind == YAML_MAP)
                check_chain(c, yaml_get(r, "do"));
    if (all == NULL || all->kind != YAML_MAP)
        return;
    for (const struct yaml_node *b = all->first; b != NULL; b = b->next)
        if (b->kind == YAML_MAP)
            check_batch(c, b);
}
