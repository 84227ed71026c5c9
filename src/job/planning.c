#include "job/planning.h"

#include "base/clock.h"
#include "job/book.h"

#define HELD_SLACK_US ((int64_t)CLOCK_S) /* clocks of nodes and of the store differ by less */

static struct schedule_known planning_known(const struct job_past *p)
{
    return (struct schedule_known){ .last_us = p->settled_us,
                                    .ended_us = p->ended_us,
                                    .paused_us = p->paused_us,
                                    .runs = p->served,
                                    .failures = p->failures,
                                    .idle = p->idle,
                                    .more = p->more,
                                    .tries = p->tries,
                                    .nominal_us = p->tried_us,
                                    .first_us = p->first_us };
}

static struct job_past planning_past(const struct schedule_known *k)
{
    return (struct job_past){ .settled_us = k->last_us,
                              .paused_us = k->paused_us,
                              .ended_us = k->ended_us,
                              .served = k->runs,
                              .failures = k->failures,
                              .idle = k->idle,
                              .more = k->more,
                              .tries = k->tries,
                              .tried_us = k->nominal_us,
                              .first_us = k->first_us };
}

/* Returns how many. */
static int64_t planning_add_left(struct schedule_left to[static SCHEDULE_REASONS],
                                 const struct schedule_left from[static SCHEDULE_REASONS])
{
    int64_t count = 0;

    for (enum schedule_reason r = 0; r < SCHEDULE_REASONS; r++) {
        if (from[r].count == 0)
            continue;
        if (to[r].count == 0)
            to[r].first_us = from[r].first_us;
        to[r].last_us = from[r].last_us;
        to[r].count += from[r].count;
        count += from[r].count;
    }
    return count;
}

/* What the schedule says next.  Where its times are not known, that is left to whoever claims it.
 */
static struct schedule_next planning_next(const struct book_job *j, const struct schedule_known *k,
                                          int64_t now_us)
{
    bool suspended = j->schedule.suspend != 0 && k->failures >= j->schedule.suspend;

    if (!j->times_unknown)
        return schedule_next(&j->schedule, k, now_us, j->seed);
    return (struct schedule_next){ .what = suspended ? SCHEDULE_SUSPENDED : SCHEDULE_DUE,
                                   .nominal_us = now_us,
                                   .due_us = now_us,
                                   .settled_us = k->last_us };
}

/* Asks the schedule, settles what it leaves out, and adds that to *p. */
static void planning_ask(const struct book_job *j, struct schedule_known *k, int64_t now_us,
                         struct planning *p)
{
    struct schedule_next n = planning_next(j, k, now_us);

    k->last_us = n.settled_us;
    p->what = n.what;
    p->why = n.why;
    p->late = n.late;
    p->left_more = p->left_more || n.left_more;
    p->plan.next = n.what == SCHEDULE_DUE ? (struct job_next){ n.due_us, n.nominal_us }
                                          : (struct job_next){ 0 };
    p->plan.left_out += planning_add_left(p->left, n.left);
    p->plan.past = planning_past(k);
}

/* The run is over, and its time is served.  It may have begun by other settings: what these have
 * settled since stays settled.  False: it failed, and is repeated. */
static bool planning_serve(const struct schedule *s, struct schedule_known *k,
                           const struct schedule_run *run, uint64_t seed)
{
    int64_t settled_us = k->last_us;
    bool served = schedule_end(s, k, run, seed);

    if (k->last_us < settled_us)
        k->last_us = settled_us;
    return served;
}

void planning_new(const struct book_job *j, int64_t now_us, struct planning *ret)
{
    struct schedule_known k = { .last_us = now_us };

    *ret = (struct planning){ 0 };
    planning_ask(j, &k, now_us, ret);
}

/* The time that it was due for by its old schedule, and that nobody has served yet, is one of the
 * new schedule as well. */
static bool planning_has_time(const struct book_job *j, const struct job_record *r)
{
    int64_t at_us = r->next.nominal_us;

    if (r->gone_us != 0 || at_us == 0)
        return false;
    if (j->times_unknown)
        return true; /* perhaps: it is not for this node to leave it out */
    return j->schedule.form == SCHEDULE_ONCE ? j->schedule.once_us == at_us
           : j->schedule.form == SCHEDULE_AT ? nominal_any(&j->schedule.times, at_us - 1) == at_us
                                             : false;
}

/* What passed meanwhile, if nobody had paused it, passed while it had other settings. */
static void planning_say_changed(const struct job_record *r, struct planning *p)
{
    if (r->gone_us == 0 && (r->stop == JOB_PAUSED || r->stop == JOB_SUSPENDED))
        return;
    p->left[SCHEDULE_CHANGED] = p->left[SCHEDULE_PAUSED];
    p->left[SCHEDULE_PAUSED] = (struct schedule_left){ 0 };
}

/* Times of the new schedule that are over by now were not its to serve, but for the one that was
 * due already.  Failures were those of other settings. */
void planning_changed(const struct book_job *j, const struct job_record *r, int64_t now_us,
                      struct planning *ret)
{
    struct schedule_known k = planning_known(&r->past);
    bool due = planning_has_time(j, r) && r->next.nominal_us <= now_us;

    *ret = (struct planning){ .plan = { .turn = r->turn } };
    k.failures = 0;
    k.paused_us = due ? r->next.nominal_us - 1 : now_us;
    planning_ask(j, &k, now_us, ret);
    planning_say_changed(r, ret);
}

void planning_now(const struct book_job *j, const struct job_record *r, int64_t now_us,
                  struct planning *ret)
{
    struct schedule_known k = planning_known(&r->past);

    *ret = (struct planning){ .plan = { .turn = r->turn } };
    planning_ask(j, &k, now_us, ret);
}

/* The run that is due is taken as served; what becomes of it counts no time, but failures. */
void planning_beside(const struct book_job *j, const struct job_record *r, int64_t now_us,
                     struct planning *ret)
{
    struct schedule_known k = planning_known(&r->past);

    *ret = (struct planning){ .plan = { .turn = r->turn } };
    planning_ask(j, &k, now_us, ret);
    if (ret->what != SCHEDULE_DUE || j->times_unknown)
        return;
    const struct schedule_run run = { .nominal_us = ret->plan.next.nominal_us,
                                      .began_us = now_us,
                                      .ended_us = now_us,
                                      .outcome = SCHEDULE_MOVED };
    int64_t failures = k.failures;

    (void)planning_serve(&j->schedule, &k, &run, j->seed);
    k.failures = failures;
    planning_ask(j, &k, now_us, ret);
}

void planning_end(const struct book_job *j, const struct job_record *r,
                  const struct planning_run *run, int64_t now_us, struct planning *ret)
{
    struct schedule_known k = planning_known(&r->past);
    struct schedule settings = j->schedule;
    const struct schedule_run ended = { .nominal_us = run->nominal_us,
                                        .began_us = run->began_us,
                                        .ended_us = run->ended_us,
                                        .outcome = run->outcome };

    *ret = (struct planning){ .plan = { .turn = r->turn } };
    int64_t paused_us = k.paused_us;

    /* What was left out when the run began is counted now: nothing of it was written then.  Nobody
     * had paused it then. */
    if (k.paused_us >= run->nominal_us)
        k.paused_us = run->nominal_us - 1;
    planning_ask(j, &k, run->planned_us, ret);
    k.paused_us = paused_us;
    if (run->final)
        settings.retry.for_us = 0;
    ret->again = !planning_serve(&settings, &k, &ended, j->seed);
    planning_ask(j, &k, now_us, ret);
}

/* The schedule is not asked: its next plan says what is left out. */
static void planning_stays(const struct job_record *r, const struct schedule_known *k,
                           struct planning *p)
{
    p->plan.next = r->next;
    p->plan.past = planning_past(k);
}

void planning_resumed(const struct book_job *j, const struct job_record *r, int64_t now_us,
                      struct planning *ret)
{
    struct schedule_known k = planning_known(&r->past);

    *ret = (struct planning){ .plan = { .turn = r->turn } };
    k.failures = k.tries = k.nominal_us = k.first_us = 0;
    k.paused_us = now_us;
    if (r->running || r->open_runs > 0) /* its end plans */
        planning_stays(r, &k, ret);
    else
        planning_ask(j, &k, now_us, ret);
}

/* When the run that has the token was planned.  No claim comes before its time: clocks that differ
 * a little are left out of account.  0: its time is none of this schedule, which has changed while
 * it ran. */
static int64_t planning_held_us(const struct job_record *r, int64_t now_us)
{
    int64_t us = r->held_us;

    if (r->next.due_us == 0 || r->next.due_us > r->held_us + HELD_SLACK_US)
        return 0;
    us = us > r->next.due_us ? us : r->next.due_us;
    us = us > r->past.settled_us ? us : r->past.settled_us;
    return us < now_us ? us : now_us;
}

/* The nominal time of the run that has the token; what was left out for it is added to *p, as
 * nothing of it was written when it began.  Nobody had paused it then.  0: the schedule has none.
 */
static int64_t planning_held_time(const struct book_job *j, const struct job_record *r,
                                  struct schedule_known *k, int64_t now_us, struct planning *p)
{
    int64_t held_us = planning_held_us(r, now_us), paused_us = k->paused_us;

    if (held_us == 0)
        return 0;
    if (paused_us >= r->next.nominal_us && paused_us >= held_us)
        k->paused_us = r->next.nominal_us - 1;
    planning_ask(j, k, held_us, p);
    k->paused_us = paused_us;
    if (r->awaited_nominal_us != 0)
        return r->awaited_nominal_us;
    if (j->times_unknown)
        return r->next.nominal_us;
    return p->what == SCHEDULE_DUE && p->plan.next.due_us <= held_us ? p->plan.next.nominal_us : 0;
}

/* Its time has been served, as far as it came; it says nothing about failures.  Runs beside others
 * have served theirs already. */
void planning_cancelled(const struct book_job *j, const struct job_record *r, int64_t now_us,
                        struct planning *ret)
{
    struct schedule_known k = planning_known(&r->past);
    int64_t failures = k.failures;

    *ret = (struct planning){ .plan = { .turn = r->turn } };
    if (r->asked_us != 0 || r->held_us == 0) {
        planning_stays(r, &k, ret);
        return;
    }
    const struct schedule_run run = { .nominal_us = planning_held_time(j, r, &k, now_us, ret),
                                      .began_us = r->held_us,
                                      .ended_us = now_us,
                                      .outcome = SCHEDULE_MOVED };

    if (run.nominal_us != 0) {
        (void)planning_serve(&j->schedule, &k, &run, j->seed);
        k.failures = failures;
        ret->served_us = run.nominal_us;
    }
    planning_ask(j, &k, now_us, ret);
}

size_t planning_forecast(const struct book_job *j, const struct job_record *r, int64_t now_us,
                         size_t most, struct planning_coming *ret)
{
    struct schedule_known k = planning_known(&r->past);
    struct planning_coming c = { 0 };
    int64_t asked_us = now_us;
    size_t n = 0;

    if (r->stop == JOB_PAUSED || r->stop == JOB_SUSPENDED) { /* as if it were resumed now */
        k.failures = k.tries = k.nominal_us = k.first_us = 0;
        k.paused_us = now_us;
    }
    while (n < most && !j->times_unknown) {
        struct schedule_next next = schedule_next(&j->schedule, &k, now_us, j->seed);

        if (next.what == SCHEDULE_SUSPENDED)
            break;
        k.last_us = next.settled_us;
        (void)planning_add_left(c.left, next.left);
        c.left_more = c.left_more || next.left_more;
        c.what = next.what;
        c.why = next.why;
        if (next.what == SCHEDULE_DUE && next.due_us > now_us) {
            now_us = next.due_us;
            continue;
        }
        c.nominal_us = next.nominal_us;
        c.due_us = now_us > asked_us ? now_us : 0;
        c.late = next.late;
        ret[n++] = c;
        if (next.what != SCHEDULE_DUE)
            break;
        ret[n - 1].clock = nominal_clock(&j->schedule.times, next.nominal_us);
        c = (struct planning_coming){ 0 };
        const struct schedule_run run = { .nominal_us = next.nominal_us,
                                          .began_us = now_us,
                                          .ended_us = now_us,
                                          .outcome = SCHEDULE_MOVED };

        (void)schedule_end(&j->schedule, &k, &run, j->seed);
    }
    return n;
}
