/* run.h - runs a plan and writes its data.
 *
 * Fields run in the order of the document, each down to its leaves before the next
 * begins; so mutations run in series.  The answer is written while fields run; a null
 * where the schema promises a value removes the enclosing values from the text, up to
 * the nearest one that may be null.
 */
#pragma once

#include "admin/graphql/plan.h"

/* Appends `data` to out; errors of fields go into the report.  False: the answer is larger than
 * its limit, and the caller must discard what was appended. */
bool graphql_run(const struct graphql_schema *s, const struct graphql_plan *root,
                 const struct graphql_limits *limits, const void *principal,
                 struct graphql_report *report, struct buf *out);
