/* router.h - which route a document takes: the compiled table.
 *
 * Exactly one route runs.  Compare receiver, then type, then sender, then attributes: exact
 * before any.  So a document is looked up in at most eight tables of exact combinations,
 * the most exact first, and only routes with attributes are compared further: ten thousand
 * routes cost what ten cost.
 *
 * Also the other names of systems (`ids`), and which types are known.
 *
 * Threads: never changed after router_build(); from any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"
#include "core/config.h"
#include "core/facts.h"

struct router;

bool router_build(const struct config *config, struct router **ret, struct err *err);
void router_free(struct router *r); /* NULL is fine; before its config goes */

/* The name of the system that has this name or id; ptr NULL when there is none. */
struct str router_system(const struct router *r, struct str name_or_id);
/* The type is listed, or "*" is. */
bool router_type_known(const struct router *r, struct str type);

/* The route, or NULL.  `ret_at` is its place in config->routes. */
const struct config_route *router_find(const struct router *r, const struct facts *f,
                                       size_t *ret_at);
