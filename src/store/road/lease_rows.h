/* lease.h - tasks that come claimed, and claims that nobody knows of (PostgreSQL).
 *
 * A claim that is written in the same commit as its task needs no claim afterwards (accept.h,
 * order.h).  (id, claim) is never given twice: a task comes claimed once, and every other claim
 * draws a number of its own.
 *
 * When the answer to a commit is lost and the database stays away for longer than the writer
 * asks, whoever claimed in it hears ERR_UNCERTAIN and works on nothing; the lease, if it was
 * written, would stand as long as this node.  Such claims are remembered, and lease_return() gives
 * them back; one that was never made matches nothing.
 *
 * Bounded: LEASES_UNSURE_MOST; what is more waits until this node has ended.
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

/* Rows of tasks that come claimed: begin, put each, write. */
struct lease_rows {
    struct db_value *values;
    size_t count;
};

struct lease_rows lease_begin(struct writer *w, size_t most);
/* Sets claim and until_us. */
bool lease_put(struct writer *w, struct lease_rows *rows, struct task *t, struct err *err);
bool lease_write(struct writer *w, const struct lease_rows *rows, struct err *err);

/* This group claims it. */
void lease_note(struct writer *w, const struct task *t);
/* Nobody knows whether the group was committed. */
void lease_unsure(struct writer *w);
/* Give back what may be claimed and nobody works on. */
bool lease_return(struct store *s, int64_t *ret_count, struct err *err);
