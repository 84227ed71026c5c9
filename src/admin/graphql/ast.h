/* ast.h - a parsed GraphQL document, as lists in an arena.
 *
 * The parser fills in what was written.  The fields marked (v) are filled in by
 * graphql_validate(), so that later passes need no lookup by name; those marked
 * (p) by graphql_plan_make().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "admin/graphql/graphql.h"
#include "base/str.h"

/* The parser refuses selection sets and values that are nested deeper. */
enum { GRAPHQL_NEST_MAX = 40 };

/* The deepest list type is a list of lists of lists. */
enum { GRAPHQL_LISTS_MAX = 3 };

enum graphql_literal_kind {
    GRAPHQL_LITERAL_VARIABLE,
    GRAPHQL_LITERAL_INT,
    GRAPHQL_LITERAL_FLOAT,
    GRAPHQL_LITERAL_STRING,
    GRAPHQL_LITERAL_BOOL,
    GRAPHQL_LITERAL_NULL,
    GRAPHQL_LITERAL_ENUM,
    GRAPHQL_LITERAL_LIST,
    GRAPHQL_LITERAL_OBJECT,
};

/* A value as written.  Arguments are literals with a name, as are the fields of
 * an object. */
struct graphql_literal {
    enum graphql_literal_kind kind;
    bool json; /* made from JSON: an enum comes as a string */
    struct str name;
    struct str text; /* name of a variable, decoded value of a string */
    size_t at, end;
    size_t count; /* children */
    struct graphql_literal *first, *last, *next;
};

/* A type as written: bit n of `required` is the '!' of level n, where level 0 is
 * the named type and each list around it the next. */
struct graphql_type_name {
    struct str name;
    size_t at;
    uint8_t lists, required;
};

struct graphql_applied { /* a directive in use */
    struct str name;
    size_t at;
    struct graphql_literal *args;
    struct graphql_applied *next;
    bool known, truth; /* (p) the argument `if`: read already, and its value */
};

enum graphql_selection_kind {
    GRAPHQL_SELECT_FIELD,
    GRAPHQL_SELECT_SPREAD,
    GRAPHQL_SELECT_INLINE,
};

struct graphql_selection;
struct graphql_definition;

struct graphql_set {
    struct graphql_selection *first, *last;
};

struct graphql_selection {
    enum graphql_selection_kind kind;
    size_t at;
    struct str key;  /* response key: the alias, or else the name */
    struct str name; /* field, fragment, or type of an inline fragment ("") */
    struct graphql_literal *args;
    struct graphql_applied *directives;
    struct graphql_set set;
    struct graphql_selection *next;
    const struct graphql_field *field;         /* (v) */
    const struct graphql_definition *fragment; /* (v) */
    const struct graphql_value *values;        /* (p) one per declared argument */
    const char *fault;                         /* (p) error text when the arguments are invalid */
};

struct graphql_variable {
    struct str name;
    size_t at;
    struct graphql_type_name type_name;
    struct graphql_literal *fallback; /* default value; NULL: none */
    struct graphql_applied *directives;
    struct graphql_variable *next;
    const struct graphql_type *type; /* (v) */
    bool used;                       /* (v) */
    struct graphql_value value;      /* (p) */
};

enum graphql_definition_kind {
    GRAPHQL_QUERY,
    GRAPHQL_MUTATION,
    GRAPHQL_FRAGMENT,
};

struct graphql_definition {
    enum graphql_definition_kind kind;
    size_t at;
    struct str name; /* empty: an operation without one */
    struct graphql_type_name on;
    struct graphql_variable *variables;
    struct graphql_applied *directives;
    struct graphql_set set;
    struct graphql_definition *next;
    size_t index;                    /* of a fragment: its bit in `reach` */
    uint64_t reach;                  /* (v) fragments spread here, directly or not, as a bit set */
    struct graphql_use *uses;        /* (v) uses of variables */
    const struct graphql_type *type; /* (v) type whose fields are selected */
};

struct graphql_document {
    struct graphql_definition *operations, *fragments;
    size_t fragment_count;
};
