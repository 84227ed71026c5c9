/* job.h - recurring work: the record of a job, its token, its states.
 *
 * A job has one record, which says what it is (kind, area, digest of its settings), when it comes
 * next, how far it got (state) and what became of its last run.  The right to run it is its token:
 * one task of kind TASK_JOB whose id is the number of the job and whose queue is that of its area.
 * There is no second queue: the token waits in `later` until it is due, is then ready, and is
 * claimed by whichever node is first; claims, their fence, rescue, claims of uncertain commits and
 * poison are those of documents (store/road/task.h).  A job that is paused, suspended, at its end
 * or gone has no token.
 *
 *   job_follow.h    the jobs follow a version of the configuration
 *   job_forget.h    those that have left it long ago are forgotten
 *   job_claim.h     claim tokens that are due, with their records
 *   job_end.h       the end of a run: result, state, next time and token in one commit
 *   job_run.h       runs without the token: beside others, or by somebody outside
 *   job_log.h       the log of runs
 *   job_backfill.h  past times that are still to be served
 *   job_late.h      what the queue check asks
 *   job_operate.h   what people do: pause, resume, suspend, run now, cancel, reset
 *   job_states.h    the last states, of which a reset restores one
 *
 * Invariants
 *   (1) A job has at most one token.  It is at (queue, due_us) of its record: in task_later or in
 *       task_ready; a claimed one was there, and a rescue puts it back there.
 *   (2) Who changes the record and the token locks the record first (PostgreSQL), and puts a token
 *       only if it took one, or if the job had none.  (task_crashed() has the other order.)
 *   (3) A job without stop that is not gone has a token; so has one that a person asked to run.
 *       (One that is stopped may still have a token for a moment, when the claim of a dead node is
 *       rescued: whoever claims it removes it.)
 *   (4) The numbers of states go up by one, and a run replaces only the state that it has read.
 *   `waybill doctor` checks (1), (3) and (4).
 *
 * Times of schedules come from the caller (core/schedule); times of the store's clock.
 *
 * Threads: any that may block; changes run in the writer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/str.h"
#include "store/db/db.h"

struct store;
struct writer;

enum {
    JOB_STATE_MOST = 64 << 10, /* bytes of a state */
    JOB_STATES_KEPT = 20,
    JOB_TEXT_MOST = 1000, /* bytes of a message or reason; what is longer is cut */
    JOBS_MOST = 20000,    /* of a configuration */
    /* With those that are gone: so one configuration can always follow another. */
    JOB_RECORDS_MOST = 2 * JOBS_MOST,
    JOB_GONE_DAYS = 45 /* a job that left the configuration is forgotten after */
};

enum job_stop { JOB_GOES, JOB_PAUSED, JOB_SUSPENDED, JOB_AT_END, JOB_STOPS };
enum job_outcome { JOB_NO_OUTCOME, JOB_DONE, JOB_FAILED, JOB_CANCELLED, JOB_OUTCOMES };

extern const char *const job_stops[JOB_STOPS];       /* "", paused, suspended, ended */
extern const char *const job_outcomes[JOB_OUTCOMES]; /* "", done, failed, cancelled */

/* When the schedule has its next run, and for which time. */
struct job_next {
    int64_t due_us; /* 0: never again */
    int64_t nominal_us;
};

/* What the schedule knows of the past (core/schedule/schedule.h: struct schedule_known). */
struct job_past {
    int64_t settled_us; /* every nominal time up to here was served or left out */
    int64_t paused_us;  /* those up to here passed while it was paused or had another schedule */
    int64_t ended_us;   /* the end of the last run of the schedule; 0: none yet */
    int64_t served;     /* times of the schedule that were served */
    int64_t failures;   /* runs in a row that counted as failed */
    int64_t idle;       /* runs in a row that found nothing */
    bool more;          /* the last run had a full batch, and moved on */
    /* a run that failed and is repeated; tries 0: none */
    int64_t tries, tried_us, first_us;
};

/* What the caller's schedule says, from one moment on.  It is computed from a record, by settings
 * that have the digest of that record, and is written only while the record has the same turn:
 * whoever plans from an older one is told so, reads the record again and plans anew. */
struct job_plan {
    struct job_next next;
    struct job_past past;
    int64_t left_out; /* times that it leaves out, in addition */
    int64_t turn;     /* of that record; 0: there was none */
};

struct job_record {
    int64_t num;
    struct str name, kind, area; /* area empty: any */
    int64_t queue;
    struct sha256 digest; /* of its settings */
    int64_t version;      /* of the configuration, that changed it last */
    int64_t turn;         /* grows with every change of it, except of its state */
    int64_t due_us;       /* of its token */
    struct job_next next; /* of the schedule: not moved by a run that a person asks for */
    int64_t asked_us;     /* when a person asked for the run that comes or is there; 0: none */

    enum job_stop stop;
    int64_t stop_us, stop_until_us; /* until: 0: until somebody resumes it */
    struct str stop_by, stop_why;
    int64_t gone_us; /* since when no configuration has it; 0: one has */

    int64_t state_number; /* 0: it has no state yet */
    struct job_past past;
    int64_t runs;     /* all that ended */
    int64_t left_out; /* times of the schedule */
    int64_t resets;   /* claims in a row that were taken away */

    /* of the last run */
    enum job_outcome outcome;
    struct str message;
    int64_t node, began_us, ended_us;
    int64_t ok_us; /* when the last one ended that was done */

    /* job_list(), job_find() */
    bool running;      /* its token is claimed */
    int64_t holder;    /* the node that has claimed it */
    int64_t open_runs; /* runs without the token (job_run.h) */
    /* The run that has the token: since when it is claimed (with a lease of 0: job_claim.h), or
     * goes on outside, with the token as its time-out; 0: there is none. */
    int64_t held_us;
    int64_t awaited_nominal_us; /* outside: its nominal time; 0: it is claimed */
};

/* The queue of the jobs of an area; an empty area: that of jobs for any. */
bool job_queue(struct store *s, struct str area, int64_t *ret, struct err *err);

/* Jobs by number above `above`, with those that are gone.  ERR_PERMANENT: a record is damaged. */
bool job_list(struct store *s, int64_t above, size_t most, struct arena *a, struct job_record *ret,
              size_t *ret_count, struct err *err);

struct job_with_state {
    struct job_record record;
    struct str state; /* empty: none yet */
};

/* Those of one kind, without those that are gone. */
bool job_list_kind(struct store *s, struct str kind, int64_t above, size_t most, struct arena *a,
                   struct job_with_state *ret, size_t *ret_count, struct err *err);

/* The job with this name; *ret_found: there is one. */
bool job_find(struct store *s, struct str name, struct arena *a, struct job_record *ret,
              bool *ret_found, struct err *err);

/* Another number when a job came, went or was changed; whether it runs does not count. */
bool job_mark(struct store *s, int64_t *ret, struct err *err);

/* ---- inside the store ---- */

void job_read(struct db_rows *row, struct arena *a, void *to); /* the columns `job` */
/* The last parameters of the statements that write a plan. */
enum { JOB_PLAN = 13 };
void job_plan_values(struct db_value v[static JOB_PLAN], const struct job_plan *p);
/* The plan that a record has. */
struct job_plan job_plan_of(const struct job_record *r);
struct str job_cut(struct str text); /* to JOB_TEXT_MOST, whole letters */
bool job_may_run(const struct job_record *r);
/* The record, locked until the commit; num 0: there is none. */
bool job_lock_num(struct writer *w, int64_t num, struct job_record *ret, struct err *err);
