/* job_ack.h - acknowledgements that ended a run outside (job_run.h).
 *
 * Whoever acknowledges may not see the answer, and then does it again: the same acknowledgement
 * gets the same answer, for JOB_ACK_KEPT_US.  It is written in the commit that ends the run.
 *
 * Threads: any that may block.
 */
#pragma once

#include "store/job/job.h"

#define JOB_ACK_KEPT_US (INT64_C(3600) * 1000000)

struct job_ack {
    int64_t job, claim;
    struct sha256 secret; /* digest of that of the run */
    struct sha256 said;   /* digest of the acknowledgement */
    enum job_outcome outcome;
    bool stale; /* its state was not stored */
};

bool job_ack_get(struct store *s, int64_t job, int64_t claim, struct job_ack *ret, bool *ret_found,
                 struct err *err);

/* For job_run.c, in an open transaction, with the record locked.  ended_us: of the run; a clock of
 * the store that jumps forgets none. */
bool job_ack_put(struct writer *w, const struct job_ack *ack, int64_t ended_us, struct err *err);
