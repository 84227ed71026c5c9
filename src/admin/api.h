/* api.h - the admin API: resolvers of schema.graphql over the engine.
 *
 * One table of resolvers; nothing here knows HTTP.  What a field needs stands beside it in the
 * schema (@needs) and is asked here, in one place, before its resolver runs; which documents are
 * in the scope of the right, resolvers ask where they load them.
 *
 * Threads: api_execute() on a desk thread; it may block.
 */
#pragma once

#include "admin/graphql/graphql.h"
#include "base/buf.h"
#include "base/err.h"

struct api;
struct principal;

bool api_new(struct api **ret, struct err *err);
void api_free(struct api *api);

/* The body of POST /graphql to its answer; the result is the HTTP status. */
int api_execute(struct api *api, const struct principal *who, struct str content_type,
                struct str body, struct buf *out);
