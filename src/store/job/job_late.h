/* job_late.h - what the queue check asks about jobs.
 *
 * Each question is one statement of bounded size, on a connection for reading; it locks nothing.
 * What is long, and what is done about it, decides the caller, who knows the settings of each job.
 *
 *   job_claims()      the runs that hold their token: claimed for longer than they may take,
 *                     although the node lives?  (Those of dead nodes are rescued,
 *                     store/road/rescue.h.)
 *   job_claims_hold() the runs of this node: are they still its own?  A person may have cancelled
 *                     one on another node, the queue check of another node released it.
 *   job_unclaimed()   the tokens that are due: does nobody serve that area, are all slots taken?
 *   job_tokenless()   the jobs that should have a token and have none: will never run
 *   job_stopped()     the jobs that are suspended, and those whose pause has an end
 *
 * Runs without the token that are late: job_run.h.
 *
 * now_us is the clock of the store, but one that has confirmed its jumps (core/steady.h): a jump
 * ends nothing.
 *
 * Threads: any that may block.
 */
#pragma once

#include "store/job/job.h"
#include "store/road/task.h"

enum { JOB_LATE_MOST = 1000 }; /* in one answer */

struct job_held {
    int64_t job, claim;
    int64_t node;     /* which lives */
    int64_t held_us;  /* for how long it is claimed */
    int64_t lasts_us; /* how long its run may take, by the settings of its claim (job_lease) */
    int64_t over_us;  /* since when that is over; below 0: it is not */
    struct str name;  /* of the job; empty: there is no such job */
};

/* Claims whose time is over since `least_us`, the longest over first. */
bool job_claims(struct store *s, int64_t now_us, int64_t least_us, size_t most, struct arena *a,
                struct job_held *ret, size_t *ret_count, struct err *err);

/* Whether each claim still holds: that of its token, or as a run without it. */
bool job_claims_hold(struct store *s, const struct task *claims, size_t count, struct arena *a,
                     bool *ret_hold, struct err *err);

struct job_waiting {
    int64_t job, due_us;
    struct str name, area;
};

/* Jobs whose token is due since before `before_us` and not claimed, the longest first.  A token
 * that was claimed and given back is due since its time, not since it was given back. */
bool job_unclaimed(struct store *s, int64_t before_us, size_t most, struct arena *a,
                   struct job_waiting *ret, size_t *ret_count, struct err *err);

/* Of the next JOB_LATE_MOST jobs above a number those without the token that they should have.
 * *io_above: where the next call goes on; 0: the jobs are over. */
bool job_tokenless(struct store *s, int64_t *io_above, struct arena *a,
                   struct job_waiting ret[static JOB_LATE_MOST], size_t *ret_count,
                   struct err *err);

struct job_stopped {
    int64_t job;
    enum job_stop stop; /* JOB_SUSPENDED, or JOB_PAUSED until ... */
    int64_t until_us;   /* ... then */
    struct str name, why;
};

/* By number above `above`. */
bool job_stopped(struct store *s, int64_t above, size_t most, struct arena *a,
                 struct job_stopped *ret, size_t *ret_count, struct err *err);
