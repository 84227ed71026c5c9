/* job_run.h - runs of a job without its token: beside others, or by somebody outside.
 *
 * A run that holds the token is the only one of its job.  Two kinds of runs go on without it, and
 * have a row instead, by job and claim:
 *
 *   beside    `parallel: n`: the token goes back with the next time at once, so that another run
 * may begin, while fewer than n are there.  The n-th one keeps the token. outside   a service works
 * in its own time and acknowledges later.  No node holds the job.  If no other run may begin beside
 * it, its token waits in `later` as its time-out.
 *
 * Runs are counted as rows, never in a counter.  All changes lock the record of the job first.
 *
 * A state is stored only if nothing has replaced the one that the run has read; else it is `stale`.
 * Somebody outside knows a secret, of which the row has the digest; who calls job_run_end() and
 * job_run_beat() for him has compared it.
 *
 * The row decides who ends a run: whoever removes it.  It goes with its end, with a cancel, with
 * the end of a claim that was its time-out (job_end_op.awaited), and with its job.  The end of the
 * run takes the claim of its time-out away, and so does a beat.
 *
 * A run whose time is over is found by job_run_late(), one whose node died by job_run_left(), by
 * any node, which then ends it.  So does one for which the token should wait, if the job has none
 * (it is paused, or has left the configuration), or nobody claims it.
 *
 * What is over or late is so by a time that the caller gives: the clock of the store, but one that
 * has confirmed its jumps (core/steady.h).
 *
 * Threads: any that may block.
 */
#pragma once

#include "store/job/job_ack.h"
#include "store/job/job_end.h"

enum { JOB_RUNS_MOST = 100 }; /* of a job, and in one answer */

struct job_run {
    int64_t job, claim, node;
    int64_t nominal_us, began_us, until_us;
    int64_t state_number; /* of the state that it has read */
    bool waits;           /* the token waits for it, as its time-out */
    bool outside;
    struct sha256 ack; /* outside: digest of the secret with which it is acknowledged */
};

enum job_opened {
    JOB_OPENED,        /* it has a row; the claim is used up */
    JOB_OPEN_HELD,     /* it keeps the token, and ends by job_end_verb: nothing was changed */
    JOB_OPEN_TOO_MANY, /* it must not begin: nothing was changed, the claim is to be given back */
    JOB_OPEN_LOST,     /* the claim was lost: nothing was changed */
    JOB_OPEN_PLAN      /* the plan is of an older record: nothing was changed, the claim stays */
};

struct job_run_open {
    struct task task;
    int64_t nominal_us; /* that it is for; 0: that of the record */
    /* Of the state that it has read, with its claim.  The record may have another one by now: of a
     * run that ended beside it meanwhile, or of a person. */
    int64_t state_number;
    int64_t parallel; /* so many may run at the same time, with this one; 1 to JOB_RUNS_MOST */
    int64_t began_us, until_us;
    bool outside;
    struct sha256 ack;
    struct job_plan plan; /* with this run served: the next time of the token, if it goes back */

    /* the answer */
    enum job_opened opened;
    bool waits;
    int64_t due_us;           /* JOB_OPENED: of the token; 0: there is none */
    struct job_record record; /* JOB_OPEN_PLAN: as it is now, without its texts */
};

bool job_run_open(struct store *s, struct job_run_open *o, struct err *err);

/* It goes on until then.  *ret_open false: it is over. */
bool job_run_beat(struct store *s, int64_t job, int64_t claim, int64_t until_us, bool *ret_open,
                  struct err *err);

/* The end of the run o->task.id, o->task.claim; results as of job_end_verb (JOB_END_LOST: it is
 * over).  Plan, queue and digest count only if the token waits for it; otherwise the schedule has
 * moved on already, only failures in a row are counted, and the job is suspended after so many; a
 * cancelled one changes nothing of that.  Then end->suspend says whether it was, and end->why for
 * which reason.
 * late_us: only if its time is over by then or its node died; 0: in any case.  began_us and
 * state_number come from its row. */
struct job_run_end {
    struct job_end_op *end;
    int64_t suspend_after; /* 0: never */
    bool suspend;          /* failed: it is suspended whatever went well before */
    int64_t late_us;
    const struct job_ack *ack; /* outside: it ends by this one; outcome and stale are set */
    char why[JOB_WHY_MOST];    /* the room of end->why */
};
bool job_run_end(struct store *s, struct job_run_end *e, struct err *err);

bool job_run_get(struct store *s, int64_t job, int64_t claim, struct job_run *ret, bool *ret_found,
                 struct err *err);
/* Runs of a job, oldest first. */
bool job_run_list(struct store *s, int64_t job, size_t most, struct job_run *ret, size_t *ret_count,
                  struct err *err);
/* Pages of what is behind `above`, the last run of the page before; for the first page it is all
 * zeros.  late: runs whose time is over at now_us; one for which the token waits only `patience_us`
 * later, since whoever claims the token ends it.  left: runs of dead nodes whose time is not over.
 */
bool job_run_late(struct store *s, int64_t now_us, int64_t patience_us, const struct job_run *above,
                  size_t most, struct job_run *ret, size_t *ret_count, struct err *err);
bool job_run_left(struct store *s, int64_t now_us, const struct job_run *above, size_t most,
                  struct job_run *ret, size_t *ret_count, struct err *err);

/* Runs that an order has ended (job_operate.h).  Of the one that held the token, which has no row,
 * the nominal time is that for which a person asked, or 0: the schedule knows it. */
struct job_over {
    struct job_run runs[JOB_RUNS_MOST + 1];
    size_t count;
    int64_t due_us; /* of the token */
};

/* ---- inside the store ---- */

/* job_run_list(), in an open transaction. */
bool job_run_read(struct writer *w, int64_t job, struct job_run ret[static JOB_RUNS_MOST],
                  size_t *ret_count, struct err *err);
