/* job_view.h - a job, as people see it: what its record and its settings say together.
 *
 * Threads: any that may block.
 */
#pragma once

#include "job/jobs.h"
#include "store/job/job.h"

/* The order is that of the enum JobState in schema.graphql. */
enum job_shown {
    JOB_SHOWN_SCHEDULED, /* its next run has a time */
    JOB_SHOWN_DUE,       /* that time has come, and no node has begun */
    JOB_SHOWN_RUNNING,   /* also one that was stopped, or left the configuration, meanwhile */
    JOB_SHOWN_PAUSED,
    JOB_SHOWN_SUSPENDED,
    JOB_SHOWN_ENDED, /* its schedule has no further time */
    JOB_SHOWN_GONE,  /* no configuration has it any more */
    JOB_SHOWN_STATES
};

extern const char *const job_shown_words[JOB_SHOWN_STATES];

enum job_shown job_shown_of(const struct job_record *r, int64_t now_us);

/* When its next run is due; 0: never, or not before somebody resumes it, or one is there. */
int64_t job_shown_next(const struct job_record *r);
/* The nominal time of that run; 0: there is none, or a person has asked for it. */
int64_t job_shown_nominal(const struct job_record *r);
/* For how long it is due and has not begun; -1: it is not due. */
int64_t job_shown_lag(const struct job_record *r, int64_t now_us);

/* Why a person's order was not carried out, with what to do about it; JOB_OK: NULL. */
const char *job_answer_text(enum job_act act, enum job_answer answer);
