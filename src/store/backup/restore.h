/* restore.h - a restored store: nothing is sent until an operator chooses a rule.
 *
 * A backup has the deliveries that were in flight when it was taken, but not their outcome.  So a
 * restored store has a row that holds every delivery (HELD_RESTORE), over restarts and on all
 * nodes, until an operator chooses a rule for the documents that had not ended:
 *
 *   resend     they continue: what was sent since the backup is sent once more, under its old id
 *   in_doubt   their deliveries become in doubt: an operator resolves each (resolve.h)
 *   cancel     their deliveries are cancelled
 *
 * A member of a batch whose document is not built yet has no delivery: it leaves the batch, as a
 * dead letter (in_doubt) or cancelled.  The batch continues with members that joined since.
 *
 * Dead letters and deliveries in doubt stay as they are; documents accepted after the restore are
 * sent.  The rule is applied in portions: the caller repeats until it is done, also after a crash.
 *
 * A node also detects that its store went back in time: the store's epoch is then behind the one
 * in the node's folder (node.h).
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
    int64_t made_us; /* 0: this store was never restored */
    int64_t taken_us, upto, chosen_us, done_us;
    enum restore_rule rule;
    struct str source, chosen_by;
};

/* Adds the row to a restored database, in a transaction of its own. */
bool restore_note(struct db *db, int64_t taken_us, struct str source, struct err *err);
/* The same, in an open transaction. */
bool restore_add(struct db *db, int64_t taken_us, struct str source, struct err *err);

/* The latest restore of this store. */
bool restore_newest(struct store *s, struct arena *a, struct restore *ret, struct err *err);

/* ERR_PERMANENT: no restore waits for a rule, or another rule was chosen before. */
bool restore_choose(struct store *s, enum restore_rule rule, struct str who, struct err *err);

struct restore_order {
    struct arena *arena;
    struct str who;
    int64_t keep_days;   /* how long an ended document is kept */
    int64_t patience_us; /* time limit of a call */
};

struct restore_progress {
    int64_t changed; /* deliveries and documents changed by this call */
    int64_t left;    /* seen by this call and not done yet; 0: none */
    bool done;       /* the rule is applied: deliveries are no longer held */
};

/* Applies the chosen rule for up to patience_us. */
bool restore_apply(struct store *s, enum restore_rule rule, const struct restore_order *order,
                   struct restore_progress *ret, struct err *err);
