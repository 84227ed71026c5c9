#include "admin/graphql/plan.h"

#include <jansson.h>

#include "admin/graphql/coerce.h"
#include "base/auto.h"
#include "base/require.h"

/* A visit is one selection that is processed.  Fragments that spread each other several times
 * would make very many visits out of few tokens. */
enum { VISITS_MAX = 50000 };

/* A selection set that contributes to a plan field. */
struct graphql_piece {
    struct graphql_selection *first;
    bool active;
    struct graphql_piece *next;
};

struct planner {
    const struct graphql_schema *schema;
    const struct graphql_limits *limits;
    struct graphql_report *report;
    struct graphql_coerce coerce;
    struct graphql_plan *queue, **queue_end; /* fields whose selections are not unfolded yet */
    int64_t cost;
    size_t visits;
};

/* ---- variables ---- */

static bool read_variable(struct graphql_coerce *c, struct graphql_variable *v, json_t *given,
                          struct err *err)
{
    struct graphql_ref ref = { .type = v->type,
                               .lists = v->type_name.lists,
                               .required = v->type_name.required };
    struct graphql_literal *literal = v->fallback;

    if (given != NULL && !graphql_coerce_json(c, given, &literal, err))
        return false;
    if (literal != NULL)
        return graphql_coerce_value(c, literal, ref, &v->value, err);
    if (graphql_ref_required(ref))
        return err_set(err, ERR_PERMANENT, 0, "a value is needed");
    return true;
}

static bool read_variables(struct planner *p, struct graphql_definition *op, json_t *given)
{
    size_t before = p->report->count;

    if (given != NULL && !json_is_object(given)) {
        (void)graphql_report_add(p->report, "invalid", GRAPHQL_NOWHERE,
                                 "variables are not an object");
        return false;
    }
    if (given != NULL && json_dumpb(given, NULL, 0, JSON_COMPACT) > p->limits->variables) {
        (void)graphql_report_add(p->report, "limit", GRAPHQL_NOWHERE, "variables over %zu bytes",
                                 p->limits->variables);
        return false;
    }
    for (struct graphql_variable *v = op->variables; v != NULL; v = v->next) {
        json_t *value = json_object_getn(given, v->name.ptr, v->name.len);
        struct err err = { 0 };

        if (!read_variable(&p->coerce, v, value, &err))
            (void)graphql_report_add(p->report, err.kind == ERR_LIMIT ? "limit" : "invalid", v->at,
                                     "variable \"$%.*s\": %s", STR_ARG(v->name), err.text);
    }
    p->coerce.variables = op->variables;
    return p->report->count == before;
}

/* ---- one selection ---- */

/* Reads the argument `if` of @skip or @include, once per directive. */
static bool condition(struct planner *p, struct graphql_applied *a)
{
    const struct graphql_directive *d = graphql_type_directive(p->schema, a->name);
    const struct graphql_value *values;
    struct err err = { 0 };

    if (a->known)
        return true;
    if (!graphql_coerce_arguments(&p->coerce, d->args, d->arg_count, a->args, a->at, &values,
                                  &err)) {
        (void)graphql_report_add(p->report, err.kind == ERR_LIMIT ? "limit" : "invalid",
                                 p->coerce.at, "@%.*s: %s", STR_ARG(a->name), err.text);
        return false;
    }
    a->known = true;
    a->truth = values[0].truth;
    return true;
}

static bool is_active(struct planner *p, struct graphql_applied *list, bool *ret)
{
    for (; list != NULL; list = list->next) {
        if (!condition(p, list))
            return false;
        if (list->truth == str_is(list->name, "skip"))
            *ret = false;
    }
    return true;
}

/* Arguments depend on the variables only, so they are read once per selection, however often its
 * fragment is spread. */
static void read_arguments(struct planner *p, struct graphql_selection *sel)
{
    struct err err = { 0 };

    if (sel->values != NULL || sel->fault != NULL)
        return;
    if (!graphql_coerce_arguments(&p->coerce, sel->field->args, sel->field->arg_count, sel->args,
                                  sel->at, &sel->values, &err))
        sel->fault = arena_text(p->report->arena, str_of(err.text));
}

/* ---- merging ---- */

struct pair {
    const struct graphql_literal *a, *b;
    struct pair *next;
};

static bool graphql_plan_same_text(const struct graphql_literal *a, const struct graphql_literal *b)
{
    return a->kind == b->kind && a->count == b->count && str_eq(a->name, b->name) &&
           (a->kind >= GRAPHQL_LITERAL_LIST || str_eq(a->text, b->text));
}

static bool same_literal(struct arena *arena, const struct graphql_literal *a,
                         const struct graphql_literal *b)
{
    struct pair *list = ARENA_NEW(arena, struct pair);

    *list = (struct pair){ .a = a, .b = b };
    while (list != NULL) {
        const struct pair *p = list;

        list = p->next;
        if (!graphql_plan_same_text(p->a, p->b))
            return false;
        for (a = p->a->first, b = p->b->first; a != NULL; a = a->next, b = b->next) {
            struct pair *more = ARENA_NEW(arena, struct pair);

            *more = (struct pair){ .a = a, .b = b, .next = list };
            list = more;
        }
    }
    return true;
}

static bool same_arguments(const struct graphql_literal *a, const struct graphql_literal *b)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(16 << 20);
    size_t more = 0;

    for (const struct graphql_literal *x = a; x != NULL; x = x->next, more++) {
        const struct graphql_literal *y = b;

        while (y != NULL && !str_eq(x->name, y->name))
            y = y->next;
        if (y == NULL || !same_literal(&arena, x, y))
            return false;
    }
    for (; b != NULL; b = b->next)
        more--;
    return more == 0;
}

static bool conflict(struct planner *p, const struct graphql_plan *have,
                     const struct graphql_selection *sel)
{
    if (have->field == sel->field &&
        (have->sel == sel || same_arguments(have->sel->args, sel->args)))
        return false;
    (void)graphql_report_add(p->report, "invalid", sel->at,
                             "\"%.*s\" is selected twice with different %s: use an alias",
                             STR_ARG(sel->key), have->field == sel->field ? "arguments" : "fields");
    return true;
}

/* ---- cost and depth ---- */

/* *ret: the factor by which fields below `f` count more often than `f` itself. */
static bool page_size(struct planner *p, struct graphql_plan *f, bool parent_paged, int64_t *ret)
{
    const struct graphql_field *field = f->field;

    *ret = field->ref.lists > 0 && !parent_paged ? GRAPHQL_LIST_SIZE : 1;
    for (size_t i = 0; f->args != NULL && i < field->arg_count; i++) {
        if (!str_is(field->args[i].name, "first"))
            continue;
        int64_t first = f->args[i].kind == GRAPHQL_INT ? f->args[i].number : p->limits->page;

        if (first < 0 || first > p->limits->page) {
            (void)graphql_report_add(p->report, "limit", f->at,
                                     "\"first\" is at most %lld, and not negative",
                                     (long long)p->limits->page);
            return false;
        }
        f->paged = field->ref.lists == 0;
        *ret = first > 0 ? first : 1;
    }
    return true;
}

static bool charge(struct planner *p, struct graphql_plan *f, const struct graphql_plan *parent)
{
    size_t most = f->meta ? p->limits->depth + GRAPHQL_DEPTH_INTROSPECTION : p->limits->depth;
    int64_t size;

    if (f->depth > most) {
        (void)graphql_report_add(p->report, "limit", f->at, "fields nested deeper than %zu", most);
        return false;
    }
    if (!page_size(p, f, parent->paged, &size))
        return false;
    if (f->active)
        p->cost += parent->times;
    if (p->cost > p->limits->cost) {
        (void)graphql_report_add(p->report, "limit", f->at,
                                 "the request costs over %lld: ask for fewer fields or smaller "
                                 "pages",
                                 (long long)p->limits->cost);
        return false;
    }
    f->times = parent->times > p->limits->cost ? parent->times : parent->times * size;
    return true;
}

/* ---- unfolding ---- */

static void graphql_plan_add_piece(struct planner *p, struct graphql_plan *f,
                                   struct graphql_selection *first, bool active)
{
    struct graphql_piece *piece = ARENA_NEW(p->report->arena, struct graphql_piece);

    *piece = (struct graphql_piece){ .first = first, .active = active };
    if (f->pieces_last != NULL)
        f->pieces_last->next = piece;
    else
        f->pieces = piece;
    f->pieces_last = piece;
}

static struct graphql_plan *graphql_plan_find_key(struct graphql_plan *parent, struct str key)
{
    struct graphql_plan *f = parent->first;

    while (f != NULL && !str_eq(f->key, key))
        f = f->next;
    return f;
}

static struct graphql_plan *graphql_plan_add_field(struct planner *p, struct graphql_plan *parent,
                                                   struct graphql_selection *sel,
                                                   const struct graphql_type *t)
{
    struct graphql_plan *f = ARENA_NEW(p->report->arena, struct graphql_plan);

    read_arguments(p, sel);
    *f = (struct graphql_plan){
        .key = sel->key,
        .at = sel->at,
        .type = t,
        .field = sel->field,
        .args = sel->values,
        .fault = sel->fault,
        .sel = sel,
        .depth = parent->depth + 1,
        .meta = parent->meta || (sel->set.first != NULL && str_starts(sel->name, STR("__"))),
    };
    if (parent->last != NULL)
        parent->last->next = f;
    else
        parent->first = f;
    parent->last = f;
    if (sel->set.first != NULL) {
        *p->queue_end = f;
        p->queue_end = &f->queue;
    }
    return f;
}

static bool visit_field(struct planner *p, struct graphql_plan *parent,
                        struct graphql_selection *sel, const struct graphql_type *t, bool active)
{
    struct graphql_plan *f = graphql_plan_find_key(parent, sel->key);

    if (f == NULL)
        f = graphql_plan_add_field(p, parent, sel, t);
    else if (conflict(p, f, sel))
        return false;
    f->active = f->active || active;
    if (sel->set.first != NULL)
        graphql_plan_add_piece(p, f, sel->set.first, active);
    return true;
}

struct level {
    struct graphql_selection *next;
    bool active;
};

/* Fragments entered while one field is unfolded, as bit sets.  A fragment is entered once, and
 * once more if the first time it was skipped (@skip, @include) and now it is not. */
struct seen {
    uint64_t active, skipped;
};

static bool enter_fragment(struct seen *seen, const struct graphql_definition *f, bool active)
{
    uint64_t bit = (uint64_t)1 << f->index;

    if ((seen->active & bit) || (!active && (seen->skipped & bit)))
        return false;
    if (active)
        seen->active |= bit;
    else
        seen->skipped |= bit;
    return true;
}

static bool graphql_plan_visit(struct planner *p, struct graphql_plan *parent,
                               struct graphql_selection *sel, const struct graphql_type *t,
                               struct seen *seen, struct level *ret_below, bool active)
{
    if (++p->visits > VISITS_MAX) {
        (void)graphql_report_add(p->report, "limit", sel->at,
                                 "the request has over %d fields when its fragments are unfolded",
                                 VISITS_MAX);
        return false;
    }
    if (!is_active(p, sel->directives, &active))
        return false;
    if (sel->kind == GRAPHQL_SELECT_FIELD)
        return visit_field(p, parent, sel, t, active);
    if (sel->kind == GRAPHQL_SELECT_INLINE)
        *ret_below = (struct level){ .next = sel->set.first, .active = active };
    else if (enter_fragment(seen, sel->fragment, active))
        *ret_below = (struct level){ .next = sel->fragment->set.first, .active = active };
    return true;
}

/* Collects all selections of one plan field.  `levels` cannot overflow: validation refuses
 * fragments that contain themselves, so they nest at most as deep as there are fragments. */
static bool graphql_plan_collect(struct planner *p, struct graphql_plan *parent,
                                 const struct graphql_type *t)
{
    struct level levels[(64 + 1) * GRAPHQL_NEST_MAX + 1];
    struct seen seen = { 0 };

    for (const struct graphql_piece *piece = parent->pieces; piece != NULL; piece = piece->next) {
        size_t depth = 1;

        levels[0] = (struct level){ .next = piece->first, .active = piece->active };
        while (depth > 0) {
            struct level *top = &levels[depth - 1], below = { 0 };
            struct graphql_selection *sel = top->next;

            if (sel == NULL) {
                depth--;
                continue;
            }
            top->next = sel->next;
            if (!graphql_plan_visit(p, parent, sel, t, &seen, &below, top->active))
                return false;
            if (below.next != NULL) {
                require(depth < sizeof levels / sizeof levels[0]);
                levels[depth++] = below;
            }
        }
    }
    return true;
}

static bool unfold(struct planner *p, struct graphql_plan *root, const struct graphql_type *t)
{
    for (struct graphql_plan *parent = root; parent != NULL; parent = p->queue) {
        if (parent != root) {
            p->queue = parent->queue;
            if (p->queue == NULL)
                p->queue_end = &p->queue;
            t = parent->field->ref.type;
        }
        if (!graphql_plan_collect(p, parent, t))
            return false;
        for (struct graphql_plan *f = parent->first; f != NULL; f = f->next)
            if (!charge(p, f, parent))
                return false;
    }
    return true;
}

struct graphql_plan *graphql_plan_make(const struct graphql_schema *s,
                                       struct graphql_definition *op, json_t *variables,
                                       const struct graphql_limits *limits,
                                       struct graphql_report *report)
{
    struct planner p = {
        .schema = s, .limits = limits, .report = report, .coerce = { .arena = report->arena }
    };
    struct graphql_plan *root = ARENA_NEW(report->arena, struct graphql_plan);

    require(limits->depth <= GRAPHQL_DEPTH_MAX);
    p.queue_end = &p.queue;
    root->active = true;
    root->times = 1;
    if (!read_variables(&p, op, variables))
        return NULL;
    graphql_plan_add_piece(&p, root, op->set.first, true);
    return unfold(&p, root, op->type) ? root : NULL;
}
