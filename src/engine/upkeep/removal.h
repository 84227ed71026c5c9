/* removal.h - what a new configuration takes away from documents that wait for it.
 *
 * Deliveries wait for a system and an endpoint, documents that are not routed yet for their
 * gateway.  A configuration that drops one of these says so first, with the number.
 *
 * Threads: any that may block.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "core/config.h"

struct store;

/* Adds an entry to `to` for each system, endpoint and gateway of `old` that is not in `fresh` and
 * that something waits for. */
bool removal_check(struct store *s, const struct config *old, const struct config *fresh,
                   struct problem_list *to, struct err *err);
