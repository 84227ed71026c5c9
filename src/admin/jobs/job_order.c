/* job_order.c - what people do to jobs: jobRun, jobPause, jobResume, jobCancel, jobReset,
 * jobBackfill.  The line
 * of the audit log is in the commit of the change (store/job/job_operate.h). */
#include "admin/jobs/job_look.h"

#include "admin/api/parts.h"
#include "admin/view/job_view.h"
#include "base/clock.h"
#include "base/log.h"
#include "engine/dispatch/govern.h"
#include "engine/engine.h"

static bool api_job_order(struct graphql_call *call, const char *action, struct job_order *o,
                          struct err *err)
{
    enum job_answer answer;

    o->name = graphql_arg_text(call, "name");
    o->by = api_name(call);
    if (!jobs_order(api_principal(call)->jobs, o, &answer, err))
        return false;
    if (answer == JOB_UNKNOWN)
        return api_say_no_job(call, o->name, err);
    if (answer != JOB_OK)
        return err_set(err, ERR_PERMANENT, 0, "job %.64s %s", arena_text(call->arena, o->name),
                       job_answer_text(o->act, answer));
    log_event(LOG_INFO, "job.order", kv_str("job", o->name), kv_z("action", action),
              kv_str("by", o->by), kv_str("reason", o->why));
    return api_set_job(call, o->name, err) ||
           err_behind(err, "%s is done, but the job cannot be shown: see `waybill jobs show %.64s`",
                      action, arena_text(call->arena, o->name));
}

static bool api_job_read_reason(const struct graphql_call *call, struct str *ret, struct err *err)
{
    *ret = graphql_arg_text(call, "reason");
    if (ret->ptr == NULL)
        *ret = STR("");
    return ret->len <= API_REASON_MOST ||
           err_set(err, ERR_LIMIT, 0, "a reason is at most %d bytes", API_REASON_MOST);
}

static bool api_job_run(struct graphql_call *call, struct err *err)
{
    return api_job_order(call, "run", &(struct job_order){ .act = JOB_RUN }, err);
}

static bool api_job_pause(struct graphql_call *call, struct err *err)
{
    int64_t now_us = govern_time(engine_govern(api_engine(call))).early_us;
    struct job_order o = { .act = JOB_PAUSE };
    char text[CLOCK_TEXT];

    (void)graphql_arg_int(call, "until", &o.until_us);
    if (o.until_us != 0 && o.until_us <= now_us)
        return err_set(err, ERR_PERMANENT, 0, "until is in the past: it is %s now",
                       clock_utc_text(now_us, text));
    return api_job_read_reason(call, &o.why, err) && api_job_order(call, "pause", &o, err);
}

static bool api_job_resume(struct graphql_call *call, struct err *err)
{
    return api_job_order(call, "resume", &(struct job_order){ .act = JOB_RESUME }, err);
}

/* The reason becomes the message of the run that was cancelled. */
static bool api_job_cancel(struct graphql_call *call, struct err *err)
{
    struct job_order o = { .act = JOB_CANCEL };
    struct str reason;

    if (!api_job_read_reason(call, &reason, err))
        return false;
    o.why = str_of(arena_printf(call->arena, "cancelled by %.*s%s%.*s", STR_ARG(api_name(call)),
                                reason.len > 0 ? ": " : "", STR_ARG(reason)));
    return api_job_order(call, "cancel", &o, err);
}

static bool api_job_reset(struct graphql_call *call, struct err *err)
{
    struct job_order o = { .act = JOB_RESET };

    (void)graphql_arg_int(call, "to", &o.state_number);
    return api_job_order(call, "reset", &o, err);
}

static bool api_job_backfill(struct graphql_call *call, struct err *err)
{
    struct str name = graphql_arg_text(call, "name");
    enum job_answer answer = JOB_UNKNOWN;
    int64_t from_us = 0, to_us = 0;
    size_t count = 0;

    (void)graphql_arg_int(call, "from", &from_us);
    (void)graphql_arg_int(call, "to", &to_us);
    if (!jobs_backfill(api_principal(call)->jobs, name, from_us, to_us, &answer, &count, err))
        return err_context(err, "job %.64s", arena_text(call->arena, name));
    if (answer == JOB_UNKNOWN)
        return api_say_no_job(call, name, err);
    if (answer != JOB_OK)
        return err_set(err, ERR_PERMANENT, 0, "job %.64s %s", arena_text(call->arena, name),
                       job_answer_text(JOB_BACKFILL, answer));
    log_event(LOG_INFO, "job.backfill", kv_str("job", name), kv_int("count", (int64_t)count),
              kv_str("by", api_name(call)));
    return api_set_job(call, name, err) ||
           err_behind(err,
                      "the backfill is there, but the job cannot be shown: see `waybill jobs show "
                      "%.64s`",
                      arena_text(call->arena, name));
}

const struct graphql_resolver api_job_orders[] = {
    { .field = "Mutation.jobBackfill", .fn = api_job_backfill },
    { .field = "Mutation.jobRun", .fn = api_job_run },
    { .field = "Mutation.jobPause", .fn = api_job_pause },
    { .field = "Mutation.jobResume", .fn = api_job_resume },
    { .field = "Mutation.jobCancel", .fn = api_job_cancel },
    { .field = "Mutation.jobReset", .fn = api_job_reset },
};
const size_t api_job_orders_count = sizeof api_job_orders / sizeof api_job_orders[0];
