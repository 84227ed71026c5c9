/* task.h - the queue inside: claim, finish, fail, rescue.
 *
 * The place is the state: ready -> lease -> later | dead | gone.  A claim carries
 * a token that is never given twice; finish and fail match (id, claim), and
 * a claim that was lost does nothing and says so.
 *
 * SQLite is one process: there a claim is a mark in memory, a crash makes every
 * row claimable again, and nothing is written for a claim.  PostgreSQL keeps
 * leases in a table, with the node that holds them; a lease lasts as long as that node.
 *
 * Threads: any that may block; all changes run in the writer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "store/db/db.h"

struct store;

struct task {
    int64_t id;    /* the num of the document (later: the delivery) it carries on */
    int64_t claim; /* the token */
    int64_t queue, prio, rank, kind;
    int64_t attempts; /* this one included */
    int64_t rescues, crashes;
    int64_t until_us; /* how long it may usually take; nothing is decided by it */
};

enum { TASK_CLAIM_MOST = 500, TASK_CRASHES_MOST = 3 };

/* Up to `limit` tasks of a queue, highest priority and oldest first. */
bool task_claim(struct store *s, int64_t queue, size_t limit, int64_t lease_us,
                struct task *ret_tasks, size_t *ret_count, struct err *err);

/* Each returns true when the store did it; *ret_ours is false when the claim was
 * lost, and then nothing was done. */
bool task_finish(struct store *s, const struct task *t, bool *ret_ours, struct err *err);
/* Not now: it is ready again at due_us. */
bool task_fail(struct store *s, const struct task *t, int64_t due_us, struct str error,
               bool *ret_ours, struct err *err);

/* Move what is due from later to ready; *ret_next_us is when to come again (0: nothing waits). */
bool task_wake(struct store *s, int64_t now_us, size_t limit, int64_t *ret_moved,
               int64_t *ret_next_us, struct err *err);

/* The code of this task was running when the process died while it ran alone: count
 * it, and after TASK_CRASHES_MOST it is dead (`poison`). */
bool task_crashed(struct store *s, const struct task *t, bool *ret_poison, struct err *err);

struct task_queue {
    int64_t queue, count;
    int64_t oldest_us; /* since when the first of those that could go waits; 0: none could */
};
/* Queues in which something waits, up to `most`, in their order. */
bool task_queues(struct store *s, struct task_queue *ret, size_t most, size_t *ret_count,
                 struct err *err);
/* What waits for a person: dead tasks, and batches that could not be built; *ret_oldest_us 0:
 * nothing. */
bool task_dead_sum(struct store *s, int64_t *ret_count, int64_t *ret_oldest_us, struct err *err);

/* For open.c and rescue.c, in an open transaction: the leases of a node that is certainly gone,
 * and those of all dead nodes. */
bool task_take_over(struct db *db, int64_t node, struct err *err);
bool task_rescue(struct db *db, int64_t *ret_moved, struct err *err);
