/* restore.h - a store that came out of a backup: nothing is sent until a person chooses.
 *
 * The backup knows what was under way when it was taken, and not what became of it since.  So a
 * restored store carries a row that holds every delivery back (HELD_RESTORE), over restarts and
 * on all nodes, until somebody says what becomes of the documents that had not ended then:
 *
 *   resend     they go on as they stand: what was sent since is sent once more, under its old id
 *   in_doubt   their deliveries are in doubt: each is resolved by a person (resolve.h)
 *   cancel     their deliveries are cancelled
 *
 * A member of a batch that is no document yet has no delivery: it leaves the batch, as a dead
 * letter (in_doubt) or cancelled.  The batch goes with those that came in since.
 *
 * What is dead or in doubt already stays as it is, and what came in since the restore is sent.
 * The rule is applied in portions; whoever asks goes on until it is done, also after a crash.
 *
 * A node also finds out by itself that its store went back in time, when the store's epoch is
 * behind the one that the node's folder remembers (node.h).
 *
 * Threads: any that may block; changes run in the writer.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct db;
struct store;

enum restore_rule { RESTORE_NONE, RESTORE_RESEND, RESTORE_IN_DOUBT, RESTORE_CANCEL, RESTORE_RULES };

extern const char *const restore_rules[RESTORE_RULES]; /* "", resend, in_doubt, cancel */

struct restore {
    int64_t made_us; /* 0: this store never came out of a backup */
    int64_t taken_us, upto, chosen_us, done_us;
    enum restore_rule rule;
    struct str source, chosen_by;
};

/* In the database that was restored, in a transaction of its own. */
bool restore_note(struct db *db, int64_t taken_us, struct str source, struct err *err);
/* The same, in an open transaction. */
bool restore_add(struct db *db, int64_t taken_us, struct str source, struct err *err);

/* The last one there was. */
bool restore_newest(struct store *s, struct arena *a, struct restore *ret, struct err *err);

/* ERR_PERMANENT: nothing waits for it, or another rule was chosen before. */
bool restore_choose(struct store *s, enum restore_rule rule, struct str who, struct err *err);

struct restore_order {
    struct arena *arena;
    struct str who;
    int64_t keep_days;   /* how long an ended document is kept */
    int64_t patience_us; /* how long a call may take */
};

struct restore_progress {
    int64_t changed; /* deliveries and documents, by this call */
    int64_t left;    /* so many were seen that are still to be done; 0: none is */
    bool done;       /* the rest is sent from now on */
};

/* The rule that was chosen. */
bool restore_apply(struct store *s, enum restore_rule rule, const struct restore_order *order,
                   struct restore_progress *ret, struct err *err);
