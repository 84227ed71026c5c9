/* side_compare.c - what both sides are asked to compare them: sums of ranges, hashes of rows, rows.
 *
 * A sum is taken over one read of a range in order of the key, row by row, as the rows are compared
 * (rounded where the link says so); nothing is kept but the sums.
 */
#include <string.h>

#include "table/batch.h"
#include "table/key.h"
#include "table/side.h"
#include "table/side_encode.h"
#include "table/side_question.h"

enum { HASHES_MOST = 1 << 20, HASHES_BYTES_MOST = 32 << 20 /* of keys; both of one answer */ };

struct comparing {
    struct side *side;
    struct side_coder coder;
    struct arena *arena;
    size_t seen;
    struct buf last; /* the key of the last row */
    struct row_sum sum;

    /* of leaves */
    struct side_leaf *leaves;
    size_t leaf_count, leaf_most, leaf_rows, in_leaf;
    const struct side_leaf *ends;
    size_t end_count;

    /* of hashes */
    struct side_hash *hashes;
    size_t hash_count, hash_most, hash_bytes;

    struct buf *batch;
};

static void comparing_init(struct comparing *c, struct side *s, struct arena *a)
{
    *c = (struct comparing){ .side = s, .arena = a, .last = BUF_INIT(SHAPE_KEY_BYTES) };
    side_coder_init(&c->coder, s->fit);
}

static void comparing_done(struct comparing *c)
{
    side_coder_done(&c->coder);
    buf_done(&c->last);
}

/* The key and the hash of a row.  One whose values cannot travel is like no row of the other side.
 */
static bool comparing_see(struct comparing *c, const struct cell *cells, struct sha256 *ret,
                          struct err *err)
{
    struct err why = { 0 };

    if (!side_coder_key(&c->coder, cells, err))
        return err_context(err, "a key");
    buf_clear(&c->last);
    c->seen++;
    if (!buf_append(&c->last, buf_view(&c->coder.key), err))
        return false;
    if (side_coder_rest(&c->coder, cells, true, &why)) {
        *ret = row_hash(buf_view(&c->coder.row));
        return true;
    }
    if (why.kind != ERR_PERMANENT) {
        *err = why;
        return false;
    }
    *ret = row_hash(c->side->is_source ? STR("no row: source") : STR("no row: destination"));
    return true;
}

/* Reads a range by `fn`, as one moment has it. */
static bool comparing_read(struct comparing *c, const struct side_range *r, row_fn *fn,
                           struct err *err)
{
    struct side *s = c->side;
    struct cell *ends[2] = { NULL, NULL };
    struct str keys[2] = { r->after, r->upto };

    for (size_t i = 0; i < 2; i++) {
        if (keys[i].len == 0)
            continue;
        ends[i] = ARENA_ARRAY(c->arena, struct cell, s->fit->key_count);
        if (!side_coder_natural_key(&c->coder, keys[i], c->arena, ends[i], err))
            return false;
    }
    if (!s->type->begin(s->db, DATABASE_SNAPSHOT, err))
        return false;
    bool ok =
        s->type->rows(s->db, s->fit, ends[0], ends[1],
                      r->upto.len > 0 || r->rows_most == 0 ? SIZE_MAX : r->rows_most, fn, c, err);

    if (ok && !s->type->commit(s->db, err))
        ok = false;
    if (!ok)
        s->type->rollback(s->db);
    return ok;
}

/* ---- one sum ---- */

static bool sum_take(void *arg, const struct cell *cells, struct err *err)
{
    struct comparing *c = arg;
    struct sha256 hash;

    if (!comparing_see(c, cells, &hash, err))
        return false;
    row_sum_add(&c->sum, &hash);
    return true;
}

bool side_sum(struct side *s, const struct side_range *r, struct arena *a, struct side_sum *ret,
              struct err *err)
{
    struct ceiling ceiling = { .below = INT64_MAX };
    struct comparing c;

    if (s->away != NULL)
        return s->away->ask(s, SIDE_SUM, r, a, ret, err);
    if (s->is_source && !s->type->ceiling(s->db, s->fit, &s->capture, &ceiling, err))
        return false;
    comparing_init(&c, s, a);
    bool ok = comparing_read(&c, r, sum_take, err);

    if (ok) {
        *ret = (struct side_sum){ .sum = c.sum, .upto = r->upto, .below = ceiling.below };
        if (r->upto.len == 0 && r->rows_most > 0 && c.seen == r->rows_most)
            ret->upto = arena_copy(a, buf_view(&c.last));
    }
    comparing_done(&c);
    return ok;
}

/* ---- leaves ---- */

static struct side_leaf *leaf_open(struct comparing *c)
{
    c->in_leaf = 0;
    return &c->leaves[c->leaf_count++];
}

static bool leaf_take(void *arg, const struct cell *cells, struct err *err)
{
    struct comparing *c = arg;
    struct side_leaf *leaf = &c->leaves[c->leaf_count - 1];
    struct sha256 hash;

    if (c->ends == NULL && c->in_leaf == c->leaf_rows) {
        leaf->upto = arena_copy(c->arena, buf_view(&c->last));
        if (c->leaf_count == c->leaf_most)
            return err_set(err, ERR_LIMIT, 0, "a range has more than %zu pieces", c->leaf_most);
        leaf = leaf_open(c);
    }
    if (!comparing_see(c, cells, &hash, err))
        return false;
    while (c->ends != NULL && c->leaf_count < c->end_count &&
           str_cmp(buf_view(&c->last), leaf->upto) > 0) {
        leaf = leaf_open(c);
        leaf->upto = c->ends[c->leaf_count - 1].upto;
    }
    row_sum_add(&leaf->sum, &hash);
    c->in_leaf++;
    return true;
}

bool side_leaves(struct side *s, const struct side_range *r, size_t rows,
                 const struct side_leaf *ends, size_t end_count, struct arena *a,
                 struct side_leaf **ret, size_t *ret_count, struct err *err)
{
    struct comparing c;

    if (s->away != NULL) {
        const struct side_cut of = { *r, rows, ends, end_count };
        struct side_leaf_list got;

        if (!s->away->ask(s, SIDE_LEAVES, &of, a, &got, err))
            return false;
        *ret = got.items;
        *ret_count = got.count;
        return true;
    }
    comparing_init(&c, s, a);
    c.leaf_most = end_count > 0 ? end_count : SIDE_LEAVES_MOST;
    c.leaves = ARENA_ARRAY(a, struct side_leaf, c.leaf_most);
    c.leaf_rows = rows;
    c.ends = end_count > 0 ? ends : NULL;
    c.end_count = end_count;
    struct side_leaf *first = leaf_open(&c);

    if (c.ends != NULL)
        first->upto = ends[0].upto;
    bool ok = comparing_read(&c, r, leaf_take, err);

    while (ok && c.ends != NULL && c.leaf_count < c.end_count) /* no rows in the last ones */
        leaf_open(&c)->upto = ends[c.leaf_count - 1].upto;
    if (ok) {
        c.leaves[c.leaf_count - 1].upto = r->upto;
        *ret = c.leaves;
        *ret_count = c.leaf_count;
    }
    comparing_done(&c);
    return ok;
}

/* ---- hashes ---- */

static bool hash_take(void *arg, const struct cell *cells, struct err *err)
{
    struct comparing *c = arg;
    struct sha256 hash;

    if (c->hash_count == c->hash_most)
        return err_set(err, ERR_LIMIT, 0, "a range has more than %zu rows", c->hash_most);
    if (!comparing_see(c, cells, &hash, err))
        return false;
    c->hash_bytes += c->last.len;
    if (c->hash_bytes > HASHES_BYTES_MOST)
        return err_set(err, ERR_LIMIT, 0, "a range has more than %d bytes of keys",
                       HASHES_BYTES_MOST);
    struct side_hash *h = &c->hashes[c->hash_count++];

    h->key = arena_copy(c->arena, buf_view(&c->last));
    memcpy(h->hash, hash.bytes, SIDE_HASH);
    return true;
}

static bool compare_ask_hashes(struct side *s, enum side_what what, const void *question,
                               struct arena *a, struct side_hash **ret, size_t *ret_count,
                               struct err *err)
{
    struct side_hash_list got;

    if (!s->away->ask(s, what, question, a, &got, err))
        return false;
    *ret = got.items;
    *ret_count = got.count;
    return true;
}

bool side_hashes(struct side *s, const struct side_range *r, size_t most, struct arena *a,
                 struct side_hash **ret, size_t *ret_count, struct err *err)
{
    struct comparing c;

    if (s->away != NULL) {
        const struct side_hashing of = { *r, most };

        return compare_ask_hashes(s, SIDE_HASHES, &of, a, ret, ret_count, err);
    }
    comparing_init(&c, s, a);
    c.hash_most = most < HASHES_MOST ? most : HASHES_MOST;
    c.hashes = ARENA_ARRAY(a, struct side_hash, c.hash_most + 1);
    bool ok = comparing_read(&c, r, hash_take, err);

    if (ok) {
        *ret = c.hashes;
        *ret_count = c.hash_count;
    }
    comparing_done(&c);
    return ok;
}

/* ---- rows with certain keys ---- */

static bool keys_natural(struct comparing *c, const struct str *keys, size_t count,
                         struct cell **ret, struct err *err)
{
    size_t wide = c->side->fit->key_count;
    struct cell *cells = ARENA_ARRAY(c->arena, struct cell, count * wide + 1);

    for (size_t i = 0; i < count; i++)
        if (!side_coder_natural_key(&c->coder, keys[i], c->arena, &cells[i * wide], err))
            return false;
    *ret = cells;
    return true;
}

static bool comparing_read_keys(struct comparing *c, const struct str *keys, size_t count,
                                row_fn *fn, struct err *err)
{
    struct side *s = c->side;
    struct cell *cells;

    if (!keys_natural(c, keys, count, &cells, err) || !s->type->begin(s->db, DATABASE_READ, err))
        return false;
    bool ok = s->type->rows_of(s->db, s->fit, cells, count, fn, c, err);

    if (ok && !s->type->commit(s->db, err))
        ok = false;
    if (!ok)
        s->type->rollback(s->db);
    return ok;
}

bool side_hashes_of(struct side *s, const struct str *keys, size_t count, struct arena *a,
                    struct side_hash **ret, size_t *ret_count, struct err *err)
{
    struct comparing c;

    if (s->away != NULL) {
        const struct side_keys of = { keys, count };

        return compare_ask_hashes(s, SIDE_HASHES_OF, &of, a, ret, ret_count, err);
    }
    comparing_init(&c, s, a);
    c.hash_most = count;
    c.hashes = ARENA_ARRAY(a, struct side_hash, count + 1);
    bool ok = comparing_read_keys(&c, keys, count, hash_take, err);

    if (ok) {
        *ret = c.hashes;
        *ret_count = c.hash_count;
    }
    comparing_done(&c);
    return ok;
}

static bool fetch_take(void *arg, const struct cell *cells, struct err *err)
{
    struct comparing *c = arg;

    if (!side_coder_key(&c->coder, cells, err) || !side_coder_row(&c->coder, cells, false, err))
        return false;
    struct batch_entry e = { .key = buf_view(&c->coder.key), .row = buf_view(&c->coder.row) };

    return batch_put(c->batch, &e, err);
}

bool side_fetch(struct side *s, const struct str *keys, size_t count, struct arena *a,
                struct buf *batch, struct err *err)
{
    struct comparing c;

    if (s->away != NULL) {
        const struct side_keys of = { keys, count };

        return s->away->ask(s, SIDE_FETCH, &of, a, batch, err);
    }
    comparing_init(&c, s, a);
    c.batch = batch;
    bool ok = comparing_read_keys(&c, keys, count, fetch_take, err);

    comparing_done(&c);
    return ok;
}
