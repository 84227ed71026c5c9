#include "store/search/index_forget.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/auto.h"
#include "base/varint.h"
#include "store/kernel/store_state.h"
#include "store/search/index.h"

enum { NUM_BITS = 40, KINDS = FACET_TYPE + 1 };

struct list {
    int64_t keys[INDEX_SLICE];
    size_t count;
    char bytes[INDEX_SLICE * VARINT_MOST];
};

static int64_t index_forget_key_of(int64_t kind, int64_t word, int64_t num)
{
    return kind << 60 | word << NUM_BITS | num;
}

static int index_forget_upwards(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

/* The list of the same facet and name id that begins at or below the key; count 0: none. */
static bool list_below(struct writer *w, int64_t key, struct list *l, struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    bool row;
    uint64_t step;

    l->count = 0;
    if (!db_query(w->db, SQL_FACET_BELOW, DB_ARGS(db_int(key), db_int(key >> NUM_BITS << NUM_BITS)),
                  &rows, err) ||
        !db_next(&rows, &row, err))
        return false;
    if (!row)
        return true;
    l->keys[l->count++] = db_get_int(&rows, FACET_BELOW_KEY);
    for (struct str more = db_get_str(&rows, FACET_BELOW_MORE);
         l->count < INDEX_SLICE && varint_take(&more, &step); l->count++)
        l->keys[l->count] = l->keys[l->count - 1] + (int64_t)step;
    return true;
}

static bool put_list(struct writer *w, struct list *l, const int64_t *left, size_t count,
                     struct err *err)
{
    char *end = l->bytes;

    if (count == 0)
        return true;
    for (size_t i = 1; i < count; i++)
        end = varint_put(end, (uint64_t)(left[i] - left[i - 1]));
    struct str more = str_mem(l->bytes, (size_t)(end - l->bytes));

    return db_run(w->db, SQL_FACET_ADD,
                  DB_ARGS(db_int(left[0]), more.len > 0 ? db_bytes(more) : db_null()), NULL, err);
}

/* Removes the keys from the list.  *ret_used: how many of them are not above its last number. */
static bool thin(struct writer *w, struct list *l, const int64_t *keys, size_t count,
                 size_t *ret_used, struct err *err)
{
    int64_t *left = ARENA_ARRAY(w->arena, int64_t, l->count), first = l->keys[0];
    size_t n = 0, k = 0;

    for (size_t i = 0; i < l->count; i++) {
        while (k < count && keys[k] < l->keys[i])
            k++;
        if (k == count || keys[k] != l->keys[i])
            left[n++] = l->keys[i];
    }
    while (k < count && keys[k] <= l->keys[l->count - 1])
        k++;
    *ret_used = k;
    if (n == l->count)
        return true;
    return db_run(w->db, SQL_FACET_DROP, DB_ARGS(db_int(first)), NULL, err) &&
           put_list(w, l, left, n, err);
}

static bool forget_lists(struct writer *w, const int64_t *keys, size_t count, struct err *err)
{
    struct list *l = ARENA_NEW(w->arena, struct list);

    for (size_t i = 0, used; i<count; i += used> 0 ? used : 1) {
        used = 0;
        if (!list_below(w, keys[i], l, err) ||
            (l->count > 0 && !thin(w, l, keys + i, count - i, &used, err)))
            return false;
    }
    return true;
}

bool index_forget(struct writer *w, const struct gone *gone, size_t count, struct err *err)
{
    int64_t *keys = ARENA_ARRAY(w->arena, int64_t, count * KINDS + 1);
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        const int64_t words[KINDS] = { [FACET_SIZE] = index_size_class(gone[i].size),
                                       [FACET_GATEWAY] = gone[i].gateway,
                                       [FACET_SENDER] = gone[i].sender,
                                       [FACET_RECEIVER] = gone[i].receiver,
                                       [FACET_TYPE] = gone[i].type };

        for (int64_t kind = FACET_SIZE; kind < KINDS; kind++) {
            int64_t word = words[kind];

            if (word == 0)
                continue;
            keys[n++] = index_forget_key_of(kind, word, gone[i].num);
            if (kind > FACET_GATEWAY && /* size and gateway are known at accept: never late */
                !db_send(w->db, SQL_FACET_DROP,
                         DB_ARGS(db_int(index_forget_key_of(kind + FACET_LATE, word, gone[i].num))),
                         err))
                return false;
        }
    }
    qsort(keys, n, sizeof *keys, index_forget_upwards);
    return forget_lists(w, keys, n, err);
}
