/* writer.h - group commit: everything that is queued, one transaction, one sync.
 *
 * Callers queue operations; a writer thread takes all that arrived while it was
 * busy, runs them in one transaction, and after the commit tells everybody.
 * There is no timer: the sync is the timer.
 *
 * Order in a group: payload bytes written and synced, rows written, commit, then
 * each operation's done().  A group that was lost, against another transaction or with
 * its connection, is run again a few times.  If a group fails for anything but storage
 * or the connection, it is run again in halves until the guilty operation stands alone;
 * only that one gets the error.
 *
 * SQLite has one writer, which also fills the index behind the write and
 * checkpoints, between groups.  PostgreSQL has several, each with a connection.
 *
 * Invariants
 *   (1) done() is called exactly once for each operation that was queued.
 *   (2) done() with ok set is called only after a commit that covers it.
 *   (3) everything an operation lends is used only until its done().
 *
 * Threads: submit from any; run() and done() on a writer thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "store/db/db.h"
#include "store/segment/segment.h"

struct audit_rows;
struct audit_scope;
struct store;
struct store_op;
struct writer;

/* A kind of operation.  run() gets all operations of its kind in the group and an
 * open transaction; it returns false to fail the group.  An operation that is
 * refused by itself (a stale claim) is not a failure: run() notes that in it. */
struct store_verb {
    const char *name;
    bool (*run)(struct writer *w, struct store_op **ops, size_t count, struct err *err);
    bool last;  /* it locks what every node needs: behind the others of its group */
    bool apart; /* it may take a while: in a group of its own, so that others' commits are not
                   longer */
    bool notes; /* it says itself what goes into the audit log (audit.h), or nothing does */
    /* After the commit, before anybody is told; may be NULL. */
    void (*committed)(struct writer *w, struct store_op **ops, size_t count);
};

struct store_op {
    struct store_op *next;
    const struct store_verb *verb;
    void (*done)(struct store_op *op);
    bool ok;                   /* committed */
    bool audited;              /* lines of the audit log go with it */
    bool nothing;              /* set by run(): it changed nothing, and gets no line */
    struct err err;            /* why not */
    struct audit_scope *audit; /* of calls: for whom (audit.h); NULL: nobody */
};

/* Numbers are taken from the database in blocks; all writers of a node draw from one
 * block, so that numbers follow time. */
struct numbers {
    int64_t next, end;
    int64_t taken_us; /* PostgreSQL: an old block is not used up, for other nodes went on */
};

struct writer {
    struct store *store;
    struct db *db;
    struct segments *segments; /* SQLite only */
    int64_t number;            /* of this writer in its node, from 0 */
    struct writers *all;
    int64_t top;              /* the highest num this writer gave out, plus one */
    int64_t token;            /* of the group (node.h) */
    int64_t birth_claim;      /* PostgreSQL: of tasks that come claimed (lease.h); 0: not drawn */
    struct noted *leased;     /* in the group's arena: what it claims (lease.h) */
    struct arena *arena;      /* of the group */
    struct audit_rows *audit; /* in it: lines to be written; NULL: none (audit.h) */
    const struct store_op *guilty;    /* in it: refused by a fault */
    int64_t indexed_us, indexed_upto; /* when the index was filled, how far it may be now ... */
    int64_t index_ripe;               /* ... and at its next turn (index.h) */
};

struct writers;

/* What the writers call and stands in rooms above them; open.c fills it in. */
struct writer_hooks {
    /* The audit log (audit.h): for whom the calling thread asks, which goes with its operation;
     * the line of a call that does not note its own; the lines of a group, last in its
     * transaction; and after the commit, on the thread of the caller. */
    struct audit_scope *(*audit_scope)(void);
    void (*audit_note)(struct writer *w, struct store_op *op);
    bool (*audit_write)(struct writer *w, struct err *err);
    void (*audit_carried)(const struct store_op *op);
    /* Nobody knows whether the group was committed: what it claims (lease.h). */
    void (*leases_unsure)(struct writer *w);
    /* SQLite, between groups.  *io_waiting: there is more to do, again in `slice_every_us`; a
     * checkpoint may come behind it.  Then the copy of a backup: true, it goes on. */
    bool (*slices)(struct writer *w, bool *io_waiting, struct err *err);
    bool (*copy_slice)(struct writer *w);
    int64_t slice_every_us;
};

struct writers_options {
    size_t count;      /* threads */
    size_t queue_most; /* operations waiting; more are refused */
    size_t group_most; /* operations in a group; 0: as many as there is room for */
    struct writer_hooks hooks;
};

/* Queue operations that were linked by next; all or none are taken.  False: the
 * queue is full, nothing was queued. */
bool writers_submit(struct writers *ws, struct store_op *first, struct store_op *last,
                    size_t count);
/* Queue in any case: for what must not be refused, and is bounded elsewhere. */
void writers_submit_always(struct writers *ws, struct store_op *first, struct store_op *last,
                           size_t count);
/* The same, and wait for its done. */
bool writers_call(struct writers *ws, const struct store_verb *verb, struct store_op *op,
                  struct err *err);

/* Waits until everything that was queued has been told, also what a done() queued. */
void writers_drain(struct writers *ws);

size_t writers_waiting(struct writers *ws);
/* How long a group takes lately: the time until a new operation is durable. */
int64_t writers_group_us(struct writers *ws);

struct writers *writers_new(struct store *store, const struct writers_options *options,
                            struct db **dbs, struct segments *segments);
void writers_free(struct writers *ws); /* runs what is queued, then ends the threads */

/* For run(): the next num. */
bool writer_number(struct writer *w, int64_t *ret, struct err *err);
