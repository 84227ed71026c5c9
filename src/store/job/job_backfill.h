/* job_backfill.h - past times of a job that somebody wants to be served, in order, beside its
 * schedule.
 *
 * Each time is a row until its run is done.  The runs are as those that people ask for: the
 * schedule is not moved, and has the first right: whatever of it is due runs first.  JOB_NEXT
 * (job_operate.h) puts the token of a job that rests, for the first time; the end of that run
 * removes the row, in its commit, or notes that it has failed.  So a crash loses no time and serves
 * none twice.
 *
 * A time whose run fails is tried again after a while, BACKFILL_TRIES times in all, and not at all
 * if the run says that it would fail again: then the backfill is over (job_backfill_drop()), so
 * that what follows is not served before it.  A cancel ends it, too.  While the job is paused or
 * suspended nothing of it begins.
 *
 * Each backfill has a number of its own, that its claims have, too (job_claim.h): with it work that
 * is done once for each time can be done once more, and once only.
 *
 * Threads: any that may block; changes run in the writer.
 */
#pragma once

#include "store/job/job.h"

enum { BACKFILL_MOST = 10000, BACKFILL_TRIES = 5, BACKFILL_JOBS_MOST = 200 };

/* What is left of a backfill. */
struct job_backfill {
    int64_t job;
    int64_t number;           /* of this backfill: no other one has it */
    int64_t left;             /* times; 0: there is none */
    int64_t next_us, last_us; /* the first and the last of them */
    int64_t tries, after_us;  /* of the first */
    struct str name;          /* of the job */
};

bool job_backfill_get(struct store *s, int64_t job, struct arena *a, struct job_backfill *ret,
                      struct err *err);
/* By number of the job above `above`. */
bool job_backfill_list(struct store *s, int64_t above, size_t most, struct arena *a,
                       struct job_backfill *ret, size_t *ret_count, struct err *err);
/* What is left of the backfill with this number is given up; *ret_left: how many times.  Another
 * one, that somebody has asked for meanwhile, stays. */
bool job_backfill_drop(struct store *s, int64_t job, int64_t number, int64_t *ret_left,
                       struct err *err);

/* ---- inside the store ---- */

struct job_end_op;

/* The end of a run that was asked for, in its transaction. */
bool job_backfill_ended(struct writer *w, const struct job_end_op *o, struct err *err);
/* The first time that may be begun; 0: none. */
bool job_backfill_first(struct writer *w, int64_t job, int64_t now_us, int64_t *ret_us,
                        struct err *err);
bool job_backfill_count(struct writer *w, int64_t job, int64_t *ret, struct err *err);
bool job_backfill_put(struct writer *w, int64_t job, const int64_t *times, size_t count,
                      struct err *err);
bool job_backfill_remove(struct writer *w, int64_t job, int64_t *ret_left, struct err *err);
