/* validate.h - checks a document against the schema.
 *
 * Applies the rules of the specification to every operation and fragment, whether it is
 * run or not.  Only conflicts between equal response keys are left to plan.c, which sees
 * the operation unfolded.  The work is linear in the document, except for variables: there
 * it is operations times uses.
 */
#pragma once

#include "admin/graphql/report.h"
#include "admin/graphql/type.h"

/* One use of a variable. */
struct graphql_use {
    struct str name;
    size_t at;
    struct graphql_ref ref; /* type expected in its place */
    bool has_default;       /* the argument in its place has a default value */
    struct graphql_use *next;
};

/* Fills in the (v) fields of ast.h; errors go into the report.  True: the document is valid. */
bool graphql_validate(const struct graphql_schema *s, struct graphql_document *doc,
                      const struct graphql_limits *limits, struct graphql_report *report);
