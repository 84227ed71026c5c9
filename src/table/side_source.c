/* side_source.c - what is asked of a source: its changes, and its rows in order of the key.
 *
 * Both fill a batch up to its limit in bytes, as measured, and say where the next one begins.  A
 * row that is larger than the limit goes alone.  A row whose values cannot travel is told and
 * passed.
 *
 * Whole transactions of the source (group_most) are changes of one x.  A batch then ends where an x
 * ends: what was taken of the next one is given back.  One that is larger than a batch goes alone,
 * up to group_most; of one that is larger still nothing is given, and that is told.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/fault.h"
#include "base/require.h"
#include "table/batch.h"
#include "table/side.h"
#include "table/side_encode.h"
#include "table/side_question.h"

struct filling {
    struct side *side;
    struct side_coder coder;
    struct arena *arena;
    struct buf *batch;
    size_t bytes_most;
    int64_t rows;
    bool full; /* there was one more, which it did not take */
    struct side_bad_row *bad;
    size_t bad_count;

    /* of changes */
    const struct side_window *window;
    struct side_changes *changes;
    struct buf last; /* the key of the last one */
    size_t seen;
    struct filling_whole { /* up to where what was taken is whole transactions */
        size_t len, seen, bad_count;
        int64_t rows, gone, left_out, newest_us;
        struct change_place last;
    } whole;
};

static void filling_init(struct filling *f, struct side *s, struct buf *batch, size_t bytes_most,
                         struct arena *a)
{
    *f = (struct filling){ .side = s,
                           .arena = a,
                           .batch = batch,
                           .bytes_most = bytes_most,
                           .last = BUF_INIT(SHAPE_KEY_BYTES) };
    side_coder_init(&f->coder, s->fit);
    f->bad = ARENA_ARRAY(a, struct side_bad_row, SIDE_BAD_MOST);
}

static void filling_done(struct filling *f)
{
    side_coder_done(&f->coder);
    buf_done(&f->last);
}

static void filling_note_bad(struct filling *f, int64_t x, const struct err *why)
{
    require(f->bad_count < SIDE_BAD_MOST);
    struct side_bad_row *bad = &f->bad[f->bad_count++];

    *bad = (struct side_bad_row){ .key = arena_copy(f->arena, buf_view(&f->coder.key)), .x = x };
    (void)snprintf(bad->why, sizeof bad->why, "%s", why->text);
}

/* A transaction that is the first of a batch may have more room. */
static size_t filling_room(const struct filling *f)
{
    size_t group = f->window != NULL && f->whole.seen == 0 ? f->window->group_most : 0;

    return group > f->bytes_most ? group : f->bytes_most;
}

/* Takes a row, or says that it is full.  What cannot travel is noted; false with *err set: another
 * failure. */
static bool filling_take(struct filling *f, const struct change *change, struct err *err)
{
    const struct cell *cells = change->cells;
    bool gone = change->gone;
    struct err why = { 0 };
    struct batch_entry e = {
        .gone = gone, .x = change->x, .at_us = change->at_us, .origin = change->origin
    };

    if (f->bad_count == SIDE_BAD_MOST) {
        f->full = true;
        return false;
    }
    if (!side_coder_key(&f->coder, cells, err))
        return err_context(err, "a key");
    e.key = buf_view(&f->coder.key);
    if (!gone && !side_coder_rest(&f->coder, cells, false, &why)) {
        if (why.kind != ERR_PERMANENT && why.kind != ERR_LIMIT) {
            *err = why;
            return false;
        }
        filling_note_bad(f, change->x, &why);
        return true;
    }
    if (!gone)
        e.row = buf_view(&f->coder.row);
    if (f->rows > 0 && f->batch->len + batch_size(&e) > filling_room(f)) {
        f->full = true;
        return false;
    }
    f->rows++;
    return batch_put(f->batch, &e, err);
}

/* ---- changes ---- */

/* A test switch: changes are read as far as they can be seen, as if none could be committed late.
 */
static bool changes_by_plain_cursor(void)
{
    return fault_switch("WAYBILL_TEST_LINK_PLAIN_CURSOR") != NULL;
}

/* Everything that was taken so far is whole. */
static void changes_note_whole(struct filling *f)
{
    const struct side_changes *c = f->changes;

    f->whole =
        (struct filling_whole){ .len = f->batch->len,
                                .seen = f->seen,
                                .bad_count = f->bad_count,
                                .rows = f->rows,
                                .gone = c->gone,
                                .left_out = c->left_out,
                                .newest_us = c->newest_us,
                                .last = { .x = c->last.x,
                                          .key = arena_copy(f->arena, buf_view(&f->last)) } };
}

/* Gives back what is not. */
static void changes_cut(struct filling *f)
{
    const struct filling_whole *w = &f->whole;
    struct side_changes *c = f->changes;

    f->batch->len = w->len;
    f->seen = w->seen;
    f->bad_count = w->bad_count;
    f->rows = w->rows;
    c->gone = w->gone;
    c->left_out = w->left_out;
    c->newest_us = w->newest_us;
    c->last.x = w->last.x;
    buf_clear(&f->last);
    buf_put(&f->last, w->last.key);
}

static bool changes_take(void *arg, const struct change *change, struct err *err)
{
    struct filling *f = arg;
    struct side_changes *ret = f->changes;
    const struct side_back *to = &f->window->back;
    /* What goes nowhere: what came from there, and of rows that are only added those that are gone.
     */
    bool back = (to->link.len > 0 && str_eq(change->origin, to->origin)) ||
                (f->side->capture.append && change->gone);

    if (f->window->group_most > 0 && f->seen > 0 && change->x != ret->last.x)
        changes_note_whole(f);
    if (back) {
        if (!side_coder_key(&f->coder, change->cells, err))
            return err_context(err, "a key");
    } else if (!filling_take(f, change, err)) {
        return false;
    }
    if (!back && change->at_us > ret->newest_us)
        ret->newest_us = change->at_us;
    ret->left_out += back;
    ret->gone += !back && change->gone;
    ret->last.x = change->x;
    buf_clear(&f->last);
    f->seen++;
    return buf_append(&f->last, buf_view(&f->coder.key), err);
}

/* Begins to read.  Both ways: all is read as of one moment, and the mark of the link back first. */
static bool filling_begin(struct filling *f, const struct side_back *back, bool *ret_has,
                          struct mark *ret, struct err *err)
{
    struct side *s = f->side;
    struct err why = { 0 };

    *ret_has = false;
    if (back->link.len == 0)
        return s->type->begin(s->db, DATABASE_READ, err);
    if (!s->type->begin(s->db, DATABASE_SNAPSHOT, err))
        return false;
    if (s->type->mark_get(s->db, back->link, back->table, f->arena, ret_has, ret, &why))
        return true;
    s->type->rollback(s->db);
    *ret_has = false;
    if (why.kind == ERR_CONFIG) /* it is not installed yet */
        return s->type->begin(s->db, DATABASE_SNAPSHOT, err);
    *err = why;
    return false;
}

static bool changes_read(struct filling *f, size_t most, struct err *err)
{
    struct side *s = f->side;

    if (!filling_begin(f, &f->window->back, &f->changes->has_seen, &f->changes->seen, err))
        return false;
    bool ok = s->type->changes(s->db, s->fit, &s->capture, &f->window->after,
                               f->changes->ceiling.below, most, changes_take, f, err);

    /* Behind the reading: what was pruned before it is in it. */
    if (s->capture.kind == CAPTURE_JOURNAL)
        ok = ok && s->type->pruned(s->db, s->fit, &f->changes->pruned, err);
    if (ok && !s->type->commit(s->db, err))
        ok = false;
    if (!ok)
        s->type->rollback(s->db);
    return ok;
}

static size_t changes_rows_most(const struct filling *f)
{
    size_t rows = GROUP_CELLS / f->side->fit->count;

    return rows < GROUP_ROWS ? rows : GROUP_ROWS;
}

/* With more rows at once where a transaction is not over with so many.  *ret_more: the window went
 * on. */
static bool changes_read_whole(struct filling *f, bool *ret_more, struct err *err)
{
    size_t most = f->window->rows_most, rows_most = changes_rows_most(f);

    if (f->window->group_most > 0 && most == 0)
        most = 1;

    for (;; most *= 8) {
        if (f->window->group_most > 0 && most > rows_most)
            most = rows_most;
        if (!changes_read(f, most, err))
            return false;
        *ret_more = f->full || f->seen == most;
        if (f->window->group_most == 0 || !*ret_more)
            return true;
        bool enough = f->whole.seen > 0 || f->full || most == rows_most;

        f->changes->too_large = enough && f->whole.seen == 0;
        changes_cut(f);
        if (enough)
            return true;
    }
}

bool side_changes(struct side *s, const struct side_window *w, struct arena *a,
                  struct side_changes *ret, struct err *err)
{
    struct filling f;

    if (s->away != NULL)
        return s->away->ask(s, SIDE_CHANGES, w, a, ret, err);
    ret->rows = ret->gone = ret->left_out = ret->newest_us = ret->pruned = 0;
    ret->too_large = ret->more = false;
    ret->has_seen = false;
    ret->upto = w->after;
    ret->last = (struct change_place){ .key = STR("") };
    if (!s->type->ceiling(s->db, s->fit, &s->capture, &ret->ceiling, err))
        return false;
    if (changes_by_plain_cursor())
        ret->ceiling.below = ret->ceiling.now_x;
    buf_clear(&ret->batch);
    filling_init(&f, s, &ret->batch, w->bytes_most, a);
    f.window = w;
    f.changes = ret;
    /* Below the place there is nothing to read: a source that went back is the caller's matter. */
    bool ok = ret->ceiling.below <= w->after.x || changes_read_whole(&f, &ret->more, err);

    if (ok) {
        ret->below = ret->ceiling.below;
        ret->rows = f.rows;
        ret->bad = f.bad;
        ret->bad_count = f.bad_count;
        ret->last.key = arena_copy(a, buf_view(&f.last));
        if (ret->too_large)
            ret->upto = w->after;
        else if (ret->more)
            ret->upto = ret->last;
        else if (ret->below > w->after.x)
            ret->upto = (struct change_place){ .x = ret->below, .key = STR("") };
        fault_point(LINK_READ);
    }
    filling_done(&f);
    return ok;
}

/* ---- changes of some keys ---- */

struct changes_finding {
    struct side_coder coder;
    struct arena *arena;
    const struct str *keys;
    const struct str **by_key; /* in order */
    struct side_change *ret;
    size_t count;
};

static int finding_by_key(const void *a, const void *b)
{
    return str_cmp(**(const struct str *const *)a, **(const struct str *const *)b);
}

static bool finding_take(void *arg, const struct change *change, struct err *err)
{
    struct changes_finding *f = arg;

    if (!side_coder_key(&f->coder, change->cells, err))
        return err_context(err, "a key");
    const struct str key = buf_view(&f->coder.key), *wanted = &key;
    const struct str *const *found =
        bsearch(&wanted, f->by_key, f->count, sizeof *f->by_key, finding_by_key);

    if (found != NULL)
        f->ret[*found - f->keys] =
            (struct side_change){ .has = true,
                                  .x = change->x,
                                  .at_us = change->at_us,
                                  .origin = arena_copy(f->arena, change->origin) };
    return true;
}

/* In a transaction. */
static bool changes_find(struct side *s, const struct str *keys, size_t count, struct arena *a,
                         struct side_change **ret, struct err *err)
{
    struct changes_finding f = { .arena = a, .keys = keys, .count = count };
    struct cell *cells = ARENA_ARRAY(a, struct cell, count * s->fit->key_count + 1);
    bool ok = true;

    f.by_key = ARENA_ARRAY(a, const struct str *, count + 1);
    f.ret = *ret = ARENA_ARRAY(a, struct side_change, count + 1);
    side_coder_init(&f.coder, s->fit);
    for (size_t i = 0; i < count && ok; i++) {
        f.by_key[i] = &keys[i];
        f.ret[i] = (struct side_change){ .origin = STR("") };
        ok = side_coder_natural_key(&f.coder, keys[i], a, &cells[i * s->fit->key_count], err);
    }
    if (ok && count > 0) {
        qsort(f.by_key, count, sizeof *f.by_key, finding_by_key);
        ok = s->type->changes_of(s->db, s->fit, cells, count, finding_take, &f, err);
    }
    side_coder_done(&f.coder);
    return ok;
}

bool side_changes_of(struct side *s, const struct str *keys, size_t count, struct arena *a,
                     struct side_change **ret, struct err *err)
{
    if (s->away != NULL) {
        const struct side_keys of = { keys, count };
        struct side_change_list got;

        if (!s->away->ask(s, SIDE_CHANGES_OF, &of, a, &got, err))
            return false;
        *ret = got.items;
        return got.count == count || err_set(err, ERR_TRANSIENT, 0, "an answer is too short");
    }
    return s->type->begin(s->db, DATABASE_READ, err) &&
           side_end(s, changes_find(s, keys, count, a, ret, err), err);
}

/* ---- rows ---- */

static bool side_rows_take(void *arg, const struct cell *cells, struct err *err)
{
    struct filling *f = arg;
    const struct change row = { .origin = STR(""), .cells = cells };

    if (!filling_take(f, &row, err))
        return false;
    buf_clear(&f->last);
    f->seen++;
    return buf_append(&f->last, buf_view(&f->coder.key), err);
}

/* Takes rows out of the batch that are in the journal. */
static bool rows_leave_out(struct filling *f, struct err *err)
{
    size_t count = (size_t)f->rows, n = 0, at = 0;
    struct str *keys = ARENA_ARRAY(f->arena, struct str, count + 1);
    struct str all = arena_copy(f->arena, buf_view(f->batch));
    struct side_change *changes;
    struct batch_entry e;

    for (struct str rest = all; rest.len > 0; n++) {
        if (!batch_take(&rest, &e, err))
            return false;
        keys[n] = e.key;
    }
    if (!changes_find(f->side, keys, n, f->arena, &changes, err))
        return false;
    buf_clear(f->batch);
    f->rows = 0;
    while (all.len > 0) {
        if (!batch_take(&all, &e, err))
            return false;
        if (changes[at++].has)
            continue;
        f->rows++;
        if (!batch_put(f->batch, &e, err))
            return false;
    }
    return true;
}

static bool rows_read(struct filling *f, const struct side_piece *p, struct side_rows *ret,
                      struct err *err)
{
    bool both = p->back.link.len > 0;

    struct side *s = f->side;
    struct cell *after = NULL;

    if (p->after.len > 0) {
        after = ARENA_ARRAY(f->arena, struct cell, s->fit->key_count);
        if (!side_coder_natural_key(&f->coder, p->after, f->arena, after, err))
            return false;
    }
    if (!filling_begin(f, &p->back, &ret->has_seen, &ret->seen, err))
        return false;
    bool ok = s->type->rows(s->db, s->fit, after, NULL, p->rows_most, side_rows_take, f, err) &&
              (!both || rows_leave_out(f, err));

    if (ok && !s->type->commit(s->db, err))
        ok = false;
    if (!ok)
        s->type->rollback(s->db);
    return ok;
}

bool side_rows(struct side *s, const struct side_piece *p, struct arena *a, struct side_rows *ret,
               struct err *err)
{
    struct filling f;

    if (s->away != NULL)
        return s->away->ask(s, SIDE_ROWS, p, a, ret, err);
    buf_clear(&ret->batch);
    filling_init(&f, s, &ret->batch, p->bytes_most, a);
    bool ok = rows_read(&f, p, ret, err);

    if (ok) {
        ret->rows = f.rows;
        ret->end = !f.full && f.seen < p->rows_most;
        ret->upto = f.seen > 0 ? arena_copy(a, buf_view(&f.last)) : p->after;
        ret->bad = f.bad;
        ret->bad_count = f.bad_count;
    }
    filling_done(&f);
    return ok;
}
