/* job_token.h - taking and putting the token of a job, in an open transaction.
 *
 * The caller has locked the record of the job (invariant (2) of job.h).  Then the token moves only
 * by others that do not look at the record: it is woken (later to ready), claimed (ready to lease),
 * and given back or rescued (lease to ready).  So it may be gone from where it was a moment ago.
 *
 * PostgreSQL.  A lease that was found is locked until the commit: a rescue passes over it or waits.
 * A statement that finds the token in none of its places looks for it in all of them at once, in
 * one snapshot; only if it is nowhere there is none, else the search begins again.
 *
 * SQLite.  A claim is a mark in memory, which goes after the commit.  Until then the transaction
 * itself remembers that the claim has ended: an operation behind it in the same group would take
 * the new token for the claimed one.
 *
 * Threads: the writers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "store/road/task.h"

struct writer;

struct job_place {
    int64_t num, queue, due_us;
};

enum job_token {
    JOB_TOKEN_NONE,  /* there is none */
    JOB_TOKEN_TAKEN, /* it waited, and was removed: the caller may put it elsewhere */
    JOB_TOKEN_HELD   /* a node has claimed it */
};

/* Removes a token that waits; one that is held stays where it is, and stays held until the commit.
 */
bool job_token_take(struct writer *w, const struct job_place *p, enum job_token *ret,
                    struct err *err);
/* Removes the token wherever it is.  *ret JOB_TOKEN_HELD: the claim is lost; on SQLite the caller
 * calls claims_end() after the commit. */
bool job_token_seize(struct writer *w, const struct job_place *p, enum job_token *ret,
                     struct err *err);
/* A node has claimed it, and nobody takes it away until the commit. */
bool job_token_held(struct writer *w, int64_t num, bool *ret, struct err *err);
/* Which node has claimed it, by which claim, and since when (as of job_record.held_us); claim 0:
 * none. */
struct job_holder {
    int64_t claim, node, since_us;
};
bool job_token_holder(struct writer *w, int64_t num, struct job_holder *ret, struct err *err);
/* This claim of a job holds, until the commit.  The token is at `p`. */
bool job_claim_holds(struct writer *w, const struct job_place *p, const struct task *t, bool *ret,
                     struct err *err);
/* SQLite: removes the token at `p` if the claim holds. */
bool job_claim_take(struct writer *w, const struct job_place *p, const struct task *t, bool *ret,
                    struct err *err);

/* The token is due at due_us; one that is due by now_us is ready at once. */
bool job_token_put(struct writer *w, const struct job_place *p, int64_t now_us, struct err *err);
/* A claimed token belongs to another queue from now on; *ret_moved false: it is not claimed any
 * more. */
bool job_token_move(struct writer *w, const struct job_place *p, int64_t queue, bool *ret_moved,
                    struct err *err);
