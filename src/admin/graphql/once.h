/* once.h - the digest of a mutation's request: a repetition under the same client id is recognised
 * by it and not run again (struct graphql_once in graphql.h). */
#pragma once

#include "admin/graphql/graphql.h"
#include "base/digest.h"

/* Digests the field, its arguments except `client`, and the text of the request, which selects the
 * fields of the answer.  ERR_LIMIT: the arguments are nested too deeply. */
bool graphql_once_question(const struct graphql_call *call, struct str source, struct sha256 *ret,
                           struct err *err);
