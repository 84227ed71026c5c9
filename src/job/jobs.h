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
struct planning_coming;

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

/* ---- one-way ---- */

enum jobs_taken {
    JOBS_TAKEN,      /* this node has the claim now, and runs the job */
    JOBS_TAKEN_LATE, /* the claim does not hold any more: nothing is done */
    JOBS_TAKEN_BUSY, /* no slot is free, or this node runs no jobs now */
    JOBS_TAKEN_KIND, /* this node does not run its kind (`node.jobs.kinds`): nothing is done */
    JOBS_TAKEN_WRONG /* no such claim can be */
};

/* Another node hands over what it has claimed (handover.c).  Blocks on the store; false: it
 * failed. */
bool jobs_take(struct jobs *j, int64_t job, int64_t claim, enum jobs_taken *ret, struct err *err);

enum jobs_acked {
    JOBS_ACK_TAKEN,    /* the run has ended by it, or had ended by the same one */
    JOBS_ACK_BEAT,     /* it has more time */
    JOBS_ACK_LATE,     /* the run is over */
    JOBS_ACK_STRANGER, /* this is not the secret of the run */
    JOBS_ACK_WRONG,    /* what is said cannot be taken; the run goes on */
    JOBS_ACK_UNKNOWN   /* no run has such a name */
};

/* Somebody outside says what became of the run that was left to him (core/job_type.h). */
struct jobs_ack {
    struct str run, secret; /* as he was given them */
    struct str said;        /* service_answer.h, or { "beat": true } */

    /* the answer */
    enum jobs_acked what;
    enum job_outcome outcome; /* TAKEN */
    bool stale;       /* TAKEN: its state was not stored: another one has replaced what it read */
    int64_t until_us; /* BEAT */
    char why[300];    /* WRONG */
};

/* Blocks for some seconds at most.  False: it is not known what becomes of it: he is to try again.
 */
bool jobs_acknowledge(struct jobs *j, struct jobs_ack *a, struct err *err);

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

/* What its schedule says from now on (planning.h), at most `most`; of a job that is stopped, as if
 * it were resumed now. */
size_t jobs_forecast(struct jobs *j, const struct job_record *r, size_t most,
                     struct planning_coming *ret);

/* Appends what an operator should know of the jobs of this node, one line each.  NULL is fine. */
void jobs_tell(struct jobs *j, struct buf *to);

/* When the check of the queues came to its end last on this node (queue_check.h); wall clock, 0:
 * not yet.  NULL is fine. */
int64_t jobs_checked_us(struct jobs *j);
