/* loading.c - all rows of a table, and the sweep behind them (replicating.h).
 *
 * Loading reads no long snapshot: a row that changes meanwhile comes as it was or as it is, and in
 * any case again by the journal, which is followed from where it was when loading began.
 *
 * Of a table that goes both ways only rows are loaded that are in no journal, and then the journal
 * is followed from its beginning: so rows that came from the destination are not sent back, and a
 * removal that was made between the installation and the load is not missed.  The sweep removes
 * only rows that came from the source and were not changed since: others are the destination's own,
 * and the other link takes them to the source.
 */
#include <stdlib.h>

#include "link/replication.h"
#include "table/batch.h"

enum { SWEEP_ROWS = 1000 };

/* ---- beginning ---- */

static bool load_is_empty(struct replication *p, bool *ret, struct err *err)
{
    const struct side_piece one = { .after = STR(""), .bytes_most = 1, .rows_most = 1 };
    struct side_rows rows = { .batch = BUF_INIT(SHAPE_ROW_BYTES + SHAPE_KEY_BYTES + 64) };
    bool ok = side_rows(p->dest, &one, &p->turn, &rows, err);

    *ret = ok && rows.rows == 0 && rows.bad_count == 0;
    buf_done(&rows.batch);
    return ok;
}

bool replication_load_begin(struct replication *p, bool *ret_begun, struct err *err)
{
    struct ceiling ceiling;
    bool empty;

    if (!side_ceiling(p->source, &ceiling, err) || !side_count(p->source, &p->s->load_total, err))
        return err_context(err, "source");
    if (!load_is_empty(p, &empty, err))
        return err_context(err, "destination");
    struct mark to = replication_next(p);

    to.epoch = p->look.epoch;
    to.life = p->look.life;
    to.phase = empty || p->source->capture.append ? MARK_LOAD : MARK_LOAD_OVER;
    to.place =
        (struct change_place){ .x = replication_goes_back(p) ? 0 : ceiling.below, .key = STR("") };
    to.load_key = STR("");
    p->s->load_rows = 0;
    p->s->deletes = 0;
    p->s->known_x = ceiling.below > p->look.pruned ? ceiling.below : p->look.pruned + 1;
    p->s->known_batches = to.batches;
    link_state_stand(p->s, LINK_LOADING, p->r->now_us);
    return replication_put(p, STR(""), &to, NULL, 0, ret_begun, err);
}

/* ---- loading ---- */

static bool load_piece(struct replication *p, struct err *err)
{
    const struct side_piece piece = { .after = p->mark.load_key,
                                      .bytes_most = p->r->spec->batch_bytes,
                                      .rows_most = replication_rows_most(p),
                                      .back = replication_back(p) };
    struct side_rows rows = { .batch = p->batch };
    bool put, ok = side_rows(p->source, &piece, &p->turn, &rows, err);

    p->batch = rows.batch;
    if (!ok)
        return err_context(err, "source");
    if (rows.rows > 0)
        p->row_bytes = p->batch.len / (size_t)rows.rows + 1;
    struct mark to = replication_next(p);

    to.load_key = rows.upto;
    to.rows += rows.rows;
    if (rows.end) {
        to.phase = p->mark.phase == MARK_LOAD_OVER ? MARK_SWEEP : MARK_FOLLOW;
        to.load_key = STR("");
    }
    replication_rule(p, rows.has_seen, &rows.seen);
    if (!replication_put(p, buf_view(&p->batch), &to, rows.bad, rows.bad_count, &put, err))
        return false;
    if (put)
        p->s->load_rows += rows.rows;
    return true;
}

/* ---- sweeping ---- */

static int sweep_by_key(const void *a, const void *b)
{
    return str_cmp(((const struct side_hash *)a)->key, ((const struct side_hash *)b)->key);
}

/* Keeps of keys of the destination those of rows that came from the source. */
static bool sweep_came(struct replication *p, struct str *keys, size_t *io_count, struct err *err)
{
    struct side_change *changes;
    size_t n = 0;

    if (!replication_goes_back(p))
        return true;
    if (!side_changes_of(p->dest, keys, *io_count, &p->turn, &changes, err))
        return err_context(err, "destination");
    for (size_t i = 0; i < *io_count; i++)
        if (changes[i].has && str_eq(changes[i].origin, p->look.identity))
            keys[n++] = keys[i];
    *io_count = n;
    return true;
}

/* Of the rows in a batch of the destination: those that the source does not have, to be removed. */
static bool sweep_choose(struct replication *p, struct str batch, size_t count, struct buf *ret,
                         struct err *err)
{
    struct str *keys = ARENA_ARRAY(&p->turn, struct str, count + 1);
    struct side_hash *there;
    size_t n = 0, there_count;

    while (batch.len > 0) {
        struct batch_entry e;

        if (!batch_take(&batch, &e, err))
            return false;
        keys[n++] = e.key;
    }
    if (!sweep_came(p, keys, &n, err))
        return false;
    if (!side_hashes_of(p->source, keys, n, &p->turn, &there, &there_count, err))
        return err_context(err, "source");
    qsort(there, there_count, sizeof *there, sweep_by_key);
    for (size_t i = 0; i < n; i++) {
        const struct side_hash key = { .key = keys[i] };
        const struct batch_entry gone = { .gone = true, .origin = STR(""), .key = keys[i] };

        if (bsearch(&key, there, there_count, sizeof *there, sweep_by_key) == NULL &&
            !batch_put(ret, &gone, err))
            return false;
    }
    return true;
}

static size_t load_sweep_rows(const struct replication *p)
{
    return p->s->rows_most > 0 && p->s->rows_most < SWEEP_ROWS ? (size_t)p->s->rows_most
                                                               : SWEEP_ROWS;
}

static bool load_sweep(struct replication *p, struct err *err)
{
    const struct side_piece piece = { .after = p->mark.load_key,
                                      .bytes_most = p->r->spec->batch_bytes,
                                      .rows_most = load_sweep_rows(p) };
    struct side_rows rows = { .batch = BUF_INIT(2 * SHAPE_ROW_BYTES) };
    if (!replication_see(p, err))
        return false;
    bool put, ok = side_rows(p->dest, &piece, &p->turn, &rows, err);

    if (!ok)
        (void)err_context(err, "destination");
    buf_clear(&p->batch);
    ok = ok && sweep_choose(p, buf_view(&rows.batch), (size_t)rows.rows, &p->batch, err);
    buf_done(&rows.batch);
    if (!ok)
        return false;
    struct mark to = replication_next(p);

    to.load_key = rows.end ? STR("") : rows.upto;
    to.phase = rows.end ? MARK_FOLLOW : MARK_SWEEP;
    return replication_put(p, buf_view(&p->batch), &to, NULL, 0, &put, err);
}

bool replication_load(struct replication *p, struct err *err)
{
    enum mark_phase before = p->mark.phase;
    bool ok = before == MARK_SWEEP ? load_sweep(p, err) : load_piece(p, err);

    if (ok && p->has_mark && p->mark.phase == MARK_FOLLOW && before != MARK_FOLLOW)
        replication_reach(p, p->mark.place);
    return ok;
}
