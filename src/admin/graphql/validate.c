#include "admin/graphql/validate.h"

#include "admin/graphql/coerce.h"
#include "base/require.h"

struct check {
    const struct graphql_schema *schema;
    const struct graphql_limits *limits;
    struct graphql_document *doc;
    struct graphql_report *report;
    struct graphql_definition *def; /* being walked */
    struct graphql_coerce coerce;
};

#define INVALID(c, at, ...) (void)graphql_report_add((c)->report, "invalid", (at), __VA_ARGS__)

/* ---- arguments and directives ---- */

static void note_use(void *self, const struct graphql_literal *v, struct graphql_ref ref,
                     bool has_default)
{
    struct check *c = self;
    struct graphql_use *use = ARENA_NEW(c->report->arena, struct graphql_use);

    *use = (struct graphql_use){
        .name = v->text, .at = v->at, .ref = ref, .has_default = has_default, .next = c->def->uses
    };
    c->def->uses = use;
}

static void check_arguments(struct check *c, const struct graphql_input *args, size_t n,
                            const struct graphql_literal *given, size_t at)
{
    const struct graphql_value *values;
    struct err err = { 0 };

    if (!graphql_coerce_arguments(&c->coerce, args, n, given, at, &values, &err))
        (void)graphql_report_add(c->report, err.kind == ERR_LIMIT ? "limit" : "invalid",
                                 c->coerce.at, "%s", err.text);
}

static bool is_place(const struct graphql_directive *d, const char *place)
{
    for (size_t i = 0; i < d->place_count; i++)
        if (str_is(d->places[i], place))
            return true;
    return false;
}

static void check_directives(struct check *c, const struct graphql_applied *list, const char *place)
{
    for (const struct graphql_applied *a = list; a != NULL; a = a->next) {
        const struct graphql_directive *d = graphql_type_directive(c->schema, a->name);

        if (d == NULL) {
            INVALID(c, a->at, "unknown directive \"@%.*s\"", STR_ARG(a->name));
            continue;
        }
        if (!is_place(d, place))
            INVALID(c, a->at, "directive \"@%.*s\" does not belong here", STR_ARG(a->name));
        for (const struct graphql_applied *b = list; b != a; b = b->next)
            if (str_eq(a->name, b->name) && !d->repeatable)
                INVALID(c, a->at, "directive \"@%.*s\" twice in one place", STR_ARG(a->name));
        check_arguments(c, d->args, d->arg_count, a->args, a->at);
    }
}

/* ---- selections ---- */

struct level {
    struct graphql_selection *next;
    const struct graphql_type *type;
};

static const struct graphql_field *graphql_validate_find_field(struct check *c,
                                                               const struct graphql_type *t,
                                                               const struct graphql_selection *sel)
{
    const struct graphql_field *f = graphql_type_field(t, sel->name);

    if (f != NULL)
        return f;
    f = graphql_type_field(c->schema->meta, sel->name);
    if (f == NULL || str_is(sel->name, "__typename"))
        return f;
    if (t != c->schema->query)
        return NULL;
    if (!c->limits->introspection) {
        INVALID(c, sel->at, "introspection is not allowed here");
        return NULL;
    }
    return f;
}

/* True: the field has selections, which are checked next. */
static bool check_field(struct check *c, struct graphql_selection *sel,
                        const struct graphql_type *t)
{
    size_t before = c->report->count;
    const struct graphql_field *f = graphql_validate_find_field(c, t, sel);

    check_directives(c, sel->directives, "FIELD");
    if (f == NULL) {
        if (c->report->count == before)
            INVALID(c, sel->at, "type %.*s has no field \"%.*s\"", STR_ARG(t->name),
                    STR_ARG(sel->name));
        return false;
    }
    sel->field = f;
    check_arguments(c, f->args, f->arg_count, sel->args, sel->at);
    bool leaf = graphql_type_is_leaf(f->ref.type);

    if (leaf && sel->set.first != NULL)
        INVALID(c, sel->at, "field \"%.*s\" has no fields of its own", STR_ARG(sel->name));
    if (!leaf && sel->set.first == NULL)
        INVALID(c, sel->at, "field \"%.*s\" needs a selection of its fields", STR_ARG(sel->name));
    return !leaf;
}

static struct graphql_definition *find_fragment(struct check *c, struct str name)
{
    struct graphql_definition *f = c->doc->fragments;

    while (f != NULL && !str_eq(f->name, name))
        f = f->next;
    return f;
}

static void check_spread(struct check *c, struct graphql_selection *sel,
                         const struct graphql_type *t)
{
    struct graphql_definition *f = find_fragment(c, sel->name);

    check_directives(c, sel->directives, "FRAGMENT_SPREAD");
    if (f == NULL) {
        INVALID(c, sel->at, "unknown fragment \"%.*s\"", STR_ARG(sel->name));
        return;
    }
    sel->fragment = f;
    c->def->reach |= (uint64_t)1 << f->index;
    if (f->type != NULL && f->type != t)
        INVALID(c, sel->at, "fragment \"%.*s\" is on %.*s, which %.*s never is", STR_ARG(sel->name),
                STR_ARG(f->type->name), STR_ARG(t->name));
}

static bool check_inline(struct check *c, struct graphql_selection *sel,
                         const struct graphql_type *t)
{
    check_directives(c, sel->directives, "INLINE_FRAGMENT");
    if (sel->name.len == 0 || str_eq(sel->name, t->name))
        return true;
    if (graphql_type_find(c->schema, sel->name) == NULL)
        INVALID(c, sel->at, "unknown type \"%.*s\"", STR_ARG(sel->name));
    else
        INVALID(c, sel->at, "fragment is on %.*s, which %.*s never is", STR_ARG(sel->name),
                STR_ARG(t->name));
    return false;
}

static void check_set(struct check *c, const struct graphql_set *set, const struct graphql_type *t)
{
    struct level levels[GRAPHQL_NEST_MAX + 1] = { { .next = set->first, .type = t } };
    size_t depth = 1;

    while (depth > 0) {
        struct level *top = &levels[depth - 1];
        struct graphql_selection *sel = top->next;
        struct level below = { 0 };

        if (sel == NULL) {
            depth--;
            continue;
        }
        top->next = sel->next;
        if (sel->kind == GRAPHQL_SELECT_SPREAD) {
            check_spread(c, sel, top->type);
        } else if (sel->kind == GRAPHQL_SELECT_INLINE) {
            if (check_inline(c, sel, top->type))
                below = (struct level){ .next = sel->set.first, .type = top->type };
        } else if (check_field(c, sel, top->type)) {
            below = (struct level){ .next = sel->set.first, .type = sel->field->ref.type };
        }
        if (below.next != NULL) {
            require(depth <= GRAPHQL_NEST_MAX);
            levels[depth++] = below;
        }
    }
}

/* ---- definitions ---- */

static void check_variables(struct check *c, struct graphql_definition *op)
{
    for (struct graphql_variable *v = op->variables; v != NULL; v = v->next) {
        const struct graphql_type *t = graphql_type_find(c->schema, v->type_name.name);
        struct graphql_value value;
        struct err err = { 0 };

        if (graphql_coerce_find(op->variables, v->name) != v)
            INVALID(c, v->at, "variable \"$%.*s\" is defined twice", STR_ARG(v->name));
        check_directives(c, v->directives, "VARIABLE_DEFINITION");
        if (t == NULL || !graphql_type_is_input(t)) {
            INVALID(c, v->type_name.at, "%s \"%.*s\"",
                    t == NULL ? "unknown type" : "no variable can be of type",
                    STR_ARG(v->type_name.name));
            continue;
        }
        v->type = t;
        struct graphql_ref ref = { .type = t,
                                   .lists = v->type_name.lists,
                                   .required = v->type_name.required };

        if (v->fallback != NULL &&
            !graphql_coerce_value(&c->coerce, v->fallback, ref, &value, &err))
            INVALID(c, c->coerce.at, "default of \"$%.*s\": %s", STR_ARG(v->name), err.text);
    }
}

static void check_operation(struct check *c, struct graphql_definition *op)
{
    c->def = op;
    op->type = op->kind == GRAPHQL_MUTATION ? c->schema->mutation : c->schema->query;
    if (op->type == NULL) {
        INVALID(c, op->at, "the schema has no mutations");
        return;
    }
    check_variables(c, op);
    check_directives(c, op->directives, op->kind == GRAPHQL_MUTATION ? "MUTATION" : "QUERY");
    check_set(c, &op->set, op->type);
}

static void check_names(struct check *c)
{
    const struct graphql_definition *ops = c->doc->operations;

    for (struct graphql_definition *f = c->doc->fragments; f != NULL; f = f->next)
        if (find_fragment(c, f->name) != f)
            INVALID(c, f->at, "fragment \"%.*s\" is defined twice", STR_ARG(f->name));
    for (const struct graphql_definition *a = ops; a != NULL; a = a->next) {
        if (a->name.len == 0 && ops->next != NULL)
            INVALID(c, a->at, "an operation without a name must stand alone");
        for (const struct graphql_definition *b = ops; b != a; b = b->next)
            if (a->name.len > 0 && str_eq(a->name, b->name)) {
                INVALID(c, a->at, "operation \"%.*s\" is defined twice", STR_ARG(a->name));
                break;
            }
        if (c->report->count == GRAPHQL_ERRORS_MAX)
            return;
    }
}

/* Resolves the types of all fragments; checking a spread needs the type of its fragment. */
static void check_fragments(struct check *c)
{
    for (struct graphql_definition *f = c->doc->fragments; f != NULL; f = f->next) {
        f->type = graphql_type_find(c->schema, f->on.name);
        if (f->type == NULL || f->type->kind != GRAPHQL_KIND_OBJECT) {
            INVALID(c, f->on.at, "%s \"%.*s\"",
                    f->type == NULL ? "unknown type" : "no fragment can be on",
                    STR_ARG(f->on.name));
            f->type = NULL;
        }
    }
    for (struct graphql_definition *f = c->doc->fragments; f != NULL; f = f->next) {
        c->def = f;
        check_directives(c, f->directives, "FRAGMENT_DEFINITION");
        if (f->type != NULL)
            check_set(c, &f->set, f->type);
    }
}

/* ---- what fragments and variables reach ---- */

/* Transitive closure of `reach` over all fragments (Warshall). */
static void close_reach(struct check *c)
{
    for (const struct graphql_definition *via = c->doc->fragments; via != NULL; via = via->next) {
        uint64_t bit = (uint64_t)1 << via->index;

        for (struct graphql_definition *f = c->doc->fragments; f != NULL; f = f->next)
            if (f->reach & bit)
                f->reach |= via->reach;
    }
    for (struct graphql_definition *op = c->doc->operations; op != NULL; op = op->next)
        for (const struct graphql_definition *f = c->doc->fragments; f != NULL; f = f->next)
            if (op->reach & (uint64_t)1 << f->index)
                op->reach |= f->reach;
}

static void check_reach(struct check *c)
{
    uint64_t used = 0;

    close_reach(c);
    for (const struct graphql_definition *op = c->doc->operations; op != NULL; op = op->next)
        used |= op->reach;
    for (const struct graphql_definition *f = c->doc->fragments; f != NULL; f = f->next) {
        uint64_t bit = (uint64_t)1 << f->index;

        if (f->reach & bit)
            INVALID(c, f->at, "fragment \"%.*s\" contains itself", STR_ARG(f->name));
        else if (!(used & bit))
            INVALID(c, f->at, "fragment \"%.*s\" is never used", STR_ARG(f->name));
    }
}

/* Whether the variable's type is allowed at the position of `use`. */
static bool graphql_validate_is_allowed(const struct graphql_variable *v,
                                        const struct graphql_use *use)
{
    struct graphql_ref place = use->ref;
    bool fallback = v->fallback != NULL && v->fallback->kind != GRAPHQL_LITERAL_NULL;

    if (v->type != place.type || v->type_name.lists != place.lists)
        return false;
    if (use->has_default || fallback)
        place = graphql_ref_nullable(place);
    return (place.required & ~v->type_name.required) == 0;
}

static void check_uses(struct check *c, const struct graphql_definition *op,
                       const struct graphql_use *uses)
{
    char text[GRAPHQL_REF_TEXT];

    for (const struct graphql_use *use = uses; use != NULL; use = use->next) {
        struct graphql_variable *v = op->variables;

        while (v != NULL && !str_eq(v->name, use->name))
            v = v->next;
        if (v == NULL) {
            INVALID(c, use->at, "variable \"$%.*s\" is not defined", STR_ARG(use->name));
            continue;
        }
        v->used = true;
        if (v->type != NULL && !graphql_validate_is_allowed(v, use))
            INVALID(c, use->at, "variable \"$%.*s\" does not fit where %s is expected",
                    STR_ARG(use->name), graphql_ref_text(use->ref, text));
    }
}

static void check_all_uses(struct check *c)
{
    for (struct graphql_definition *op = c->doc->operations; op != NULL; op = op->next) {
        check_uses(c, op, op->uses);
        for (const struct graphql_definition *f = c->doc->fragments; f != NULL; f = f->next)
            if (op->reach & (uint64_t)1 << f->index)
                check_uses(c, op, f->uses);
        for (const struct graphql_variable *v = op->variables; v != NULL; v = v->next)
            if (!v->used)
                INVALID(c, v->at, "variable \"$%.*s\" is never used", STR_ARG(v->name));
        if (c->report->count == GRAPHQL_ERRORS_MAX)
            return;
    }
}

bool graphql_validate(const struct graphql_schema *s, struct graphql_document *doc,
                      const struct graphql_limits *limits, struct graphql_report *report)
{
    struct check c = { .schema = s,
                       .limits = limits,
                       .doc = doc,
                       .report = report,
                       .coerce = { .arena = report->arena, .use = note_use } };

    c.coerce.self = &c;
    check_names(&c);
    check_fragments(&c);
    for (struct graphql_definition *op = doc->operations; op != NULL; op = op->next)
        check_operation(&c, op);
    check_reach(&c);
    check_all_uses(&c);
    return report->count == 0;
}
