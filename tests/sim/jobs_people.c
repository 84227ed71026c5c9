/* jobs_people.c - what people do to jobs: store/job/job_operate.h, and new settings as
 * store/job/job_follow.h takes them.  See jobs.h. */
#include "sim.h"

enum act { PAUSE, RESUME, RUN, CANCEL, RESET, CHANGE, LEAVE, ACTS };

static const char *const acts[ACTS] = { "pause", "resume", "run",  "cancel",
                                        "reset", "change", "leave" };

/* People look at the clock of a node. */
static int64_t clock_us(const struct world *w)
{
    for (int i = 0; i < w->node_count; i++)
        if (w->nodes[i].registered)
            return node_clock_us(w, i);
    return world_store_us(w);
}

static bool is_claimed(const struct job_row *r)
{
    return r->token == JOB_TOKEN_CLAIMED;
}

static void put_token(struct job_row *r, int64_t due_us)
{
    r->token = JOB_TOKEN_WAITS;
    r->claim = (struct claim){ 0 };
    r->due_us = due_us;
}

/* Where the schedule says, or where a run outside is over. */
static void schedule(struct job_row *r)
{
    if (job_awaited(r) == 0)
        r->asked_us = 0; /* else that run goes on */
    if (r->stop == JOB_GOES && r->next_us == 0)
        r->stop = JOB_AT_END;
    if (r->stop == JOB_GOES && !r->gone)
        put_token(r, job_awaited_us(r) != 0 ? job_awaited_us(r) : r->next_us);
}

/* Times passed while it was stopped, or had other settings.  Of those it keeps what was due
 * already, if that is a time of the new ones, too. */
static void pass(struct world *w, int job, int64_t passed_us)
{
    w->jobs.watch[job].stopped_us = clock_us(w);
    w->jobs.watch[job].passed_us = passed_us;
}

static bool do_pause(struct job_row *r)
{
    if (r->stop == JOB_AT_END || r->stop == JOB_SUSPENDED || r->gone)
        return false;
    if (!is_claimed(r) && (r->asked_us == 0 || job_awaited(r) == 0)) { /* else it goes on */
        r->token = JOB_TOKEN_NONE;
        r->asked_us = 0;
    }
    r->stop = JOB_PAUSED;
    r->turn++;
    return true;
}

static bool do_resume(struct world *w, int job, struct job_row *r)
{
    if ((r->stop != JOB_PAUSED && r->stop != JOB_SUSPENDED) || r->gone)
        return false;
    struct job_plan p = job_plan_resumed(w, job, r, clock_us(w));

    pass(w, job, clock_us(w));
    r->stop = JOB_GOES;
    r->resets = 0;
    job_put_plan(r, &p);
    if (!is_claimed(r))
        schedule(r);
    return true;
}

static bool do_run(struct world *w, struct job_row *r)
{
    if (r->gone || job_awaited(r) != 0 || is_claimed(r))
        return false;
    r->asked_us = clock_us(w);
    r->turn++;
    put_token(r, r->asked_us);
    return true;
}

static bool do_cancel(struct world *w, int job, struct job_row *r)
{
    if (!is_claimed(r) && job_open_runs(r) == 0)
        return false;
    struct job_plan p = job_plan_cancelled(w, job, r, clock_us(w));

    r->token = JOB_TOKEN_NONE;
    r->claim = (struct claim){ 0 };
    for (int i = 0; i < JOB_RUNS_MOST; i++)
        r->runs[i] = (struct job_run){ 0 };
    job_put_plan(r, &p);
    schedule(r);
    w->jobs.watch[job].forgiven = w->store.tokens;
    return true;
}

/* One that was before, under the next number. */
static bool do_reset(struct world *w, struct job_row *r)
{
    const struct job_state *old = &r->states[world_pick(w, JOB_STATES)];

    if (old->number == 0)
        return false;
    r->state.number++;
    r->state.value = old->value;
    r->states[r->state.number % JOB_STATES] = r->state;
    return true;
}

static bool do_change(struct world *w, int job, struct job_row *r)
{
    bool asked = r->asked_us != 0 && !r->gone;

    if (!r->gone)
        r->rule = (r->rule + 1) % JOB_RULES;
    struct job_plan p = job_plan_changed(w, job, r, clock_us(w));

    pass(w, job, r->gone ? clock_us(w) : p.known.paused_us);
    if (r->stop == JOB_GOES || r->stop == JOB_AT_END)
        r->stop = p.next_us == 0 ? JOB_AT_END : JOB_GOES;
    r->gone = false;
    if (!asked)
        r->asked_us = 0;
    job_put_plan(r, &p);
    if (is_claimed(r))
        return true;
    int64_t due_us = job_awaited_us(r) != 0 ? job_awaited_us(r) : asked ? r->due_us : p.next_us;

    r->token = JOB_TOKEN_NONE;
    r->due_us = due_us;
    if (r->stop == JOB_GOES || asked)
        put_token(r, due_us);
    return true;
}

static bool do_leave(struct job_row *r)
{
    if (r->gone)
        return false;
    if (!is_claimed(r))
        r->token = JOB_TOKEN_NONE;
    r->gone = true;
    r->asked_us = 0;
    r->turn++;
    return true;
}

static bool act(struct world *w, int job, enum act what)
{
    struct job_row *r = &w->jobs.rows[job];

    switch (what) {
    case PAUSE:
        return do_pause(r);
    case RESUME:
        return do_resume(w, job, r);
    case RUN:
        return do_run(w, r);
    case CANCEL:
        return do_cancel(w, job, r);
    case RESET:
        return do_reset(w, r);
    case CHANGE: /* or it comes back */
        return do_change(w, job, r);
    case LEAVE:
        return do_leave(r);
    case ACTS:
        break;
    }
    return false;
}

/* One commit; a refusal changes nothing. */
static void operate(struct world *w, int job, enum act what)
{
    struct job_row *r = &w->jobs.rows[job];

    store_touch(w, r, sizeof *r);
    if (act(w, job, what)) {
        TRACE(w, "a person: %s job %d", acts[what], job);
        jobs_commit(w, NULL);
    } else {
        store_rollback(w);
    }
}

/* Most of what is stopped goes on a moment later, perhaps in the same run. */
void jobs_people(struct world *w, int job, int what)
{
    if (w->draining)
        return;
    operate(w, job, (enum act)what);
    if ((what == PAUSE || what == LEAVE) && world_luck(w, 70))
        world_push(w, world_between(w, 10 * MS, 1 * S), EV_JOB_PEOPLE, -1, job,
                   what == PAUSE ? RESUME : CHANGE);
}

void jobs_people_plan(struct world *w)
{
    int count = world_pick(w, 40);

    for (int i = 0; i < count; i++)
        world_push(w, world_between(w, 0, ACTIVE_US), EV_JOB_PEOPLE, -1,
                   world_pick(w, w->jobs.count), world_pick(w, ACTS));
}

/* ---- when all is well ---- */

void jobs_drain(struct world *w)
{
    for (int i = 0; i < w->jobs.count; i++)
        for (int k = 0; k < JOB_RULES; k++) {
            struct job_rule *r = &w->jobs.rules[i][k];

            r->failing = r->hanging = r->full = 0;
            r->longest_us = r->longest_us < r->timeout_us / 2 ? r->longest_us : r->timeout_us / 2;
        }
}

/* What was stopped goes on until it has served all its times; then it is paused for good. */
void jobs_see_to(struct world *w)
{
    for (int i = 0; i < w->jobs.count; i++) {
        struct job_row *r = &w->jobs.rows[i];
        struct job_watch *watch = &w->jobs.watch[i];

        if (watch->finished)
            continue;
        if (r->gone)
            operate(w, i, CHANGE);
        else if (r->stop == JOB_PAUSED || r->stop == JOB_SUSPENDED)
            operate(w, i, RESUME);
        watch->finished = jobs_is_served(w, i, clock_us(w));
        if (watch->finished && r->stop == JOB_GOES)
            operate(w, i, PAUSE);
    }
}
