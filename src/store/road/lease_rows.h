/* lease_rows.h - tasks that are claimed at birth, and claims of uncertain commits (PostgreSQL).
 *
 * A task may be inserted as a lease, in the commit that makes it, which saves the separate claim
 * (accept.h, order.h).  A writer uses one claim number for all such tasks, and every other claim
 * draws a number of its own.  A task is claimed at birth only once, so a pair of id and claim is
 * never given twice.
 *
 * When the answer to a commit is lost and the writer cannot find out whether it was done, the
 * claimer gets ERR_UNCERTAIN and does not work on the task.  The lease, if it was written, would
 * last as long as this node.  So such claims are remembered, and lease_return() releases them; a
 * claim that was never written matches no row.
 *
 * Bounded: LEASES_UNSURE_MOST claims; further ones are rescued after this node has ended.
 *
 * Threads: lease_return() any that may block; the others are for run() and the writer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "store/db/db.h"
#include "store/kernel/writer.h"
#include "store/road/task.h"

enum { LEASES_UNSURE_MOST = 1 << 16 };

struct leases *leases_new(void);
void leases_free(struct leases *l);

/* Rows of tasks that are claimed at birth: begin, put each, write. */
struct lease_rows {
    struct db_value *values;
    size_t count;
};

struct lease_rows lease_begin(struct writer *w, size_t most);
/* Sets claim and until_us. */
bool lease_put(struct writer *w, struct lease_rows *rows, struct task *t, struct err *err);
bool lease_write(struct writer *w, const struct lease_rows *rows, struct err *err);

/* Remember, until the end of the group, that the group claims this task. */
void lease_note(struct writer *w, const struct task *t);
/* It is unknown whether the group was committed: remember its claims for lease_return(). */
void lease_unsure(struct writer *w);
/* Its commit was done, but nobody works on it: remember this claim, too. */
void lease_give_up(struct store *s, const struct task *t);
/* Release the claims of uncertain commits; *ret_count: how many were found. */
bool lease_return(struct store *s, int64_t *ret_count, struct err *err);
