/* api.h - the admin API: resolvers of schema.graphql over the engine.
 *
 * One table of resolvers; nothing here knows HTTP.  The schema names the right that a field needs
 * (@needs); it is checked here, in one place, before the resolver runs.  Whether a document is in
 * the scope of the right is checked by the resolver that loads it (api/scope.h).
 *
 * Threads: api_execute() in the background pool; it may block.
 */
#pragma once

#include "admin/graphql/graphql.h"
#include "base/buf.h"
#include "base/err.h"

struct api;
struct principal;

bool api_new(struct api **ret, struct err *err);
void api_free(struct api *api);

/* Executes the body of POST /graphql and appends the answer; returns the HTTP status.  429: the
 * principal has used more of this node's time than it may (login/budget.h), and may ask again after
 * *ret_wait_s. */
int api_execute(struct api *api, const struct principal *who, struct str content_type,
                struct str body, struct buf *out, int *ret_wait_s);
