/* request.h - the body of POST /graphql to its answer.
 *
 * A body is a JSON object with `query` and optionally `variables` and `operationName`;
 * other content types and batches are refused.  The caller has authenticated the sender
 * by the headers of the request.
 */
#pragma once

#include "admin/graphql/graphql.h"

/* Bytes of a body: the largest configuration fits as a variable, even with escapes. */
enum { GRAPHQL_BODY_MAX = 9 << 20 };

/* Appends an answer with one error, for a request that is not executed; returns the status. */
int graphql_request_refuse(struct buf *out, int status, const char *text);

/* Appends the answer, which is always JSON, and returns the HTTP status: 200 for a GraphQL
 * request, even if its answer has errors; 400 for a body that is not one, 413 when it is too
 * long, 415 for another content type. */
int graphql_request_answer(const struct graphql_schema *s, struct str content_type, struct str body,
                           const void *principal, const struct graphql_limits *limits,
                           struct buf *out);
