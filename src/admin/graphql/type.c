#include "admin/graphql/type.h"

#include <stdio.h>

const struct graphql_type *graphql_type_find(const struct graphql_schema *s, struct str name)
{
    for (size_t i = 0; i < s->type_count; i++)
        if (str_eq(s->types[i]->name, name))
            return s->types[i];
    return NULL;
}

const struct graphql_field *graphql_type_field(const struct graphql_type *t, struct str name)
{
    for (size_t i = 0; i < t->field_count; i++)
        if (str_eq(t->fields[i].name, name))
            return &t->fields[i];
    return NULL;
}

const struct graphql_directive *graphql_type_directive(const struct graphql_schema *s,
                                                       struct str name)
{
    for (size_t i = 0; i < s->directive_count; i++)
        if (str_eq(s->directives[i]->name, name))
            return s->directives[i];
    return NULL;
}

bool graphql_type_is_input(const struct graphql_type *t)
{
    return t->kind != GRAPHQL_KIND_OBJECT;
}

bool graphql_type_is_leaf(const struct graphql_type *t)
{
    return t->kind == GRAPHQL_KIND_SCALAR || t->kind == GRAPHQL_KIND_ENUM;
}

const char *graphql_ref_text(struct graphql_ref r, char text[static GRAPHQL_REF_TEXT])
{
    size_t n = 0;

    for (unsigned i = 0; i < r.lists; i++)
        text[n++] = '[';
    n += (size_t)snprintf(text + n, GRAPHQL_NAME_MAX + 1, "%.*s", STR_ARG(r.type->name));
    for (unsigned level = 0; level <= r.lists; level++) {
        if (level > 0)
            text[n++] = ']';
        if (r.required >> level & 1)
            text[n++] = '!';
    }
    text[n] = '\0';
    return text;
}
