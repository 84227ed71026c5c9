/* link_look.c - looking at links: links, link.  Links belong to no system, so callers who do not
 * see all systems see none. */
#include "admin/links/link_look.h"

#include <stdlib.h>

#include "admin/api/parts.h"
#include "admin/api/scope.h"
#include "admin/links/link_pass.h"
#include "admin/links/link_reach.h"
#include "admin/view/job_view.h"
#include "base/auto.h"
#include "core/config.h"
#include "engine/dispatch/govern.h"
#include "engine/engine.h"
#include "store/store.h"

enum { PORTION = 200, LINES_MOST = 40, EXPLAIN_MOST = 32 << 10 };

struct shown_link {
    struct str name, from, to;
    const struct link_view *tables;
    size_t count;
};

/* ---- reading ---- */

int64_t link_look_now(const struct graphql_call *call)
{
    return govern_time(engine_govern(api_engine(call))).early_us;
}

static bool link_look_wants(const struct job_record *job, struct str link, struct str table)
{
    struct str l, t;

    return link_view_split(job->name, &l, &t) && (link.len == 0 || str_eq(l, link)) &&
           (table.len == 0 || str_eq(t, table));
}

static int link_look_by_name(const void *a, const void *b)
{
    const struct link_view *x = a, *y = b;
    int n = str_cmp(x->link, y->link);

    return n != 0 ? n : str_cmp(x->table, y->table);
}

/* Link or table empty: any. */
static bool link_look_list(struct graphql_call *call, struct str link, struct str table,
                           struct link_view **ret, size_t *ret_count, struct err *err)
{
    struct job_with_state *page = ARENA_ARRAY(call->arena, struct job_with_state, PORTION);
    int64_t above = 0, now_us = link_look_now(call);
    size_t n = PORTION, most = PORTION, count = 0;
    struct link_view *all = ARENA_ARRAY(call->arena, struct link_view, most);

    while (n == PORTION && count < LINK_TABLES_MOST) {
        if (!job_list_kind(api_store(call), STR(CONFIG_KIND_REPLICATE), above, PORTION, call->arena,
                           page, &n, err))
            return false;
        for (size_t i = 0; i < n && count < LINK_TABLES_MOST; i++) {
            above = page[i].record.num;
            if (!link_look_wants(&page[i].record, link, table))
                continue;
            if (count == most) {
                struct link_view *more = ARENA_ARRAY(call->arena, struct link_view, 2 * most);

                memcpy(more, all, count * sizeof *all);
                all = more;
                most *= 2;
            }
            link_view_make(&page[i].record, page[i].state, now_us, call->arena, &all[count++]);
        }
    }
    qsort(all, count, sizeof *all, link_look_by_name);
    *ret = all;
    *ret_count = count;
    return true;
}

bool link_look_some(struct graphql_call *call, struct str link, struct str table,
                    struct link_view **ret, size_t *ret_count, struct err *err)
{
    if (!link_look_list(call, link, table, ret, ret_count, err))
        return false;
    if (*ret_count > 0)
        return true;
    if (table.len == 0)
        return err_set(err, ERR_PERMANENT, 0, "there is no link %.64s: see `waybill repl status`",
                       arena_text(call->arena, link));
    return err_set(err, ERR_PERMANENT, 0,
                   "there is no table %.64s in a link %.64s: see `waybill repl status`",
                   arena_text(call->arena, table), arena_text(call->arena, link));
}

/* ---- links ---- */

static void link_look_show(struct graphql_call *call, const struct link_view *tables, size_t count,
                           struct shown_link *ret)
{
    *ret = (struct shown_link){ .name = tables->link, .tables = tables, .count = count };
    link_reach_names(call, tables->link, tables->table, &ret->from, &ret->to);
}

static bool links(struct graphql_call *call, struct err *err)
{
    struct link_view *all;
    size_t n, count = 0;

    if (!api_sees_all(call, RIGHT_SEE))
        return graphql_set_structs(call, call->arena, 0, sizeof(struct shown_link));
    if (!link_look_list(call, STR(""), STR(""), &all, &n, err))
        return false;
    struct shown_link *shown = ARENA_ARRAY(call->arena, struct shown_link, n + 1);

    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && str_eq(all[from].link, all[to].link);)
            to++;
        link_look_show(call, &all[from], to - from, &shown[count++]);
    }
    return graphql_set_structs(call, shown, count, sizeof *shown);
}

static bool link_of_name(struct graphql_call *call, struct err *err)
{
    struct shown_link *shown = ARENA_NEW(call->arena, struct shown_link);
    struct str name = graphql_arg_text(call, "name");
    struct link_view *all;
    size_t n;

    if (!api_sees_all(call, RIGHT_SEE) || name.len == 0)
        return graphql_set_null(call);
    if (!link_look_list(call, name, STR(""), &all, &n, err))
        return false;
    if (n == 0)
        return graphql_set_null(call);
    link_look_show(call, all, n, shown);
    return graphql_set_object(call, shown);
}

/* ---- a table ---- */

static bool link_table_stands(struct graphql_call *call, struct err *err)
{
    (void)err;
    return graphql_set_z(call, link_stands[((const struct link_view *)call->parent)->state.stands]);
}

static bool link_table_reason(struct graphql_call *call, struct err *err)
{
    const struct link_view *v = call->parent;

    (void)err;
    return v->state.reason != LINK_GOES ? graphql_set_z(call, link_reasons[v->state.reason])
                                        : graphql_set_null(call);
}

static bool link_table_message(struct graphql_call *call, struct err *err)
{
    const struct link_view *v = call->parent;

    (void)err;
    if (v->broken.len > 0)
        return graphql_set_text(call, v->broken);
    return v->state.message[0] != '\0' ? graphql_set_z(call, v->state.message)
                                       : graphql_set_null(call);
}

static bool link_table_remedy(struct graphql_call *call, struct err *err)
{
    AUTO(buf_done) struct buf text = BUF_INIT(EXPLAIN_MOST);

    (void)err;
    link_view_remedy(call->parent, &text);
    return text.len > 0 ? graphql_set_text(call, buf_view(&text)) : graphql_set_null(call);
}

static bool link_table_lag(struct graphql_call *call, struct err *err)
{
    const struct link_view *v = call->parent;

    (void)err;
    return v->lag_us >= 0 ? graphql_set_int(call, v->lag_us) : graphql_set_null(call);
}

static bool link_table_job_state(struct graphql_call *call, struct err *err)
{
    const struct link_view *v = call->parent;

    (void)err;
    return graphql_set_z(call, job_shown_words[job_shown_of(&v->job, v->now_us)]);
}

static bool link_table_error(struct graphql_call *call, struct err *err)
{
    const struct link_view *v = call->parent;

    (void)err;
    return v->job.outcome == JOB_FAILED ? graphql_set_text(call, v->job.message)
                                        : graphql_set_null(call);
}

static bool link_table_last_pass(struct graphql_call *call, struct err *err)
{
    const struct link_view *v = call->parent;
    const struct shown_pass *last;

    return link_pass_last(call, v->link, v->table, &last, err) &&
           (last != NULL ? graphql_set_object(call, last) : graphql_set_null(call));
}

static bool link_table_explanation(struct graphql_call *call, struct err *err)
{
    const struct link_view *v = call->parent;
    AUTO(buf_done) struct buf text = BUF_INIT(EXPLAIN_MOST);
    struct str *lines = ARENA_ARRAY(call->arena, struct str, LINES_MOST), rest;
    const struct shown_pass *last;
    size_t n = 0;

    if (!link_pass_last(call, v->link, v->table, &last, err))
        return false;
    link_view_explain(v, last != NULL ? &last->pass : NULL, &text);
    rest = arena_copy(call->arena, buf_view(&text));
    while (rest.len > 0 && n < LINES_MOST) {
        rest = str_cut(rest, '\n', &lines[n]);
        n += lines[n].len > 0;
    }
    return graphql_set_texts(call, lines, n);
}

const struct graphql_resolver api_link_look[] = {
    { .field = "Query.links", .fn = links },
    { .field = "Query.link", .fn = link_of_name },
    GRAPHQL_MEMBER("Link.name", struct shown_link, name),
    API_TEXT_AT("Link.from", struct shown_link, from),
    API_TEXT_AT("Link.to", struct shown_link, to),
    GRAPHQL_LIST_OF("Link.tables", struct shown_link, tables, count),
    GRAPHQL_MEMBER("LinkTable.link", struct link_view, link),
    GRAPHQL_MEMBER("LinkTable.table", struct link_view, table),
    GRAPHQL_MEMBER("LinkTable.job", struct link_view, job.name),
    { .field = "LinkTable.stands", .fn = link_table_stands },
    { .field = "LinkTable.reason", .fn = link_table_reason },
    { .field = "LinkTable.message", .fn = link_table_message },
    { .field = "LinkTable.remedy", .fn = link_table_remedy },
    API_NUMBER_AT("LinkTable.since", struct link_view, state.since_us),
    API_NUMBER_AT("LinkTable.current", struct link_view, state.current_us),
    { .field = "LinkTable.lag", .fn = link_table_lag },
    GRAPHQL_MEMBER("LinkTable.backlog", struct link_view, state.backlog),
    GRAPHQL_MEMBER("LinkTable.loadRows", struct link_view, state.load_rows),
    GRAPHQL_MEMBER("LinkTable.loadTotal", struct link_view, state.load_total),
    GRAPHQL_MEMBER("LinkTable.written", struct link_view, state.written),
    GRAPHQL_MEMBER("LinkTable.removed", struct link_view, state.removed),
    GRAPHQL_MEMBER("LinkTable.bytes", struct link_view, state.bytes),
    GRAPHQL_MEMBER("LinkTable.setAside", struct link_view, state.set_aside),
    GRAPHQL_MEMBER("LinkTable.conflicts", struct link_view, state.conflicts),
    { .field = "LinkTable.jobState", .fn = link_table_job_state },
    { .field = "LinkTable.error", .fn = link_table_error },
    { .field = "LinkTable.lastPass", .fn = link_table_last_pass },
    { .field = "LinkTable.explanation", .fn = link_table_explanation },
};
const size_t api_link_look_count = sizeof api_link_look / sizeof api_link_look[0];
