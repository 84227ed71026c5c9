/* job_claim.h - claim the tokens of jobs that are due, each with its record; take a claim over.
 *
 * Any number of nodes race; the database decides (task_claim()).  A node claims from the queue of
 * its area and from that for any area.  The token of a job that was stopped meanwhile is removed
 * instead (invariant (3) of job.h).  A restored store gives none before it is released
 * (store/backup/restore.h).
 *
 * A claim that one node has and does not use may be taken over by another one, under a number of
 * its own: from that commit on it belongs to the other node, and the old number is lost.  Whichever
 * is first wins: who takes it over, or who gives it back (job_end.h).  Claims of SQLite are marks
 * in the memory of their process, and are never taken over.
 *
 * Threads: any that may block.
 */
#pragma once

#include "store/job/job.h"
#include "store/road/task.h"

enum { JOB_CLAIM_MOST = 100 };

struct job_claim {
    struct task task; /* the claim; `rank` is when it was due */
    struct job_record record;
    struct str state; /* number record.state_number */
    int64_t awaited;  /* this token is the time-out of a run by somebody outside; 0: of none */
    int64_t backfill; /* the number of the backfill that this is a time of; 0: of none */
};

/* When claims begin, and how long their runs may take: what is over is so by the settings with
 * which it was claimed, whatever the job has become meanwhile (job_late.h). */
struct job_lease {
    int64_t us; /* to its deadline; for job_record.held_us 0 */
    /* PostgreSQL: when it begins; on SQLite time is monotonic. */
    int64_t now_us;
    /* By the settings that the caller has for this record; called by a writer.  NULL: nobody knows,
     * and the claim is that of a run of JOB_LASTS_US. */
    int64_t (*lasts)(const void *arg, const struct job_record *r);
    const void *arg;
};
#define JOB_LASTS_US (INT64_C(3600) * 1000000)

/* record.open_runs is set: with as many as the job may have there is no room for another one.
 *
 * Up to `limit` in all, from the first queue first: who calls in turn changes their order.  Records
 * and states are in the arena.  kinds: as of task_claim_in(). */
bool job_claim(struct store *s, const int64_t *queues, size_t queue_count, struct str kinds,
               size_t limit, const struct job_lease *lease, struct arena *a, struct job_claim *ret,
               size_t *ret_count, struct err *err);

/* *ret_taken false: this claim does not hold any more, or its job was stopped meanwhile (then its
 * token is removed).  Record and state are in the arena. */
bool job_take_over(struct store *s, int64_t job, int64_t claim, const struct job_lease *lease,
                   struct arena *a, struct job_claim *ret, bool *ret_taken, struct err *err);
