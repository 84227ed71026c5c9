/* request.h - the body of POST /graphql to its answer.
 *
 * A JSON object with `query`, and if need be `variables` and `operationName`; no
 * other content type, no batches.  The caller has authenticated the sender by its
 * headers before it lets us look at the body.
 */
#pragma once

#include "admin/graphql/graphql.h"

/* Bytes of a body: the largest configuration fits as a variable, also where its text
 * needs escapes. */
enum { GRAPHQL_BODY_MAX = 9 << 20 };

/* Appends the answer, JSON whatever happens, and returns the HTTP status: 200 for
 * a GraphQL request, also when its answer holds errors; 400 for what is none, 413
 * when it is too long, 415 for another content type. */
int graphql_request_answer(const struct graphql_schema *s, struct str content_type, struct str body,
                           const void *principal, const struct graphql_limits *limits,
                           struct buf *out);
