/* job_runs.c - the log of runs of jobs: jobRuns. */
#include "admin/jobs/job_look.h"

#include "admin/api/parts.h"
#include "admin/api/scope.h"
#include "store/job/job_log.h"
#include "store/kernel/node.h"
#include "store/store.h"

enum { PLACE_NUMBERS = 4 };

struct shown_run {
    struct job_log_line line;
    struct str job, node;
    const char *outcome;
    int64_t lag_us, duration_us;
};

struct shown_runs {
    struct shown_run *list;
    size_t count;
    struct str next;
};

/* Reads the cursor, "DAY-ENDED-JOB-CLAIM". */
static bool api_job_runs_read_place(struct graphql_call *call, struct job_log_place *ret,
                                    struct err *err)
{
    struct str rest = graphql_arg_text(call, "after"), word;
    int64_t numbers[PLACE_NUMBERS] = { 0 };
    bool ok = true;

    if (rest.len == 0) {
        *ret = (struct job_log_place){ 0 };
        return true;
    }
    for (int i = 0; i < PLACE_NUMBERS; i++) {
        rest = str_cut(rest, '-', &word);
        ok = ok && str_to_i64(word, &numbers[i]) && numbers[i] > 0;
    }
    *ret = (struct job_log_place){ numbers[0], numbers[1], numbers[2], numbers[3] };
    return (ok && rest.len == 0) ||
           err_set(err, ERR_PERMANENT, 0, "after is not the `next` of a page");
}

/* The name of a job; its number, if the job is forgotten. */
static bool api_job_runs_name(struct graphql_call *call, int64_t num, struct str *ret,
                              struct err *err)
{
    struct job_record r;
    size_t n;

    if (!job_list(api_store(call), num - 1, 1, call->arena, &r, &n, err))
        return false;
    *ret =
        n == 1 && r.num == num ? r.name : str_of(arena_printf(call->arena, "%lld", (long long)num));
    return true;
}

/* Names the job and the node of a run; lines before it, mostly of the same ones, have names. */
static bool api_job_runs_words(struct graphql_call *call, struct shown_run *list, size_t at,
                               struct err *err)
{
    struct shown_run *v = &list[at];

    for (size_t i = 0; i < at; i++) {
        if (list[i].line.job == v->line.job)
            v->job = list[i].job;
        if (list[i].line.node == v->line.node)
            v->node = list[i].node;
    }
    if (v->job.len == 0 && !api_job_runs_name(call, v->line.job, &v->job, err))
        return false;
    if (v->node.len == 0 && !node_name(api_store(call), v->line.node, call->arena, &v->node, err))
        return false;
    if (v->node.len == 0)
        v->node = str_of(arena_printf(call->arena, "%lld", (long long)v->line.node));
    return true;
}

static bool api_job_runs_show(struct graphql_call *call, const struct job_log_line *lines, size_t n,
                              struct shown_runs *page, struct err *err)
{
    page->list = ARENA_ARRAY(call->arena, struct shown_run, n);
    page->count = n;
    for (size_t i = 0; i < n; i++) {
        const struct job_log_line *l = &lines[i];

        page->list[i] = (struct shown_run){ .line = *l,
                                            .outcome = job_outcomes[l->outcome],
                                            .lag_us = l->claimed_us - l->due_us,
                                            .duration_us = l->ended_us - l->began_us };
        if (!api_job_runs_words(call, page->list, i, err))
            return false;
    }
    return true;
}

/* *ret 0: no job was named.  False without an error: there is no such job. */
static bool api_job_runs_read_job(struct graphql_call *call, int64_t *ret, struct err *err)
{
    struct str name = graphql_arg_text(call, "job");
    struct job_record r;
    bool found = true;

    *ret = 0;
    if (name.ptr == NULL)
        return true;
    if (!job_find(api_store(call), name, call->arena, &r, &found, err))
        return false;
    *ret = found ? r.num : 0;
    return found;
}

static bool api_job_runs_list(struct graphql_call *call, struct err *err)
{
    struct shown_runs *page = ARENA_NEW(call->arena, struct shown_runs);
    struct job_log_place place;
    int64_t first = 50, job;
    size_t n;

    *page = (struct shown_runs){ 0 };
    (void)graphql_arg_int(call, "first", &first);
    if (first < 1 || first > JOB_LOG_MOST)
        return err_set(err, ERR_LIMIT, 0, "first is between 1 and %d", JOB_LOG_MOST);
    if (!api_job_runs_read_place(call, &place, err))
        return false;
    if (!api_sees_all(call, RIGHT_SEE))
        return graphql_set_object(call, page);
    if (!api_job_runs_read_job(call, &job, err))
        return err->kind == ERR_NONE && api_say_no_job(call, graphql_arg_text(call, "job"), err);
    struct job_log_line *lines = ARENA_ARRAY(call->arena, struct job_log_line, (size_t)first);

    if (!job_log_list(api_store(call), job, (size_t)first, call->arena, lines, &n, &place, err) ||
        !api_job_runs_show(call, lines, n, page, err))
        return false;
    if (place.day != 0)
        page->next = str_of(arena_printf(call->arena, "%lld-%lld-%lld-%lld", (long long)place.day,
                                         (long long)place.ended_us, (long long)place.job,
                                         (long long)place.claim));
    return graphql_set_object(call, page);
}

static bool api_job_runs_stale(struct graphql_call *call, struct err *err)
{
    const struct shown_run *v = call->parent;

    (void)err;
    return v->line.is_stale ? graphql_set_text(call, v->line.stale) : graphql_set_null(call);
}

const struct graphql_resolver api_job_runs[] = {
    { .field = "Query.jobRuns", .fn = api_job_runs_list },
    GRAPHQL_LIST_OF("JobRunPage.items", struct shown_runs, list, count),
    API_TEXT_AT("JobRunPage.next", struct shown_runs, next),
    GRAPHQL_MEMBER("JobRun.job", struct shown_run, job),
    GRAPHQL_MEMBER("JobRun.run", struct shown_run, line.claim),
    GRAPHQL_MEMBER("JobRun.node", struct shown_run, node),
    GRAPHQL_MEMBER("JobRun.nominal", struct shown_run, line.nominal_us),
    GRAPHQL_MEMBER("JobRun.due", struct shown_run, line.due_us),
    GRAPHQL_MEMBER("JobRun.claimed", struct shown_run, line.claimed_us),
    GRAPHQL_MEMBER("JobRun.began", struct shown_run, line.began_us),
    GRAPHQL_MEMBER("JobRun.ended", struct shown_run, line.ended_us),
    GRAPHQL_MEMBER("JobRun.lag", struct shown_run, lag_us),
    GRAPHQL_MEMBER("JobRun.duration", struct shown_run, duration_us),
    GRAPHQL_MEMBER("JobRun.outcome", struct shown_run, outcome),
    API_TEXT_AT("JobRun.message", struct shown_run, line.message),
    API_TEXT_AT("JobRun.steps", struct shown_run, line.steps),
    { .field = "JobRun.stale", .fn = api_job_runs_stale },
};
const size_t api_job_runs_count = sizeof api_job_runs / sizeof api_job_runs[0];
