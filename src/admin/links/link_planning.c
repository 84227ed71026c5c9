/* link_planning.c - what a link needs in its databases: linkPlan, linkInstall, linkRemove. */
#include <string.h>

#include "admin/api/audit.h"
#include "admin/api/parts.h"
#include "admin/links/link_reach.h"
#include "base/clock.h"
#include "base/log.h"
#include "link/link_plan.h"

enum { PLAN_PROBLEMS_MOST = 50 };

struct shown_link_plan {
    struct str link;
    struct link_planned plan;
    bool fits;
};

struct shown_plan_run {
    struct str link;
    int64_t done;
};

static struct str link_plan_table(struct graphql_call *call)
{
    struct str table = graphql_arg_text(call, "table");

    return table.ptr != NULL ? table : STR("");
}

static bool link_plan_of(struct graphql_call *call, bool removal, struct shown_link_plan *v,
                         struct err *err)
{
    int64_t from_us = clock_mono_us();
    struct link_spec *specs;
    size_t n;

    v->link = graphql_arg_text(call, "link");
    if (!link_reach_specs(call, v->link, link_plan_table(call), &specs, &n, err) ||
        !link_reach_enter(err))
        return false;
    bool ok = link_plan_make(specs, n, removal, call->arena, &v->plan, err);

    link_reach_leave();
    graphql_lend(call, clock_mono_us() - from_us);
    v->fits = true;
    for (size_t i = 0; ok && i < v->plan.table_count; i++)
        v->fits = v->fits && v->plan.tables[i].fits;
    return ok;
}

static bool link_plan(struct graphql_call *call, struct err *err)
{
    struct shown_link_plan *v = ARENA_NEW(call->arena, struct shown_link_plan);
    bool removal = false;

    (void)graphql_arg_bool(call, "removal", &removal);
    return link_plan_of(call, removal, v, err) && graphql_set_object(call, v);
}

/* Nothing of the store changes: it is logged before, so that what fails in its middle is, too. */
static bool link_plan_change(struct graphql_call *call, bool removal, struct err *err)
{
    struct shown_plan_run *v = ARENA_NEW(call->arena, struct shown_plan_run);
    struct str link = graphql_arg_text(call, "link");
    int64_t from_us = clock_mono_us();
    struct link_spec *specs;
    struct sha256 seen;
    size_t n, done = 0;

    if (!digest_parse(graphql_arg_text(call, "digest"), &seen))
        return err_set(err, ERR_PERMANENT, 0,
                       "digest is that of the plan that was seen: 64 hex digits");
    if (!link_reach_specs(call, link, link_plan_table(call), &specs, &n, err) ||
        !api_audit_now(call, err) || !link_reach_enter(err))
        return false;
    bool ok = link_plan_run(specs, n, removal, &seen, call->arena, &done, err);

    link_reach_leave();
    graphql_lend(call, clock_mono_us() - from_us);
    log_event(ok ? LOG_INFO : LOG_WARN, "link.plan", kv_str("link", link),
              kv_z("action", removal ? "remove" : "install"), kv_int("done", (int64_t)done),
              kv_z("why", ok ? "" : err->text), kv_str("by", api_name(call)));
    if (!ok)
        return done > 0 ? err_behind(err, "%zu statements were run, then one failed", done) : false;
    *v = (struct shown_plan_run){ .link = link, .done = (int64_t)done };
    return graphql_set_object(call, v);
}

static bool link_install(struct graphql_call *call, struct err *err)
{
    return link_plan_change(call, false, err);
}

static bool link_remove(struct graphql_call *call, struct err *err)
{
    return link_plan_change(call, true, err);
}

static bool link_plan_problems(struct graphql_call *call, struct err *err)
{
    const struct link_planned_table *t = call->parent;
    struct str *lines = ARENA_ARRAY(call->arena, struct str, PLAN_PROBLEMS_MOST),
               rest = t->problems;
    size_t n = 0;

    (void)err;
    while (rest.len > 0 && n < PLAN_PROBLEMS_MOST) {
        rest = str_cut(rest, '\n', &lines[n]);
        n += lines[n].len > 0;
    }
    return graphql_set_texts(call, lines, n);
}

const struct graphql_resolver api_link_plan[] = {
    { .field = "Query.linkPlan", .fn = link_plan },
    { .field = "Mutation.linkInstall", .fn = link_install },
    { .field = "Mutation.linkRemove", .fn = link_remove },
    GRAPHQL_MEMBER("LinkPlan.link", struct shown_link_plan, link),
    GRAPHQL_LIST_OF("LinkPlan.tables", struct shown_link_plan, plan.tables, plan.table_count),
    GRAPHQL_LIST_OF("LinkPlan.statements", struct shown_link_plan, plan.statements, plan.count),
    GRAPHQL_MEMBER("LinkPlan.digest", struct shown_link_plan, plan.digest),
    GRAPHQL_MEMBER("LinkPlan.fits", struct shown_link_plan, fits),
    GRAPHQL_MEMBER("LinkPlanTable.table", struct link_planned_table, table),
    GRAPHQL_MEMBER("LinkPlanTable.fits", struct link_planned_table, fits),
    GRAPHQL_MEMBER("LinkPlanTable.installed", struct link_planned_table, installed),
    { .field = "LinkPlanTable.problems", .fn = link_plan_problems },
    API_TEXT_AT("LinkPlanTable.columns", struct link_planned_table, columns),
    GRAPHQL_MEMBER("LinkStatement.database", struct link_planned_statement, database),
    GRAPHQL_MEMBER("LinkStatement.text", struct link_planned_statement, text),
    GRAPHQL_MEMBER("LinkStatement.purpose", struct link_planned_statement, purpose),
    GRAPHQL_MEMBER("LinkPlanRun.link", struct shown_plan_run, link),
    GRAPHQL_MEMBER("LinkPlanRun.done", struct shown_plan_run, done),
};
const size_t api_link_plan_count = sizeof api_link_plan / sizeof api_link_plan[0];
