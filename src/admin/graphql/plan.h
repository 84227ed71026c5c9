/* plan.h - one operation, unfolded: what is run, and what it may cost.
 *
 * Reads the variables, puts fragments in their place, merges equal response
 * keys, decides @skip and @include, and reads all arguments.  Depth and cost are
 * counted here, so that nothing has run when a limit is met.
 *
 * Cost: each field counts 1 times the page sizes of the fields above it.  A field
 * with an argument `first` has that page size; when it is no list itself, that is
 * the size of the lists directly below it.  Any other list counts as
 * GRAPHQL_LIST_SIZE items.
 */
#pragma once

#include "admin/graphql/report.h"
#include "admin/graphql/type.h"

enum {
    GRAPHQL_LIST_SIZE = 5,
    GRAPHQL_DEPTH_MAX = 40,           /* of limits.depth            */
    GRAPHQL_DEPTH_INTROSPECTION = 20, /* below __schema and __type  */
};

struct graphql_plan {
    struct str key;
    size_t at;
    const struct graphql_type *type;   /* the field is of             */
    const struct graphql_field *field; /* NULL: the root              */
    const struct graphql_value *args;  /* one per declared argument   */
    const char *fault;                 /* why they are no good        */
    bool active;                       /* false: skipped, not run     */
    struct graphql_plan *first, *next; /* below it; beside it         */

    /* Used while planning. */
    const struct graphql_selection *sel; /* where it was met first     */
    struct graphql_plan *last, *queue;
    struct graphql_piece *pieces, *pieces_last;
    int64_t times;
    size_t depth;
    bool paged, meta;
};

/* The root's `first` is the operation's fields.  NULL: the report says why. */
struct graphql_plan *graphql_plan_make(const struct graphql_schema *s,
                                       struct graphql_definition *op, struct json_t *variables,
                                       const struct graphql_limits *limits,
                                       struct graphql_report *report);
