/* plan.h - the execution plan of one operation: which fields run, and what they may cost.
 *
 * Reads the variables, expands fragments, merges equal response keys, decides @skip
 * and @include, and reads all arguments.  Depth and cost are counted here, so that
 * no resolver has run when a limit is reached.
 *
 * Cost: a field costs the product of the page sizes of the fields above it.  The page
 * size of a field with an argument `first` is that argument; if the field is not a
 * list itself, it is the size of the lists directly below it.  Any other list counts
 * as GRAPHQL_LIST_SIZE items.
 */
#pragma once

#include "admin/graphql/report.h"
#include "admin/graphql/type.h"

enum {
    GRAPHQL_LIST_SIZE = 5,
    GRAPHQL_DEPTH_MAX = 40,           /* largest limits.depth */
    GRAPHQL_DEPTH_INTROSPECTION = 20, /* additional, below __schema and __type */
};

struct graphql_plan {
    struct str key;
    size_t at;
    const struct graphql_type *type;   /* that declares the field */
    const struct graphql_field *field; /* NULL: the root              */
    const struct graphql_value *args;  /* one per declared argument   */
    const char *fault;                 /* error text when the arguments are invalid */
    bool active;                       /* false: skipped, not run     */
    struct graphql_plan *first, *next; /* first field below; next field on the same level */

    /* Used while planning. */
    const struct graphql_selection *sel; /* its first selection */
    struct graphql_plan *last, *queue;
    struct graphql_piece *pieces, *pieces_last;
    int64_t times;
    size_t depth;
    bool paged, meta;
};

/* The list `first` of the root holds the operation's fields.  NULL: the report says why. */
struct graphql_plan *graphql_plan_make(const struct graphql_schema *s,
                                       struct graphql_definition *op, struct json_t *variables,
                                       const struct graphql_limits *limits,
                                       struct graphql_report *report);
