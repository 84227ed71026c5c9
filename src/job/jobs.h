/* jobs.h - recurring work on this node: claims jobs that are due, runs them, and takes the orders
 * of people.
 *
 * Any number of nodes race for the jobs of a store; there is no leader.  The truth is the store
 * (store/job/job.h).  Here are the settings of the version that is in force, and the threads:
 *
 *     scheduler    follows versions, claims what is due, tells runs to stop   (scheduler.c)
 *     job slots    run one iteration each                                     (running.c)
 *     job log      writes the log of runs, apart from their ends              (journal.c)
 *     job check    finds what should move and does not                        (queue_check.c)
 *
 * It starts behind the engine and stops before it.
 *
 * Threads: any that may block, from jobs_start() to jobs_free().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "store/job/job_log.h"
#include "store/job/job_operate.h"

struct engine;
struct jobs;

bool jobs_start(struct engine *e, struct jobs **ret, struct err *err);
/* Claims no more; what runs is told to stop, and ends or is given back.  NULL is fine. */
void jobs_stop(struct jobs *j);
void jobs_free(struct jobs *j); /* after engine_stop(), before engine_free(); NULL is fine */

/* Does it by the settings in force, at once on this node.  Waits some seconds for a version that
 * is just being followed; ERR_TRANSIENT: this node does not have the settings of the job now. */
bool jobs_order(struct jobs *j, struct job_order *order, enum job_answer *ret, struct err *err);

/* The times of its schedule from `from_us` to `to_us`, both in the past, are served in order, one
 * run each, beside the schedule (store/job/job_backfill.h).  *ret_count: how many. */
bool jobs_backfill(struct jobs *j, struct str name, int64_t from_us, int64_t to_us,
                   enum job_answer *ret, size_t *ret_count, struct err *err);

/* What the version in force says of a job. */
struct jobs_entry {
    struct str title, schedule, zone; /* schedule: as it is written: "every 10m", "0 2 * * *" */
    enum job_log_level log;
    int64_t parallel, timeout_us;
    bool planned;      /* this build does not run its kind */
    struct str broken; /* why it cannot run on this node; empty: it can */
};

/* Texts are in the arena.  False: it is not there. */
bool jobs_describe(struct jobs *j, struct str name, struct arena *a, struct jobs_entry *ret);

/* The next nominal times, at most `most`; of a job that is stopped, as if it were resumed now. */
size_t jobs_forecast(struct jobs *j, const struct job_record *r, size_t most, int64_t *ret_us);

/* Appends what an operator should know of the jobs of this node, one line each.  NULL is fine. */
void jobs_tell(struct jobs *j, struct buf *to);

/* When the check of the queues came to its end last on this node (queue_check.h); wall clock, 0:
 * not yet.  NULL is fine. */
int64_t jobs_checked_us(struct jobs *j);
