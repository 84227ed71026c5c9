#include "admin/links/link_reach.h"

#include <stdatomic.h>

#include "admin/api/parts.h"
#include "admin/view/link_view.h"
#include "base/auto.h"
#include "base/clock.h"
#include "core/call.h"
#include "engine/engine.h"
#include "engine/plan/plan.h"
#include "engine/road/road.h"
#include "link/link_settings.h"
#include "store/people/secret.h"
#include "store/store.h"

enum { PROBLEMS_MOST = 32 << 10 };

/* ---- settings ---- */

static bool link_reach_secret(void *arg, struct str name, struct arena *a, struct str *ret,
                              struct err *err)
{
    return secret_get(arg, name, a, ret, err);
}

struct settings link_reach_settings(struct engine *e, const struct config *c, struct arena *a)
{
    return (struct settings){ .file = c->file,
                              .secret = link_reach_secret,
                              .secret_arg = engine_store(e),
                              .reach = &c->node,
                              .files = &c->files,
                              .connectors = engine_connectors(e),
                              .arena = a };
}

static const struct away_address *link_reach_keep_away(struct arena *a,
                                                       const struct away_address *from)
{
    struct away_address *to = ARENA_NEW(a, struct away_address);

    *to = *from;
    to->peer = arena_copy(a, from->peer);
    to->url = arena_copy(a, from->url);
    to->key = arena_copy(a, from->key);
    to->ca = arena_copy(a, from->ca);
    to->cert = arena_copy(a, from->cert);
    to->cert_key = arena_copy(a, from->cert_key);
    to->database = arena_copy(a, from->database);
    if (to->timeout_us > LINK_REACH_SILENT_US)
        to->timeout_us = LINK_REACH_SILENT_US;
    return to;
}

/* The plan may end before the request does, so everything is copied. */
static void link_reach_keep_end(struct arena *a, struct link_end *e, struct call *call)
{
    e->address.name = arena_copy(a, e->address.name);
    e->address.dsn = arena_copy(a, e->address.dsn);
    e->address.path = arena_copy(a, e->address.path);
    e->address.call = call;
    if (e->address.timeout_us <= 0 || e->address.timeout_us > LINK_REACH_SILENT_US)
        e->address.timeout_us = LINK_REACH_SILENT_US;
    e->table = arena_copy(a, e->table);
    if (e->away != NULL)
        e->away = link_reach_keep_away(a, e->away);
}

static void link_reach_keep(struct arena *a, struct link_spec *s, struct call *call)
{
    struct fit_wish_column *columns = ARENA_ARRAY(a, struct fit_wish_column, s->wish.count + 1);

    s->link = arena_copy(a, s->link);
    s->table = arena_copy(a, s->table);
    link_reach_keep_end(a, &s->source, call);
    link_reach_keep_end(a, &s->dest, call);
    for (size_t i = 0; i < s->wish.count; i++) {
        columns[i] = s->wish.columns[i];
        columns[i].name = arena_copy(a, columns[i].name);
    }
    s->wish.columns = columns;
    s->capture.column = arena_copy(a, s->capture.column);
}

static bool link_reach_is(const struct config_entry *job, struct str link, struct str table,
                          struct str *ret_table)
{
    struct str l;

    return str_is(STR(CONFIG_KIND_REPLICATE), job->kind) &&
           link_view_split(str_of(job->name), &l, ret_table) && str_eq(l, link) &&
           (table.len == 0 || str_eq(*ret_table, table));
}

static bool link_reach_read(struct graphql_call *call, const struct config *c, struct str link,
                            struct str table, struct link_spec *ret, size_t *io_count,
                            struct err *err)
{
    const struct settings base = link_reach_settings(api_engine(call), c, call->arena);
    struct call *of = ARENA_NEW(call->arena, struct call);
    struct str one;

    *of = (struct call){ .egress = engine_egress(api_engine(call)) };
    for (size_t i = 0; i < c->job_count; i++) {
        if (!link_reach_is(&c->jobs[i], link, table, &one))
            continue;
        if (!link_settings_table(c, &base, link, one, &ret[*io_count], err))
            return err_context(err, "%s", c->jobs[i].name);
        link_reach_keep(call->arena, &ret[(*io_count)++], of);
    }
    return true;
}

static size_t link_reach_count(const struct config *c, struct str link, struct str table)
{
    struct str one;
    size_t n = 0;

    for (size_t i = 0; i < c->job_count; i++)
        n += link_reach_is(&c->jobs[i], link, table, &one);
    return n;
}

bool link_reach_specs(struct graphql_call *call, struct str link, struct str table,
                      struct link_spec **ret, size_t *ret_count, struct err *err)
{
    struct plan *plan = road_plan(engine_road(api_engine(call)));
    size_t n = link_reach_count(plan->config, link, table), count = 0;

    *ret = ARENA_ARRAY(call->arena, struct link_spec, n + 1);
    bool ok = link_reach_read(call, plan->config, link, table, *ret, &count, err);

    plan_unref(plan);
    *ret_count = count;
    if (ok && count == 0)
        return err_set(err, ERR_PERMANENT, 0, "the configuration in force has no %s%.64s%s%.64s",
                       table.len > 0 ? "table " : "link ", arena_text(call->arena, link),
                       table.len > 0 ? "/" : "", arena_text(call->arena, table));
    return ok;
}

void link_reach_names(struct graphql_call *call, struct str link, struct str table,
                      struct str *ret_from, struct str *ret_to)
{
    struct link_spec *spec;
    struct err err = { 0 };
    size_t n;

    *ret_from = *ret_to = STR("");
    if (!link_reach_specs(call, link, table, &spec, &n, &err))
        return;
    *ret_from = spec->source.address.name;
    *ret_to = spec->dest.address.name;
}

/* ---- databases ---- */

static atomic_int link_reach_running; /* of this process: each holds a thread of the API */

bool link_reach_enter(struct err *err)
{
    if (atomic_fetch_add(&link_reach_running, 1) < LINK_REACH_MOST)
        return true;
    (void)atomic_fetch_sub(&link_reach_running, 1);
    return err_set(err, ERR_LIMIT, 0,
                   "%d looks into databases are under way on this node: try again in a moment",
                   LINK_REACH_MOST);
}

void link_reach_leave(void)
{
    (void)atomic_fetch_sub(&link_reach_running, 1);
}

static bool link_reach_take(const struct link_spec *spec, struct link_reach *r, struct err *err)
{
    AUTO(buf_done) struct buf problems = BUF_INIT(PROBLEMS_MOST);
    enum link_reason reason;

    if (!link_sides_take(&r->kept, spec, spec->source.address.call, &r->sides, &reason, &problems,
                         err))
        return false;
    if (reason == LINK_GOES)
        return true;
    return err_set(err, ERR_PERMANENT, 0, "%s: %.*s", link_reasons[reason],
                   STR_ARG(str_first(buf_view(&problems), 160)));
}

bool link_reach_open(struct graphql_call *call, struct str link, struct str table,
                     struct link_reach *ret, struct err *err)
{
    struct link_spec *spec;
    size_t n;

    *ret = (struct link_reach){ .from_us = clock_mono_us() };
    if (!link_reach_specs(call, link, table, &spec, &n, err) || !link_reach_enter(err))
        return false;
    link_kept_init(&ret->kept);
    if (link_reach_take(spec, ret, err))
        return true;
    link_kept_done(&ret->kept);
    link_reach_leave();
    return false;
}

void link_reach_close(struct graphql_call *call, struct link_reach *r)
{
    link_sides_put(&r->kept, r->sides, false);
    link_kept_done(&r->kept);
    link_reach_leave();
    graphql_lend(call, clock_mono_us() - r->from_us);
}
