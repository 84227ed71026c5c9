/* job_look.c - looking at jobs: jobs, job.  Jobs belong to no system, so callers who do not see all
 * systems see none. */
#include "admin/jobs/job_look.h"

#include "admin/api/parts.h"
#include "admin/api/scope.h"
#include "admin/view/job_view.h"
#include "core/option.h"
#include "engine/dispatch/govern.h"
#include "engine/engine.h"
#include "engine/plan/plan.h"
#include "engine/road/road.h"
#include "job/planning.h"
#include "store/job/job_backfill.h"
#include "store/job/job_run.h"
#include "store/job/job_states.h"
#include "store/kernel/node.h"
#include "store/store.h"

enum {
    PAGE_MOST = 200,
    LOOKS_MOST = 20, /* portions that are read for one page */
    TIMES_MOST = 100 /* of nextTimes */
};

struct shown_job {
    struct job_record r;
    struct jobs_entry entry;
    int64_t now_us, next_us, nominal_us, lag_us, timeout_us, parallel;
    struct str log;
    const char *state;
};

struct shown_jobs {
    struct shown_job *list;
    size_t count;
    struct str next;
};

static struct jobs *api_jobs(const struct graphql_call *call)
{
    return api_principal(call)->jobs;
}

/* ---- one job ---- */

static void api_job_show(struct graphql_call *call, const struct job_record *r, int64_t now_us,
                         struct shown_job *v)
{
    *v = (struct shown_job){ .r = *r,
                             .now_us = now_us,
                             .next_us = job_shown_next(r),
                             .nominal_us = job_shown_nominal(r),
                             .lag_us = job_shown_lag(r, now_us),
                             .state = job_shown_words[job_shown_of(r, now_us)] };
    if (!jobs_describe(api_jobs(call), r->name, call->arena, &v->entry))
        return;
    v->log = str_of(job_log_levels[v->entry.log]);
    v->timeout_us = v->entry.timeout_us;
    v->parallel = v->entry.parallel;
}

static int64_t api_job_now(const struct graphql_call *call)
{
    return govern_time(engine_govern(api_engine(call))).early_us;
}

bool api_set_job(struct graphql_call *call, struct str name, struct err *err)
{
    struct shown_job *v = ARENA_NEW(call->arena, struct shown_job);
    struct job_record r;
    bool found;

    if (!job_find(api_store(call), name, call->arena, &r, &found, err))
        return false;
    if (!found)
        return graphql_set_null(call);
    api_job_show(call, &r, api_job_now(call), v);
    return graphql_set_object(call, v);
}

static bool api_job_of_name(struct graphql_call *call, struct err *err)
{
    return api_sees_all(call, RIGHT_SEE) ? api_set_job(call, graphql_arg_text(call, "name"), err)
                                         : graphql_set_null(call);
}

bool api_say_no_job(struct graphql_call *call, struct str name, struct err *err)
{
    struct plan *plan = road_plan(engine_road(api_engine(call)));
    struct option_guess guess = { .word = name };

    for (size_t i = 0; i < plan->config->job_count; i++)
        option_guess_try(&guess, str_of(plan->config->jobs[i].name));
    if (guess.best.len > 0)
        (void)err_set(err, ERR_PERMANENT, 0, "there is no job %.64s; did you mean %.*s?",
                      arena_text(call->arena, name), STR_ARG(guess.best));
    else
        (void)err_set(err, ERR_PERMANENT, 0, "there is no job %.64s: see `waybill jobs ls`",
                      arena_text(call->arena, name));
    plan_unref(plan);
    return false;
}

/* ---- many ---- */

/* The argument `states` as bits of enum job_shown, whose order is that of the schema. */
static unsigned api_job_read_states(const struct graphql_call *call)
{
    const struct graphql_value *list = graphql_arg(call, "states");
    unsigned states = 0;
    bool all = false;

    (void)graphql_arg_bool(call, "all", &all);
    for (size_t i = 0; list->kind == GRAPHQL_LIST && i < list->count; i++)
        states |= 1u << list->items[i].number;
    if (list->kind == GRAPHQL_LIST)
        return states;
    return all ? UINT_MAX : ~(1u << JOB_SHOWN_GONE);
}

/* Adds those in these states until the page is full; *io_after is the last one that was looked at.
 */
static void api_job_add_shown(struct graphql_call *call, const struct job_record *found, size_t n,
                              unsigned states, size_t first, struct shown_jobs *page,
                              int64_t *io_after)
{
    int64_t now_us = api_job_now(call);

    for (size_t i = 0; i < n && page->count < first; i++) {
        *io_after = found[i].num;
        if ((states >> job_shown_of(&found[i], now_us) & 1) != 0)
            api_job_show(call, &found[i], now_us, &page->list[page->count++]);
    }
}

/* Reads portions until the page is full, or enough jobs were looked at. */
static bool api_job_fill_page(struct graphql_call *call, size_t first, int64_t after,
                              struct shown_jobs *page, struct err *err)
{
    size_t some = graphql_arg(call, "states")->kind == GRAPHQL_LIST ? PAGE_MOST : first, n = some;
    struct job_record *found = ARENA_ARRAY(call->arena, struct job_record, some);
    unsigned states = api_job_read_states(call);

    page->list = ARENA_ARRAY(call->arena, struct shown_job, first);
    for (int looks = 0; n == some && page->count < first && looks < LOOKS_MOST; looks++) {
        if (!job_list(api_store(call), after, some, call->arena, found, &n, err))
            return false;
        api_job_add_shown(call, found, n, states, first, page, &after);
    }
    if (n == some || (n > 0 && found[n - 1].num != after))
        page->next = str_of(arena_printf(call->arena, "%lld", (long long)after));
    return true;
}

static bool api_job_list(struct graphql_call *call, struct err *err)
{
    struct shown_jobs *page = ARENA_NEW(call->arena, struct shown_jobs);
    int64_t first, after;

    *page = (struct shown_jobs){ 0 };
    if (!api_read_page(call, PAGE_MOST, &first, &after, err))
        return false;
    if (api_sees_all(call, RIGHT_SEE) && !api_job_fill_page(call, (size_t)first, after, page, err))
        return false;
    return graphql_set_object(call, page);
}

/* ---- what is read only when it is asked for ---- */

static bool api_job_set_node(struct graphql_call *call, int64_t node, struct err *err)
{
    struct str name = { 0 };

    if (node == 0)
        return graphql_set_null(call);
    if (!node_name(api_store(call), node, call->arena, &name, err))
        return false;
    if (name.len == 0)
        name = str_of(arena_printf(call->arena, "%lld", (long long)node));
    return graphql_set_text(call, name);
}

static bool api_job_lag(struct graphql_call *call, struct err *err)
{
    const struct shown_job *v = call->parent;

    (void)err;
    return v->lag_us >= 0 ? graphql_set_int(call, v->lag_us) : graphql_set_null(call);
}

static bool api_job_read_coming(struct graphql_call *call, struct planning_coming **ret,
                                size_t *ret_count, struct err *err)
{
    const struct shown_job *v = call->parent;
    int64_t first = 10;

    (void)graphql_arg_int(call, "first", &first);
    if (first < 1 || first > TIMES_MOST)
        return err_set(err, ERR_LIMIT, 0, "first is between 1 and %d", TIMES_MOST);
    *ret = ARENA_ARRAY(call->arena, struct planning_coming, (size_t)first);
    *ret_count = jobs_forecast(api_jobs(call), &v->r, (size_t)first, *ret);
    return true;
}

static bool api_job_time_at(struct graphql_call *call, const void *list, size_t index,
                            struct err *err)
{
    (void)err;
    return graphql_set_int(call, ((const struct planning_coming *)list)[index].nominal_us);
}

static bool api_job_times(struct graphql_call *call, struct err *err)
{
    struct planning_coming *all;
    size_t n;

    if (!api_job_read_coming(call, &all, &n, err))
        return false;
    if (n > 0 && all[n - 1].what != SCHEDULE_DUE)
        n--;
    return graphql_set_list(call, all, n, api_job_time_at);
}

static bool api_job_coming(struct graphql_call *call, struct err *err)
{
    struct planning_coming *all;
    size_t n;

    return api_job_read_coming(call, &all, &n, err) &&
           graphql_set_structs(call, all, n, sizeof *all);
}

static bool api_job_coming_nominal(struct graphql_call *call, struct err *err)
{
    const struct planning_coming *c = call->parent;

    (void)err;
    return c->what == SCHEDULE_DUE ? graphql_set_int(call, c->nominal_us) : graphql_set_null(call);
}

static bool api_job_coming_clock(struct graphql_call *call, struct err *err)
{
    static const char *const words[] = {
        [NOMINAL_SKIPPED] = "skipped", [NOMINAL_FIRST] = "first", [NOMINAL_SECOND] = "second"
    };
    const struct planning_coming *c = call->parent;

    (void)err;
    return c->clock != NOMINAL_PLAIN ? graphql_set_z(call, words[c->clock])
                                     : graphql_set_null(call);
}

static bool api_job_coming_end(struct graphql_call *call, struct err *err)
{
    const struct planning_coming *c = call->parent;

    (void)err;
    return c->what != SCHEDULE_DUE ? graphql_set_z(call, schedule_end_word(c->why))
                                   : graphql_set_null(call);
}

struct shown_left {
    const char *reason;
    bool more;
    struct schedule_left left;
};

static bool api_job_coming_left(struct graphql_call *call, struct err *err)
{
    const struct planning_coming *c = call->parent;
    struct shown_left *all = ARENA_ARRAY(call->arena, struct shown_left, SCHEDULE_REASONS);
    size_t n = 0;

    (void)err;
    for (enum schedule_reason r = 0; r < SCHEDULE_REASONS; r++)
        if (c->left[r].count > 0)
            all[n++] = (struct shown_left){ .reason = schedule_reason_word(r),
                                            .more = c->left_more,
                                            .left = c->left[r] };
    return graphql_set_structs(call, all, n, sizeof *all);
}

static bool api_job_stop(struct graphql_call *call, struct err *err)
{
    const struct shown_job *v = call->parent;

    (void)err;
    return v->r.stop != JOB_GOES ? graphql_set_object(call, v) : graphql_set_null(call);
}

static bool api_job_last(struct graphql_call *call, struct err *err)
{
    const struct shown_job *v = call->parent;

    (void)err;
    return v->r.outcome != JOB_NO_OUTCOME ? graphql_set_object(call, v) : graphql_set_null(call);
}

static bool api_job_backfill_left(struct graphql_call *call, struct err *err)
{
    const struct shown_job *v = call->parent;
    struct job_backfill *b = ARENA_NEW(call->arena, struct job_backfill);

    if (!job_backfill_get(api_store(call), v->r.num, call->arena, b, err))
        return false;
    return b->left > 0 ? graphql_set_object(call, b) : graphql_set_null(call);
}

static bool api_job_states_kept(struct graphql_call *call, struct err *err)
{
    const struct shown_job *v = call->parent;
    struct job_state *states = ARENA_ARRAY(call->arena, struct job_state, JOB_STATES_KEPT);
    size_t n;

    return job_states(api_store(call), v->r.num, call->arena, states, &n, err) &&
           graphql_set_structs(call, states, n, sizeof *states);
}

/* The run that holds the token, and those beside it and outside. */
static bool api_job_open_runs(struct graphql_call *call, struct err *err)
{
    const struct shown_job *v = call->parent;
    struct job_run *runs = ARENA_ARRAY(call->arena, struct job_run, JOB_RUNS_MOST + 1);
    size_t n = 0, beside = 0;

    if (v->r.running)
        runs[n++] = (struct job_run){ .node = v->r.holder, .nominal_us = job_shown_nominal(&v->r) };
    if (v->r.open_runs > 0 &&
        !job_run_list(api_store(call), v->r.num, JOB_RUNS_MOST, runs + n, &beside, err))
        return false;
    return graphql_set_structs(call, runs, n + beside, sizeof *runs);
}

static bool api_job_run_node(struct graphql_call *call, struct err *err)
{
    return api_job_set_node(call, ((const struct job_run *)call->parent)->node, err);
}

static bool api_job_last_node(struct graphql_call *call, struct err *err)
{
    return api_job_set_node(call, ((const struct shown_job *)call->parent)->r.node, err);
}

static bool api_job_last_outcome(struct graphql_call *call, struct err *err)
{
    (void)err;
    return graphql_set_z(call, job_outcomes[((const struct shown_job *)call->parent)->r.outcome]);
}

static bool api_job_stop_what(struct graphql_call *call, struct err *err)
{
    (void)err;
    return graphql_set_z(call, job_stops[((const struct shown_job *)call->parent)->r.stop]);
}

const struct graphql_resolver api_job[] = {
    { .field = "Query.jobs", .fn = api_job_list },
    { .field = "Query.job", .fn = api_job_of_name },
    GRAPHQL_LIST_OF("JobPage.items", struct shown_jobs, list, count),
    API_TEXT_AT("JobPage.next", struct shown_jobs, next),
    GRAPHQL_MEMBER("Job.name", struct shown_job, r.name),
    API_TEXT_AT("Job.title", struct shown_job, entry.title),
    GRAPHQL_MEMBER("Job.kind", struct shown_job, r.kind),
    API_TEXT_AT("Job.area", struct shown_job, r.area),
    API_TEXT_AT("Job.schedule", struct shown_job, entry.schedule),
    API_TEXT_AT("Job.zone", struct shown_job, entry.zone),
    API_TEXT_AT("Job.log", struct shown_job, log),
    API_NUMBER_AT("Job.parallel", struct shown_job, parallel),
    API_NUMBER_AT("Job.timeout", struct shown_job, timeout_us),
    GRAPHQL_MEMBER("Job.planned", struct shown_job, entry.planned),
    API_TEXT_AT("Job.broken", struct shown_job, entry.broken),
    GRAPHQL_MEMBER("Job.state", struct shown_job, state),
    API_NUMBER_AT("Job.next", struct shown_job, next_us),
    API_NUMBER_AT("Job.nominal", struct shown_job, nominal_us),
    { .field = "Job.nextTimes", .fn = api_job_times },
    { .field = "Job.coming", .fn = api_job_coming },
    { .field = "JobComing.nominal", .fn = api_job_coming_nominal },
    API_NUMBER_AT("JobComing.due", struct planning_coming, due_us),
    GRAPHQL_MEMBER("JobComing.late", struct planning_coming, late),
    { .field = "JobComing.clock", .fn = api_job_coming_clock },
    { .field = "JobComing.left", .fn = api_job_coming_left },
    { .field = "JobComing.end", .fn = api_job_coming_end },
    GRAPHQL_MEMBER("JobLeft.reason", struct shown_left, reason),
    GRAPHQL_MEMBER("JobLeft.count", struct shown_left, left.count),
    GRAPHQL_MEMBER("JobLeft.more", struct shown_left, more),
    GRAPHQL_MEMBER("JobLeft.first", struct shown_left, left.first_us),
    GRAPHQL_MEMBER("JobLeft.last", struct shown_left, left.last_us),
    { .field = "Job.lag", .fn = api_job_lag },
    API_NUMBER_AT("Job.asked", struct shown_job, r.asked_us),
    { .field = "Job.stop", .fn = api_job_stop },
    API_NUMBER_AT("Job.gone", struct shown_job, r.gone_us),
    { .field = "Job.open", .fn = api_job_open_runs },
    GRAPHQL_MEMBER("Job.runs", struct shown_job, r.runs),
    GRAPHQL_MEMBER("Job.leftOut", struct shown_job, r.left_out),
    GRAPHQL_MEMBER("Job.failures", struct shown_job, r.past.failures),
    GRAPHQL_MEMBER("Job.tries", struct shown_job, r.past.tries),
    { .field = "Job.last", .fn = api_job_last },
    API_NUMBER_AT("Job.lastSuccess", struct shown_job, r.ok_us),
    GRAPHQL_MEMBER("Job.version", struct shown_job, r.version),
    GRAPHQL_MEMBER("Job.stateNumber", struct shown_job, r.state_number),
    { .field = "Job.states", .fn = api_job_states_kept },
    { .field = "Job.backfill", .fn = api_job_backfill_left },
    GRAPHQL_MEMBER("JobBackfill.left", struct job_backfill, left),
    GRAPHQL_MEMBER("JobBackfill.next", struct job_backfill, next_us),
    GRAPHQL_MEMBER("JobBackfill.last", struct job_backfill, last_us),
    GRAPHQL_MEMBER("JobBackfill.tries", struct job_backfill, tries),
    { .field = "JobStop.what", .fn = api_job_stop_what },
    API_TEXT_AT("JobStop.by", struct shown_job, r.stop_by),
    API_TEXT_AT("JobStop.reason", struct shown_job, r.stop_why),
    GRAPHQL_MEMBER("JobStop.since", struct shown_job, r.stop_us),
    API_NUMBER_AT("JobStop.until", struct shown_job, r.stop_until_us),
    { .field = "JobResult.outcome", .fn = api_job_last_outcome },
    API_TEXT_AT("JobResult.message", struct shown_job, r.message),
    { .field = "JobResult.node", .fn = api_job_last_node },
    API_NUMBER_AT("JobResult.began", struct shown_job, r.began_us),
    GRAPHQL_MEMBER("JobResult.ended", struct shown_job, r.ended_us),
    API_NUMBER_AT("JobOpenRun.run", struct job_run, claim),
    { .field = "JobOpenRun.node", .fn = api_job_run_node },
    API_NUMBER_AT("JobOpenRun.nominal", struct job_run, nominal_us),
    API_NUMBER_AT("JobOpenRun.began", struct job_run, began_us),
    API_NUMBER_AT("JobOpenRun.until", struct job_run, until_us),
    GRAPHQL_MEMBER("JobOpenRun.outside", struct job_run, outside),
    GRAPHQL_MEMBER("JobKept.number", struct job_state, number),
    GRAPHQL_MEMBER("JobKept.stored", struct job_state, at_us),
    GRAPHQL_MEMBER("JobKept.text", struct job_state, text),
};
const size_t api_job_count = sizeof api_job / sizeof api_job[0];
