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

/* Pre-order: the first child, else the next sibling, else that of an ancestor.  Skips the node
 * section; no path is longer than YAML_DEPTH. */
static const struct yaml_node *config_outside_step(struct config_outside_walk *w)
{
    const struct yaml_node *n = w->at;

    bool own = w->depth == 1 && n->key != NULL && str_is(n->key->text, "node");

    if (n->first != NULL && !own) {
        require(w->depth < YAML_DEPTH);
        w->above[w->depth++] = n;
        return n->first;
    }
    while (n->next == NULL) {
        if (w->depth == 0)
            return NULL;
        n = w->above[--w->depth];
    }
    return n->next;
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

bool config_steps_name_secret(const struct config *c, struct str name)
{
    static const char *const sections[] = { "routes", "batches", "services" };

    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        const struct yaml_node *section = yaml_get(c->root, sections[i]);
        struct config_outside_walk walk = { 0 };
        struct config_reference r;

        while (section != NULL && config_outside_next(section, &walk, &r))
            if (r.kind == CONFIG_SECRET && str_eq(r.name, name))
                return true;
    }
    return false;
}
