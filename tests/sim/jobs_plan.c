/* jobs_plan.c - what the schedule says of a record: the plans of src/job/planning.c, asked as the
 * engine asks.  It writes nothing.  See jobs.h. */
#include "planner.h"
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

const struct job_run *job_find_run(const struct job_row *r, int64_t claim)
{
    for (int i = 0; i < JOB_RUNS_MOST; i++)
        if (claim != 0 && r->runs[i].claim == claim)
            return &r->runs[i];
    return NULL;
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
                              .rule = r->rule };
}

static uint64_t seed_of(const struct world *w, int job)
{
    return w->seed * JOBS + (uint64_t)job;
}

/* Of the run that is there. */
bool job_was_asked(const struct job_row *r)
{
    return r->asked_us != 0 || (awaited(r) != NULL && awaited(r)->asked);
}

static struct planner_record record_of(const struct world *w, int job, const struct job_row *r)
{
    const struct job_run *outside = awaited(r);
    bool claimed = r->token == JOB_TOKEN_CLAIMED;

    return (struct planner_record){ .schedule = &job_rule_of(w, job, r)->schedule,
                                    .seed = seed_of(w, job),
                                    .known = r->known,
                                    .next_us = r->next_us,
                                    .nominal_us = r->nominal_us,
                                    .turn = r->turn,
                                    .running = claimed,
                                    .open_runs = job_open_runs(r),
                                    .asked_us = job_was_asked(r),
                                    .held_us = outside != NULL ? outside->began_us
                                               : claimed       ? r->claimed_us
                                                               : 0,
                                    .awaited_nominal_us = outside != NULL ? outside->nominal_us : 0,
                                    .gone = r->gone };
}

static struct job_plan plan_by(const struct job_row *r, const struct planner_answer *a)
{
    return (struct job_plan){ .known = a->known,
                              .next_us = a->next_us,
                              .nominal_us = a->nominal_us,
                              .left_out = a->left_out,
                              .suspend = a->suspended,
                              .served_us = a->served_us,
                              .turn = r->turn,
                              .rule = r->rule };
}

static struct job_plan ask(const struct world *w, int job, const struct job_row *r, int64_t now_us,
                           enum planner_why why)
{
    const struct planner_record record = record_of(w, job, r);
    const struct planner_answer a = planner_ask(why, &record, now_us);

    return plan_by(r, &a);
}

struct job_plan job_plan_new(const struct world *w, int job, const struct job_row *r,
                             int64_t now_us)
{
    const struct planner_answer a =
        planner_new(&job_rule_of(w, job, r)->schedule, seed_of(w, job), now_us);

    return plan_by(r, &a);
}

struct job_plan job_plan_now(const struct world *w, int job, const struct job_row *r,
                             int64_t now_us)
{
    return ask(w, job, r, now_us, PLANNER_NOW);
}

struct job_plan job_plan_end(const struct world *w, int job, const struct job_row *r,
                             const struct job_result *result, int64_t now_us)
{
    const struct planner_record record = record_of(w, job, r);
    const struct planner_run run = { .nominal_us = result->nominal_us,
                                     .began_us = result->began_us,
                                     .ended_us = result->ended_us,
                                     .planned_us = result->began_us,
                                     .outcome = result->outcome };

    if (result->asked)
        return job_plan_of(r);
    const struct planner_answer a = planner_end(&record, &run, now_us);
    struct job_plan p = plan_by(r, &a);

    p.served_us = result->nominal_us;
    return p;
}

/* The time that is served is the one that the schedule has now. */
static struct job_plan serve(const struct world *w, int job, const struct job_row *r,
                             int64_t now_us, enum planner_why why)
{
    struct job_plan p = ask(w, job, r, now_us, why);

    p.served_us = job_plan_now(w, job, r, now_us).nominal_us;
    return p;
}

struct job_plan job_plan_beside(const struct world *w, int job, const struct job_row *r,
                                int64_t now_us)
{
    return r->asked_us != 0 ? job_plan_of(r) : serve(w, job, r, now_us, PLANNER_BESIDE);
}

struct job_plan job_plan_resumed(const struct world *w, int job, const struct job_row *r,
                                 int64_t now_us)
{
    return ask(w, job, r, now_us, PLANNER_RESUMED);
}

struct job_plan job_plan_changed(const struct world *w, int job, const struct job_row *r,
                                 int64_t now_us)
{
    return ask(w, job, r, now_us, PLANNER_CHANGED);
}

struct job_plan job_plan_cancelled(const struct world *w, int job, const struct job_row *r,
                                   int64_t now_us)
{
    return ask(w, job, r, now_us, PLANNER_CANCELLED);
}
