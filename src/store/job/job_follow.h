/* job_follow.h - the jobs follow a version of the configuration.
 *
 * In one commit, by whichever node is first: new jobs get a record and a token; changed ones get
 * their new settings and times and keep state, results and stops (one that was at its end goes
 * again); those that the version does not have lose their token and stay in the list as gone, for
 * JOB_GONE_DAYS, and go on where they were if they come back by then.  A run that is claimed is not
 * disturbed: its end finds the new settings (job_end.h).
 *
 * Where there would be more than JOB_RECORDS_MOST, those that left first are forgotten, before
 * their time (job_forget.h); one of which something still runs is not.  With too many of these, and
 * for more than JOBS_MOST: ERR_LIMIT, and nothing changes.
 *
 * Threads: any that may block.
 */
#pragma once

#include "store/job/job.h"

struct job_wanted {
    struct str name, kind, area;
    int64_t queue;        /* job_queue() of the area */
    struct sha256 digest; /* of its settings; the same digest: unchanged */
    struct job_plan plan;
    bool written; /* the answer: its plan was written, because it came or was changed */
};

struct job_follow {
    int64_t version;
    struct job_wanted *jobs; /* names differ */
    size_t count;
    /* The record is not the one that the plan was computed from: computes it again, with the turn
     * of `now`.  Called on the writer's thread, inside the transaction. */
    void (*again)(void *arg, struct job_wanted *wanted, const struct job_record *now);
    void *arg;

    /* the answer */
    bool first; /* false: this version or a newer one is followed already, and nothing was done */
    int64_t came, changed, left;
    int64_t crowded_out; /* forgotten, because there was no room */
};

bool job_follow(struct store *s, struct job_follow *f, struct err *err);
