/* planner.c - see planner.h. */
#include "planner.h"

#include "job/book.h"
#include "job/planning.h"

static struct job_past past_of(const struct schedule_known *k)
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

static struct schedule_known known_of(const struct job_past *p)
{
    return (struct schedule_known){ .last_us = p->settled_us,
                                    .paused_us = p->paused_us,
                                    .ended_us = p->ended_us,
                                    .runs = p->served,
                                    .failures = p->failures,
                                    .idle = p->idle,
                                    .more = p->more,
                                    .tries = p->tries,
                                    .nominal_us = p->tried_us,
                                    .first_us = p->first_us };
}

static struct job_record record_of(const struct planner_record *r)
{
    return (struct job_record){ .past = past_of(&r->known),
                                .next = { r->next_us, r->nominal_us },
                                .turn = r->turn,
                                .running = r->running,
                                .open_runs = r->open_runs,
                                .asked_us = r->asked_us,
                                .held_us = r->held_us,
                                .awaited_nominal_us = r->awaited_nominal_us,
                                .gone_us = r->gone };
}

static struct book_job book_of(const struct schedule *s, uint64_t seed)
{
    return (struct book_job){ .schedule = *s, .seed = seed };
}

static struct planner_answer answer_of(const struct planning *p)
{
    return (struct planner_answer){ .known = known_of(&p->plan.past),
                                    .next_us = p->plan.next.due_us,
                                    .nominal_us = p->plan.next.nominal_us,
                                    .left_out = p->plan.left_out,
                                    .served_us = p->served_us,
                                    .suspended = p->what == SCHEDULE_SUSPENDED };
}

struct planner_answer planner_new(const struct schedule *s, uint64_t seed, int64_t now_us)
{
    const struct book_job j = book_of(s, seed);
    struct planning p;

    planning_new(&j, now_us, &p);
    return answer_of(&p);
}

struct planner_answer planner_ask(enum planner_why why, const struct planner_record *r,
                                  int64_t now_us)
{
    static void (*const plans[])(const struct book_job *j, const struct job_record *r,
                                 int64_t now_us, struct planning *ret) = {
        [PLANNER_NOW] = planning_now,
        [PLANNER_BESIDE] = planning_beside,
        [PLANNER_CHANGED] = planning_changed,
        [PLANNER_RESUMED] = planning_resumed,
        [PLANNER_CANCELLED] = planning_cancelled,
    };
    const struct book_job j = book_of(r->schedule, r->seed);
    const struct job_record record = record_of(r);
    struct planning p;

    plans[why](&j, &record, now_us, &p);
    return answer_of(&p);
}

struct planner_answer planner_end(const struct planner_record *r, const struct planner_run *run,
                                  int64_t now_us)
{
    const struct book_job j = book_of(r->schedule, r->seed);
    const struct job_record record = record_of(r);
    const struct planning_run ended = { .nominal_us = run->nominal_us,
                                        .began_us = run->began_us,
                                        .ended_us = run->ended_us,
                                        .planned_us = run->planned_us,
                                        .outcome = run->outcome };
    struct planning p;

    planning_end(&j, &record, &ended, now_us, &p);
    return answer_of(&p);
}
