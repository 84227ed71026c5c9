/* accept.h - commit 1: a document, its payload, its first task, its idempotency key.
 *
 * After a successful accept the bytes, the digest and the record are on stable
 * storage, and the document has a task.  A key that was used before gives the first
 * answer again, or a refusal when the body differs.  accept.c has the invariants.
 *
 * The operation is embedded in the caller's own object; everything it points to is
 * lent until done().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/id.h"
#include "base/str.h"
#include "store/kernel/writer.h"
#include "store/road/task.h"
#include "store/segment/segment.h"

enum accept_result {
    ACCEPT_STORED,     /* a new document */
    ACCEPT_REPEATED,   /* the key was used before for the same body: id is the first one's */
    ACCEPT_KEY_DIFFERS /* the key was used before for another body: nothing is stored */
};

struct accept_op {
    struct store_op op; /* verb = &accept_verb */

    int64_t gateway; /* name id */
    int64_t caller;  /* 0: none */
    int64_t config;  /* the configuration version in force */
    int64_t received_us;
    int64_t size;
    struct sha256 sha256;
    struct str body;            /* up to SEGMENT_PAYLOAD_MOST */
    struct payload_ref spooled; /* or where the spool stored a larger one */
    bool is_spooled;
    struct str name, ctype, head; /* empty: none */

    bool has_key;
    struct sha256 key;     /* digest of gateway, caller and key */
    int64_t key_period_us; /* how long the key is remembered from now */

    /* Its number in the order of acceptance, when it takes another document's; 0: a new one. */
    int64_t keeps_seq, keeps_child;
    bool taken_in;     /* store/recover.h: it has its number, id and place already */
    bool is_child;     /* offspring.h: its parent makes it again, if the database loses it */
    bool claim_wanted; /* the caller has room for a flight: its task should come claimed */

    /* the answer, when op.ok */
    enum accept_result result;
    struct id id;
    int64_t num;
    int64_t seq;  /* its number in the order of acceptance (order.h); 0: none */
    bool claimed; /* `task` is a claim; may be false also when claim_wanted is set */
    struct task task;

    /* the writer's own */
    struct payload_ref place;
    struct accept_op *twin;    /* an earlier operation of the group with the same key */
    const int64_t *last_seq;   /* seq is relative to it until the commit (PostgreSQL); or NULL */
    int64_t key_slot, key_seq; /* SQLite: the row of its key (key_log.h) */
};

extern const struct store_verb accept_verb;

/* For verbs of the store, in an open transaction: accepts one document without a key and without
 * a claim.  Such a verb is `last`, as accept_verb is. */
bool accept_one(struct writer *w, struct accept_op *op, struct err *err);

enum {
    QUEUE_INTAKE = 1,
    PRIO_HIGH = 2,
    PRIO_NORMAL = 4,
    PRIO_LOW = 5,
    TASK_RUN = 1,
    TALLY_ACCEPTED = 1
};

/* For verbs of the store that make one document, in an open transaction, in this order. */
/* Looks its key up; `result` is ACCEPT_STORED if the key is new, or there is none. */
bool accept_known(struct writer *w, struct accept_op *a, struct err *err);
/* Draws its number and id. */
bool accept_name(struct writer *w, struct accept_op *a, struct err *err);
/* Writes its payload and all its rows. */
bool accept_store(struct writer *w, struct accept_op *a, struct err *err);
/* Writes all rows of documents that have number, id and place already (store/recover.h). */
bool accept_take_in(struct writer *w, struct accept_op **fresh, size_t count, struct err *err);
/* After the commit: the key and the claim in memory (SQLite). */
void accept_stored(struct writer *w, struct accept_op *a);

/* Makes the tables of keys ahead and drops those whose keys have all expired.  Called at
 * start, when the configuration changes, and now and then. */
enum { KEY_PERIOD_MOST_DAYS = 7 };
bool accept_keep_tables(struct store *s, int64_t period_us, struct err *err);
/* The clock of the keys stepped (key_clock.h): call accept_keep_tables() again soon. */
bool accept_keys_are_unsure(struct store *s);
