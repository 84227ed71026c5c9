/* type.h - the type system: built by sdl.c and schema.c, read by everything else.
 *
 * Types, fields and arguments are arrays in the schema's arena and never change
 * after graphql_schema_new(), except for the resolvers.
 */
#pragma once

#include "admin/graphql/ast.h"
#include "admin/graphql/graphql.h"
#include "admin/graphql/lex.h"

enum {
    GRAPHQL_TYPES_MAX = 400,
    GRAPHQL_FIELDS_MAX = 200, /* of a type; values of an enum  */
    GRAPHQL_ARGS_MAX = 32,
    GRAPHQL_DIRECTIVES_MAX = 16,
};

enum graphql_type_kind {
    GRAPHQL_KIND_SCALAR,
    GRAPHQL_KIND_OBJECT,
    GRAPHQL_KIND_ENUM,
    GRAPHQL_KIND_INPUT,
};

/* A type with its lists and '!'; the bits are those of struct graphql_type_name. */
struct graphql_ref {
    const struct graphql_type *type;
    uint8_t lists, required;
};

/* How a scalar is read and written.  `read` gets a literal that is neither a variable nor
 * null; `write` appends JSON and is never called with a text answer. */
struct graphql_scalar {
    const char *name;
    bool (*read)(const struct graphql_literal *v, struct graphql_value *ret, struct err *err);
    bool (*write)(const struct graphql_answer *a, struct buf *out, struct err *err);
    bool texts; /* resolvers may answer with a text */
};

/* An argument, or a field of an input object. */
struct graphql_input {
    struct str name, about;
    struct graphql_type_name type_name;
    struct graphql_ref ref;
    const struct graphql_literal *fallback; /* NULL: none */
    struct str fallback_text;               /* as written */
    struct str deprecated;                  /* the reason; a NULL pointer: not deprecated */
    bool is_secret;                         /* @secret */
    bool is_unlogged;                       /* @unlogged, or @secret */
};

struct graphql_field {
    struct str name, about;
    struct graphql_type_name type_name;
    struct graphql_ref ref;
    struct graphql_input *args;
    size_t arg_count;
    struct str deprecated;
    struct str needs; /* right named by @needs; a NULL pointer: that of the type */
    struct str shows; /* right named by @shows; a NULL pointer: none */
    int right;        /* number of the right of `needs`, once the schema has a guard */
    int shown_right;  /* the same for `shows` */
    bool is_guarded;
    bool is_audited; /* @audited */
    graphql_fn *fn;
    size_t offset;
    struct graphql_array array;
};

struct graphql_enum_value {
    struct str name, about, deprecated;
};

struct graphql_type {
    enum graphql_type_kind kind;
    struct str name, about, specified_by, needs;
    struct graphql_field *fields; /* of an object */
    size_t field_count;
    struct graphql_input *inputs; /* of an input object */
    size_t input_count;
    const struct graphql_enum_value *values;
    size_t value_count;
    const struct graphql_scalar *scalar;
    bool builtin;
};

struct graphql_directive { /* its definition */
    struct str name, about;
    struct graphql_input *args;
    size_t arg_count;
    const struct str *places; /* FIELD, FRAGMENT_SPREAD, ... */
    size_t place_count;
    bool repeatable;
};

struct graphql_schema {
    struct arena arena;
    struct graphql_type *types[GRAPHQL_TYPES_MAX];
    size_t type_count;
    struct graphql_directive *directives[GRAPHQL_DIRECTIVES_MAX];
    size_t directive_count;
    const struct graphql_type *query, *mutation; /* the latter may be NULL */
    struct graphql_type *meta;                   /* __typename, __schema, __type */
    graphql_guard_fn *guard;                     /* NULL: rights are not checked */
    const struct graphql_once *once;             /* NULL: client ids are ignored */
};

/* By name; NULL: not found. */
const struct graphql_type *graphql_type_find(const struct graphql_schema *s, struct str name);
const struct graphql_field *graphql_type_field(const struct graphql_type *t, struct str name);
const struct graphql_directive *graphql_type_directive(const struct graphql_schema *s,
                                                       struct str name);

bool graphql_type_is_input(const struct graphql_type *t);
bool graphql_type_is_leaf(const struct graphql_type *t);

static inline bool graphql_ref_required(struct graphql_ref r)
{
    return r.required >> r.lists & 1;
}

/* The same type without its outermost '!'. */
static inline struct graphql_ref graphql_ref_nullable(struct graphql_ref r)
{
    r.required = (uint8_t)(r.required & ~(1u << r.lists));
    return r;
}

/* The type of the items of a list. */
static inline struct graphql_ref graphql_ref_item(struct graphql_ref r)
{
    r = graphql_ref_nullable(r);
    r.lists--;
    return r;
}

enum { GRAPHQL_REF_TEXT = GRAPHQL_NAME_MAX + 2 * (2 * GRAPHQL_LISTS_MAX + 1) };

/* The type as it is written in a schema, such as "[Document!]!". */
const char *graphql_ref_text(struct graphql_ref r, char text[static GRAPHQL_REF_TEXT]);

/* By name; NULL when this scalar is not implemented. */
const struct graphql_scalar *graphql_scalar_find(struct str name);
