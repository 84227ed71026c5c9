/* rescue.h - the leases of dead nodes become ready tasks again (PostgreSQL).
 *
 * Any node declares a silent node dead (node.h), and moves its leases to ready in the same commit.
 * The leases of the predecessor in the same folder are moved by the transaction that registers
 * its successor (open.c).  On SQLite no claim outlives its process.
 *
 * Threads: any that may block; the change runs in the writer.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct store;

/* Declares silent nodes dead and moves leases of dead nodes to ready, up to TASK_CLAIM_MOST per
 * call; *ret_moved: how many. */
bool rescue_dead_nodes(struct store *s, int64_t *ret_moved, struct err *err);
