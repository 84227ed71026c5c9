/* link_order.c - what people want of tables of links: linkResync, linkGoOn, linkVerify.
 *
 * An order waits in the store (store/replica/replica_order.h) for the next run of the job, which is
 * asked for at once.  A job that runs just now takes it the next time. */
#include "admin/api/parts.h"
#include "admin/links/link_look.h"
#include "admin/view/job_view.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "core/config.h"
#include "job/jobs.h"
#include "store/replica/replica_order.h"
#include "store/store.h"

enum { VERIFY_PORTION = 200, DETAIL_MOST = 400, ORDER_AGAIN_MOST = 60 };

#define ORDER_AGAIN_US (50 * CLOCK_MS)

static bool link_order_read_reason(const struct graphql_call *call, struct str *ret,
                                   struct err *err)
{
    *ret = graphql_arg_text(call, "reason");
    if (ret->ptr == NULL)
        *ret = STR("");
    return ret->len <= API_REASON_MOST ||
           err_set(err, ERR_LIMIT, 0, "a reason is at most %d bytes", API_REASON_MOST);
}

/* One run at once.  One that is there, or a stop of the job, is no failure: the order waits. */
static bool link_order_run(struct graphql_call *call, struct str job, struct err *err)
{
    struct job_order o = { .act = JOB_RUN, .name = job, .by = api_name(call) };
    enum job_answer answer;

    /* A run that goes on looks for orders at its end; one that has looked already is over soon. */
    for (int again = 0;; again++) {
        if (!jobs_order(api_principal(call)->jobs, &o, &answer, err))
            return err_behind(err, "the order is stored, but its job was not told");
        if (answer != JOB_IS_RUNNING || again == ORDER_AGAIN_MOST)
            break;
        clock_sleep_us(ORDER_AGAIN_US);
    }
    if (answer == JOB_OK || answer == JOB_IS_RUNNING)
        return true;
    (void)err_set(err, ERR_PERMANENT, 0, "job %.64s %s", arena_text(call->arena, job),
                  answer == JOB_UNKNOWN ? "is not there any more"
                                        : job_answer_text(JOB_RUN, answer));
    return err_behind(err, "the order is stored");
}

static bool link_order_put(struct graphql_call *call, enum replica_wish wish,
                           const struct link_view *v, struct str detail, struct str job,
                           struct err *err)
{
    struct replica_order o = { .wish = wish,
                               .link = v->link,
                               .table = v->table,
                               .detail = detail,
                               .by = api_name(call),
                               .at_us = link_look_now(call) };

    if (!link_order_read_reason(call, &o.why, err) || !replica_order_put(api_store(call), &o, err))
        return false;
    log_event(LOG_INFO, "link.order", kv_str("link", o.link), kv_str("table", o.table),
              kv_z("wish", replica_wishes[wish]), kv_str("by", o.by), kv_str("reason", o.why));
    return link_order_run(call, job, err);
}

static bool link_order_one(struct graphql_call *call, enum replica_wish wish, struct err *err)
{
    struct str link = graphql_arg_text(call, "link"), table = graphql_arg_text(call, "table");
    struct link_view *v;
    size_t n;

    if (link.len == 0 || table.len == 0)
        return err_set(err, ERR_PERMANENT, 0, "say which table of which link");
    return link_look_some(call, link, table, &v, &n, err) &&
           link_order_put(call, wish, v, STR(""), v->job.name, err) &&
           link_look_some(call, link, table, &v, &n, err) && graphql_set_object(call, v);
}

static bool link_resync(struct graphql_call *call, struct err *err)
{
    return link_order_one(call, REPLICA_RESYNC, err);
}

static bool link_go_on(struct graphql_call *call, struct err *err)
{
    return link_order_one(call, REPLICA_GO_ON, err);
}

/* ---- verify ---- */

/* The job of the first rule of each table; empty: it has none. */
static bool link_order_find_jobs(struct graphql_call *call, const struct link_view *tables,
                                 size_t count, struct str *ret, struct err *err)
{
    struct job_with_state *page = ARENA_ARRAY(call->arena, struct job_with_state, VERIFY_PORTION);
    size_t n = VERIFY_PORTION;

    for (int64_t above = 0; n == VERIFY_PORTION; above = n > 0 ? page[n - 1].record.num : 0) {
        if (!job_list_kind(api_store(call), STR(CONFIG_KIND_VERIFY), above, VERIFY_PORTION,
                           call->arena, page, &n, err))
            return false;
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < count; k++) {
                struct str job = page[i].record.name;

                if (link_view_is_verify(job, tables[k].link, tables[k].table) &&
                    (ret[k].len == 0 || str_cmp(job, ret[k]) < 0))
                    ret[k] = job;
            }
    }
    return true;
}

static struct str link_order_detail(struct graphql_call *call)
{
    AUTO(buf_done) struct buf text = BUF_INIT(DETAIL_MOST);
    const struct graphql_value *mode = graphql_arg(call, "mode");
    struct json_out j = { .to = &text };
    bool repair = false, dry_run = false;
    int64_t most = 0;

    (void)graphql_arg_bool(call, "repair", &repair);
    (void)graphql_arg_bool(call, "dryRun", &dry_run);
    json_open(&j, '{');
    json_key(&j, "mode");
    json_str(&j, mode->kind == GRAPHQL_ENUM ? mode->text : STR("full"));
    json_key(&j, "repair");
    json_bool(&j, repair);
    json_key(&j, "dry_run");
    json_bool(&j, dry_run);
    if (graphql_arg_int(call, "most", &most)) {
        json_key(&j, "most");
        json_int(&j, most);
    }
    json_close(&j, '}');
    return arena_copy(call->arena, buf_view(&text));
}

/* No table is ordered unless all have a rule. */
static bool link_verify(struct graphql_call *call, struct err *err)
{
    struct str link = graphql_arg_text(call, "link"), table = graphql_arg_text(call, "table");
    struct str detail = link_order_detail(call);
    struct link_view *v;
    int64_t most = 1;
    size_t n;

    (void)graphql_arg_int(call, "most", &most);
    if (most < 1)
        return err_set(err, ERR_LIMIT, 0, "most is 1 at least");
    if (table.ptr == NULL)
        table = STR("");
    if (link.len == 0)
        return err_set(err, ERR_PERMANENT, 0, "say which link");
    if (!link_look_some(call, link, table, &v, &n, err))
        return false;
    struct str *jobs = ARENA_ARRAY(call->arena, struct str, n);

    if (!link_order_find_jobs(call, v, n, jobs, err))
        return false;
    for (size_t i = 0; i < n; i++)
        if (jobs[i].len == 0)
            return err_set(err, ERR_PERMANENT, 0,
                           "link %.64s has no rule `verify`, so no job compares its table %.64s: "
                           "add one, such as { mode: full, at: \"0 2 * * sun\" }",
                           arena_text(call->arena, v[i].link), arena_text(call->arena, v[i].table));
    for (size_t i = 0; i < n; i++)
        if (!link_order_put(call, REPLICA_VERIFY, &v[i], detail, jobs[i], err))
            return false;
    return graphql_set_structs(call, v, n, sizeof *v);
}

const struct graphql_resolver api_link_order[] = {
    { .field = "Mutation.linkResync", .fn = link_resync },
    { .field = "Mutation.linkGoOn", .fn = link_go_on },
    { .field = "Mutation.linkVerify", .fn = link_verify },
};
const size_t api_link_order_count = sizeof api_link_order / sizeof api_link_order[0];
