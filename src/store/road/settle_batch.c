#include "store/road/settle_batch.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/auto.h"
#include "base/fault.h"
#include "store/db/rows.h"
#include "store/kernel/store_state.h"
#include "store/road/settle.h"

enum { MEMBER = 7, FIND_TRIES = 8 };

/* The open batch of one key, locked by this transaction. */
struct filling {
    int64_t num, members, bytes;    /* including those not written yet */
    int64_t new_members, new_bytes; /* not written yet */
};

static int settle_batch_by_key(const void *a, const void *b)
{
    const struct settle_op *const *x = a, *const *y = b;
    const struct batch_join *j = (*x)->join, *k = (*y)->join;
    int order;

    if (j->name != k->name)
        return j->name < k->name ? -1 : 1;
    if (j->route != k->route)
        return j->route < k->route ? -1 : 1;
    if (j->receiver != k->receiver)
        return j->receiver < k->receiver ? -1 : 1;
    order = str_cmp(j->part, k->part);
    return order != 0 ? order : ((*x)->doc > (*y)->doc) - ((*x)->doc < (*y)->doc);
}

static bool same_key(const struct batch_join *j, const struct batch_join *k)
{
    return j->name == k->name && j->route == k->route && j->receiver == k->receiver &&
           str_eq(j->part, k->part);
}

static void read_filling(struct db_rows *row, struct arena *a, void *to)
{
    (void)a;
    *(struct filling *)to = (struct filling){ .num = db_get_int(row, BATCH_FIND_OPEN_NUM),
                                              .members = db_get_int(row, BATCH_FIND_OPEN_MEMBERS),
                                              .bytes = db_get_int(row, BATCH_FIND_OPEN_BYTES) };
}

static bool find_open(struct writer *w, const struct batch_join *j, struct filling *ret,
                      struct err *err)
{
    bool there;

    *ret = (struct filling){ 0 };
    return rows_one(
        w->db, SQL_BATCH_FIND_OPEN, DB_NO_SLOT,
        DB_ARGS(db_int(j->name), db_int(j->route), db_int(j->receiver), db_text(j->part)),
        read_filling, NULL, ret, &there, err);
}

static bool settle_batch_add(struct writer *w, const struct batch_join *j, int64_t *ret_added,
                             struct err *err)
{
    int64_t num;

    return writer_number(w, &num, err) &&
           db_run(w->db, SQL_BATCH_ADD,
                  DB_ARGS(db_int(num), db_int(j->name), db_int(j->route), db_int(j->receiver),
                          db_text(j->part), db_int(j->config)),
                  ret_added, err);
}

/* Find and lock the open batch of the key, or open one.  The insert waits for a concurrent
 * transaction that opens the same batch; that batch may be closed by then, so try again. */
static bool open_batch(struct writer *w, const struct batch_join *j, struct filling *ret,
                       struct err *err)
{
    int64_t added;

    for (int i = 0; i < FIND_TRIES; i++) {
        if (!find_open(w, j, ret, err))
            return false;
        if (ret->num != 0)
            return true;
        if (!settle_batch_add(w, j, &added, err))
            return false;
    }
    return err_set(err, ERR_TRANSIENT, DB_AGAIN, "a batch closes as fast as it is opened");
}

/* A batch of one, closing at once: a document that is sent again does not wait for others. */
static bool open_alone(struct writer *w, const struct batch_join *j, struct filling *ret,
                       struct err *err)
{
    *ret = (struct filling){ 0 };
    return writer_number(w, &ret->num, err) &&
           db_run(w->db, SQL_BATCH_ADD_CLOSING,
                  DB_ARGS(db_int(ret->num), db_int(j->name), db_int(j->route), db_int(j->receiver),
                          db_text(j->part), db_int(j->config), db_int(BATCH_AGAIN), db_int(0),
                          db_text(STR(""))),
                  NULL, err);
}

static bool settle_batch_write_batch(struct writer *w, struct filling *f, int64_t config,
                                     enum batch_why why, struct err *err)
{
    if (f->num == 0 || (f->new_members == 0 && why == BATCH_NOT_YET))
        return true;
    bool ok = db_run(w->db, SQL_BATCH_GROW,
                     DB_ARGS(db_int(f->num), db_int(f->new_members), db_int(f->new_bytes),
                             db_int(config), db_int(why)),
                     NULL, err);

    f->new_members = f->new_bytes = 0;
    if (why != BATCH_NOT_YET)
        f->num = 0;
    return ok;
}

static void member_row(struct db_value *v, const struct settle_op *o)
{
    const struct batch_join *j = o->join;

    v[0] = db_int(j->batch);
    v[1] = db_int(o->doc);
    v[2] = db_int(j->size);
    for (size_t i = 3; i < MEMBER; i++)
        v[i] = db_null();
    if (j->bytes == NULL)
        return;
    v[3] = db_int(j->bytes->stored.place.seg);
    v[4] = db_int(j->bytes->stored.place.pos);
    v[5] = db_int(j->bytes->stored.num);
    v[6] = db_bytes(str_mem(j->bytes->sha256.bytes, SHA256_SIZE));
}

static bool is_too_full(const struct filling *f, const struct batch_join *j)
{
    return f->members > 0 && f->bytes + j->size > j->bytes_most;
}

/* *f is the open batch of the key, or has num 0. */
static bool join_one(struct writer *w, struct batch_join *j, struct filling *f, struct err *err)
{
    struct filling own;

    while (!j->alone && (f->num == 0 || is_too_full(f, j)))
        if (!settle_batch_write_batch(w, f, j->config, BATCH_BYTES, err) ||
            !open_batch(w, j, f, err))
            return false;
    if (j->alone) {
        if (!open_alone(w, j, &own, err))
            return false;
        f = &own;
    }
    j->batch = f->num;
    f->members++;
    f->new_members++;
    f->bytes += j->size;
    f->new_bytes += j->size;
    if (j->alone)
        return settle_batch_write_batch(w, f, j->config, BATCH_NOT_YET, err);
    return f->members < j->members_most ||
           settle_batch_write_batch(w, f, j->config, BATCH_COUNT, err);
}

bool settle_batch(struct writer *w, struct settle_op **ops, size_t count, struct err *err)
{
    size_t n = 0;

    for (size_t i = 0; i < count; i++)
        n += ops[i]->end == SETTLE_JOIN;
    if (n == 0)
        return true;
    struct settle_op **joins = ARENA_ARRAY(w->arena, struct settle_op *, n);
    struct db_value *rows = ARENA_ARRAY(w->arena, struct db_value, n * MEMBER);
    struct filling f = { 0 };

    n = 0;
    for (size_t i = 0; i < count; i++)
        if (ops[i]->end == SETTLE_JOIN)
            joins[n++] = ops[i];
    qsort(joins, n, sizeof(struct settle_op *), settle_batch_by_key); /* a fixed order of locks */
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && !same_key(joins[i - 1]->join, joins[i]->join)) {
            if (!settle_batch_write_batch(w, &f, joins[i - 1]->join->config, BATCH_NOT_YET, err))
                return false;
            f = (struct filling){ 0 };
        }
        if (!join_one(w, joins[i]->join, &f, err))
            return false;
        member_row(rows + i * MEMBER, joins[i]);
    }
    fault_point(BATCH_JOINED);
    return settle_batch_write_batch(w, &f, joins[n - 1]->join->config, BATCH_NOT_YET, err) &&
           db_batch(w->db, SQL_BATCH_MEMBER_ADD, DB_NO_SLOT, rows, MEMBER, n, err);
}
