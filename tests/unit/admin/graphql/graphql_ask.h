/* graphql_ask.h - what the tests of the GraphQL engine share.
 *
 * ask() runs one document and returns the answer's text, lent until the next;
 * mock_fields() answers every field that has no resolver with something of its
 * type that depends on nothing else, so that another implementation can do the
 * same.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "admin/graphql/graphql.h"
#include "admin/graphql/type.h"
#include "base/auto.h"
#include "base/require.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static struct buf ask_answer = BUF_INIT(GRAPHQL_OUT_CAP);

__attribute__((unused)) static const char *ask_with(const struct graphql_schema *s,
                                                    const char *query, const char *variables,
                                                    const struct graphql_limits *limits)
{
    json_t *v = variables == NULL ? NULL : json_loads(variables, JSON_DECODE_ANY, NULL);
    struct graphql_request request = { .query = str_of(query), .variables = v };

    require(variables == NULL || v != NULL);
    buf_clear(&ask_answer);
    (void)graphql_execute(s, &request, limits, &ask_answer);
    json_decref(v);
    return ask_answer.ptr;
}

__attribute__((unused)) static const char *ask(const struct graphql_schema *s, const char *query)
{
    return ask_with(s, query, NULL, &graphql_limits_default);
}

__attribute__((unused)) static bool has(const char *text, const char *part)
{
    bool found = strstr(text, part) != NULL;

    if (!found)
        printf("# no %s\n# in %s\n", part, text);
    return found;
}

__attribute__((unused)) static bool same(const char *text, const char *want)
{
    if (strcmp(text, want) != 0)
        printf("# got  %s\n# want %s\n", text, want);
    return strcmp(text, want) == 0;
}

static bool mock_item(struct graphql_call *call, const void *list, size_t index, struct err *err);

static bool mock_ref(struct graphql_call *call, struct graphql_ref ref, struct err *err)
{
    const struct graphql_type *t = ref.type;

    (void)err;
    if (ref.lists > 0) {
        struct graphql_ref *item = ARENA_NEW(call->arena, struct graphql_ref);

        *item = graphql_ref_item(ref);
        return graphql_set_list(call, item, 2, mock_item);
    }
    if (t->kind == GRAPHQL_KIND_OBJECT)
        return graphql_set_object(call, "an object");
    if (t->kind == GRAPHQL_KIND_ENUM)
        return graphql_set_text(call, t->values[0].name);
    if (str_is(t->name, "Boolean"))
        return graphql_set_bool(call, true);
    if (str_is(t->name, "Float"))
        return graphql_set_float(call, 1.5);
    if (str_is(t->name, "Int") || str_is(t->name, "Long"))
        return graphql_set_int(call, 7);
    if (str_is(t->name, "Time"))
        return graphql_set_int(call, 1763175130123456);
    return graphql_set_text(call, call->field->name);
}

static bool mock_item(struct graphql_call *call, const void *list, size_t index, struct err *err)
{
    (void)index;
    return mock_ref(call, *(const struct graphql_ref *)list, err);
}

static bool mock(struct graphql_call *call, struct err *err)
{
    return mock_ref(call, call->field->ref, err);
}

__attribute__((unused)) static void mock_fields(struct graphql_schema *s)
{
    for (size_t i = 0; i < s->type_count; i++)
        for (size_t f = 0; f < s->types[i]->field_count; f++)
            if (s->types[i]->fields[f].fn == NULL)
                s->types[i]->fields[f].fn = mock;
}

__attribute__((unused)) static struct graphql_schema *mock_schema(struct str sdl)
{
    struct err err = { 0 };
    struct graphql_schema *s = graphql_schema_new(sdl, &err);

    if (s == NULL)
        printf("# %s\n", err.text);
    require(s != NULL);
    mock_fields(s);
    require(graphql_schema_check(s, &err));
    return s;
}
