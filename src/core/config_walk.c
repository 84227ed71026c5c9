/* config_walk.c - checks the tree against the option tables.
 *
 * A stack of frames, one per open map or list, replaces recursion; YAML_DEPTH bounds it. */
#include <stdio.h>

#include "base/require.h"
#include "core/config_check.h"
#include "core/connector.h"
#include "core/expr.h"
#include "core/grammar.h"
#include "core/planned.h"

enum frame_mode { FRAME_KEYS, FRAME_NAMES, FRAME_ITEMS };

struct frame {
    enum frame_mode mode;
    const struct option *option;
    const struct option_kind *kind; /* of OPT_KIND and OPT_STEP */
    const struct yaml_node *node;
    struct yaml_node *child; /* the next one to visit */
    struct str label;        /* its key, or the name of a list item */
    size_t index;            /* of the item, from 1 */
    bool quiet;              /* inside something planned, which was named in a warning */
};

struct walk {
    struct check *c;
    struct frame frames[YAML_DEPTH + 2];
    size_t depth;
    const char *section;
    struct check_list warned; /* warnings so far, by their text */
};

void check_see(struct check *c, struct check_list *list, struct yaml_node *node,
               enum option_type type, struct str name)
{
    struct check_seen *seen = ARENA_NEW(c->scratch, struct check_seen);

    *seen = (struct check_seen){ .node = node, .type = type, .name = name };
    if (list->last != NULL)
        list->last->next = seen;
    else
        list->first = seen;
    list->last = seen;
}

static struct frame *top(struct walk *w)
{
    require(w->depth > 0);
    return &w->frames[w->depth - 1];
}

/* "`limits` of gateway `orders`"; empty at the top level. */
static const char *whereabouts(const struct walk *w, size_t depth, char text[static 240])
{
    char name[PROBLEM_QUOTE];
    size_t n = 0;

    text[0] = '\0';
    for (size_t i = depth; i-- > 1 && n < 140;) {
        const struct frame *f = &w->frames[i];

        if (f->mode == FRAME_ITEMS || (i == 1 && f->mode == FRAME_NAMES))
            continue;
        const char *noun = f->option->noun != NULL && f->mode == FRAME_KEYS ? f->option->noun : "";

        n += (size_t)snprintf(text + n, 240 - n, "%s%s%s`%s`", n > 0 ? " of " : "", noun,
                              *noun != '\0' ? " " : "", problem_quote(name, f->label));
    }
    return text;
}

/* ---- warnings about what is planned ---- */

/* Warns once per text; not at all inside of something that was named already. */
static void warn(struct walk *w, bool quiet, const struct yaml_node *node, const char *what)
{
    struct check *c = w->c;

    if (quiet)
        return;
    for (struct check_seen *s = w->warned.first; s != NULL; s = s->next)
        if (str_is(s->name, what))
            return;
    check_see(c, &w->warned, NULL, OPT_END, arena_copy(c->scratch, str_of(what)));
    problem_add(c->warnings, yaml_position(node), NULL,
                "%s not run by this build; checked and kept", what);
}

/* Warns about a planned kind, and suppresses warnings inside of it. */
static void warn_kind(struct walk *w, struct frame *f, const struct yaml_node *node)
{
    char what[120];

    if (!f->kind->planned)
        return;
    (void)snprintf(what, sizeof what, "%s of kind %s are", w->section, f->kind->name);
    warn(w, f->quiet, node, what);
    f->quiet = true;
}

/* " of gateways of kind http", " of a route". */
static const char *key_owner(const struct walk *w, const struct frame *f, char text[static 100])
{
    text[0] = '\0';
    if (f->option->type == OPT_KIND)
        (void)snprintf(text, 100, " of %s of kind %s", w->section, f->kind->name);
    else if (f->option->noun != NULL)
        (void)snprintf(text, 100, " of a %s", f->option->noun);
    return text;
}

/* Warns about a planned key or a planned word as its value, or refuses it. */
static void warn_key(struct walk *w, const struct frame *f, const struct yaml_node *node,
                     const struct option *option)
{
    struct str word = yaml_text(node);
    char what[200], owner[100];

    if ((option->flags & OPT_PLANNED) != 0)
        (void)snprintf(what, sizeof what, "`%s`%s is", option->name, key_owner(w, f, owner));
    else if (option_word_is_planned(option, word))
        (void)snprintf(what, sizeof what, "`%s: %.*s`%s is", option->name, STR_ARG(word),
                       key_owner(w, f, owner));
    else
        return;
    /* A section that is not run stays without effect as a whole, and visibly.  A key of something
     * that runs would be taken for working. */
    if (w->depth > 1 && w->c->options->refuse && !f->quiet)
        problem_add(w->c->problems, yaml_position(node),
                    "remove it, or keep it for a newer build with --force", "%s not in this build",
                    what);
    else
        warn(w, f->quiet, node, what);
}

/* ---- maps: required keys, unknown keys ---- */

static void config_walk_say_missing(struct walk *w, const struct option *o,
                                    const struct yaml_node *node)
{
    const struct option *inside = top(w)->option;
    char where[240], text[1400], hint[1500];
    const char *form = option_form(o->type);
    struct check_hint kinds;

    if (inside->type == OPT_KIND && strcmp(o->name, "kind") == 0) {
        check_hint_start(&kinds, w->c, STR(""));
        check_hint_add_kinds(&kinds, w->c->options->connectors, inside->role);
        form = check_hint_text(&kinds, "allowed", text);
    }
    (void)snprintf(hint, sizeof hint, "`%s`: %s; %s", o->name, o->help, form);
    problem_add(w->c->problems, yaml_position(node), hint, "%s needs `%s`",
                whereabouts(w, w->depth, where), o->name);
}

static void check_required(struct walk *w, const struct option *keys, const struct yaml_node *node)
{
    const struct option *o;

    for (struct option_walk at = { keys }; (o = option_next(&at)) != NULL;)
        if ((o->flags & OPT_REQUIRED) != 0 && yaml_get(node, o->name) == NULL)
            config_walk_say_missing(w, o, node);
}

/* Of the keys marked OPT_ONE_OF exactly one is given. */
static void check_one_of(struct walk *w, const struct option *keys, const struct yaml_node *node)
{
    const struct option *first = NULL, *o;
    struct check_hint hint;
    char where[240], text[1400];
    bool any = false;

    check_hint_start(&hint, w->c, STR(""));
    for (struct option_walk at = { keys }; (o = option_next(&at)) != NULL;) {
        if ((o->flags & OPT_ONE_OF) == 0)
            continue;
        const struct yaml_node *given = yaml_get(node, o->name);

        any = true;
        check_hint_add(&hint, str_of(o->name));
        if (given == NULL)
            continue;
        if (first != NULL)
            problem_add(w->c->problems, yaml_position(given), "keep one of them",
                        "%s has both `%s` and `%s`", whereabouts(w, w->depth, where), first->name,
                        o->name);
        first = o;
    }
    if (any && first == NULL)
        problem_add(w->c->problems, yaml_position(node),
                    check_hint_text(&hint, "exactly one of these", text), "%s is not complete",
                    whereabouts(w, w->depth, where));
}

/* Adds the keys of a map that run, or the planned ones.  A key of the kind overrides a common
 * key. */
static void hint_keys(struct check_hint *hint, const struct frame *f, bool planned)
{
    const struct option *tables[] = { kind_common(f->option->role),
                                      f->kind != NULL ? f->kind->keys : f->option->keys };
    const struct option *o;

    for (size_t i = 0; i < 2; i++)
        for (struct option_walk at = { tables[i] }; (o = option_next(&at)) != NULL;)
            if (((o->flags & OPT_PLANNED) != 0) == planned &&
                (i == 1 || option_find(tables[1], str_of(o->name)) == NULL))
                check_hint_add(hint, str_of(o->name));
}

static void say_unknown_key(struct walk *w, const struct frame *f, const struct yaml_node *node)
{
    char key[PROBLEM_QUOTE], where[240], text[1400];
    struct check_hint hint;

    check_hint_start(&hint, w->c, node->key->text);
    hint_keys(&hint, f, false);
    check_hint_plan(&hint);
    hint_keys(&hint, f, true);
    (void)whereabouts(w, w->depth, where);
    problem_add(w->c->problems, node->key->place, check_hint_text(&hint, "allowed", text),
                "unknown key `%s`%s%s", problem_quote(key, node->key->text),
                where[0] != '\0' ? " in " : "", where);
}

/* ---- opening maps and lists ---- */

static void say_shape(struct walk *w, const struct yaml_node *node, const struct option *option,
                      struct str label)
{
    static const char *const shapes[] = {
        [YAML_SCALAR] = "a single value", [YAML_MAP] = "a map", [YAML_LIST] = "a list"
    };
    char name[PROBLEM_QUOTE], text[1400];
    struct check_hint hint;
    const char *help = option_form(option->type);
    bool words = option->words != NULL && option->type == OPT_MAP;
    const char *noun = option->noun != NULL && option->type != OPT_NAMED ? option->noun : "";

    if (words) {
        check_hint_start(&hint, w->c, yaml_text(node));
        for (size_t i = 0; option->words[i] != NULL; i++)
            check_hint_add(&hint, str_of(option->words[i]));
        help = check_hint_text(&hint, "a map, or one of these words", text);
    }
    problem_add(w->c->problems, node->place, help, "%s%s`%s` cannot be %s", noun,
                *noun != '\0' ? " " : "", problem_quote(name, label),
                words && node->kind == YAML_SCALAR ? "this" : shapes[node->kind]);
}

static struct frame *config_walk_push(struct walk *w, enum frame_mode mode,
                                      const struct option *option, struct yaml_node *node,
                                      struct str label)
{
    require(w->depth < sizeof w->frames / sizeof w->frames[0]);
    bool quiet = w->depth > 0 && top(w)->quiet;
    struct frame *f = &w->frames[w->depth++];

    *f = (struct frame){ .mode = mode,
                         .option = option,
                         .node = node,
                         .child = node->first,
                         .label = label,
                         .quiet = quiet };
    return f;
}

/* The kind that a map names; NULL, and a problem, if it does not exist. */
static const struct option_kind *read_kind(struct walk *w, const struct option *option,
                                           const struct yaml_node *named)
{
    const struct connectors *connectors = w->c->options->connectors;
    const struct option_kind *kind = kind_find(connectors, option->role, yaml_text(named));
    char value[PROBLEM_QUOTE], text[1400];
    struct check_hint hint;

    if (kind != NULL && kind->linked) {
        problem_add(w->c->problems, named->place,
                    "write a link: `links: { NAME: { from: DATABASE, to: DATABASE, tables: { "
                    "TABLE: {} } } }`",
                    "jobs of kind `%s` are made of `links`, and not written", kind->name);
        return NULL;
    }
    if (kind != NULL)
        return kind;
    check_hint_start(&hint, w->c, yaml_text(named));
    check_hint_add_kinds(&hint, connectors, option->role);
    (void)check_hint_text(&hint, "allowed", text);
    if (named->kind != YAML_SCALAR)
        problem_add(w->c->problems, named->place, text, "`kind` cannot be a %s",
                    named->kind == YAML_MAP ? "map" : "list");
    else if (yaml_is_null(named))
        problem_add(w->c->problems, yaml_position(named), text, "`kind` has no value");
    else
        problem_add(w->c->problems, named->place, text, "unknown kind of %s `%s`", option->noun,
                    problem_quote(value, named->text));
    return NULL;
}

/* Without a kind the keys cannot be checked, but a misspelt `kind` can be found. */
static bool say_slip_of_kind(struct walk *w, const struct frame *f)
{
    for (const struct yaml_node *n = f->node->first; n != NULL; n = n->next) {
        struct option_guess guess = { .word = n->key->text };

        option_guess_try(&guess, STR("kind"));
        if (guess.best.len > 0) {
            say_unknown_key(w, f, n);
            return true;
        }
    }
    return false;
}

/* Checks the keys of a map whose kind is known. */
static void enter_kind(struct walk *w, struct frame *f, const struct yaml_node *node,
                       const struct option *keys)
{
    warn_kind(w, f, node);
    check_required(w, keys, node);
    if (keys == f->kind->keys)
        check_one_of(w, keys, node);
    if (f->kind->check != NULL)
        f->kind->check(node, w->c->problems);
}

static void open_kind(struct walk *w, const struct option *option, struct yaml_node *node,
                      struct str label)
{
    struct frame *f = config_walk_push(w, FRAME_KEYS, option, node, label);
    const struct yaml_node *named = yaml_get(node, "kind");

    if (named == NULL && say_slip_of_kind(w, f)) {
        f->child = NULL;
        return;
    }
    check_required(w, kind_common(option->role), node);
    check_one_of(w, kind_common(option->role), node);
    f->kind = named != NULL ? read_kind(w, option, named) : NULL;
    if (f->kind != NULL)
        enter_kind(w, f, node, f->kind->keys);
    else
        f->child = NULL; /* the keys of a kind that does not exist are not checked */
}

static void config_walk_visit(struct walk *w, struct yaml_node *node, const struct option *option,
                              struct str label, bool in_list);

/* The options of a service, or a bare value, which is that of its first key. */
static void open_service(struct walk *w, const struct option *option,
                         const struct option_kind *kind, struct yaml_node *value)
{
    bool bare = value->kind != YAML_MAP && !yaml_is_null(value);
    struct frame *f = config_walk_push(w, FRAME_KEYS, option, value, value->key->text);

    f->kind = kind;
    enter_kind(w, f, value, bare ? kind->keys + 1 : kind->keys);
    if (bare) {
        f->child = NULL;
        config_walk_visit(w, value, kind->keys, str_of(kind->keys->name), false);
    }
}

/* What stands in `services` is a step itself, not the name of another one. */
static void say_no_kind(struct walk *w, const struct yaml_node *value)
{
    char name[PROBLEM_QUOTE], text[1400];
    struct check_hint hint;

    check_hint_start(&hint, w->c, value->key->text);
    check_hint_add_kinds(&hint, w->c->options->connectors, ROLE_SERVICE);
    problem_add(w->c->problems, yaml_position(value), check_hint_text(&hint, "allowed", text),
                "unknown service `%s`", problem_quote(name, value->key->text));
}

/* A step of a chain, or one of `services`.  config_services.c has put the latter where chains name
 * them. */
static void open_step(struct walk *w, const struct option *option, struct yaml_node *node,
                      bool in_chain)
{
    struct check *c = w->c;

    if (in_chain && node->kind == YAML_SCALAR && !yaml_is_null(node) &&
        kind_find(c->options->connectors, option->role, node->text) == NULL) {
        check_see(c, &c->references, node, OPT_STEP, node->text);
        return;
    }
    if (node->kind != YAML_MAP || node->count != 1) {
        problem_add(c->problems, node->place,
                    in_chain ? "write each step as `- SERVICE: OPTIONS`"
                             : "write it as `NAME: { SERVICE: OPTIONS }`",
                    "a step is a map with one key, the name of a service");
        return;
    }
    struct yaml_node *value = node->first;
    const struct option_kind *kind =
        kind_find(c->options->connectors, option->role, value->key->text);

    if (kind != NULL && kind->ends && in_chain && node->next != NULL)
        problem_add(c->problems, node->next->place,
                    "put this step before it, or into the route that takes what comes out",
                    "nothing runs after `%s`", kind->name);
    if (kind != NULL && !node->borrowed)
        open_service(w, option, kind, value);
    if (kind == NULL && in_chain) /* perhaps one of `services` */
        check_see(c, &c->references, value, OPT_STEP, value->key->text);
    if (kind == NULL && !in_chain)
        say_no_kind(w, value);
}

static void open_map(struct walk *w, const struct option *option, struct yaml_node *node,
                     struct str label)
{
    if (node->kind == YAML_LIST) {
        say_shape(w, node, option, label);
        return;
    }
    if (node->kind == YAML_SCALAR && !yaml_is_null(node)) {
        for (size_t i = 0; option->words != NULL && option->words[i] != NULL; i++)
            if (str_is(node->text, option->words[i]))
                return;
        say_shape(w, node, option, label);
        return;
    }
    if (option->type == OPT_KIND) {
        open_kind(w, option, node, label);
        return;
    }
    if (option->type == OPT_NAMED) {
        (void)config_walk_push(w, FRAME_NAMES, option, node, label);
        return;
    }
    (void)config_walk_push(w, FRAME_KEYS, option, node, label);
    check_required(w, option->keys, node);
    check_one_of(w, option->keys, node);
}

static void open_list(struct walk *w, const struct option *option, struct yaml_node *node,
                      struct str label)
{
    char name[PROBLEM_QUOTE];

    if (yaml_is_null(node) && (option->flags & OPT_REQUIRED) == 0)
        return;
    if (node->kind != YAML_LIST) {
        say_shape(w, node, option, label);
        return;
    }
    if (node->count == 0 && (option->flags & (OPT_REQUIRED | OPT_OR_LIST)) != 0)
        problem_add(w->c->problems, node->place,
                    (option->flags & OPT_REQUIRED) != 0
                        ? "put at least one into it"
                        : "put at least one into it, or leave the key out",
                    "the list `%s` is empty", problem_quote(name, label));
    (void)config_walk_push(w, FRAME_ITEMS, option, node, label);
}

/* Checks one value; maps and lists are pushed, and walked by the loop. */
static void config_walk_visit(struct walk *w, struct yaml_node *node, const struct option *option,
                              struct str label, bool in_list)
{
    char name[PROBLEM_QUOTE];

    if (node->kind == YAML_LIST && (option->flags & OPT_OR_LIST) != 0 && !in_list) {
        open_list(w, option, node, label);
        return;
    }
    switch (option->type) {
    case OPT_ANY:
        return;
    case OPT_MAP:
    case OPT_KIND:
    case OPT_NAMED:
        open_map(w, option, node, label);
        return;
    case OPT_LIST:
        open_list(w, option, node, label);
        return;
    case OPT_STEP:
        open_step(w, option, node, in_list);
        return;
    default:
        break;
    }
    if (node->kind != YAML_SCALAR)
        say_shape(w, node, option, label);
    else if (yaml_is_null(node))
        problem_add(w->c->problems, node->key != NULL ? node->key->place : node->place,
                    option_form(option->type), "`%s` has no value", problem_quote(name, label));
    else
        check_value(w->c, node, option, strcmp(w->section, "node") == 0, label);
}

/* ---- the children of a frame ---- */

static void child_of_keys(struct walk *w, struct frame *f, struct yaml_node *child)
{
    struct str key = child->key->text;
    const struct option *o =
        f->option->type == OPT_KIND
            ? kind_key(f->option->role, f->kind, key)
            : option_find(f->kind != NULL ? f->kind->keys : f->option->keys, key);

    if (o == NULL && (f->option->flags & OPT_MORE) != 0) {
        check_see(w->c, &w->c->unknown, child, OPT_END, key);
        config_walk_visit(w, child, option_find(f->option->keys, STR("attributes"))->each, key,
                          false);
        return;
    }
    if (o == NULL) {
        say_unknown_key(w, f, child);
        return;
    }
    if (f->option->type == OPT_KIND && str_is(key, "kind"))
        return; /* open_kind() has read it */
    size_t depth = w->depth;

    warn_key(w, f, child, o);
    config_walk_visit(w, child, o, key, false);
    if ((o->flags & OPT_PLANNED) != 0 && w->depth > depth)
        top(w)->quiet = true;
}

static void child_of_names(struct walk *w, struct frame *f, struct yaml_node *child)
{
    struct str name = child->key->text;
    char quoted[PROBLEM_QUOTE], where[240];
    struct err err;
    bool star = (f->option->flags & OPT_STAR) != 0 && str_is(name, "*");

    if ((f->option->flags & OPT_FREE) == 0 && !star && !units_name(name, &err))
        problem_add(w->c->problems, child->key->place, option_form(OPT_NAME), "`%s`: %s",
                    problem_quote(quoted, name), err.text);
    if ((f->option->flags & OPT_FREE) != 0 && name.len == 0)
        problem_add(w->c->problems, child->key->place, "write one, or leave the line out",
                    "a name in %s is empty", whereabouts(w, w->depth, where));
    if ((f->option->flags & OPT_ATTRS) != 0)
        check_see(w->c, &w->c->attributes, child, OPT_END, name);
    config_walk_visit(w, child, f->option->each, name, false);
}

/* The name of an item in messages: its own `name`, or its number. */
static struct str item_label(struct walk *w, struct frame *f, const struct yaml_node *item)
{
    struct str name = yaml_text(yaml_get(item, "name"));

    f->index++;
    if (f->option->each == NULL || f->option->each->type != OPT_MAP)
        return f->label;
    return name.len > 0 ? name : str_of(arena_printf(w->c->scratch, "%zu", f->index));
}

static void child_of_items(struct walk *w, struct frame *f, struct yaml_node *item)
{
    const struct option *o =
        f->option->type == OPT_LIST || f->option->type == OPT_MAP ? f->option->each : f->option;

    config_walk_visit(w, item, o, item_label(w, f, item), true);
}

static void config_walk_start(struct walk *w, struct yaml_node *root)
{
    static const struct option top_level = { .type = OPT_MAP, .keys = grammar_sections };

    (void)config_walk_push(w, FRAME_KEYS, &top_level, root, STR(""));
}

void check_grammar(struct check *c)
{
    struct walk w = { .c = c, .section = "" };

    if (c->root->kind != YAML_MAP && !yaml_is_null(c->root)) {
        problem_add(c->problems, c->root->place, "it starts with a key such as `gateways:`",
                    "a configuration is a map of sections");
        return;
    }
    config_walk_start(&w, c->root);
    while (w.depth > 0) {
        struct frame *f = top(&w);
        struct yaml_node *child = f->child;

        if (child == NULL) {
            w.depth--;
            continue;
        }
        f->child = child->next;
        if (w.depth == 1) {
            const struct option *section = option_find(grammar_sections, child->key->text);

            w.section = section != NULL ? section->name : "";
        }
        if (f->mode == FRAME_KEYS)
            child_of_keys(&w, f, child);
        else if (f->mode == FRAME_NAMES)
            child_of_names(&w, f, child);
        else
            child_of_items(&w, f, child);
    }
}
