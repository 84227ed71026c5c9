/* move.h - a SQLite store moves into PostgreSQL, while no node runs.
 *
 * Every table that both have is copied, with its columns as the databases themselves name them;
 * payloads go from their files into the database.  All of it is one transaction: a move that is
 * interrupted has done nothing, and is begun again; only from its commit on nobody knows, and
 * whoever begins it again finds out.  A database that holds a store already is refused, also this
 * one when it was started since.  Before the commit the rows are counted and the digests of all
 * payloads are computed by the server.
 *
 * After the commit waybill.db becomes waybill.db.moved, so that nobody starts the old store
 * beside the new one; the folder is from then on that of a node of the new store.
 *
 * Numbers, ids, times and the order of documents stay as they are.  What is of a process (nodes,
 * leases, turns of pollers) and what is an index stays behind.
 *
 * Threads: any; blocks.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct move {
    const char *data;                             /* the folder of the SQLite store */
    const char *url;                              /* an empty PostgreSQL database */
    void (*step)(const char *what, int64_t rows); /* a table is copied; may be NULL */

    int64_t tables, rows, payloads, bytes; /* the answer */
    int64_t damaged;  /* payloads that are missing or damaged in the old store, as in the new one */
    char damage[300]; /* the first of them */
    bool was_done;    /* the database has it already: only the file was renamed */
    bool may_be_there; /* also of a move that failed: its commit was begun */
};

bool move_run(struct move *m, struct err *err);
