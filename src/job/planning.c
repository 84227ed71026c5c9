#include "job/planning.h"

#include "job/book.h"

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

/* Asks the schedule, settles what it leaves out, and adds that to *p. */
static void planning_ask(const struct book_job *j, struct schedule_known *k, int64_t now_us,
                         struct planning *p)
{
    struct schedule_next n = schedule_next(&j->schedule, k, now_us, j->seed);

    k->last_us = n.settled_us;
    p->what = n.what;
    p->why = n.why;
    p->late = n.late;
    p->left_more = p->left_more || n.left_more;
    p->plan.next = n.what == SCHEDULE_DUE ? (struct job_next){ n.due_us, n.nominal_us }
                                          : (struct job_next){ 0 };
    for (enum schedule_reason r = 0; r < SCHEDULE_REASONS; r++) {
        struct schedule_left *left = &p->left[r];

        if (n.left[r].count == 0)
            continue;
        if (left->count == 0)
            left->first_us = n.left[r].first_us;
        left->last_us = n.left[r].last_us;
        left->count += n.left[r].count;
        p->plan.left_out += n.left[r].count;
    }
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
    return j->schedule.form == SCHEDULE_ONCE ? j->schedule.once_us == at_us
           : j->schedule.form == SCHEDULE_AT ? nominal_any(&j->schedule.times, at_us - 1) == at_us
                                             : false;
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
    if (ret->what != SCHEDULE_DUE)
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

void planning_resumed(const struct book_job *j, const struct job_record *r, int64_t now_us,
                      struct planning *ret)
{
    struct schedule_known k = planning_known(&r->past);

    *ret = (struct planning){ .plan = { .turn = r->turn } };
    k.failures = k.tries = k.nominal_us = k.first_us = 0;
    k.paused_us = now_us;
    if (r->running || r->open_runs > 0) { /* its end plans */
        ret->plan.next = r->next;
        ret->plan.past = planning_past(&k);
        return;
    }
    planning_ask(j, &k, now_us, ret);
}

/* Its time has been served, as far as it came; it says nothing about failures. */
void planning_cancelled(const struct book_job *j, const struct job_record *r, int64_t now_us,
                        struct planning *ret)
{
    struct schedule_known k = planning_known(&r->past);
    int64_t failures = k.failures;

    *ret = (struct planning){ .plan = { .turn = r->turn } };
    planning_ask(j, &k, now_us, ret);
    if (ret->what != SCHEDULE_DUE || ret->plan.next.nominal_us > now_us)
        return;
    const struct schedule_run run = { .nominal_us = ret->plan.next.nominal_us,
                                      .began_us = r->began_us,
                                      .ended_us = now_us,
                                      .outcome = SCHEDULE_MOVED };

    (void)planning_serve(&j->schedule, &k, &run, j->seed);
    k.failures = failures;
    planning_ask(j, &k, now_us, ret);
}

size_t planning_forecast(const struct book_job *j, const struct job_record *r, int64_t now_us,
                         size_t most, int64_t *ret_us)
{
    struct schedule_known k = planning_known(&r->past);
    size_t n = 0;

    if (r->stop == JOB_PAUSED || r->stop == JOB_SUSPENDED) { /* as if it were resumed now */
        k.failures = k.tries = k.nominal_us = k.first_us = 0;
        k.paused_us = now_us;
    }
    while (n < most) {
        struct schedule_next next = schedule_next(&j->schedule, &k, now_us, j->seed);

        k.last_us = next.settled_us;
        if (next.what != SCHEDULE_DUE)
            break;
        if (next.due_us > now_us) {
            now_us = next.due_us;
            continue;
        }
        ret_us[n++] = next.nominal_us;
        const struct schedule_run run = { .nominal_us = next.nominal_us,
                                          .began_us = now_us,
                                          .ended_us = now_us,
                                          .outcome = SCHEDULE_MOVED };

        (void)schedule_end(&j->schedule, &k, &run, j->seed);
    }
    return n;
}
