/* run.h - runs a plan and writes its data.
 *
 * Fields run in the order of the document, one after the other, each down to its
 * leaves before the next begins; so mutations run in series.  The answer is
 * written as it comes; a null where the schema promises a value takes the text
 * back to the nearest place that may be null.
 */
#pragma once

#include "admin/graphql/plan.h"

/* Appends `data` to out; errors of fields go into the report.  False: the answer
 * is larger than its limit, and what was appended is to be thrown away. */
bool graphql_run(const struct graphql_schema *s, const struct graphql_plan *root,
                 const struct graphql_limits *limits, const void *principal,
                 struct graphql_report *report, struct buf *out);
