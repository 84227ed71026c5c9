#include "admin/view/job_view.h"

const char *const job_shown_words[JOB_SHOWN_STATES] = { [JOB_SHOWN_SCHEDULED] = "scheduled",
                                                        [JOB_SHOWN_DUE] = "due",
                                                        [JOB_SHOWN_RUNNING] = "running",
                                                        [JOB_SHOWN_PAUSED] = "paused",
                                                        [JOB_SHOWN_SUSPENDED] = "suspended",
                                                        [JOB_SHOWN_ENDED] = "ended",
                                                        [JOB_SHOWN_GONE] = "gone" };

/* Paused or suspended, and nobody has asked for a run. */
static bool job_is_still(const struct job_record *r)
{
    return r->gone_us != 0 || (r->stop != JOB_GOES && r->asked_us == 0);
}

enum job_shown job_shown_of(const struct job_record *r, int64_t now_us)
{
    static const enum job_shown stopped[JOB_STOPS] = { [JOB_PAUSED] = JOB_SHOWN_PAUSED,
                                                       [JOB_SUSPENDED] = JOB_SHOWN_SUSPENDED,
                                                       [JOB_AT_END] = JOB_SHOWN_ENDED };

    if (r->running || r->open_runs > 0)
        return JOB_SHOWN_RUNNING;
    if (r->gone_us != 0)
        return JOB_SHOWN_GONE;
    if (job_is_still(r))
        return stopped[r->stop];
    return r->due_us <= now_us ? JOB_SHOWN_DUE : JOB_SHOWN_SCHEDULED;
}

int64_t job_shown_next(const struct job_record *r)
{
    return job_is_still(r) || r->running ? 0 : r->due_us;
}

int64_t job_shown_nominal(const struct job_record *r)
{
    return r->gone_us != 0 || r->stop != JOB_GOES || r->asked_us != 0 ? 0 : r->next.nominal_us;
}

int64_t job_shown_lag(const struct job_record *r, int64_t now_us)
{
    int64_t next_us = job_shown_next(r);

    return next_us != 0 && next_us <= now_us ? now_us - next_us : -1;
}

/* What is refused whatever was asked for. */
static const char *job_refused(enum job_answer answer)
{
    switch (answer) {
    case JOB_IS_GONE:
        return "has left the configuration: apply a version that has it, and it goes on where it "
               "was";
    case JOB_IS_RUNNING:
        return "runs already: wait for its end, or cancel it";
    case JOB_NOT_RUNNING:
        return "does not run: there is nothing to cancel";
    case JOB_HAS_BACKFILL:
        return "has a backfill that is not over: wait for its end, or cancel it";
    case JOB_NOT_STOPPED:
        return "is neither paused nor suspended";
    case JOB_NOT_KEPT:
        return "does not keep a state with this number: see `waybill jobs show` for those that it "
               "keeps";
    case JOB_OLD_PLAN:
        return "was changed by others all the time: try again";
    default:
        return "does not exist";
    }
}

const char *job_answer_text(enum job_act act, enum job_answer answer)
{
    if (answer == JOB_OK)
        return NULL;
    if (answer == JOB_IS_STOPPED)
        return act == JOB_PAUSE ? "is suspended or at its end already: nothing begins anyway"
                                : "is at its end";
    return job_refused(answer);
}
