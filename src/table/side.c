/* side.c - what is asked of a side beside its rows: what is there, and what must be.
 */
#include "table/side.h"

#include "base/require.h"
#include "table/side_question.h"

static const struct capture journal = { .kind = CAPTURE_JOURNAL };

void side_close(struct side *s)
{
    if (s->away != NULL)
        s->away->close(s);
    else if (s->type != NULL)
        s->type->close(s->db);
    s->db = NULL;
}

bool side_is_broken(const struct side *s)
{
    return s->away != NULL ? s->away->broken(s) : s->type->broken(s->db);
}

void side_lend(struct side *s, struct call *call)
{
    if (s->away != NULL)
        s->away->lend(s, call);
    else
        s->type->lend(s->db, call);
}

bool side_end(struct side *s, bool ok, struct err *err)
{
    if (ok && s->type->commit(s->db, err))
        return true;
    s->type->rollback(s->db);
    return false;
}

/* ---- what is there ---- */

bool side_describe(struct side *s, struct arena *a, struct shape **ret, struct err *err)
{
    if (s->away != NULL)
        return s->away->ask(s, SIDE_DESCRIBE, NULL, a, ret, err);
    return s->type->describe(s->db, s->at, a, ret, err);
}

bool side_look(struct side *s, struct arena *a, struct capture_look *ret, struct err *err)
{
    if (s->away != NULL)
        return s->away->ask(s, SIDE_LOOK, NULL, a, ret, err);
    const struct capture *capture = s->is_source ? &s->capture : &journal;

    if (!s->type->look(s->db, s->fit, capture, a, ret, err))
        return false;
    ret->groups = s->type->kind.groups && capture->kind == CAPTURE_JOURNAL;
    return true;
}

bool side_ceiling(struct side *s, struct ceiling *ret, struct err *err)
{
    if (s->away != NULL)
        return s->away->ask(s, SIDE_CEILING, NULL, NULL, ret, err);
    return s->type->ceiling(s->db, s->fit, &s->capture, ret, err);
}

bool side_count(struct side *s, int64_t *ret, struct err *err)
{
    if (s->away != NULL)
        return s->away->ask(s, SIDE_COUNT, NULL, NULL, ret, err);
    return s->type->begin(s->db, DATABASE_READ, err) &&
           side_end(s, s->type->count(s->db, s->fit, ret, err), err);
}

/* ---- the journal ---- */

bool side_backlog(struct side *s, const struct change_place *after, int64_t most, int64_t *ret,
                  struct err *err)
{
    const struct side_backlog of = { *after, most };

    if (s->away != NULL)
        return s->away->ask(s, SIDE_BACKLOG, &of, NULL, ret, err);
    return s->type->begin(s->db, DATABASE_READ, err) &&
           side_end(s, s->type->backlog(s->db, s->fit, after, most, ret, err), err);
}

/* ---- what must be ---- */

bool side_plan(struct side *s, enum side_planning what, struct arena *a, struct ddl *ret,
               struct err *err)
{
    if (s->away != NULL)
        return s->away->ask(s, SIDE_PLAN, &what, a, ret, err);
    switch (what) {
    case SIDE_PLAN_CAPTURE:
        return s->type->plan_capture(s->db, s->fit, s->is_source ? &s->capture : &journal, a, ret,
                                     err);
    case SIDE_PLAN_CAPTURE_REMOVAL:
        return s->type->plan_capture_removal(s->db, s->fit, a, ret, err);
    case SIDE_PLAN_MARK:
        return s->type->plan_mark(s->db, a, ret, err);
    default:
        return s->type->plan_mark_removal(s->db, s->link, s->table, a, ret, err);
    }
}

static bool side_has_seen(const struct ddl_statement *s, const struct sha256 *seen, size_t count)
{
    struct sha256 of = digest_of(s->text);
    size_t i = 0;

    while (i < count && !digest_same(&of, &seen[i]))
        i++;
    return i < count;
}

bool side_run(struct side *s, enum side_planning what, const struct sha256 *seen, size_t count,
              struct arena *a, struct err *err)
{
    const struct side_running run = { what, seen, count };
    struct ddl ddl = { 0 };

    if (s->away != NULL)
        return s->away->ask(s, SIDE_RUN, &run, a, NULL, err);
    if (!side_plan(s, what, a, &ddl, err))
        return false;
    for (size_t i = 0; i < ddl.count; i++)
        if (!side_has_seen(&ddl.statements[i], seen, count))
            return err_set(err, ERR_PERMANENT, 0, "the plan is another one by now: look again");
    for (size_t i = 0; i < ddl.count; i++)
        if (!s->type->run_ddl(s->db, ddl.statements[i].text, err))
            return err_context(err, "%s", ddl.statements[i].purpose);
    return true;
}

/* ---- a side that is away ---- */

bool side_keep(struct side *s, const struct side_keeping *k, struct err *err)
{
    require(s->away != NULL);
    return s->away->ask(s, SIDE_KEEP, k, NULL, NULL, err);
}

bool side_pair(struct side *s, const struct side_pairing *p, struct side_paired *ret,
               struct err *err)
{
    require(s->away != NULL);
    return s->away->ask(s, SIDE_PAIR, p, NULL, ret, err);
}
