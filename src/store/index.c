#include "store/index.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/require.h"
#include "base/varint.h"
#include "store/done.h"
#include "store/inside.h"

enum { KINDS = FACET_TYPE, NUM_BITS = 40 };

/* What a slice is made of: one key for each document and word, and room for a list. */
struct keys {
    int64_t all[INDEX_SLICE * KINDS];
    size_t count;
    char list[INDEX_SLICE * VARINT_MOST];
};

static bool take_words(struct writer *w, enum sql_id id, int64_t slot, struct db_args range,
                       struct keys *k, struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    bool row;

    if (!db_query_slot(w->db, id, slot, range, &rows, err))
        return false;
    while (db_next(&rows, &row, err) && row)
        for (int kind = FACET_GATEWAY; kind <= FACET_TYPE; kind++) {
            int64_t word = db_get_int(&rows, kind);

            if (word == 0)
                continue;
            require(k->count < sizeof k->all / sizeof k->all[0]);
            k->all[k->count++] = (int64_t)kind << 60 | word << NUM_BITS | db_get_int(&rows, 0);
        }
    return err->kind == ERR_NONE;
}

static int upwards(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

/* Keys that differ in their number alone are one list. */
static bool write_lists(struct writer *w, struct keys *k, struct err *err)
{
    qsort(k->all, k->count, sizeof k->all[0], upwards);
    for (size_t i = 0, first; i < k->count;) {
        char *end = k->list;

        for (first = i++; i < k->count && k->all[i] >> NUM_BITS == k->all[first] >> NUM_BITS; i++)
            end = varint_put(end, (uint64_t)(k->all[i] - k->all[i - 1]));
        struct str more = str_mem(k->list, (size_t)(end - k->list));

        if (!db_send(w->db, SQL_FACET_ADD,
                     DB_ARGS(db_int(k->all[first]), more.len > 0 ? db_bytes(more) : db_null()),
                     err))
            return false;
    }
    return true;
}

static bool fill(struct writer *w, int64_t upto, struct err *err)
{
    struct db_value range[] = { db_int(w->store->indexed), db_int(upto) };
    struct db_args args = { .values = range, .count = 2 };
    int64_t days[DONE_DAYS_MOST];
    size_t n = done_recent(w->store, days);
    struct keys *k = ARENA_NEW(w->arena, struct keys);

    k->count = 0;
    if (!take_words(w, SQL_FACET_WORDS, DB_NO_SLOT, args, k, err))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!take_words(w, SQL_FACET_WORDS_DONE, days[i], args, k, err))
            return false;
    return write_lists(w, k, err) &&
           db_run(w->db, SQL_MARK_SET, DB_ARGS(db_text(STR("indexed")), db_int(upto)), NULL, err);
}

static bool slice(struct writer *w, int64_t upto, struct err *err)
{
    arena_reset(w->arena); /* between groups it is nobody's */
    if (!db_begin(w->db, err))
        return false;
    bool ok = fill(w, upto, err);

    fault_point(INDEX_SLICE);
    if (!ok || !db_commit(w->db, err)) {
        db_rollback(w->db);
        return false;
    }
    w->store->indexed = upto;
    return true;
}

/* Before the first number: everything below the blocks that were taken was given out by
 * an earlier process. */
static bool find_top(struct writer *w, struct err *err)
{
    int64_t last;

    if (w->top != 0)
        return true;
    if (!db_one_int(w->db, SQL_MARK_GET, DB_ARGS(db_text(STR("num"))), 0, &last, err))
        return false;
    w->top = last + 1;
    return true;
}

/* A slice waits until it is worth a commit of its own, and for one period more: by then most
 * documents have ended, and are indexed once and for all. */
bool index_slice(struct writer *w, bool *ret_waiting, struct err *err)
{
    int64_t now = clock_mono_us();

    if (!find_top(w, err))
        return false;
    if (now - w->indexed_us >= INDEX_EVERY_US) {
        w->indexed_upto = w->index_ripe;
        w->index_ripe = w->top - 1;
        w->indexed_us = now;
    }
    int64_t waiting = w->indexed_upto - w->store->indexed;

    *ret_waiting = w->top - 1 > w->store->indexed;
    if (waiting <= 0)
        return true;
    return slice(w, w->store->indexed + (waiting < INDEX_SLICE ? waiting : INDEX_SLICE), err);
}
