/* allot.h - slots of systems, allotted to nodes: the concurrency of a system is that of all nodes.
 *
 * Each node holds a number of slots of a system in a row of its own, and fills no more.  It asks
 * for more, or gives some back, in an operation that locks the system, so that the sum over all
 * nodes stays within the concurrency.  A node keeps what it has until another one wants it: one
 * that is alone asks once for each system, and its deliveries cost nothing more.
 *
 * Nodes that want slots and have none wait in line: a free slot is not given to a node that has
 * some, or came later, as long as there are no more free ones than nodes that come first.  So slots
 * that nodes give back in turn go round.
 *
 * What a node holds is free again when the node was declared dead, as its claims are: until then
 * its sends may be under way.
 *
 * PostgreSQL only: on SQLite one process has all slots.
 *
 * Invariants
 *   (1) A node fills only slots that its committed row has.  So it lowers its own limit before it
 * asks to hold less, and raises it after the commit (engine/dispatch/allot.c). (2) A transaction
 * locks systems in their order and nothing else (`apart`), so that nodes cannot deadlock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/kernel/writer.h"

struct store;

struct allot_op {
    struct store_op op; /* verb = &allot_verb */
    int64_t system;     /* name id */
    int64_t most;       /* its concurrency */
    int64_t keep;       /* so many slots stay with this node ... */
    int64_t upto;       /* ... and of those that are free so many that it has this number */
    bool wants;         /* it would use more: for the other nodes to see */

    int64_t granted; /* the answer, when op.ok: at least `keep` */
};

extern const struct store_verb allot_verb;

/* How the slots of systems are held; blocks. */
struct allotted {
    int64_t system;
    int64_t total;   /* by live nodes */
    int64_t wanting; /* other nodes that want more ... */
    int64_t waiting; /* ... and of these, those that have none */
};
enum { ALLOTTED_MOST = 4096 };
bool allot_list(struct store *s, struct allotted *ret, size_t most, size_t *ret_count,
                struct err *err);
