/* job_type.h - a kind of job: what recurring work does.
 *
 * A kind is one file, src/job/NAME_job.c, which exports one const struct, and one line JOB(NAME) in
 * src/connectors.def.  When it runs, how often a failed run is repeated and what is kept of it is
 * the same for all kinds (core/schedule, core/grammar_job.c): a kind says what its options are and
 * does one iteration, which is best a small batch of its work.
 *
 * run() gets the state that the iteration before has left, and gives the one for the next.  A node
 * may die at any moment, and then the iteration is run again, from the same state and under the
 * same nominal time: what it changes outside must bear that, or be told the nominal time as a key.
 *
 *     static void sweep_run(void *self, struct job_io *io, struct job_result *ret)
 *     {
 *         ...
 *         job_step(io, "listed", took_us);
 *         if (call_is_over(io->call))
 *             ...                             told to stop: end soon, as failed
 *         job_done(ret);
 *     }
 *
 * Threads: run() on a thread of its own that may block; several jobs, and with `repeatable` several
 * runs of one, use their `self` at the same time, which is not changed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "core/call.h"
#include "core/option.h"
#include "core/settings.h"

enum {
    JOB_MESSAGE_MOST = 1000,     /* bytes of the message of a run */
    JOB_RESULT_STATE = 64 << 10, /* of the state that it leaves */
    JOB_STEP_BYTES = 64 << 10,   /* of all that it says of its steps */
    JOB_RUN_ARENA = 8 << 20,     /* what a run may take of io->arena */
};

struct job_ports;

/* One iteration; everything is lent for the call. */
struct job_io {
    struct call *call;  /* asks whether it is still wanted, and shows signs of life (core/call.h) */
    struct str job;     /* its name */
    struct str run;     /* the id of this run: another one for each repetition */
    int64_t nominal_us; /* the time of the schedule that it is for: the same in each repetition */
    int64_t backfill; /* somebody wants this past time to be served, perhaps once more: a number of
                       * that wish, the same in each repetition; 0: a run of its own time */
    int64_t claimed_us; /* when it was claimed, by the clock of the store: it grows from one claim
                         * of a job to the next, whichever node has it */
    int64_t timeout_us; /* after so long it is told to stop, and a moment later given up */
    struct str state;   /* what the last iteration has left; empty: nothing yet */
    const struct job_ports *ports; /* parts of the engine (job/ports.h) */
    struct arena *arena;           /* of this run */
    struct buf *steps;             /* job_step() */
    /* job_leave() */
    bool (*leave)(void *arg, struct str *ret_address, struct str *ret_secret);
    void *leave_arg;
};

/* What is done once for this: the name of the job with its nominal time, and with the number of the
 * backfill.  The same in each repetition.  It is in io->arena. */
struct str job_key(const struct job_io *io);

/* Notes a step of the run, with how long it took, for its log.  In what is not UTF-8 all that is
 * not ASCII becomes `?`. */
void job_step(struct job_io *io, const char *what, int64_t took_us);

/* Only where `leaves` says so, once.  From now on the run does not need this node: somebody outside
 * may end it, who posts what became of it to the address, with the secret; or its time-out ends it.
 * To be called before anybody outside can know of the run.  Texts are in io->arena.  False: it must
 * not go on; run() returns, and what it says does not matter. */
bool job_leave(struct job_io *io, struct str *ret_address, struct str *ret_secret);

struct job_result {
    bool left;       /* behind job_leave(): somebody outside has it; the rest does not matter */
    bool ok;         /* it is done; false: it failed */
    bool final;      /* failed: a repetition would fail as well, so it is not repeated */
    bool credential; /* failed: who was asked does not know us: the job is suspended */
    bool damaged;    /* failed: the state cannot be read: the job is suspended */
    bool has_state;  /* done: `state` replaces the one that it was given */
    struct buf state;
    bool more;  /* its batch was full ... */
    bool moved; /* ... and it has moved on: then the next one follows at once.  Without `moved` it
                 * has found nothing, unless `more` is set */
    char message[JOB_MESSAGE_MOST + 1]; /* for people; may be empty */
};

/* It is done, or has failed, with a message of printf; of job_done it is empty. */
void job_done(struct job_result *ret);
void job_fail(struct job_result *ret, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

struct job_type {
    struct option_kind kind;
    /* Several iterations may run beside each other (`parallel`): what one does may be done again,
     * and in any order. */
    bool repeatable;
    /* A run that somebody asked for is followed by another one while it says `more` and `moved`:
     * what is wanted is the whole.  Otherwise it is one iteration. */
    bool whole;
    /* It makes documents with keys, which are remembered as those of polling gateways. */
    bool deposits;
    /* With a job of this kind retention works in its runs only (engine/upkeep/purger.h). */
    bool retains;
    /* On s->arena.  It waits for nothing outside. */
    bool (*make)(const struct settings *s, void **ret_self, struct err *err);
    void (*unmake)(void *self);
    void (*run)(void *self, struct job_io *io, struct job_result *ret);
    /* It leaves its runs to somebody outside (job_leave()), with these options.  NULL: never. */
    bool (*leaves)(const void *self);
    /* A state has the form that run() reads: asked before it is stored, and before a run gets it.
     * False: *err says what is wrong with it.  NULL: any text is fine. */
    bool (*check_state)(void *self, struct str state, struct err *err);
};
