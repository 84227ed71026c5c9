/* api.h - the admin API: resolvers of schema.graphql over the engine.
 *
 * One table of resolvers; nothing here knows HTTP.  Today there is one principal, the
 * holder of the node's admin token, who may do everything.
 *
 * Threads: api_execute() on a desk thread; it may block.
 */
#pragma once

#include "admin/graphql.h"
#include "base/buf.h"
#include "base/err.h"

struct api;
struct engine;

bool api_new(struct engine *engine, struct api **ret, struct err *err);
void api_free(struct api *api);

/* The body of POST /graphql to its answer; the result is the HTTP status. */
int api_execute(struct api *api, struct str content_type, struct str body, struct buf *out);
