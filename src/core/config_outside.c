/* config_outside.c - finds references to secrets, environment variables and files. */
#include "core/config.h"

#include "base/require.h"
#include "core/units.h"

static const struct {
    const char *mark;
    enum config_outside kind;
} marks[] = {
    { "${secret:", CONFIG_SECRET },
    { "${env:", CONFIG_ENV },
    { "${file:", CONFIG_FILE },
};

/* References without a valid name are skipped: the check of the value has reported them. */
static bool config_outside_is_named(const struct config_reference *r)
{
    struct err err;

    return r->kind == CONFIG_SECRET ? units_name(r->name, &err) : r->name.len > 0;
}

static bool starts_reference(struct str at, struct str *ret_mark, enum config_outside *ret_kind)
{
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
        if (str_starts(at, str_of(marks[i].mark))) {
            *ret_mark = str_of(marks[i].mark);
            *ret_kind = marks[i].kind;
            return true;
        }
    return false;
}

/* The next reference in the present scalar; false at its end.  Linear in the text. */
static bool next_in_text(struct config_outside_walk *w, struct config_reference *ret)
{
    for (ptrdiff_t dollar; (dollar = str_find(w->rest, '$')) >= 0;) {
        struct str at = str_from(w->rest, (size_t)dollar), mark;
        enum config_outside kind;

        w->rest = str_from(at, 1);
        if (!starts_reference(at, &mark, &kind))
            continue;
        ptrdiff_t close = str_find(at, '}');

        if (close < 0)
            break;
        w->rest = str_from(at, (size_t)close + 1);
        *ret =
            (struct config_reference){ .kind = kind,
                                       .name = str_mem(at.ptr + mark.len, (size_t)close - mark.len),
                                       .place = w->at->place };
        if (config_outside_is_named(ret))
            return true;
    }
    w->rest = STR("");
    return false;
}

/* Pre-order: the first child, else the next sibling, else that of an ancestor below the root. Skips
 * the node section; no path is longer than YAML_DEPTH. */
static const struct yaml_node *config_outside_step(struct config_outside_walk *w)
{
    const struct yaml_node *n = w->at;

    bool own = w->depth == 1 && n->key != NULL && str_is(n->key->text, "node");

    if (n->first != NULL && !own) {
        require(w->depth < YAML_DEPTH);
        w->above[w->depth++] = n;
        return n->first;
    }
    while (w->depth > 0 && n->next == NULL)
        n = w->above[--w->depth];
    return w->depth > 0 ? n->next : NULL; /* what stands beside the root is not of it */
}

bool config_outside_next(const struct yaml_node *root, struct config_outside_walk *w,
                         struct config_reference *ret)
{
    if (w->at == NULL && !w->done)
        w->at = root;
    while (!w->done) {
        if (next_in_text(w, ret))
            return true;
        w->at = config_outside_step(w);
        w->done = w->at == NULL;
        if (w->done || w->at->kind != YAML_SCALAR)
            continue;
        w->rest = w->at->text;
        *ret = (struct config_reference){ .kind = CONFIG_SECRET,
                                          .name = config_secret_name(w->rest),
                                          .place = w->at->place };
        if (ret->name.len > 0)
            w->rest = STR("");
        if (config_outside_is_named(ret))
            return true;
    }
    return false;
}

/* ---- steps that have secrets ---- */

static const char *const step_sections[] = { "routes", "batches", "services" };

enum { STEP_SECTIONS = sizeof step_sections / sizeof step_sections[0] };

/* The files that it names have the same content in both. */
static bool same_files(const struct config *c, const struct config *proposed,
                       const struct yaml_node *step)
{
    struct config_outside_walk walk = { .at = step };

    for (; walk.at != NULL; walk.at = config_outside_step(&walk)) {
        const struct config_file *would = config_files_find(&proposed->files, walk.at->text);
        const struct config_file *is = config_files_find(&c->files, walk.at->text);

        if (would != NULL && (is == NULL || !str_eq(is->bytes, would->bytes)))
            return false;
    }
    return true;
}

/* `step: VALUE` is short for a map with its first option. */
static bool is_same_step(const struct yaml_node *n, const struct yaml_node *step)
{
    if (n->key == NULL || !str_eq(n->key->text, step->key->text))
        return false;
    return yaml_same(n, step) || (n->kind != YAML_MAP && step->kind == YAML_MAP &&
                                  step->count == 1 && yaml_same(n, step->first));
}

bool config_has_step(const struct config *c, const struct config *proposed,
                     const struct yaml_node *step)
{
    for (size_t i = 0; i < STEP_SECTIONS; i++) {
        struct config_outside_walk walk = { .at = yaml_get(c->root, step_sections[i]) };

        for (; walk.at != NULL; walk.at = config_outside_step(&walk))
            if (is_same_step(walk.at, step))
                return same_files(c, proposed, step);
    }
    return false;
}

bool config_names_secret(const struct yaml_node *option, struct str name)
{
    struct yaml_node one = *option;
    const struct yaml_node root = { .kind = YAML_LIST, .text = STR(""), .first = &one, .count = 1 };
    struct config_outside_walk walk = { 0 };
    struct config_reference r;

    one.next = NULL;
    one.key = NULL;
    while (config_outside_next(&root, &walk, &r))
        if (r.kind == CONFIG_SECRET && str_eq(r.name, name))
            return true;
    return false;
}

/* `n` is a step of this kind, with the secret in this option. */
static bool option_has_secret(const struct yaml_node *n, const struct config_option_place *at,
                              struct str name)
{
    if (n->key == NULL || !str_eq(n->key->text, at->step))
        return false;
    if (n->kind != YAML_MAP)
        return str_eq(at->option, at->first) && config_names_secret(n, name);
    for (const struct yaml_node *o = n->first; o != NULL; o = o->next)
        if (str_eq(o->key->text, at->option) && config_names_secret(o, name))
            return true;
    return false;
}

bool config_option_has_secret(const struct config *c, const struct config_option_place *at,
                              struct str name)
{
    for (size_t i = 0; i < STEP_SECTIONS; i++) {
        struct config_outside_walk walk = { .at = yaml_get(c->root, step_sections[i]) };

        for (; walk.at != NULL; walk.at = config_outside_step(&walk))
            if (option_has_secret(walk.at, at, name))
                return true;
    }
    return false;
}
