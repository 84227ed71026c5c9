/* jobs.c - the jobs of a run, by its seed.  See jobs.h. */
#include <stdio.h>

#include "base/require.h"
#include "core/zone.h"
#include "sim.h"

/* From before the time that nobody served until after the end. */
enum { WINDOWS_BEFORE = 12, WINDOWS = 36, DAY_MINUTES = 1440 };

static struct window windows[WINDOWS];
static const struct window_set window_set = { .windows = windows, .count = WINDOWS };

static const struct zone *make_zone(const struct world *w)
{
    int first = (int)(w->start_us / S / 60 % DAY_MINUTES) / JOB_TURN_MINUTES - WINDOWS_BEFORE;
    const struct zone *utc;
    struct err err;

    require(zone_load(STR("UTC"), NULL, &utc, &err));
    for (int i = 0; i < WINDOWS; i++) {
        int minute = ((first + i) * JOB_TURN_MINUTES + DAY_MINUTES) % DAY_MINUTES;

        windows[i] = (struct window){ .days = 0x7f,
                                      .open_minute = minute,
                                      .close_minute = minute + JOB_OPEN_MINUTES,
                                      .zone = utc };
    }
    return utc;
}

static void make_times(struct world *w, struct job_rule *r)
{
    struct schedule *s = &r->schedule;
    char text[32];
    struct err err;

    r->step = 1 + world_pick(w, 3);
    r->phase = world_pick(w, r->step);
    (void)snprintf(text, sizeof text, "%d-59/%d * * * *", r->phase, r->step);
    require(cron_parse(str_of(text), &r->cron, &err));
    s->times.crons = &r->cron;
    s->times.count = 1;
}

static void make_form(struct world *w, struct job_rule *r, bool windowed)
{
    struct schedule *s = &r->schedule;
    int chance = world_pick(w, 10);

    s->form = chance < 5 ? SCHEDULE_AT : chance < 9 ? SCHEDULE_EVERY : SCHEDULE_ONCE;
    s->times.zone = make_zone(w);
    if (s->form == SCHEDULE_AT)
        make_times(w, r);
    if (windowed && r->step != JOB_TURN_MINUTES) /* else none would count, or all */
        s->times.window = &window_set;
    s->every_us =
        world_luck(w, 30) ? world_between(w, 200 * MS, 1 * S) : world_between(w, 1 * S, 10 * S);
    s->idle_most_us = world_luck(w, 50) ? 0 : s->every_us * 4;
    s->once_us = w->start_us + world_between(w, -600 * INT64_C(1000000), 90 * S);
}

static void make_rule(struct world *w, struct job_rule *r)
{
    struct schedule *s = &r->schedule;

    make_form(w, r, world_luck(w, 20));
    s->jitter_us = world_luck(w, 30) ? world_between(w, 1 * MS, 5 * S) : 0;
    s->runs = world_luck(w, 8) ? 3 + world_pick(w, 20) : 0;
    s->until_us = s->form != SCHEDULE_ONCE && world_luck(w, 8)
                      ? w->start_us + world_between(w, 20 * S, 90 * S)
                      : 0;
    s->catch_up = (enum schedule_catch_up)world_pick(w, 3);
    s->catch_up_most = world_luck(w, 50) ? 100 : 1 + world_pick(w, 12);
    s->retry =
        (struct retry_rule){ .first_us = world_between(w, 200 * MS, 2 * S),
                             .most_us = world_between(w, 2 * S, 6 * S),
                             .for_us = world_luck(w, 30) ? 0 : world_between(w, 2 * S, 20 * S) };
    s->suspend = world_luck(w, 40) ? 0 : 2 + world_pick(w, 4);
    r->parallel = world_luck(w, 60) ? 1 : 2 + world_pick(w, JOB_RUNS_MOST - 1);
    r->outside = world_luck(w, 35);
    r->timeout_us = world_between(w, 3 * S, 15 * S);
    r->longest_us =
        world_luck(w, 50) ? world_between(w, 10 * MS, 500 * MS) : world_between(w, 1 * S, 5 * S);
    r->failing = world_luck(w, 50) ? 0 : world_pick(w, 60);
    r->idle = world_luck(w, 50) ? 0 : world_pick(w, 80);
    r->full = world_luck(w, 60) ? 0 : world_pick(w, 40);
    r->hanging = world_luck(w, 80) ? 0 : 4;
}

/* It came then, and perhaps nobody has served it since. */
static void make_row(struct world *w, int job)
{
    struct job_row *r = &w->jobs.rows[job];
    int64_t came_us = w->start_us - (world_luck(w, 50) ? 0 : world_between(w, 0, JOB_PAST_US));

    *r = (struct job_row){ .turn = 1 };
    struct job_plan p = job_plan_new(w, job, r, came_us);

    job_put_plan(r, &p);
    r->due_us = p.next_us;
    r->stop = p.next_us == 0 ? JOB_AT_END : JOB_GOES;
    r->token = p.next_us == 0 ? JOB_TOKEN_NONE : JOB_TOKEN_WAITS;
}

void jobs_make(struct world *w)
{
    struct jobs *j = &w->jobs;

    j->count = 1 + world_pick(w, JOBS);
    j->slots = 1 + world_pick(w, SLOTS_MOST);
    j->farm = w->node_count > 1 && world_luck(w, 50);
    for (int i = 0; i < j->count; i++) {
        for (int k = 0; k < JOB_RULES; k++)
            make_rule(w, &j->rules[i][k]);
        make_row(w, i);
    }
    jobs_people_plan(w);
    if (world_luck(w, 15))
        world_push(w, world_between(w, 0, ACTIVE_US), EV_NIGHT, -1, 0, 0);
}

void jobs_describe(struct world *w)
{
    static const char *const forms[] = { "every", "at", "once" };
    static const char *const words[] = { "skip", "once", "all" };

    for (int i = 0; i < w->jobs.count; i++)
        for (int k = 0; k < JOB_RULES; k++) {
            const struct job_rule *r = &w->jobs.rules[i][k];
            const struct schedule *s = &r->schedule;

            TRACE(w, "job %d, settings %d: %s (%lld ms, %d/%d), catch up %s, %d at once%s%s", i, k,
                  forms[s->form], (long long)(s->every_us / MS), r->phase, r->step,
                  words[s->catch_up], r->parallel, r->outside ? ", outside" : "",
                  s->times.window != NULL ? ", with windows" : "");
        }
}

bool jobs_are_over(const struct world *w)
{
    for (int i = 0; i < w->jobs.count; i++) {
        const struct job_row *r = &w->jobs.rows[i];

        if (!w->jobs.watch[i].finished || r->token != JOB_TOKEN_NONE || job_open_runs(r) > 0)
            return false;
    }
    return true;
}
