/* move.h - moves a SQLite store into PostgreSQL, while no node runs.
 *
 * Every table that both databases have is copied, column by column as the catalogs name them;
 * payloads move from their files into the database.  All of it is one transaction: an interrupted
 * move has done nothing and is repeated.  If the answer to its commit was lost, the repetition
 * finds out.  A database that already holds a store is refused, also the moved one once it was
 * started.  Before the commit, the rows are counted and the server computes the digests of all
 * payloads.
 *
 * After the commit waybill.db is renamed to waybill.db.moved, so that the old store cannot be
 * started beside the new one; the folder then belongs to a node of the new store.
 *
 * Numbers, ids, times and the order of documents stay the same.  State of processes (nodes, leases,
 * turns of pollers) and indices are not copied.
 *
 * Threads: any; blocks.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct move {
    const char *data;                             /* data folder of the SQLite store */
    const char *url;                              /* an empty PostgreSQL database */
    void (*step)(const char *what, int64_t rows); /* called per copied table; may be NULL */

    int64_t tables, rows, payloads, bytes; /* the answer */
    int64_t damaged;   /* payloads missing or damaged in the old store, and so in the new one */
    char damage[300];  /* the first of them */
    bool was_done;     /* moved before: only the file was renamed */
    bool may_be_there; /* the commit was sent; also set if the move failed */
};

bool move_run(struct move *m, struct err *err);
