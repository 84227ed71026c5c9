/* job_token.h - taking and putting the token of a job, in an open transaction.
 *
 * The caller has locked the record of the job (invariant (2) of job.h).  Then the token moves only
 * by others that do not look at the record: it is woken (later to ready), claimed (ready to lease),
 * and given back or rescued (lease to ready).  job_token_take() looks in all three places, again if
 * it found the token in none, because it may have moved behind its back.
 *
 * Threads: the writers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct writer;

struct job_place {
    int64_t num, queue, due_us;
};

enum job_token {
    JOB_TOKEN_NONE,  /* there is none */
    JOB_TOKEN_TAKEN, /* it waited, and was removed: the caller may put it elsewhere */
    JOB_TOKEN_HELD   /* a node has claimed it: it was left where it is */
};

bool job_token_take(struct writer *w, const struct job_place *p, enum job_token *ret,
                    struct err *err);
/* A node has claimed it. */
bool job_token_held(struct writer *w, int64_t num, bool *ret, struct err *err);
/* Removes a token that is claimed: the claim is lost.  On SQLite the caller then calls claims_end()
 * after the commit. */
bool job_token_seize(struct writer *w, const struct job_place *p, struct err *err);
/* The token is due at due_us; one that is due by now_us is ready at once. */
bool job_token_put(struct writer *w, const struct job_place *p, int64_t now_us, struct err *err);
/* A claimed token belongs to another queue from now on. */
bool job_token_move(struct writer *w, const struct job_place *p, int64_t queue, struct err *err);
