/* parse.h - the text of a request to a document.
 *
 * Checks the syntax and the limits that the text alone shows: bytes, tokens, aliases, directives,
 * fragments.  graphql_validate() checks the names against the schema.
 */
#pragma once

#include "admin/graphql/ast.h"
#include "base/arena.h"
#include "base/err.h"

/* On failure *ret_at is the position in the source. */
bool graphql_parse(struct str source, const struct graphql_limits *limits, struct arena *arena,
                   struct graphql_document **ret, size_t *ret_at, struct err *err);
