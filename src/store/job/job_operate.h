/* job_operate.h - what people do to a job: pause, resume, suspend, run now, cancel, reset; and what
 * the queue check does.
 *
 * Each is one commit, with a line of the audit log for whom it is done.
 *
 *   pause     no run begins until it is resumed; one that runs goes on to its end
 *   suspend   the same, because of a problem
 *   resume    of both: the next run is as planned
 *   run       one run at once, also while it is paused; the schedule is not moved
 *   cancel    the claim of the run that is there is taken away, so that its end changes nothing,
 *             and so are runs without the token (job_run.h); the next run is as planned
 *   reset     the state that had this number becomes the newest one, under a number of its own
 *   release   the claim that lasts for too long is taken away, so that its end changes nothing; the
 *             run is due again, for its time.  The JOB_RESETS_MOST-th time in a row the job is
 *             suspended instead
 *   backfill  past times are to be served, beside the schedule (job_backfill.h)
 *   next      the first of those is begun, if the job rests
 *
 * Threads: any that may block.
 */
#pragma once

#include "store/job/job.h"

struct job_over; /* job_run.h */

enum job_act {
    JOB_PAUSE,
    JOB_SUSPEND,
    JOB_RESUME,
    JOB_RUN,
    JOB_CANCEL,
    JOB_RESET,
    JOB_RELEASE,
    JOB_BACKFILL,
    JOB_NEXT,
    JOB_ACTS
};

enum { JOB_RESETS_MOST = 3 };

enum job_answer {
    JOB_OK,
    JOB_UNKNOWN,      /* no such job */
    JOB_IS_GONE,      /* no configuration has it any more */
    JOB_IS_RUNNING,   /* run: it runs already */
    JOB_NOT_RUNNING,  /* cancel: it does not run, and has no backfill; release: not by this claim;
                       * next: there is nothing to begin now */
    JOB_IS_STOPPED,   /* pause, suspend: it is suspended or at its end already */
    JOB_NOT_STOPPED,  /* resume: it is neither paused nor suspended; or not paused until until_us */
    JOB_HAS_BACKFILL, /* backfill: one is under way */
    JOB_NOT_KEPT,     /* reset: no state with this number is kept */
    JOB_SUSPENDS,     /* release: done, and the job is suspended */
    JOB_OLD_PLAN      /* resume, cancel: the plan is of an older record, or of a token that nobody
                       * had claimed yet: read it and plan again; backfill: it has no times */
};

struct job_order {
    enum job_act act;
    struct str name;
    struct str by, why;    /* pause, suspend; cancel, release: why */
    int64_t until_us;      /* pause; 0: until somebody resumes it.  Resume: only a pause that ends
                            * then; 0: any */
    int64_t claim;         /* release: this one */
    struct job_plan plan;  /* resume; cancel, of a run that nobody asked for */
    bool unheld;           /* cancel: the plan is of a record with held_us 0 */
    int64_t state_number;  /* reset: to this one */
    struct job_over *over; /* cancel, release: which runs it has ended; NULL: it does not matter */
    const int64_t *times;  /* backfill: ascending; up to BACKFILL_MOST */
    size_t time_count;
};

bool job_operate(struct store *s, const struct job_order *order, enum job_answer *ret,
                 struct err *err);
