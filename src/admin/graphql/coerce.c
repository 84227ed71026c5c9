#include "admin/graphql/coerce.h"

#include <jansson.h>

#include <stdio.h>

#include "admin/graphql/syntax.h"

/* A value still to be coerced.  A list of these replaces recursion. */
struct pending {
    const struct graphql_literal *v;
    struct graphql_ref ref;
    struct graphql_value *into;
    struct pending *next;
};

static bool graphql_coerce_count(struct graphql_coerce *c, size_t n, struct err *err)
{
    if (n > GRAPHQL_VALUES_MAX - c->count)
        return err_set(err, ERR_LIMIT, 0, "over %d values in arguments and variables",
                       GRAPHQL_VALUES_MAX);
    c->count += n;
    return true;
}

static void graphql_coerce_push(struct graphql_coerce *c, struct pending **list,
                                const struct graphql_literal *v, struct graphql_ref ref,
                                struct graphql_value *into)
{
    struct pending *p = ARENA_NEW(c->arena, struct pending);

    *p = (struct pending){ .v = v, .ref = ref, .into = into, .next = *list };
    *list = p;
}

const struct graphql_variable *graphql_coerce_find(const struct graphql_variable *list,
                                                   struct str name)
{
    while (list != NULL && !str_eq(list->name, name))
        list = list->next;
    return list;
}

/* A variable without a value counts as an argument that was not given. */
static bool is_given(const struct graphql_coerce *c, const struct graphql_literal *v)
{
    if (v == NULL || v->kind != GRAPHQL_LITERAL_VARIABLE || c->use != NULL)
        return v != NULL;
    const struct graphql_variable *var = graphql_coerce_find(c->variables, v->text);

    return var != NULL && var->value.kind != GRAPHQL_ABSENT;
}

static bool wrong_kind(struct graphql_coerce *c, const struct graphql_literal *v,
                       struct graphql_ref ref, struct err *err)
{
    char text[GRAPHQL_REF_TEXT];

    c->at = v->at;
    return err_set(err, ERR_PERMANENT, 0, "%s expected, not null", graphql_ref_text(ref, text));
}

static bool coerce_variable(struct graphql_coerce *c, const struct pending *p, struct err *err)
{
    if (c->use != NULL) {
        c->use(c->self, p->v, p->ref, false);
        p->into->kind = GRAPHQL_NULL;
        return true;
    }
    const struct graphql_variable *var = graphql_coerce_find(c->variables, p->v->text);

    if (var == NULL || var->value.kind <= GRAPHQL_NULL) { /* an absent variable is null in a list */
        if (graphql_ref_required(p->ref))
            return wrong_kind(c, p->v, p->ref, err);
        p->into->kind = GRAPHQL_NULL;
    } else {
        *p->into = var->value;
    }
    return true;
}

static bool coerce_list(struct graphql_coerce *c, const struct pending *p, struct pending **list,
                        struct err *err)
{
    bool single = p->v->kind != GRAPHQL_LITERAL_LIST; /* a single value stands for a list of one */
    size_t n = single ? 1 : p->v->count;

    if (!graphql_coerce_count(c, n, err))
        return false;
    struct graphql_value *items = ARENA_ARRAY(c->arena, struct graphql_value, n);

    *p->into = (struct graphql_value){ .kind = GRAPHQL_LIST, .items = items, .count = n };
    if (single)
        graphql_coerce_push(c, list, p->v, graphql_ref_item(p->ref), items);
    else
        for (const struct graphql_literal *v = p->v->first; v != NULL; v = v->next)
            graphql_coerce_push(c, list, v, graphql_ref_item(p->ref), items++);
    return true;
}

static size_t find_input(const struct graphql_input *inputs, size_t n, struct str name)
{
    size_t i = 0;

    while (i < n && !str_eq(inputs[i].name, name))
        i++;
    return i;
}

/* Sets ret[i] to the literal given for inputs[i]; slots without one stay NULL. */
static bool match_inputs(struct graphql_coerce *c, const struct graphql_input *inputs, size_t n,
                         const struct graphql_literal *given, const struct graphql_literal **ret,
                         struct err *err)
{
    for (; given != NULL; given = given->next) {
        size_t i = find_input(inputs, n, given->name);

        c->at = given->at;
        if (i == n)
            return err_set(err, ERR_PERMANENT, 0, "unknown argument or input field \"%.*s\"",
                           (int)(given->name.len > 100 ? 100 : given->name.len), given->name.ptr);
        if (ret[i] != NULL)
            return err_set(err, ERR_PERMANENT, 0, "\"%.*s\" is given twice", STR_ARG(given->name));
        ret[i] = given;
    }
    return true;
}

static bool open_inputs(struct graphql_coerce *c, const struct graphql_input *inputs, size_t n,
                        const struct graphql_literal *given, size_t at, struct graphql_value **ret,
                        struct pending **list, struct err *err)
{
    const struct graphql_literal *match[GRAPHQL_FIELDS_MAX] = { NULL };

    if (!match_inputs(c, inputs, n, given, match, err))
        return false;
    c->at = at;
    if (!graphql_coerce_count(c, n, err))
        return false;
    struct graphql_value *values = ARENA_ARRAY(c->arena, struct graphql_value, n);

    for (size_t i = 0; i < n; i++) {
        const struct graphql_literal *v = match[i];
        char text[GRAPHQL_REF_TEXT];

        if (c->use != NULL && v != NULL && v->kind == GRAPHQL_LITERAL_VARIABLE)
            c->use(c->self, v, inputs[i].ref, inputs[i].fallback != NULL);
        else if (is_given(c, v))
            graphql_coerce_push(c, list, v, inputs[i].ref, &values[i]);
        else if (inputs[i].fallback != NULL)
            graphql_coerce_push(c, list, inputs[i].fallback, inputs[i].ref, &values[i]);
        else if (graphql_ref_required(inputs[i].ref))
            return err_set(err, ERR_PERMANENT, 0, "\"%.*s\" of type %s is missing",
                           STR_ARG(inputs[i].name), graphql_ref_text(inputs[i].ref, text));
    }
    *ret = values;
    return true;
}

static bool coerce_object(struct graphql_coerce *c, const struct pending *p, struct pending **list,
                          struct err *err)
{
    const struct graphql_type *t = p->ref.type;
    struct graphql_value *items;

    if (p->v->kind != GRAPHQL_LITERAL_OBJECT)
        return err_set(err, ERR_PERMANENT, 0, "an object of type %.*s expected", STR_ARG(t->name));
    if (!open_inputs(c, t->inputs, t->input_count, p->v->first, p->v->at, &items, list, err))
        return false;
    *p->into = (struct graphql_value){
        .kind = GRAPHQL_INPUT, .items = items, .count = t->input_count, .type = t
    };
    return true;
}

static bool coerce_enum(const struct pending *p, struct err *err)
{
    const struct graphql_type *t = p->ref.type;

    if (p->v->kind == (p->v->json ? GRAPHQL_LITERAL_STRING : GRAPHQL_LITERAL_ENUM))
        for (size_t i = 0; i < t->value_count; i++)
            if (str_eq(t->values[i].name, p->v->text)) {
                *p->into = (struct graphql_value){ .kind = GRAPHQL_ENUM,
                                                   .text = t->values[i].name,
                                                   .number = (int64_t)i };
                return true;
            }
    return err_set(err, ERR_PERMANENT, 0, "a value of %.*s expected", STR_ARG(t->name));
}

static bool coerce_one(struct graphql_coerce *c, const struct pending *p, struct pending **list,
                       struct err *err)
{
    c->at = p->v->at;
    if (p->v->kind == GRAPHQL_LITERAL_VARIABLE)
        return coerce_variable(c, p, err);
    if (p->v->kind == GRAPHQL_LITERAL_NULL) {
        if (graphql_ref_required(p->ref))
            return wrong_kind(c, p->v, p->ref, err);
        p->into->kind = GRAPHQL_NULL;
        return true;
    }
    if (p->ref.lists > 0)
        return coerce_list(c, p, list, err);
    switch (p->ref.type->kind) {
    case GRAPHQL_KIND_INPUT:
        return coerce_object(c, p, list, err);
    case GRAPHQL_KIND_ENUM:
        return coerce_enum(p, err);
    case GRAPHQL_KIND_SCALAR:
    case GRAPHQL_KIND_OBJECT: /* never an input: schema.c and validate.c refuse it */
        break;
    }
    return p->ref.type->scalar->read(p->v, p->into, err);
}

static bool graphql_coerce_run(struct graphql_coerce *c, struct pending *list, struct err *err)
{
    while (list != NULL) {
        struct pending *p = list;

        list = p->next;
        if (!coerce_one(c, p, &list, err))
            return false;
    }
    return true;
}

bool graphql_coerce_value(struct graphql_coerce *c, const struct graphql_literal *v,
                          struct graphql_ref ref, struct graphql_value *ret, struct err *err)
{
    struct pending *list = NULL;
    struct graphql_value got = { 0 };

    c->at = v->at;
    if (!graphql_coerce_count(c, 1, err))
        return false;
    graphql_coerce_push(c, &list, v, ref, &got);
    if (!graphql_coerce_run(c, list, err))
        return false;
    *ret = got;
    return true;
}

bool graphql_coerce_arguments(struct graphql_coerce *c, const struct graphql_input *args, size_t n,
                              const struct graphql_literal *given, size_t at,
                              const struct graphql_value **ret, struct err *err)
{
    struct pending *list = NULL;
    struct graphql_value *values;

    if (!open_inputs(c, args, n, given, at, &values, &list, err) ||
        !graphql_coerce_run(c, list, err))
        return false;
    *ret = values;
    return true;
}

/* ---- JSON ---- */

struct pending_json {
    json_t *json;
    struct graphql_literal *into;
    struct pending_json *next;
};

static struct graphql_literal *json_child(struct graphql_coerce *c, struct graphql_literal *parent,
                                          json_t *json, struct pending_json **list)
{
    struct graphql_literal *v = graphql_literal_add(parent, c->arena);
    struct pending_json *p = ARENA_NEW(c->arena, struct pending_json);

    v->json = true;
    *p = (struct pending_json){ .json = json, .into = v, .next = *list };
    *list = p;
    return v;
}

static bool json_children(struct graphql_coerce *c, const struct pending_json *p,
                          struct pending_json **list, struct err *err)
{
    if (json_is_array(p->json)) {
        p->into->kind = GRAPHQL_LITERAL_LIST;
        if (!graphql_coerce_count(c, json_array_size(p->json), err))
            return false;
        for (size_t i = 0; i < json_array_size(p->json); i++)
            (void)json_child(c, p->into, json_array_get(p->json, i), list);
        return true;
    }
    p->into->kind = GRAPHQL_LITERAL_OBJECT;
    if (!graphql_coerce_count(c, json_object_size(p->json), err))
        return false;
    for (void *i = json_object_iter(p->json); i != NULL; i = json_object_iter_next(p->json, i))
        json_child(c, p->into, json_object_iter_value(i), list)->name =
            str_mem(json_object_iter_key(i), json_object_iter_key_len(i));
    return true;
}

static void json_leaf(struct graphql_coerce *c, const json_t *json, struct graphql_literal *v)
{
    switch (json_typeof(json)) {
    case JSON_STRING:
        v->kind = GRAPHQL_LITERAL_STRING;
        v->text = str_mem(json_string_value(json), json_string_length(json));
        break;
    case JSON_INTEGER:
        v->kind = GRAPHQL_LITERAL_INT;
        v->text = str_of(arena_printf(c->arena, "%lld", (long long)json_integer_value(json)));
        break;
    case JSON_REAL:
        v->kind = GRAPHQL_LITERAL_FLOAT;
        v->text = str_of(arena_printf(c->arena, "%.17g", json_real_value(json)));
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        v->kind = GRAPHQL_LITERAL_BOOL;
        v->text = json_is_true(json) ? STR("true") : STR("false");
        break;
    default:
        v->kind = GRAPHQL_LITERAL_NULL;
        v->text = STR("null");
        break;
    }
}

bool graphql_coerce_json(struct graphql_coerce *c, json_t *json, struct graphql_literal **ret,
                         struct err *err)
{
    struct graphql_literal top = { 0 };
    struct pending_json *list = NULL;
    struct graphql_literal *root = json_child(c, &top, json, &list);

    if (!graphql_coerce_count(c, 1, err))
        return false;
    while (list != NULL) {
        const struct pending_json *p = list;

        list = p->next;
        if (!json_is_array(p->json) && !json_is_object(p->json))
            json_leaf(c, p->json, p->into);
        else if (!json_children(c, p, &list, err))
            return false;
    }
    *ret = root;
    return true;
}
