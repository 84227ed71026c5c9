/* router.h - the compiled routing table: which route a document takes.
 *
 * Exactly one route runs.  Receiver is compared first, then type, then sender, then attributes:
 * exact before any.  A document is looked up in at most eight tables of exact combinations, the
 * most exact first, and only routes with attributes are compared further: ten thousand routes cost
 * what ten cost.
 *
 * Among routes with the same combination, those with more attributes come first; the check of the
 * configuration has refused ties.
 *
 * Also resolves other names of systems (`ids`) and known types.
 *
 * Ownership: the config is lent until router_free().
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
void router_free(struct router *r); /* NULL is fine; call before freeing the config */

/* The name of the system that has this name or id; ptr NULL when there is none. */
struct str router_system(const struct router *r, struct str name_or_id);
/* Whether the type is listed, or "*" is. */
bool router_type_known(const struct router *r, struct str type);

/* The route, or NULL.  `ret_at` is its index in config->routes. */
const struct config_route *router_find(const struct router *r, const struct facts *f,
                                       size_t *ret_at);

/* The cost of a lookup; independent of the number of routes. */
struct router_effort {
    size_t lookups; /* combinations looked up: at most eight */
    size_t slots;   /* slots of the table probed */
    size_t routes;  /* routes whose attributes were compared */
};

/* The same; the cost is added to *effort. */
const struct config_route *router_find_counted(const struct router *r, const struct facts *f,
                                               size_t *ret_at, struct router_effort *effort);
