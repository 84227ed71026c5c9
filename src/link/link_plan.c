#include "link/link_plan.h"

#include "link/link_sides.h"
#include "table/side.h"

enum { STATEMENTS_MOST = 10000, PLAN_LINES = 64 << 10 };

struct planning_sides {
    const struct link_spec *spec;
    struct side source, dest;
};

static void plan_close(struct planning_sides *p)
{
    side_close(&p->source);
    side_close(&p->dest);
}

/* ---- collecting ---- */

static bool plan_has(const struct link_planned *plan, struct str database, struct str text)
{
    for (size_t i = 0; i < plan->count; i++)
        if (str_eq(plan->statements[i].database, database) &&
            str_eq(plan->statements[i].text, text))
            return true;
    return false;
}

/* What one side of one table needs. */
struct link_planned_group {
    const struct link_spec *spec;
    bool at_source, has_run;
    enum side_planning what;
    struct sha256 *seen; /* of its statements */
    size_t count;
};

static bool plan_collect(struct link_planned *plan, struct link_planned_group *group,
                         const struct ddl *ddl, struct err *err)
{
    const struct link_end *at = group->at_source ? &group->spec->source : &group->spec->dest;

    for (size_t i = 0; i < ddl->count; i++) {
        const struct ddl_statement *s = &ddl->statements[i];

        group->seen[group->count++] = digest_of(s->text);
        if (plan_has(plan, at->address.name, s->text))
            continue; /* what the tables of a database share */
        if (plan->count == STATEMENTS_MOST)
            return err_set(err, ERR_LIMIT, 0, "more than %d statements: plan fewer tables at once",
                           STATEMENTS_MOST);
        plan->statements[plan->count++] = (struct link_planned_statement){
            .database = at->address.name, .text = s->text, .purpose = s->purpose, .group = group
        };
    }
    return true;
}

static bool plan_add(struct planning_sides *p, bool at_source, enum side_planning what,
                     struct arena *a, struct link_planned *plan, struct err *err)
{
    struct link_planned_group *group = ARENA_NEW(a, struct link_planned_group);
    struct ddl ddl;

    if (!side_plan(at_source ? &p->source : &p->dest, what, a, &ddl, err))
        return false;
    *group = (struct link_planned_group){ .spec = p->spec,
                                          .at_source = at_source,
                                          .what = what,
                                          .seen = ARENA_ARRAY(a, struct sha256, ddl.count + 1) };
    return plan_collect(plan, group, &ddl, err);
}

/* ---- one table ---- */

static bool plan_describe(const struct link_end *end, struct side *side, struct arena *a,
                          struct shape **ret, struct buf *problems)
{
    struct err why = { 0 };

    if (link_end_open(end, end->address.call, side, &why) && side_describe(side, a, ret, &why))
        return true;
    buf_printf(problems, "database %.*s: %s\n", STR_ARG(end->address.name), why.text);
    return false;
}

static bool plan_fit(struct planning_sides *p, struct arena *a, struct buf *problems)
{
    const struct link_spec *spec = p->spec;
    struct shape *source, *dest;
    struct fit *of_source, *of_dest;

    p->source = link_side_of(spec, true);
    p->dest = link_side_of(spec, false);
    if (!plan_describe(&spec->source, &p->source, a, &source, problems) ||
        !plan_describe(&spec->dest, &p->dest, a, &dest, problems) ||
        !fit_make(source, dest, &spec->wish, a, &of_source, &of_dest, problems))
        return false;
    p->source.fit = of_source;
    p->dest.fit = of_dest;
    return true;
}

static struct str plan_columns(const struct fit *fit, struct arena *a)
{
    struct buf text = BUF_INIT(PLAN_LINES * 8);

    for (size_t i = 0; i < fit->count; i++)
        buf_printf(&text, "%s%.*s %s%s", i > 0 ? ", " : "", STR_ARG(fit->columns[i].name),
                   cell_types[fit->columns[i].travels], i < fit->key_count ? " (key)" : "");
    struct str copy = arena_copy(a, buf_view(&text));

    buf_done(&text);
    return copy;
}

static bool plan_install(struct planning_sides *p, struct link_planned_table *t, struct arena *a,
                         struct link_planned *plan, struct err *err)
{
    struct capture_look look;

    if (!side_look(&p->source, a, &look, err))
        return false;
    if (p->spec->group_most > 0 && !look.groups)
        return err_set(err, ERR_PERMANENT, 0, LINK_NO_GROUPS);
    t->installed = look.state == CAPTURE_IS_FINE;
    return (t->installed || plan_add(p, true, SIDE_PLAN_CAPTURE, a, plan, err)) &&
           plan_add(p, false, SIDE_PLAN_MARK, a, plan, err);
}

static bool plan_removal(struct planning_sides *p, struct link_planned_table *t, struct arena *a,
                         struct link_planned *plan, struct err *err)
{
    t->installed = true;
    return (p->spec->capture.kind != CAPTURE_JOURNAL ||
            plan_add(p, true, SIDE_PLAN_CAPTURE_REMOVAL, a, plan, err)) &&
           plan_add(p, false, SIDE_PLAN_MARK_REMOVAL, a, plan, err);
}

/* What fails for one table is its problem. */
static bool plan_table(const struct link_spec *spec, bool removal, struct arena *a,
                       struct link_planned *plan, struct err *err)
{
    struct link_planned_table *t = &plan->tables[plan->table_count++];
    struct planning_sides p = { .spec = spec };
    struct buf problems = BUF_INIT(PLAN_LINES * 8);
    struct err why = { 0 };
    bool ok = true;

    *t = (struct link_planned_table){ .table = spec->table };
    t->fits = plan_fit(&p, a, &problems);
    if (t->fits) {
        t->columns = plan_columns(p.source.fit, a);
        ok = removal ? plan_removal(&p, t, a, plan, &why) : plan_install(&p, t, a, plan, &why);
    }
    if (!ok) {
        t->fits = false;
        buf_printf(&problems, "%s\n", why.text);
    }
    t->problems = arena_copy(a, buf_view(&problems));
    buf_done(&problems);
    plan_close(&p);
    if (ok || why.kind != ERR_LIMIT)
        return true;
    *err = why;
    return false;
}

/* ---- all of them ---- */

static struct sha256 plan_digest(const struct link_planned *plan)
{
    struct digest d = digest_start();

    for (size_t i = 0; i < plan->count; i++) {
        digest_add(&d, plan->statements[i].database);
        digest_add(&d, str_mem("", 1));
        digest_add(&d, plan->statements[i].text);
        digest_add(&d, str_mem("", 1));
    }
    return digest_end(&d);
}

bool link_plan_make(const struct link_spec *specs, size_t count, bool removal, struct arena *a,
                    struct link_planned *ret, struct err *err)
{
    *ret = (struct link_planned){ .tables = ARENA_ARRAY(a, struct link_planned_table, count + 1),
                                  .statements = ARENA_ARRAY(a, struct link_planned_statement,
                                                            STATEMENTS_MOST) };
    for (size_t i = 0; i < count; i++)
        if (!plan_table(&specs[i], removal, a, ret, err))
            return false;
    ret->digest = plan_digest(ret);
    return true;
}

/* At another location all that a side of a table needs is run at once: it takes no statements from
 * elsewhere, but makes the plan itself and compares. */
static bool plan_run_away(struct link_planned_group *group, struct arena *a, struct err *err)
{
    struct planning_sides p = { .spec = group->spec };
    struct buf problems = BUF_INIT(PLAN_LINES * 8);
    bool ok = plan_fit(&p, a, &problems) ||
              err_set(err, ERR_PERMANENT, 0, "%.*s", STR_ARG(str_first(buf_view(&problems), 160)));

    ok = ok && side_run(group->at_source ? &p.source : &p.dest, group->what, group->seen,
                        group->count, a, err);
    group->has_run = ok;
    buf_done(&problems);
    plan_close(&p);
    return ok;
}

static bool plan_run_here(const struct link_end *at, struct str text, struct err *err)
{
    struct database *db = NULL;
    bool ok = at->type->open(&at->address, &db, err) && at->type->run_ddl(db, text, err);

    at->type->close(db);
    return ok;
}

static bool plan_run_one(const struct link_planned_statement *s, struct arena *a, struct err *err)
{
    struct link_planned_group *group = s->group;
    const struct link_end *at = group->at_source ? &group->spec->source : &group->spec->dest;
    bool ok = at->away == NULL ? plan_run_here(at, s->text, err)
                               : group->has_run || plan_run_away(group, a, err);

    return ok ||
           err_context(err, "database %.*s: %s", STR_ARG(str_first(s->database, 60)), s->purpose);
}

bool link_plan_run(const struct link_spec *specs, size_t count, bool removal,
                   const struct sha256 *seen, struct arena *a, size_t *ret_done, struct err *err)
{
    struct link_planned plan;

    *ret_done = 0;
    if (!link_plan_make(specs, count, removal, a, &plan, err))
        return false;
    for (size_t i = 0; i < plan.table_count; i++)
        if (!plan.tables[i].fits)
            return err_set(err, ERR_PERMANENT, 0, "table %.*s: %.*s",
                           STR_ARG(str_first(plan.tables[i].table, 60)),
                           STR_ARG(str_first(plan.tables[i].problems, 120)));
    if (!digest_same(&plan.digest, seen))
        return err_set(err, ERR_PERMANENT, 0,
                       "the databases have changed since: look at the plan again");
    for (; *ret_done < plan.count; ++*ret_done)
        if (!plan_run_one(&plan.statements[*ret_done], a, err))
            return false;
    return true;
}
