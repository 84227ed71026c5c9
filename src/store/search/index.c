#include "store/search/index.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/require.h"
#include "base/varint.h"
#include "store/kernel/store_state.h"
#include "store/road/done.h"
#include "store/road/term.h"

enum { KINDS = FACET_TYPE + 1, NUM_BITS = 40, TERMS = 4 * INDEX_SLICE };

struct name {
    int64_t slot, num;
    struct str name;
};

/* The entries of a slice: a key for each document and facet, with room to encode a list, and the
 * terms and names of documents that have any. */
struct keys {
    int64_t all[INDEX_SLICE * KINDS];
    size_t count;
    char list[INDEX_SLICE * VARINT_MOST];
    struct term terms[TERMS];
    size_t term_count;
    struct name names[INDEX_SLICE];
    size_t name_count;
};

/* Eight classes between a size and its double. */
int64_t index_size_class(int64_t size)
{
    uint64_t n = (uint64_t)size + 8;
    int top = 63 - __builtin_clzll(n);

    return (int64_t)((unsigned)(top - 3) * 8 + (unsigned)(n >> (top - 3) & 7)) + 1;
}

/* Writes the gathered terms out when there is no room for more. */
static bool take_terms(struct writer *w, struct keys *k, int64_t num, struct str facts,
                       struct err *err)
{
    int64_t hashes[TERMS_MOST], slot = term_slot(DB_SQLITE, num);
    size_t n = term_hashes(facts, w->arena, hashes);

    if (k->term_count + n > TERMS) {
        if (!terms_add(w, k->terms, k->term_count, err))
            return false;
        k->term_count = 0;
    }
    for (size_t i = 0; i < n; i++)
        k->terms[k->term_count++] = (struct term){ term_key(slot, hashes[i]), num };
    return true;
}

static void index_take_name(struct writer *w, struct keys *k, int64_t num, struct str name)
{
    require(k->name_count < sizeof k->names / sizeof k->names[0]);
    k->names[k->name_count++] = (struct name){ .slot = term_slot(DB_SQLITE, num),
                                               .num = num,
                                               .name = arena_copy(w->arena, term_name(name)) };
}

static void take_key(struct keys *k, int64_t kind, int64_t word, int64_t num)
{
    if (word == 0)
        return;
    require(k->count < sizeof k->all / sizeof k->all[0]);
    k->all[k->count++] = kind << 60 | word << NUM_BITS | num;
}

static bool take_words(struct writer *w, enum sql_id id, int64_t slot, struct db_args range,
                       struct keys *k, struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    bool row;

    _Static_assert((int)INDEXED_GATEWAY == (int)FACET_GATEWAY &&
                       (int)INDEXED_DTYPE == (int)FACET_TYPE,
                   "a facet is the number of its column");
    if (!db_query_slot(w->db, id, slot, range, &rows, err))
        return false;
    while (db_next(&rows, &row, err) && row) {
        int64_t num = db_get_int(&rows, INDEXED_NUM);

        for (int kind = FACET_GATEWAY; kind <= FACET_TYPE; kind++)
            take_key(k, kind, db_get_int(&rows, kind), num);
        take_key(k, FACET_SIZE, index_size_class(db_get_int(&rows, INDEXED_SIZE)), num);
        if (!db_is_null(&rows, INDEXED_NAME))
            index_take_name(w, k, num, db_get_str(&rows, INDEXED_NAME));
        if (!db_is_null(&rows, INDEXED_FACTS) &&
            !take_terms(w, k, num, db_get_str(&rows, INDEXED_FACTS), err))
            return false;
    }
    return err->kind == ERR_NONE;
}

static int index_by_name(const void *a, const void *b)
{
    const struct name *x = a, *y = b;
    int c = str_cmp(x->name, y->name);

    if (x->slot != y->slot)
        return x->slot < y->slot ? -1 : 1;
    return c != 0 ? c : x->num < y->num ? -1 : x->num > y->num;
}

static bool write_names(struct writer *w, struct keys *k, struct err *err)
{
    qsort(k->names, k->name_count, sizeof k->names[0], index_by_name);
    for (size_t i = 0; i < k->name_count; i++) {
        const struct name *n = &k->names[i];

        if (!db_send(w->db, SQL_NAME_ADD,
                     DB_ARGS(db_int(n->slot), db_bytes(n->name), db_int(n->num)), err))
            return false;
    }
    return true;
}

static int index_upwards(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

/* Sorted keys that differ only in the number form one list. */
static bool write_lists(struct writer *w, struct keys *k, struct err *err)
{
    qsort(k->all, k->count, sizeof k->all[0], index_upwards);
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

static bool index_fill(struct writer *w, int64_t upto, struct err *err)
{
    struct db_value range[] = { db_int(w->store->indexed), db_int(upto) };
    struct db_args args = { .values = range, .count = 2 };
    int64_t days[DONE_DAYS_MOST];
    size_t n = done_recent(w->store, days);
    struct keys *k = ARENA_NEW(w->arena, struct keys);

    k->count = k->term_count = k->name_count = 0;
    if (!take_words(w, SQL_FACET_WORDS, DB_NO_SLOT, args, k, err))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!take_words(w, SQL_FACET_WORDS_DONE, days[i], args, k, err))
            return false;
    return write_lists(w, k, err) && write_names(w, k, err) &&
           terms_add(w, k->terms, k->term_count, err) &&
           db_run(w->db, SQL_MARK_SET, DB_ARGS(db_text(STR("indexed")), db_int(upto)), NULL, err);
}

static bool search_index_slice(struct writer *w, int64_t upto, struct err *err)
{
    arena_reset(w->arena); /* not in use between groups */
    if (!db_begin(w->db, err))
        return false;
    bool ok = index_fill(w, upto, err);

    fault_point(INDEX_SLICE);
    if (!ok || !db_commit(w->db, err)) {
        db_rollback(w->db);
        return false;
    }
    w->store->indexed = upto;
    return true;
}

/* Before this process gives out a number: all numbers of the blocks taken so far belong to earlier
 * processes, and may be indexed. */
static bool index_find_top(struct writer *w, struct err *err)
{
    int64_t last;

    if (w->top != 0)
        return true;
    if (!db_one_int(w->db, SQL_MARK_GET, DB_ARGS(db_text(STR("num"))), 0, &last, err))
        return false;
    w->top = last + 1;
    return true;
}

/* A slice waits until it is worth a commit of its own, and one period longer: by then most
 * documents have ended, with all their facts, and need no late entries. */
bool index_slice(struct writer *w, bool *ret_waiting, struct err *err)
{
    int64_t now = clock_mono_us();

    if (atomic_load(&w->store->recovering))
        return true;
    if (!index_find_top(w, err))
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
    return search_index_slice(
        w, w->store->indexed + (waiting < INDEX_SLICE ? waiting : INDEX_SLICE), err);
}
