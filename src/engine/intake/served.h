/* served.h - gateways on the node's own HTTP server: what their own options say.
 *
 * Most have none and no `self`.  One that cannot be set up (a secret is missing) does not keep the
 * others from being used: `broken` says why, and its requests are answered 503.
 *
 * Threads: any that may block.
 */
#pragma once

#include "core/config.h"
#include "engine/intake/intake_table.h"

struct connectors;
struct store;

/* Sets a gateway of the table up, on its arena.  False: the store failed. */
bool served_make(struct store *store, struct intake_table *t, struct intake_gateway *g,
                 struct err *err);
void served_unmake(struct intake_gateway *g);

/* Sets all gateways of a configuration up and takes them down again: a refusal is a problem. */
void served_try(struct store *store, const struct connectors *connectors,
                const struct config *config, struct problem_list *problems);
