/* router.h - which route a document takes: the compiled table.
 *
 * Exactly one route runs.  Compare receiver, then type, then sender, then attributes: exact
 * before any.  So a document is looked up in at most eight tables of exact combinations,
 * the most exact first, and only routes with attributes are compared further: ten thousand
 * routes cost what ten cost.
 *
 * Among routes with the same combination those with more attributes come first; the
 * configuration's check has refused two that tie.
 *
 * Also the other names of systems (`ids`), and which types are known.
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
void router_free(struct router *r); /* NULL is fine; before its config goes */

/* The name of the system that has this name or id; ptr NULL when there is none. */
struct str router_system(const struct router *r, struct str name_or_id);
/* The type is listed, or "*" is. */
bool router_type_known(const struct router *r, struct str type);

/* The route, or NULL.  `ret_at` is its place in config->routes. */
const struct config_route *router_find(const struct router *r, const struct facts *f,
                                       size_t *ret_at);

/* What a search cost; it does not grow with the number of routes. */
struct router_effort {
    size_t lookups; /* combinations that were looked up: at most eight  */
    size_t slots;   /* places of the table that were looked at for them */
    size_t routes;  /* routes whose attributes were compared            */
};

/* The same, and what it cost is added to *effort. */
const struct config_route *router_find_counted(const struct router *r, const struct facts *f,
                                               size_t *ret_at, struct router_effort *effort);
