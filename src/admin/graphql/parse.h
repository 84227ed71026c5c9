/* parse.h - the text of a request to a document.
 *
 * Syntax and the limits that show in the text: bytes, tokens, aliases,
 * directives, fragments.  Whether the names mean anything is graphql_validate's
 * business.
 */
#pragma once

#include "admin/graphql/ast.h"
#include "base/arena.h"
#include "base/err.h"

/* On failure *ret_at is the place in the source. */
bool graphql_parse(struct str source, const struct graphql_limits *limits, struct arena *arena,
                   struct graphql_document **ret, size_t *ret_at, struct err *err);
