#include "store/search/key_find.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/auto.h"
#include "base/require.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"
#include "store/road/key_log.h"

enum { TAIL = 1000, ARENA_BYTES = 64 << 20 };

struct finding {
    struct db *db;
    struct sha256 *keys; /* sorted */
    size_t count;
    int64_t *nums;
    size_t found, most;
};

struct key_slot {
    int64_t slot, indexed; /* the tree is complete up to this row */
};

static int by_bytes(const void *a, const void *b)
{
    return memcmp(a, b, SHA256_SIZE);
}

static void key_find_note(struct finding *f, struct str id)
{
    struct id found;

    require(id.len == sizeof found.bytes);
    memcpy(found.bytes, id.ptr, id.len);
    if (f->found < f->most)
        f->nums[f->found++] = id_row(&found);
}

/* ---- SQLite ---- */

static bool note_row(struct finding *f, int64_t slot, int64_t seq, struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    bool row;

    if (!db_query_slot(f->db, SQL_KEY_GET, slot, DB_ARGS(db_int(seq)), &rows, err) ||
        !db_next(&rows, &row, err))
        return false;
    if (row)
        key_find_note(f, db_get_str(&rows, KEY_GET_ID));
    return true;
}

static bool read_tail(struct finding *f, const struct key_slot *s, int64_t *io_after, int64_t *hits,
                      size_t *ret_hits, size_t *ret_read, struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    bool row;

    *ret_hits = *ret_read = 0;
    if (!db_query_slot(f->db, SQL_KEY_TAIL, s->slot, DB_ARGS(db_int(*io_after), db_int(TAIL)),
                       &rows, err))
        return false;
    for (;; (*ret_read)++) {
        if (!db_next(&rows, &row, err))
            return false;
        if (!row)
            return true;
        struct str key = db_get_str(&rows, KEY_TAIL_KEY);

        *io_after = db_get_int(&rows, KEY_TAIL_SEQ);
        if (key.len == SHA256_SIZE &&
            bsearch(key.ptr, f->keys, f->count, sizeof *f->keys, by_bytes) != NULL)
            hits[(*ret_hits)++] = *io_after;
    }
}

/* The mark was read before: a row that enters the tree meanwhile is found twice, never missed. */
static bool find_above(struct finding *f, const struct key_slot *s, struct err *err)
{
    int64_t after = s->indexed, hits[TAIL];
    size_t n, read;

    do {
        if (!read_tail(f, s, &after, hits, &n, &read, err))
            return false;
        for (size_t i = 0; i < n; i++)
            if (!note_row(f, s->slot, hits[i], err))
                return false;
    } while (read == TAIL);
    return true;
}

static bool find_in_slot(struct finding *f, const struct key_slot *s, struct err *err)
{
    for (size_t i = 0; i < f->count && s->indexed > 0; i++) {
        struct key_row row;
        bool found;

        if (!key_log_find_in_tree(f->db, s->slot, &f->keys[i], 0, &row, &found, err))
            return false;
        if (found && row.seq <= s->indexed)
            key_find_note(f, str_mem(row.id.bytes, sizeof row.id.bytes));
    }
    return find_above(f, s, err);
}

static bool read_slots(struct finding *f, struct key_slot *ret, size_t *ret_count, struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    bool sqlite = f->db->kind == DB_SQLITE, row;

    *ret_count = 0;
    if (!db_query(f->db, sqlite ? SQL_PART_VALUES : SQL_PART_ALL,
                  DB_ARGS(db_int(TABLES_IDEMPOTENCY)), &rows, err))
        return false;
    while (*ret_count < KEY_SLOTS) {
        if (!db_next(&rows, &row, err))
            return false;
        if (!row)
            break;
        ret[(*ret_count)++] =
            (struct key_slot){ db_get_int(&rows, PART_VALUES_SLOT),
                               sqlite ? db_get_int(&rows, PART_VALUES_VALUE) : 0 };
    }
    return true;
}

/* ---- PostgreSQL ---- */

static bool key_find_found_key(void *arg, int64_t slot, size_t at, struct db_rows *row,
                               struct err *err)
{
    (void)slot;
    (void)at;
    (void)err;
    key_find_note(arg, db_get_str(row, IDEM_FIND_ID));
    return true;
}

static bool find_in_table(struct finding *f, int64_t slot, const struct db_value *keys,
                          struct err *err)
{
    return db_find(f->db, SQL_IDEM_FIND, slot, 1, keys, 1, f->count, key_find_found_key, f, err);
}

static bool find_all(struct finding *f, struct arena *a, struct err *err)
{
    struct key_slot *slots = ARENA_ARRAY(a, struct key_slot, KEY_SLOTS);
    struct db_value *keys = ARENA_ARRAY(a, struct db_value, f->count);
    size_t n;

    for (size_t i = 0; i < f->count; i++)
        keys[i] = db_bytes(str_mem(f->keys[i].bytes, SHA256_SIZE));
    if (!read_slots(f, slots, &n, err))
        return false;
    for (size_t i = 0; i < n; i++)
        if (f->db->kind == DB_SQLITE ? !find_in_slot(f, &slots[i], err)
                                     : !find_in_table(f, slots[i].slot, keys, err))
            return false;
    return true;
}

bool key_find(struct store *s, const struct sha256 *keys, size_t count, int64_t *ret, size_t most,
              size_t *ret_count, struct err *err)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA_BYTES);
    struct finding f = { .count = count, .nums = ret, .most = most };

    f.keys = ARENA_ARRAY(&a, struct sha256, count);
    for (size_t i = 0; i < count; i++)
        f.keys[i] = keys[i];
    qsort(f.keys, count, sizeof *f.keys, by_bytes);
    AUTO(reader_back) struct reader r = reader_take(s, err);

    f.db = r.db;
    bool ok = r.db != NULL && find_all(&f, &a, err);

    *ret_count = f.found;
    return ok;
}
