/* setting_aside.c - rows that a side cannot take: kept in the store, tried again, resolved
 * (replicating.h).  Rows that have lost (both_ways.c) and were chosen by a person are written here.
 *
 * A row is in the store before the batch that leaves it out is written, and goes from there after a
 * batch that has it was: whenever a run dies, it is in one of both, or in both.  In both, it is
 * tried once more, which does no harm.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "link/replication.h"
#include "store/replica/conflict.h"
#include "table/batch.h"

enum { RETRY_MOST = 100 /* rows that one run tries again */ };

/* ---- setting aside ---- */

static void aside_judge_count(struct replication *p)
{
    if (p->s->set_aside <= p->r->spec->quarantine_most)
        return;
    link_state_stop(p->s, LINK_QUARANTINE, p->r->now_us,
                    "%lld %s set aside, more than %lld. Look at them: waybill repl "
                    "quarantine %.*s/%.*s; it goes on when they can be written, or are discarded",
                    (long long)p->s->set_aside, p->s->set_aside == 1 ? "row is" : "rows are",
                    (long long)p->r->spec->quarantine_most,
                    STR_ARG(str_first(p->r->spec->link, 100)),
                    STR_ARG(str_first(p->r->spec->table, 100)));
}

bool replication_set_aside(struct replication *p, const char *kind, const struct side_bad_row *bad,
                           size_t count, struct err *err)
{
    struct set_aside *rows = ARENA_ARRAY(&p->turn, struct set_aside, count + 1);

    if (count == 0)
        return true;
    for (size_t i = 0; i < count; i++)
        rows[i] = (struct set_aside){ .link = p->r->spec->link,
                                      .table = p->r->spec->table,
                                      .key = bad[i].key,
                                      .row = bad[i].row,
                                      .kind = str_of(kind),
                                      .why = str_of(bad[i].why),
                                      .x = bad[i].x };
    if (!set_aside_put(p->r->store, rows, count, p->r->now_us, &p->s->set_aside, err))
        return err_context(err, "rows to be set aside");
    aside_judge_count(p);
    return true;
}

/* ---- resolving ---- */

static int resolve_by_text(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

bool replication_resolve(struct replication *p, struct str batch, const struct str *left,
                         size_t left_count, struct err *err)
{
    struct str *keys;
    size_t n = 0;
    struct batch_entry e;

    for (struct str rest = batch; rest.len > 0; n++)
        if (!batch_take(&rest, &e, err))
            return false;
    keys = ARENA_ARRAY(&p->turn, struct str, n + 1);
    n = 0;
    while (batch.len > 0) {
        if (!batch_take(&batch, &e, err))
            return false;
        if (left_count == 0 ||
            bsearch(&e.key, left, left_count, sizeof *left, resolve_by_text) == NULL)
            keys[n++] = e.key;
    }
    if (n == 0)
        return true;
    return set_aside_drop(p->r->store, p->r->spec->link, p->r->spec->table, keys, n,
                          &p->s->set_aside, err) ||
           err_context(err, "rows that were set aside");
}

/* ---- what was chosen ---- */

/* In a batch of its own.  What it replaces has lost in its turn.  *ret_done: it was written, or is
 * refused, and why. */
static bool choose_put(struct replication *p, struct str batch, bool *ret_done, struct str *ret_why,
                       struct err *err)
{
    struct mark to = replication_next(p);
    struct side_applied a;
    struct side_batch b = {
        .batch = batch, .from = p->mark, .to = to, .origin = STR(""), .rule = &p->rule
    };

    do {
        if (!side_apply(p->dest, &b, &p->turn, &a, err))
            return err_context(err, "destination");
        if (a.outcome == SIDE_CONFLICTS && !replication_keep_losers(p, &a, err))
            return false;
    } while (a.outcome == SIDE_CONFLICTS && !replication_stopped(p));
    *ret_done = a.outcome == SIDE_BAD;
    *ret_why = STR("");
    if (*ret_done)
        *ret_why =
            a.bad_count > 0
                ? str_of(arena_printf(&p->turn, "it was chosen, and is refused: %s", a.bad[0].why))
                : STR("it was chosen, and is refused");
    return *ret_done || replication_stopped(p) ||
           replication_took(p, &a, &to, batch, ret_done, err);
}

static bool choose_one(struct replication *p, int64_t id, struct err *err)
{
    struct buf batch = BUF_INIT(2 * SHAPE_ROW_BYTES);
    struct set_aside row;
    struct str why;
    bool has, done = false;

    if (!set_aside_find(p->r->store, id, &p->turn, &has, &row, err))
        return false;
    if (!has)
        return true;
    const struct batch_entry e = {
        .gone = row.row.len == 0, .origin = STR(""), .key = row.key, .row = row.row
    };
    p->rule = (struct side_rule){ .winner = SIDE_SOURCE_WINS,
                                  .version = STR(""),
                                  .source = p->look.identity,
                                  .dest = p->there.identity,
                                  .doubt = SIDE_ANY };
    bool ok = batch_put(&batch, &e, err) && choose_put(p, buf_view(&batch), &done, &why, err);

    buf_done(&batch);
    if (!ok || !done)
        return ok; /* if the mark is another one: in the next run */
    return conflict_settle(p->r->store, id, why.len == 0, replication_away(p) != NULL, why, err) &&
           set_aside_open(p->r->store, p->r->spec->link, p->r->spec->table, &p->s->set_aside, err);
}

/* Those that a person has chosen although they had lost are written, as changes of the destination.
 * Takes them out of the list. */
static bool choose_all(struct replication *p, struct set_aside *rows, size_t *io_count,
                       struct err *err)
{
    size_t n = 0;

    for (size_t i = 0; i < *io_count; i++) {
        if (!str_is(rows[i].kind, CONFLICT_KIND))
            rows[n++] = rows[i];
        else if (!replication_stopped(p) && p->has_mark && !choose_one(p, rows[i].id, err))
            return false;
    }
    *io_count = n;
    return true;
}

/* ---- trying again ---- */

struct retrying {
    struct replication *p;
    struct side_bad_row *bad; /* those that the source still cannot give */
    size_t bad_count;
    int64_t rows;
};

/* Both ways: a row that came from the destination since is not tried again.  What was set aside of
 * it has lost.  *ret_us: when it was changed last. */
static bool retry_is_over(struct retrying *r, const struct set_aside *row, int64_t *ret_us,
                          bool *ret, struct err *err)
{
    struct replication *p = r->p;
    const struct link_spec *spec = p->r->spec;
    struct side_change *change;
    struct set_aside lost;
    bool has;

    *ret = false;
    if (!replication_goes_back(p))
        return true;
    if (!side_changes_of(p->source, &row->key, 1, &p->turn, &change, err))
        return err_context(err, "source");
    *ret_us = change->at_us;
    if (!change->has || !str_eq(change->origin, p->there.identity))
        return true;
    *ret = true;
    if (!set_aside_find(p->r->store, row->id, &p->turn, &has, &lost, err))
        return false;
    if (!has)
        return true;
    lost.why = STR("it could not be written, and was replaced at the source by what came from the "
                   "destination");
    lost.due_us = conflict_due(p->r->now_us, spec->back.waits);
    p->s->conflicts++;
    return replication_keep(p, &lost, 1, err) &&
           set_aside_drop(p->r->store, spec->link, spec->table, &row->key, 1, &p->s->set_aside,
                          err);
}

/* Appends the row as it is now at the source to p->batch; one that is not there any more is to be
 * removed. */
static bool retry_take(struct retrying *r, const struct set_aside *row, struct buf *one,
                       struct err *err)
{
    struct replication *p = r->p;
    struct batch_entry e = { .gone = true, .origin = STR("") };
    struct err why = { 0 };
    struct str rest;
    int64_t at_us = 0;
    bool over;

    if (!retry_is_over(r, row, &at_us, &over, err))
        return false;
    if (over)
        return true;
    buf_clear(one);
    if (!side_fetch(p->source, &row->key, 1, &p->turn, one, &why)) {
        struct side_bad_row *bad = &r->bad[r->bad_count];

        if (why.kind != ERR_PERMANENT && why.kind != ERR_LIMIT) {
            *err = why;
            return err_context(err, "source");
        }
        *bad = (struct side_bad_row){ .key = row->key, .row = STR(""), .x = row->x };
        (void)snprintf(bad->why, sizeof bad->why, "%s", why.text);
        r->bad_count++;
        return true;
    }
    rest = buf_view(one);
    if (rest.len == 0 && p->source->capture.append) /* it stays, if it is there */
        return set_aside_drop(p->r->store, p->r->spec->link, p->r->spec->table, &row->key, 1,
                              &p->s->set_aside, err);
    if (rest.len > 0 && !batch_take(&rest, &e, err))
        return false;
    e.key = row->key;
    e.x = row->x;
    e.at_us = at_us;
    r->rows++;
    return batch_put(&p->batch, &e, err);
}

static bool retry_put(struct retrying *r, struct err *err)
{
    struct replication *p = r->p;
    struct mark to = replication_next(p);
    bool put = true;

    to.rows += r->rows;
    if (r->rows == 0 && r->bad_count == 0)
        return true;
    if (r->rows == 0)
        return replication_set_aside(p, "source", r->bad, r->bad_count, err);
    if (!replication_put(p, buf_view(&p->batch), &to, r->bad, r->bad_count, &put, err))
        return false;
    if (!put && !replication_stopped(p) && p->mark.batches + 1 != to.batches)
        replication_reach(p, p->mark.place); /* the mark is another one */
    return true;
}

static bool retry_rows(struct replication *p, const struct set_aside *rows, size_t count,
                       struct err *err)
{
    struct retrying r = { .p = p, .bad = ARENA_ARRAY(&p->turn, struct side_bad_row, count + 1) };
    struct buf one = BUF_INIT(2 * SHAPE_ROW_BYTES);
    bool ok = replication_see(p, err);

    buf_clear(&p->batch);
    for (size_t i = 0; ok && i < count && p->batch.len < p->r->spec->batch_bytes; i++)
        ok = retry_take(&r, &rows[i], &one, err);
    buf_done(&one);
    return ok && retry_put(&r, err);
}

static size_t retry_most(const struct replication *p)
{
    return p->s->rows_most > 0 && p->s->rows_most < RETRY_MOST ? (size_t)p->s->rows_most
                                                               : RETRY_MOST;
}

/* The mark moves by one batch, and stays at its place: what the source has changed since then comes
 * again, which changes nothing. */
bool replication_retry(struct replication *p, struct err *err)
{
    struct set_aside rows[RETRY_MOST];
    const struct link_spec *spec = p->r->spec;
    size_t n = 0;

    /* Not as the state has it: it was lost if the run before died, and people discard rows. */
    if (!set_aside_open(p->r->store, spec->link, spec->table, &p->s->set_aside, err))
        return false;
    arena_reset(&p->turn);
    if (p->s->set_aside > 0 && (!set_aside_due(p->r->store, spec->link, spec->table, p->r->now_us,
                                               retry_most(p), &p->turn, rows, &n, err) ||
                                !choose_all(p, rows, &n, err) ||
                                (n > 0 && !replication_stopped(p) && !retry_rows(p, rows, n, err))))
        return false;
    if (!replication_stopped(p))
        aside_judge_count(p);
    return true;
}
