/* job_end.h - the end of a run: result, state, next time and token, in one commit.
 *
 * It matches the claim: with a claim that was lost (its node was declared dead, somebody cancelled
 * the run) nothing changes, and the result says so.  The next time was computed from settings and
 * from a record; if the record has other settings by now, or was changed (somebody paused or
 * resumed the job), nothing changes either and the claim stays: the caller plans again from
 * `record`, with the version that has its settings.  A job that was stopped or left the
 * configuration while it ran gets its result, and no token.
 *
 * A state replaces the one that the run has read.  If there is another one by now (a person has
 * reset it), the new one is not stored and `stale` says so; everything else is.
 *
 * Ends are queued like settlements: all that wait are one group.
 *
 * Threads: submit from any; done() on a writer thread.
 */
#pragma once

#include "store/job/job.h"
#include "store/kernel/writer.h"
#include "store/road/task.h"

enum job_end_result {
    JOB_END_WRITTEN,
    JOB_END_LOST,     /* the claim is not ours any more: nothing was changed */
    JOB_END_SETTINGS, /* the record has other settings: nothing was changed, the claim stays */
    JOB_END_PLAN      /* the plan is of an older record: nothing was changed, the claim stays */
};

struct job_end_op {
    struct store_op op; /* verb = &job_end_verb */
    struct task task;   /* the claim */
    int64_t awaited;    /* of the claim: the run outside that is over with this one; 0: none */
    struct sha256 digest;
    int64_t queue; /* job_queue() of the area in these settings */

    enum job_outcome outcome;
    struct str message; /* up to JOB_TEXT_MOST */
    int64_t began_us, ended_us;

    bool has_state;
    struct str state;     /* up to JOB_STATE_MOST */
    int64_t state_number; /* of the state that the run has read */

    bool asked;           /* the run began as one that was asked for */
    struct job_plan plan; /* unused for such a run: the schedule stays as it is */
    int64_t goes_on_us;   /* when another one is wanted, as this one was asked for; 0: none is */
    int64_t again_us;     /* of a backfill, failed: its time is not tried again before */
    bool final;           /* ... nor at all: it would fail again */
    bool suspend;
    struct str why; /* it is suspended, or at its end */

    /* the answer, when op.ok */
    enum job_end_result result;
    bool stale;   /* the state was not stored */
    bool planned; /* the plan was written: times that it leaves out are to be told */
    enum job_stop stop;
    int64_t due_us; /* of the token; 0: there is none */
    /* JOB_END_SETTINGS, JOB_END_PLAN: the record as it is now, without its texts. */
    struct job_record record;

    /* the writer's own */
    struct job_plan written;
    int64_t asked_us; /* of the record: it goes on */
    bool found, ours;
};

extern const struct store_verb job_end_verb;

/* Why a job is suspended behind so many failed runs in a row; the text is in `room`. */
enum { JOB_WHY_MOST = JOB_TEXT_MOST + 100 };
struct str job_why_failed(char room[static JOB_WHY_MOST], int64_t failures, struct str message);

/* For job_run.c, in an open transaction, with o->record locked: whether settings and plan are those
 * of the record, else the result says so; writes ends whose claims were taken. */
bool job_end_fits(struct job_end_op *o);
bool job_end_write(struct writer *w, struct job_end_op **ops, size_t count, struct err *err);

/* The claim was not used (no slot is free, this node does not know the settings yet, the schedule
 * has another time by now): the token is due again at due_us; no run is counted.  plan: NULL: as it
 * was; with a plan that has no next time the job is at its end, because of `why`.  *ret:
 * JOB_END_WRITTEN, JOB_END_LOST or JOB_END_PLAN. */
bool job_give_back(struct store *s, const struct task *t, int64_t due_us,
                   const struct job_plan *plan, struct str why, enum job_end_result *ret,
                   struct err *err);
