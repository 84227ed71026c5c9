/* overdue.h - claims that a live node holds past their deadline.
 *
 * A claim has a deadline (task_lease_us()).  Calls to receivers end by their time-outs and claims
 * of dead nodes are rescued, so a claim that lasts longer belongs to a very long transfer or was
 * lost by a fault of ours.  It is only reported: while its node lives, the task may be on its way,
 * and releasing it could send it twice.
 *
 * Threads: any that may block.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct store;

/* The overdue claims of one node in one queue. */
struct overdue {
    int64_t queue, node, count;
    int64_t over_us; /* how long the first of them is overdue */
    int64_t doc;     /* the document of one of them */
};

enum { OVERDUE_MOST = 64 };

/* Of every live node, longest overdue first on PostgreSQL; a SQLite store has one node. */
bool overdue_claims(struct store *s, struct overdue ret[static OVERDUE_MOST], size_t *ret_count,
                    struct err *err);
