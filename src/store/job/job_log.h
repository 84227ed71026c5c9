/* job_log.h - the log of runs: one line for each run that ended, in a table for each day.
 *
 * A job says what it logs (`log: off | errors | all`).  Lines are written apart from the end of the
 * run, in a commit of their own: a log that cannot be written ends no work.  The same line again
 * changes nothing.  A table is made with its first line, and is dropped whole, with all its lines,
 * JOB_LOG_DAYS later: job_log_drop() is called now and then, by any node.
 *
 * Days are those of the store's clock at the time of writing, in UTC.
 *
 * Threads: any that may block.
 */
#pragma once

#include "store/job/job.h"

enum {
    JOB_LOG_DAYS = 14,
    JOB_LOG_MOST = 200,        /* lines in one call, of writing or of reading */
    JOB_STEPS_MOST = 64 << 10, /* bytes of the steps of a run; what is longer is cut */
};

enum job_log_level { JOB_LOG_OFF, JOB_LOG_ERRORS, JOB_LOG_ALL, JOB_LOG_LEVELS };

extern const char *const job_log_levels[JOB_LOG_LEVELS]; /* off, errors, all */

struct job_log_line {
    int64_t job, claim, node;
    int64_t nominal_us, due_us, claimed_us, began_us, ended_us;
    enum job_outcome outcome;
    struct str message; /* up to JOB_TEXT_MOST; what is longer is cut */
    struct str steps;   /* with durations, as text */
    bool is_stale;      /* its state was not stored, because the run had read an older one: ... */
    struct str stale;   /* ... this one; up to JOB_STATE_MOST */
};

/* Whether a job with this level logs such a run.  A state that was not stored is an error. */
bool job_log_wants(enum job_log_level level, enum job_outcome outcome, bool is_stale);

bool job_log_add(struct store *s, const struct job_log_line *lines, size_t count, struct err *err);

/* Where a page ends; all 0: before the newest. */
struct job_log_place {
    int64_t day, ended_us, job, claim;
};

/* The lines of a job (0: of all) behind a place, newest first.  *io_place is where the next page
 * begins; day 0: there is none. */
bool job_log_list(struct store *s, int64_t job, size_t most, struct arena *a,
                  struct job_log_line *ret, size_t *ret_count, struct job_log_place *io_place,
                  struct err *err);

/* Drops the tables of days that are over for so long; *ret_dropped: how many. */
bool job_log_drop(struct store *s, int64_t *ret_dropped, struct err *err);

/* For store/backup: makes the table of a day. */
bool job_log_make(struct db *db, int64_t day, struct err *err);
