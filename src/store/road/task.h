/* task.h - tasks: claim, finish, fail, rescue.
 *
 * The table that holds a task is its state: ready -> lease -> later | dead | deleted.  A
 * claim carries a token; a pair of id and token is never given twice.  Finish and fail
 * match (id, claim): with a lost claim they change nothing and report it.
 *
 * A SQLite store has one process: a claim is a mark in memory (claims.h), a crash makes
 * every row claimable again, and nothing is written for a claim.  PostgreSQL keeps leases in
 * a table, with the node that holds them; a lease lasts as long as that node.
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
struct writer;

struct task {
    int64_t id; /* the num of its document (TASK_RUN), delivery (TASK_DELIVER) or job (TASK_JOB) */
    int64_t claim; /* the token */
    int64_t queue, prio, rank, kind;
    int64_t attempts; /* including this one */
    int64_t rescues, crashes;
    int64_t until_us; /* when it should be done; later it is reported (overdue.h), no more */
};

enum { TASK_CLAIM_MOST = 500, TASK_CRASHES_MOST = 3 };

/* The token of a job (store/job/job.h).  The queues of jobs are below 0: that of jobs for any area,
 * and one for each area. */
enum { TASK_JOB = 3, QUEUE_JOBS = -1 };

int64_t task_lease_us(void); /* how long a node should need for a claimed task */

/* Up to `limit` tasks of a queue, highest priority and oldest first. */
bool task_claim(struct store *s, int64_t queue, size_t limit, int64_t lease_us,
                struct task *ret_tasks, size_t *ret_count, struct err *err);

/* Both return true when the transaction was committed; *ret_ours is false when the claim was
 * lost, and then nothing was changed. */
bool task_finish(struct store *s, const struct task *t, bool *ret_ours, struct err *err);
/* The task waits in `later` and is ready again at due_us. */
bool task_fail(struct store *s, const struct task *t, int64_t due_us, struct str error,
               bool *ret_ours, struct err *err);

/* Move due tasks from later to ready; *ret_next_us is when the next one is due (0: none waits). */
bool task_wake(struct store *s, int64_t now_us, size_t limit, int64_t *ret_moved,
               int64_t *ret_next_us, struct err *err);

/* The process crashed while the code of this task ran alone (recorder.h).  Counts the crash; after
 * TASK_CRASHES_MOST the task is dead with code `poison`, or its job is suspended. */
bool task_crashed(struct store *s, const struct task *t, bool *ret_poison, struct err *err);

struct task_queue {
    int64_t queue, count;
    int64_t oldest_us; /* since when its oldest task waits that is ready or due; 0: none */
};
/* Queues in which something waits, up to `most`, ascending. */
bool task_queues(struct store *s, struct task_queue *ret, size_t most, size_t *ret_count,
                 struct err *err);
/* Documents of a gateway that wait to be routed; counted up to some 200,000. */
bool task_unrouted(struct store *s, int64_t gateway, int64_t *ret, struct err *err);
/* Counts what waits for a person: dead tasks, and batches that could not be built; *ret_oldest_us
 * is 0 if there are none. */
bool task_dead_sum(struct store *s, int64_t *ret_count, int64_t *ret_oldest_us, struct err *err);

/* For verbs of the store, in an open transaction: as task_claim().  A verb whose group failed, or
 * that is run again, first undoes what it claimed: on SQLite the marks outlive the transaction.
 *
 * job_kinds: only tokens of jobs of these kinds, written ",note,call,"; empty: of all.  It counts
 * on a store that nodes share (PostgreSQL), where another node may run the others. */
bool task_claim_in(struct writer *w, int64_t queue, struct str job_kinds, size_t limit,
                   int64_t lease_us, struct task *ret_tasks, size_t *ret_count, struct err *err);
void task_claim_undo(struct store *s, const struct task *tasks, size_t count);

/* For verbs of the store, in an open transaction: the claim of a task of this kind becomes that of
 * this node, under a new number; *ret_count 0: it did not hold.  PostgreSQL: on SQLite no other
 * process can have claimed it. */
bool task_claim_over(struct writer *w, const struct task *t, int64_t lease_us, struct task *ret,
                     size_t *ret_count, struct err *err);

/* For verbs of the store, in an open transaction: whether a claim holds.  It then holds until the
 * commit. */
bool task_is_held(struct writer *w, const struct task *t, bool *ret, struct err *err);

/* For open.c and rescue.c, in an open transaction: make ready again the tasks leased by `node`,
 * which is dead already; and up to TASK_CLAIM_MOST tasks leased by any dead node. */
bool task_take_over(struct db *db, int64_t node, struct err *err);
bool task_rescue(struct db *db, int64_t *ret_moved, struct err *err);
