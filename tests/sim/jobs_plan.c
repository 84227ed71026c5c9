/* jobs_plan.c - what the schedule says of a record.  It writes nothing.
 *
 * A plan names one nominal time, and the run that is there is the one for it: whoever claims a
 * token and finds that the schedule has another time by now gives it back with that plan.  While a
 * run is there, nobody else settles times: who resumes the job, or gives it other settings, leaves
 * that to its end.  See jobs.h. */
#include "sim.h"

const struct job_rule *job_rule_of(const struct world *w, int job, const struct job_row *r)
{
    return &w->jobs.rules[job][r->rule];
}

static const struct job_run *awaited(const struct job_row *r)
{
    for (int i = 0; i < JOB_RUNS_MOST; i++)
        if (r->runs[i].claim != 0 && r->runs[i].waits)
            return &r->runs[i];
    return NULL;
}

int64_t job_awaited_us(const struct job_row *r)
{
    return awaited(r) != NULL ? awaited(r)->until_us : 0;
}

int64_t job_awaited(const struct job_row *r)
{
    return awaited(r) != NULL ? awaited(r)->claim : 0;
}

int job_open_runs(const struct job_row *r)
{
    int n = 0;

    for (int i = 0; i < JOB_RUNS_MOST; i++)
        n += r->runs[i].claim != 0;
    return n;
}

bool job_may_run(const struct job_row *r)
{
    return !r->gone && (r->stop == JOB_GOES || r->asked_us != 0);
}

struct job_plan job_plan_of(const struct job_row *r)
{
    return (struct job_plan){ .known = r->known,
                              .next_us = r->next_us,
                              .nominal_us = r->nominal_us,
                              .turn = r->turn,
                              .rule = r->rule,
                              .nominal_rule = r->nominal_rule };
}

static uint64_t seed_of(const struct world *w, int job)
{
    return w->seed * JOBS + (uint64_t)job;
}

/* A run that somebody asked for is not one of the schedule: it has a time of its own, also when the
 * job has left and come back meanwhile, and nobody knows any more that it was asked for. */
bool job_was_asked(const struct job_row *r)
{
    return r->asked_us != 0 || (awaited(r) != NULL && awaited(r)->nominal_us != r->nominal_us);
}

static bool is_running(const struct job_row *r, int64_t now_us)
{
    return !job_was_asked(r) && r->nominal_us != 0 && r->nominal_us <= now_us &&
           (r->token == JOB_TOKEN_CLAIMED || job_awaited(r) != 0);
}

static void count_left(struct job_plan *p, const struct schedule_next *next)
{
    p->known.last_us = next->settled_us;
    for (int i = 0; i < SCHEDULE_REASONS; i++)
        p->left_out += next->left[i].count;
}

static void settle(const struct world *w, int job, struct job_plan *p, int64_t now_us)
{
    const struct schedule *s = &w->jobs.rules[job][p->rule].schedule;
    struct schedule_next next = schedule_next(s, &p->known, now_us, seed_of(w, job));
    bool due = next.what == SCHEDULE_DUE;

    count_left(p, &next);
    p->suspend = next.what == SCHEDULE_SUSPENDED;
    p->next_us = due ? next.due_us : 0;
    p->nominal_us = due ? next.nominal_us : 0;
    if (p->known.tries == 0) /* else it repeats the one that it has */
        p->nominal_rule = p->rule;
}

struct job_plan job_plan_now(const struct world *w, int job, const struct job_row *r,
                             int64_t now_us)
{
    struct job_plan p = job_plan_of(r);

    settle(w, job, &p, now_us);
    return p;
}

/* The times before the one that the record names are settled, as of that time: since the plan was
 * made, only such have passed that never count.  What was paused meanwhile comes after it. */
static struct job_plan plan_begun(const struct world *w, int job, const struct job_row *r)
{
    struct job_plan p = job_plan_of(r);
    struct schedule_known known = r->known;

    if (r->nominal_rule != r->rule)
        return p;
    if (known.paused_us >= r->nominal_us)
        known.paused_us = r->nominal_us - 1;
    struct schedule_next next =
        schedule_next(&job_rule_of(w, job, r)->schedule, &known, r->nominal_us, seed_of(w, job));

    if (next.nominal_us == r->nominal_us)
        count_left(&p, &next);
    return p;
}

struct job_plan job_plan_end(const struct world *w, int job, const struct job_row *r,
                             const struct job_result *result, int64_t now_us)
{
    const struct schedule_run run = { .nominal_us = result->nominal_us,
                                      .began_us = result->began_us,
                                      .ended_us = result->ended_us,
                                      .outcome = result->outcome };

    if (result->asked)
        return job_plan_of(r);
    struct job_plan p = plan_begun(w, job, r);

    (void)schedule_end(&job_rule_of(w, job, r)->schedule, &p.known, &run, seed_of(w, job));
    settle(w, job, &p, now_us);
    return p;
}

/* It counts as served; how it ends changes nothing of it. */
static struct job_plan plan_served(const struct world *w, int job, const struct job_row *r,
                                   int64_t now_us)
{
    const struct schedule_run run = { .nominal_us = r->nominal_us,
                                      .began_us = now_us,
                                      .ended_us = now_us,
                                      .outcome = SCHEDULE_MOVED };
    struct job_plan p = plan_begun(w, job, r);
    int64_t failures = p.known.failures, idle = p.known.idle;

    (void)schedule_end(&job_rule_of(w, job, r)->schedule, &p.known, &run, seed_of(w, job));
    p.known.failures = failures;
    p.known.idle = idle;
    settle(w, job, &p, now_us);
    return p;
}

struct job_plan job_plan_beside(const struct world *w, int job, const struct job_row *r,
                                int64_t now_us)
{
    return r->asked_us != 0 ? job_plan_of(r) : plan_served(w, job, r, now_us);
}

struct job_plan job_plan_again(const struct world *w, int job, const struct job_row *r,
                               int64_t now_us)
{
    struct job_plan p = job_plan_of(r);

    p.known.paused_us = now_us;
    p.known.failures = 0;
    if (!is_running(r, now_us))
        settle(w, job, &p, now_us);
    return p;
}

struct job_plan job_plan_cancel(const struct world *w, int job, const struct job_row *r,
                                int64_t now_us)
{
    return is_running(r, now_us) ? plan_served(w, job, r, now_us) : job_plan_of(r);
}
