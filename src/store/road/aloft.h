/* aloft.h - deliveries that a node has in memory for long, as all nodes see them.
 *
 * A document whose first run goes well is written twice: when it is accepted and when it is
 * settled. In between only its node knows its sender, receiver, type and deliveries.  That is a
 * moment, unless a receiver or a step is slow.  So a flight that is older than a second or two is
 * noted: what was extracted is written to the row of its document, as the settlement will do, and
 * each delivery that is being sent or waits in memory gets a row of `aloft`.  From then on lists,
 * searches, rights, counts and forecasts of every node know it.  The settlement deletes the rows,
 * if it has any.
 *
 * Why not ask the nodes instead: an answer would need all of them, one that hangs or just died
 * could not tell, and a search would have to merge pages.  A note costs a fast document nothing,
 * and a slow one a row in a group that is committed anyway.
 *
 * Invariants
 *   (1) A row exists only while the claim of its task does: a note checks the claim in its
 * transaction, the settlement deletes claim and rows in one.  Rows of a dead node go when its
 * claims do. (2) The facts that a note writes are those that a repeated run would extract again, so
 * that a node that dies afterwards leaves nothing false behind.
 *
 * Threads: notes are operations for the writers; the queries are for any thread that may block.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "store/road/settle.h"

struct db;
struct store;

/* The note of one delivery, or of a document that is still being processed.  Embedded in the
 * caller's object. */
struct aloft_op {
    struct store_op op; /* verb = &aloft_verb */
    /* task and doc; of a run that was not noted yet also has_facts and what follows it. */
    struct settle_op flight;
    struct str id; /* of the delivery; ptr NULL: there is none yet, only the facts are noted */
    int64_t endpoint, system;
    bool sending; /* false: it waits in memory */
};

extern const struct store_verb aloft_verb;

/* In the transaction of settlements that are ours: deletes the rows of those with `aloft`. */
bool aloft_settled(struct writer *w, struct settle_op **ops, size_t count, struct err *err);
/* In an open transaction: deletes the rows of dead nodes. */
bool aloft_forget(struct db *db, struct err *err);

struct aloft {
    struct str id;
    int64_t endpoint, system, since_us;
    bool sending;
};

/* The deliveries of a document that are noted, up to `most`. */
bool aloft_of_document(struct store *s, int64_t doc, struct arena *a, struct aloft *ret,
                       size_t most, size_t *ret_count, struct err *err);

/* How many are noted, by system and endpoint. */
struct aloft_count {
    int64_t system, endpoint;
    int64_t total;                                /* on all nodes */
    int64_t waiting;                              /* of these, how many queue_depths() counts too */
    int64_t sending_elsewhere, waiting_elsewhere; /* on other nodes */
};
enum { ALOFT_COUNTS_MOST = 4096 };
bool aloft_counts(struct store *s, struct aloft_count *ret, size_t most, size_t *ret_count,
                  struct err *err);
