/* writer.h - group commit: everything that is queued, one transaction, one sync.
 *
 * Callers queue operations; a writer thread takes all that arrived while it was
 * busy, runs them in one transaction, and notifies every caller after the commit.
 * There is no timer: while one group is synced, the next one gathers.
 *
 * Order in a group: payload bytes written and synced, rows written, commit, then
 * each operation's done().  A group whose transaction was lost, in a conflict with another
 * one or with its connection, is run again a few times.  If a group fails for anything but
 * storage or the connection, it is run again in halves until the failing operation is
 * alone; only this one gets the error.
 *
 * SQLite has one writer thread, which also fills the index and checkpoints between
 * groups.  PostgreSQL has several, each with a connection.
 *
 * Invariants
 *   (1) done() is called exactly once for each operation that was queued.
 *   (2) done() with ok set is called only after a commit that covers it.
 *   (3) everything an operation lends is used only until its done().
 * Why they hold, also after a crash: writer.c.
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
struct job_ended;
struct store;
struct store_op;
struct writer;

/* A kind of operation.  run() gets all operations of its kind in the group and an
 * open transaction; it returns false to fail the group.  To refuse a single operation (a
 * stale claim) is not a failure: run() notes the refusal in the operation.  run() may be called
 * again for the same operations and must reset their results. */
struct store_verb {
    const char *name;
    bool (*run)(struct writer *w, struct store_op **ops, size_t count, struct err *err);
    bool last;  /* takes locks that all nodes need: runs after the other verbs of its group */
    bool apart; /* may be slow: runs in a group of its own, so that it delays no other commit */
    bool notes; /* adds its own audit lines (audit.h), or none */
    bool takes; /* takes something in: without space it is refused, and never gets the reserve */
    /* After the commit, before done(); may be NULL. */
    void (*committed)(struct writer *w, struct store_op **ops, size_t count);
};

struct store_op {
    struct store_op *next;
    const struct store_verb *verb;
    void (*done)(struct store_op *op);
    bool ok;                   /* committed */
    bool audited;              /* run() added audit lines for it */
    bool nothing;              /* set by run(): nothing changed, so there is no audit line */
    struct err err;            /* set if ok is false */
    struct audit_scope *audit; /* writers_call(): on whose behalf (audit.h); NULL: nobody's */
};

/* Document numbers are drawn from the database in blocks; all writers of a node share one block,
 * so that numbers follow time. */
struct numbers {
    int64_t next, end;
    int64_t taken_us; /* PostgreSQL: the rest of an old block is discarded, because other nodes
                         have drawn higher numbers since */
};

struct writer {
    struct store *store;
    struct db *db;
    struct segments *segments; /* SQLite only */
    int64_t number;            /* of this writer in its node, from 0 */
    struct writers *all;
    int64_t top;          /* the highest num that this writer assigned, plus one */
    int64_t token;        /* of the transaction: its commit number (node.h, told.h) */
    int64_t accepted;     /* documents of the group, set by committed() */
    int64_t segment;      /* SQLite: the newest one that the store knows of */
    unsigned connects;    /* of `db`, when the store was last compared (told.h) */
    int64_t birth_claim;  /* PostgreSQL: of tasks created as claimed (lease_rows.h); 0: not drawn */
    struct noted *leased; /* the claims of the group (lease_rows.h), in `arena` */
    struct job_ended *
        *ended;          /* SQLite: claims of jobs that the group ends (job_token.h), in `arena` */
    struct arena *arena; /* reset for each try of a group */
    struct audit_rows *audit;      /* audit lines of the group, in `arena`; NULL: none (audit.h) */
    const struct store_op *guilty; /* test builds: refused by an injected fault */
    int64_t indexed_us, indexed_upto; /* time of the last index slice; limit of the index now ... */
    int64_t index_ripe;               /* ... and at the next turn (search/index.h) */
};

struct writers;

/* Functions of rooms above this one that the writers call; open.c fills the table in. */
struct writer_hooks {
    /* The audit log (audit.h): on whose behalf the calling thread acts; add the line of a call
     * whose verb adds none; write the lines of a group, last in its transaction; and after the
     * commit, on the caller's thread. */
    struct audit_scope *(*audit_scope)(void);
    void (*audit_note)(struct writer *w, struct store_op *op);
    bool (*audit_write)(struct writer *w, struct err *err);
    void (*audit_carried)(const struct store_op *op);
    /* PostgreSQL, after a reconnect: the database lacks commits that were told (told.h). */
    bool (*went_back)(struct writer *w, struct err *err);
    /* The outcome of the commit is unknown: remember the claims of the group (lease_rows.h). */
    void (*leases_unsure)(struct writer *w);
    /* SQLite, between groups.  slices(): *io_waiting: more to do, call again in `slice_every_us`;
     * a checkpoint may follow.  Then copy_slice(): a slice of a backup; true: more to copy. */
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

/* Queues operations that are linked by next; all or none are taken.  False: the
 * queue is full, nothing was queued. */
bool writers_submit(struct writers *ws, struct store_op *first, struct store_op *last,
                    size_t count);
/* Queues without a limit: for operations that must not be refused and are bounded elsewhere. */
void writers_submit_always(struct writers *ws, struct store_op *first, struct store_op *last,
                           size_t count);
/* The same for one operation, and waits until it is done. */
bool writers_call(struct writers *ws, const struct store_verb *verb, struct store_op *op,
                  struct err *err);

/* Waits until every queued operation is done, also those that a done() queued. */
void writers_drain(struct writers *ws);

size_t writers_waiting(struct writers *ws);
/* Moving average of the duration of a group: the expected time until an operation is durable. */
int64_t writers_group_us(struct writers *ws);

struct writers *writers_new(struct store *store, const struct writers_options *options,
                            struct db **dbs, struct segments *segments);
void writers_free(struct writers *ws); /* runs what is queued, then ends the threads */

/* For run(): draws the next document number. */
bool writer_number(struct writer *w, int64_t *ret, struct err *err);
