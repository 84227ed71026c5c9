/* job_states.h - the last states of a job, for people, who may restore one (job_operate.h).
 *
 * Threads: any that may block.
 */
#pragma once

#include "store/job/job.h"

struct job_state {
    int64_t number, at_us; /* at_us: when it was stored */
    struct str text;
};

/* The kept states of a job, newest first. */
bool job_states(struct store *s, int64_t job, struct arena *a,
                struct job_state ret[static JOB_STATES_KEPT], size_t *ret_count, struct err *err);
