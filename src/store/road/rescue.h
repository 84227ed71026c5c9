/* rescue.h - the work of silent nodes: their leases become ready tasks again (PostgreSQL).
 *
 * A node that stays silent is declared dead by whoever notices (node.h), and its leases move to
 * ready in the same commit.  What a predecessor in the same folder held is taken over by the
 * transaction that registers its successor (open.c).  On SQLite no claim outlives its process.
 *
 * Threads: any that may block; the change runs in the writer.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct store;

/* Declare silent nodes dead and move their leases to ready; *ret_moved counts. */
bool rescue_dead_nodes(struct store *s, int64_t *ret_moved, struct err *err);
