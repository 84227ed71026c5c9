/* accept.h - commit 1: a document, its payload, its first task, its key.
 *
 * After a successful accept the bytes, the digest and the record are on stable
 * storage, and the task that will carry the document on exists.  A key that was
 * used before gives the first answer again, or a refusal when the body differs.
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

    int64_t gateway; /* word */
    int64_t caller;  /* 0: none */
    int64_t config;  /* the version in force */
    int64_t received_us;
    int64_t size;
    struct sha256 sha256;
    struct str body;            /* up to SEGMENT_PAYLOAD_MOST */
    struct payload_ref spooled; /* or where `spool` put a larger one */
    bool is_spooled;
    struct str name, ctype, head; /* empty: none */

    bool has_key;
    struct sha256 key;     /* of gateway, caller and key */
    int64_t key_period_us; /* kept so long from now */

    int64_t
        keeps_seq; /* its place in the order of acceptance, when that is another's; 0: the last */
    bool claim_wanted; /* whoever hands it in also carries it on: its task comes claimed */

    /* the answer, when op.ok */
    enum accept_result result;
    struct id id;
    int64_t num;
    int64_t seq;  /* its place in the order of acceptance (order.h); 0: it has none */
    bool claimed; /* `task` is a claim; never when it was wanted not, and not always when it was */
    struct task task;

    /* the writer's own */
    struct payload_ref place;
    struct accept_op *twin;    /* an earlier one in the group with the same key */
    int64_t key_slot, key_seq; /* SQLite: where its key was put (key_log.h) */
};

extern const struct store_verb accept_verb;

/* For verbs of the store's own, in an open transaction: one document without a key, that nobody
 * has claimed.  Such a verb is `last`, as accept_verb is. */
bool accept_one(struct writer *w, struct accept_op *op, struct err *err);

#define ACCEPT_LEASE_US (INT64_C(3600) * 1000000)

enum {
    QUEUE_INTAKE = 1,
    PRIO_HIGH = 2,
    PRIO_NORMAL = 4,
    PRIO_LOW = 5,
    TASK_RUN = 1,
    TALLY_ACCEPTED = 1
};

/* For verbs of the store's own that make one document, in an open transaction: was its key used
 * before (its result says so); its number and id; everything of it.  And after the commit. */
bool accept_known(struct writer *w, struct accept_op *a, struct err *err);
bool accept_name(struct writer *w, struct accept_op *a, struct err *err);
bool accept_store(struct writer *w, struct accept_op *a, struct err *err);
void accept_stored(struct writer *w, struct accept_op *a);

/* Tables of keys are made ahead and dropped when all in them is over; called at
 * start, when the configuration changes, and now and then. */
enum { KEY_PERIOD_MOST_DAYS = 7 };
bool accept_keep_tables(struct store *s, int64_t period_us, struct err *err);
