/* side_apply.c - a batch at its destination: rows and mark in one transaction.
 *
 * The mark says whether the batch is the next one: a batch that was applied before, or that
 * somebody sends who has lost the table to another one, changes nothing.  All rows are written
 * together; if the database refuses that, one by one, to find those that it refuses.  Then nothing
 * of the batch is kept: whoever sent it first keeps what was refused, and sends the batch again
 * without.  Likewise with rows that lose against others (side_conflict.c).
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/fault.h"
#include "table/side_apply.h"
#include "table/side_question.h"

enum { RACES_MOST = 5 /* rows were added by somebody else at the same moment */ };

/* ---- the mark ---- */

static bool mark_same(const struct mark *a, const struct mark *b)
{
    return a->phase == b->phase && a->batches == b->batches && a->place.x == b->place.x &&
           str_eq(a->place.key, b->place.key) && str_eq(a->load_key, b->load_key) &&
           str_eq(a->epoch, b->epoch) && str_eq(a->life, b->life);
}

/* True: it is the next one.  That it is there already is told by who wrote it and when, too: two
 * batches that do not move the place have the same mark otherwise. */
static bool applying_is_next(struct applying *a)
{
    const struct mark *now = &a->ret->mark;
    const struct side_batch *b = a->batch;

    if (!a->ret->has_mark)
        a->ret->outcome = b->first ? SIDE_APPLIED : SIDE_ELSEWHERE;
    else if (now->fence > b->to.fence)
        a->ret->outcome = SIDE_STALE;
    else if (mark_same(now, &b->to) && now->fence == b->to.fence && now->at_us == b->to.at_us)
        a->ret->outcome = SIDE_ALREADY;
    else
        a->ret->outcome = !b->first && mark_same(now, &b->from) ? SIDE_APPLIED : SIDE_ELSEWHERE;
    return a->ret->outcome == SIDE_APPLIED;
}

/* ---- the rows ---- */

static int applying_by_key(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static bool applying_leaves_out(const struct applying *a, struct str key)
{
    return a->batch->leave_count > 0 &&
           bsearch(&key, a->batch->leave_out, a->batch->leave_count, sizeof key, applying_by_key);
}

static bool applying_count(struct applying *a, struct err *err)
{
    struct str rest = a->batch->batch;
    struct batch_entry e;
    size_t n = 0;

    for (; rest.len > 0; n++)
        if (!batch_take(&rest, &e, err))
            return false;
    if (n > GROUP_ROWS || n * a->side->fit->count > GROUP_CELLS)
        return err_set(err, ERR_LIMIT, 0, "a batch has more rows than are written at once");
    a->entries = ARENA_ARRAY(&a->cells, struct applying_entry, n + 1);
    rest = a->batch->batch;
    while (rest.len > 0) {
        if (!batch_take(&rest, &e, err))
            return false;
        if (!applying_leaves_out(a, e.key))
            a->entries[a->entry_count++].e = e;
    }
    return true;
}

/* False with *err set: it is no fault of the row.  There may be more of them than are told. */
static bool applying_note_bad(struct applying *a, const struct batch_entry *e,
                              const struct err *why, struct err *err)
{
    if (why->kind != ERR_PERMANENT && why->kind != ERR_LIMIT) {
        *err = *why;
        return false;
    }
    if (a->ret->bad_count == SIDE_BAD_MOST)
        return true;
    if (a->ret->bad == NULL)
        a->ret->bad = ARENA_ARRAY(a->arena, struct side_bad_row, SIDE_BAD_MOST);
    struct side_bad_row *bad = &a->ret->bad[a->ret->bad_count++];

    *bad = (struct side_bad_row){ .key = arena_copy(a->arena, e->key),
                                  .row = arena_copy(a->arena, e->row),
                                  .x = e->x };
    (void)snprintf(bad->why, sizeof bad->why, "%s", why->text);
    return true;
}

/* Decodes what is not left out. */
static bool applying_read(struct applying *a, struct err *err)
{
    const struct fit *fit = a->side->fit;

    if (!applying_count(a, err))
        return false;
    a->rows = ARENA_ARRAY(&a->cells, struct cell, a->entry_count * fit->count + 1);
    a->keys = ARENA_ARRAY(&a->cells, struct cell, a->entry_count * fit->key_count + 1);
    for (size_t i = 0; i < a->entry_count; i++) {
        struct applying_entry *one = &a->entries[i];
        const struct batch_entry *e = &one->e;
        struct err why = { 0 };

        one->what = e->gone ? APPLYING_REMOVE : APPLYING_WRITE;
        one->cells =
            e->gone ? &a->keys[a->key_count * fit->key_count] : &a->rows[a->row_count * fit->count];
        if (e->gone ? side_coder_natural_key(&a->coder, e->key, &a->cells, one->cells, &why)
                    : side_coder_natural_row(&a->coder, e->row, &a->cells, one->cells, &why)) {
            a->key_count += e->gone;
            a->row_count += !e->gone;
        } else if (!applying_note_bad(a, e, &why, err)) {
            return false;
        }
    }
    return true;
}

/* The rows that are removed first: what they held may be used by others of the batch. */
static bool applying_write(struct applying *a, struct err *err)
{
    struct side *s = a->side;

    int64_t removed = 0;

    if (a->key_count > 0 && !s->type->remove(s->db, s->fit, a->keys, a->key_count, &removed, err))
        return false;
    a->ret->removed += removed;
    return (a->row_count == 0 || s->type->upsert(s->db, s->fit, a->rows, a->row_count, err)) &&
           (a->add_count == 0 || s->type->add(s->db, s->fit, a->adds, a->add_count, err));
}

static bool applying_write_one(struct applying *a, const struct applying_entry *one,
                               struct err *err)
{
    struct side *s = a->side;
    int64_t removed = 0;

    switch (one->what) {
    case APPLYING_LEAVE:
        return true;
    case APPLYING_WRITE:
    case APPLYING_KEEP:
        return s->type->upsert(s->db, s->fit, one->cells, 1, err);
    case APPLYING_ADD:
        return s->type->add(s->db, s->fit, one->cells, 1, err);
    case APPLYING_REMOVE:
        break;
    }
    bool ok = s->type->remove(s->db, s->fit, one->cells, 1, &removed, err);

    a->ret->removed += ok ? removed : 0;
    return ok;
}

static bool applying_see(void *arg, const struct cell *cells, struct err *err)
{
    int64_t *n = arg;

    (void)cells;
    (void)err;
    ++*n;
    return true;
}

/* It was refused, and nothing of it is kept. */
static bool applying_refused(struct applying *a, const struct applying_entry *one,
                             const struct err *why, struct err *err)
{
    struct side *s = a->side;
    int64_t there = 0;

    if (why->kind != ERR_PERMANENT && why->kind != ERR_LIMIT) {
        *err = *why;
        return false;
    }
    if (!s->type->back(s->db, err))
        return false;
    if (one->what == APPLYING_ADD &&
        !s->type->rows_of(s->db, s->fit, one->cells, 1, applying_see, &there, err))
        return false;
    a->raced = a->raced || there > 0;
    return there > 0 || one->what == APPLYING_KEEP || applying_note_bad(a, &one->e, why, err);
}

/* Finds the rows that the database refuses.  Removals come first, as in applying_write(). */
static bool applying_find_bad(struct applying *a, struct err *err)
{
    struct side *s = a->side;

    a->ret->removed = a->own_removed;
    for (int gone = 1; gone >= 0; gone--)
        for (size_t i = 0; i < a->entry_count && a->ret->bad_count < SIDE_BAD_MOST; i++) {
            const struct applying_entry *one = &a->entries[i];
            struct err why = { 0 };

            if (one->own || one->what == APPLYING_LEAVE || one->e.gone != (gone == 1))
                continue;
            if (!s->type->save(s->db, err))
                return false;
            if (!applying_write_one(a, one, &why) && !applying_refused(a, one, &why, err))
                return false;
        }
    return true;
}

/* ---- the limit of deletions ---- */

/* False: too many, or *err is set.  Only rows that are there count: a change may come again. */
static bool applying_may_remove(struct applying *a, struct err *err)
{
    const struct side_batch *b = a->batch;
    struct side *s = a->side;
    int64_t rows = 0, there = 0, gone = (int64_t)a->key_count + b->deletes_before;

    if (!b->deletes_limited || a->key_count == 0 || gone <= b->deletes_most)
        return true;
    if (!s->type->rows_of(s->db, s->fit, a->keys, a->key_count, applying_see, &there, err))
        return false;
    gone = there + b->deletes_before;
    if (there == 0 || gone <= b->deletes_most)
        return true;
    if (!s->type->count(s->db, s->fit, &rows, err))
        return false;
    if (gone <= (rows + b->deletes_before) * b->deletes_share / 1000)
        return true;
    a->ret->outcome = SIDE_DELETES;
    a->ret->deletes = gone;
    a->ret->rows = rows;
    return false;
}

/* ---- all of it ---- */

static bool applying_is_permanent(const struct err *why)
{
    return why->kind == ERR_PERMANENT || why->kind == ERR_LIMIT;
}

/* What was decided, row by row: it is rare. */
static bool applying_own(struct applying *a, struct err *err)
{
    struct side *s = a->side;

    if (a->own_count == 0)
        return true;
    for (size_t i = 0; i < a->entry_count; i++) {
        const struct applying_entry *one = &a->entries[i];
        struct err why = { 0 };

        if (!one->own || one->what == APPLYING_LEAVE)
            continue;
        if (!s->type->origin(s->db, STR(""), one->at_us, err) || !s->type->save(s->db, err))
            return false;
        if (!applying_write_one(a, one, &why) && !applying_refused(a, one, &why, err))
            return false;
        a->own_written += one->what == APPLYING_WRITE || one->what == APPLYING_ADD;
    }
    a->own_removed = a->ret->removed;
    return true;
}

/* Everything is known; it is written.  True with SIDE_BAD, or a->raced: nothing is to be kept. */
static bool applying_put(struct applying *a, struct err *err)
{
    const struct side_batch *b = a->batch;
    struct side *s = a->side;
    struct err why = { 0 };

    if (!applying_own(a, err))
        return false;
    if (a->raced)
        return true;
    if (a->ret->bad_count > 0) {
        a->ret->outcome = SIDE_BAD;
        return true;
    }
    if (!s->type->origin(s->db, b->origin, 0, err) || !s->type->save(s->db, err))
        return false;
    if (!applying_write(a, &why)) {
        if (!applying_is_permanent(&why)) {
            *err = why;
            return false;
        }
        if (!s->type->back(s->db, err) || !applying_find_bad(a, err))
            return false;
        if (a->raced)
            return true;
        if (a->ret->bad_count > 0) {
            a->ret->outcome = SIDE_BAD;
            return true;
        }
    }
    a->ret->written = (int64_t)(a->row_count + a->add_count) + a->own_written;
    return s->type->mark_put(s->db, s->link, s->table, &b->to, err);
}

/* In the transaction.  True with an outcome other than SIDE_APPLIED, or a->raced: nothing is to be
 * kept. */
static bool applying_do(struct applying *a, struct err *err)
{
    const struct side_batch *b = a->batch;
    struct side *s = a->side;

    if (!s->type->mark_get(s->db, s->link, s->table, a->arena, &a->ret->has_mark, &a->ret->mark,
                           err))
        return false;
    if (!applying_is_next(a))
        return true;
    if (!applying_read(a, err))
        return false;
    if (a->ret->bad_count > 0) {
        a->ret->outcome = SIDE_BAD;
        return true;
    }
    if (b->rule != NULL && a->entry_count > 0) {
        if (!applying_decide(a, err))
            return false;
        if (a->raced)
            return true;
        if (a->ret->conflict_count > 0) {
            a->ret->outcome = SIDE_CONFLICTS;
            return true;
        }
    }
    if (!applying_may_remove(a, err))
        return a->ret->outcome == SIDE_DELETES;
    return applying_put(a, err);
}

static bool applying_run(struct applying *a, struct err *err)
{
    struct side *s = a->side;
    struct side_applied *ret = a->ret;

    *ret = (struct side_applied){ 0 };
    if (!s->type->begin(s->db, DATABASE_WRITE, err))
        return false;
    side_coder_init(&a->coder, s->fit);
    bool ok = applying_do(a, err);

    side_coder_done(&a->coder);
    arena_done(&a->cells);
    if (ok && ret->outcome == SIDE_APPLIED && !a->raced) {
        fault_point(LINK_WRITTEN);
        ok = s->type->commit(s->db, err);
        fault_point(LINK_COMMITTED);
        if (ok) {
            ret->mark = a->batch->to;
            ret->has_mark = true;
        }
    }
    if (!ok || ret->outcome != SIDE_APPLIED || a->raced)
        s->type->rollback(s->db);
    return ok;
}

bool side_apply(struct side *s, const struct side_batch *b, struct arena *a,
                struct side_applied *ret, struct err *err)
{
    struct err why = { 0 };

    if (s->away != NULL)
        return s->away->ask(s, SIDE_APPLY, b, a, ret, err);
    for (int i = 0; i < RACES_MOST; i++) {
        struct applying ap = { .side = s,
                               .batch = b,
                               .arena = a,
                               .ret = ret,
                               .cells = ARENA_INIT((size_t)2 * SIDE_SCRATCH) };

        if (!applying_run(&ap, &why)) {
            if (why.kind != ERR_TRANSIENT || why.sys != DATABASE_CONTENDED) {
                *err = why;
                return false;
            }
            break;
        }
        if (!ap.raced)
            return true;
    }
    *ret = (struct side_applied){ .outcome = SIDE_BUSY };
    return true;
}

bool side_mark(struct side *s, struct arena *a, bool *ret_has, struct mark *ret, struct err *err)
{
    if (s->away != NULL) {
        struct side_mark_answer got;

        if (!s->away->ask(s, SIDE_MARK, NULL, a, &got, err))
            return false;
        *ret_has = got.has;
        *ret = got.mark;
        return true;
    }
    return s->type->begin(s->db, DATABASE_READ, err) &&
           side_end(s, s->type->mark_get(s->db, s->link, s->table, a, ret_has, ret, err), err);
}

bool side_key(const struct side *s, struct str key, struct arena *a, struct cell *ret,
              struct err *err)
{
    struct side_coder c;

    side_coder_init(&c, s->fit);
    bool ok = side_coder_natural_key(&c, key, a, ret, err);

    side_coder_done(&c);
    return ok;
}
