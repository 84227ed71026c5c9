/* depositing.h - a document of a run, handed in through a gateway as if it had come in there.
 *
 * Its key is the job with its nominal time, remembered as long as those of gateways that poll: an
 * iteration that is run again makes no second one, unless it is told to when the bytes are others.
 * The limits of the gateway on rates are for others; its `limits.size` holds.  A kind that calls
 * this says `deposits` (core/job_type.h).
 *
 * Bytes that somebody gives away only once must not be refused when they are here.  Whoever asks
 * for such bytes asks job_may_deposit() first, and says `given`: the intake may be paused, or the
 * node have enough to do or begin to stop meanwhile, and the document is taken all the same, as a
 * request that had begun before.
 *
 * Threads: that of the run.
 */
#pragma once

#include "base/err.h"
#include "base/id.h"
#include "base/str.h"
#include "core/job_type.h"

struct job_document {
    struct str gateway;
    struct str name; /* ${job}, ${run} and ${nominal} are filled in */
    struct str ctype, bytes;
    bool others; /* other bytes than those of an earlier run for the same time are another document
                  */
    bool given;  /* behind job_may_deposit() */
};

/* Whether a document of this gateway and name would be taken now. */
bool job_may_deposit(const struct job_io *io, const struct job_document *d, struct err *err);

enum job_deposited {
    JOB_DEPOSITED,
    JOB_DEPOSITED_BEFORE, /* an earlier run for the same time has handed it in */
    JOB_DEPOSITED_OTHER   /* an earlier run for the same time has handed in other bytes: no second
                           * document is made */
};

/* ERR_PERMANENT: it will not be taken, however often it is tried; after any other error it may be.
 */
bool job_deposit(const struct job_io *io, const struct job_document *d, struct id *ret_id,
                 enum job_deposited *ret, struct err *err);
/* The message of the run. */
void job_say_deposited(struct job_result *to, const struct id *id, enum job_deposited how);
