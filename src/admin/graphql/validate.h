/* validate.h - does a document fit the schema?
 *
 * The rules of the specification, over every operation and fragment, whether it
 * is run or not; only the merging of equal response keys is left to
 * graphql_plan, which sees the operation unfolded.  The work is linear in the
 * document, but for variables, where it is operations times uses.
 */
#pragma once

#include "admin/graphql/report.h"
#include "admin/graphql/type.h"

/* A variable in use. */
struct graphql_use {
    struct str name;
    size_t at;
    struct graphql_ref ref; /* of its place                 */
    bool has_default;       /* its place has                */
    struct graphql_use *next;
};

/* Fills in the (v) fields; what is wrong goes into the report.  True: nothing is. */
bool graphql_validate(const struct graphql_schema *s, struct graphql_document *doc,
                      const struct graphql_limits *limits, struct graphql_report *report);
