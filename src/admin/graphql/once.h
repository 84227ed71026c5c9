/* once.h - what was asked, as a digest: the same question under the same id is done once
 * (graphql.h). */
#pragma once

#include "admin/graphql/graphql.h"
#include "base/digest.h"

/* The field, its arguments but for `client`, and the text of the request, which says what is wanted
 * of the answer.  ERR_LIMIT: values stand deeper in each other than anybody needs. */
bool graphql_once_question(const struct graphql_call *call, struct str source, struct sha256 *ret,
                           struct err *err);
