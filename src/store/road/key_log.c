/* key_log.c - idempotency keys of the SQLite store.
 *
 * The problem.  Keys are hashes, so a B-tree over them grows in random places: each new key dirties
 * a page of its own, which is written to the WAL and again by the checkpoint.  That page would be
 * the most expensive write of commit 1.  Yet every accept must find out whether its key exists.
 *
 * The method.  Two structures, as in a log-structured merge tree.  A key is appended to the table
 * of the time at which it expires (idem_SLOT) and remembered in the map `now`.  When `now` has
 * KEY_RUN keys it becomes `run` and is sorted; its entries are moved into the trees
 * idem_index_SLOT in slices of KEY_SLICE, one transaction each, between groups.  Sorted inserts
 * touch each page once per run.  The last slice also stores how far each tree is complete
 * (part.value, the watermark); then `run` is cleared.  A lookup reads `now`, `run`, then the trees.
 *
 * Map and tree hold 62 bits of the key and the row number.  The row decides: it has the whole key
 * and its expiry.  Rows with equal hashes take the next free places (hash, hash + 1, ...) of the
 * tree, so a lookup in the tree reads on until a place is empty.
 *
 * Invariants
 *   (1) Each row is in a map or in its tree; rows up to the watermark are in the tree.
 *   (2) A map has at most MAP_MOST keys: key_log_number() refuses a group that would exceed it.
 *       In ordinary work both maps together stay below KEY_RUN * 3, because a run is finished at
 *       once when `now` has KEY_RUN keys again.
 *   (3) A map and next_seq change only after the commit to which the change belongs.
 *
 * Why a key is not stored twice.  No database constraint forbids it.  The writer is one thread:
 * it looks a key up and adds it in one group, after key_log_added() of all groups before.  Equal
 * keys in one group are joined by accept.c.  Because of (3), two verbs of one group that add keys
 * to one table draw the same row numbers: the second insert violates the primary key, the group is
 * run again in halves (writer.h), and the second verb then runs after the first one's commit.
 *
 * Crashes.  Before a group's commit neither row nor map entry exists.  After it the row exists;
 * key_log_load() reads all rows above the watermark back into `now`.  A crash between two slices
 * leaves entries in the tree above the watermark: they are loaded again and found in both places,
 * which is harmless, and tree_put() recognises its own entry by the row number.  A rollback of a
 * slice leaves `moved` as it was, so the slice is repeated.
 *
 * Tables of keys that have expired are dropped whole (accept.c).  Map entries of a dropped table
 * are skipped wherever they are met.
 */
#include "store/road/key_log.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/fault.h"
#include "base/require.h"
#include "store/db/rows.h"
#include "store/kernel/store_state.h"

enum { MAP = 65536, MAP_MOST = KEY_RUN * 2 + KEY_RUN / 2, SAME_HASH_MOST = 1000 };

struct entry {
    int64_t hash, slot, seq; /* seq 0: a free place */
};

struct map {
    struct entry entries[MAP];
    size_t count;
};

struct slot {
    int64_t slot, next_seq, indexed; /* indexed: the watermark */
};

struct key_log {
    struct slot slots[KEY_SLOTS];
    size_t slot_count;
    struct map *now, *run; /* new keys; keys that are being moved into the trees */
    struct entry sorted[MAP_MOST];
    size_t sorted_count, moved;
    bool running;
};

struct key_log *key_log_new(void)
{
    struct key_log *k = NEW(struct key_log);

    k->now = NEW(struct map);
    k->run = NEW(struct map);
    return k;
}

void key_log_free(struct key_log *k)
{
    if (k == NULL)
        return;
    free(k->now);
    free(k->run);
    free(k);
}

/* ---- memory ---- */

static int64_t key_log_hash_of(const struct sha256 *key)
{
    uint64_t v;

    memcpy(&v, key->bytes, sizeof v);
    return (int64_t)(be64toh(v) >> 2);
}

static void map_put(struct map *m, struct entry e)
{
    size_t i = (size_t)e.hash % MAP;

    require(m->count < MAP_MOST);
    while (m->entries[i].seq != 0)
        i = (i + 1) % MAP;
    m->entries[i] = e;
    m->count++;
}

static void map_clear(struct map *m)
{
    memset(m, 0, sizeof *m);
}

static struct slot *key_log_slot_of(struct key_log *k, int64_t slot)
{
    for (size_t i = 0; i < k->slot_count; i++)
        if (k->slots[i].slot == slot)
            return &k->slots[i];
    return NULL;
}

void key_log_slot_made(struct key_log *k, int64_t slot)
{
    if (key_log_slot_of(k, slot) != NULL)
        return;
    require(k->slot_count < KEY_SLOTS);
    k->slots[k->slot_count++] = (struct slot){ .slot = slot, .next_seq = 1 };
}

void key_log_slot_gone(struct key_log *k, int64_t slot)
{
    struct slot *s = key_log_slot_of(k, slot);

    if (s != NULL)
        *s = k->slots[--k->slot_count];
}

bool key_log_number(struct key_log *k, struct key_row *rows, size_t count, struct err *err)
{
    if (k->now->count + count > MAP_MOST)
        return err_set(err, ERR_TRANSIENT, DB_NOT_ALL, "too many keys wait for their index");
    for (size_t i = 0; i < count; i++) {
        const struct slot *s = key_log_slot_of(k, rows[i].slot);

        if (s == NULL)
            return err_set(err, ERR_TRANSIENT, DB_NOT_ALL,
                           "there is no table of keys for this time yet");
        rows[i].seq = s->next_seq;
        for (size_t j = i; j-- > 0;)
            if (rows[j].slot == rows[i].slot) {
                rows[i].seq = rows[j].seq + 1;
                break;
            }
    }
    return true;
}

void key_log_added(struct key_log *k, const struct key_row *row)
{
    struct slot *s = key_log_slot_of(k, row->slot);

    if (s == NULL)
        return;
    if (s->next_seq <= row->seq)
        s->next_seq = row->seq + 1;
    map_put(k->now, (struct entry){ key_log_hash_of(&row->key), row->slot, row->seq });
}

/* ---- rows ---- */

bool key_log_add(struct db *db, const struct key_row *rows, size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        const struct key_row *r = &rows[i];
        struct db_value v[] = { db_int(r->seq), db_bytes(str_mem(r->key.bytes, SHA256_SIZE)),
                                db_bytes(str_mem(r->id.bytes, sizeof r->id.bytes)),
                                db_bytes(str_mem(r->sha256.bytes, SHA256_SIZE)),
                                db_int(r->until_us) };

        if (!db_batch(db, SQL_KEY_ADD, r->slot, v, sizeof v / sizeof v[0], 1, err))
            return false;
    }
    return true;
}

static void key_log_read_key(struct db_rows *row, struct arena *a, void *to)
{
    struct key_row *k = to;

    (void)a;
    k->key = row_sha256(row, KEY_GET_KEY);
    k->id = row_id(row, KEY_GET_ID);
    k->sha256 = row_sha256(row, KEY_GET_SHA256);
    k->until_us = db_get_int(row, KEY_GET_UNTIL_US);
}

static bool key_log_read_row(struct db *db, int64_t slot, int64_t seq, struct key_row *ret,
                             bool *ret_found, struct err *err)
{
    ret->slot = slot;
    ret->seq = seq;
    return rows_one(db, SQL_KEY_GET, slot, DB_ARGS(db_int(seq)), key_log_read_key, NULL, ret,
                    ret_found, err);
}

/* Does this row hold the key, and has it not expired? */
static bool try_row(struct db *db, int64_t slot, int64_t seq, const struct sha256 *key,
                    int64_t now_us, struct key_row *ret, bool *ret_found, struct err *err)
{
    bool there;

    *ret_found = false;
    if (!key_log_read_row(db, slot, seq, ret, &there, err))
        return false;
    *ret_found = there && digest_same(&ret->key, key) && ret->until_us > now_us;
    return true;
}

static bool find_in_map(struct key_log *k, const struct map *m, struct db *db,
                        const struct sha256 *key, int64_t now_us, struct key_row *ret,
                        bool *ret_found, struct err *err)
{
    int64_t hash = key_log_hash_of(key);

    *ret_found = false;
    for (size_t i = (size_t)hash % MAP; m->entries[i].seq != 0; i = (i + 1) % MAP) {
        const struct entry *e = &m->entries[i];

        if (e->hash != hash || key_log_slot_of(k, e->slot) == NULL)
            continue;
        if (!try_row(db, e->slot, e->seq, key, now_us, ret, ret_found, err))
            return false;
        if (*ret_found)
            return true;
    }
    return true;
}

/* The row that the tree has for a hash; 0: none. */
static bool tree_get(struct db *db, int64_t slot, int64_t hash, int64_t *ret_seq, struct err *err)
{
    return db_one_int_slot(db, SQL_KEY_INDEX_GET, slot, DB_ARGS(db_int(hash)), 0, ret_seq, err);
}

bool key_log_find_in_tree(struct db *db, int64_t slot, const struct sha256 *key, int64_t now_us,
                          struct key_row *ret, bool *ret_found, struct err *err)
{
    int64_t hash = key_log_hash_of(key), seq;

    *ret_found = false;
    for (int more = 0; more < SAME_HASH_MOST && !*ret_found; more++) {
        if (!tree_get(db, slot, hash + more, &seq, err))
            return false;
        if (seq == 0)
            return true;
        if (!try_row(db, slot, seq, key, now_us, ret, ret_found, err))
            return false;
    }
    return true;
}

bool key_log_find(struct key_log *k, struct db *db, const struct sha256 *key, int64_t now_us,
                  struct key_row *ret, bool *ret_found, struct err *err)
{
    if (!find_in_map(k, k->now, db, key, now_us, ret, ret_found, err))
        return false;
    if (!*ret_found && k->running && !find_in_map(k, k->run, db, key, now_us, ret, ret_found, err))
        return false;
    for (size_t i = 0; i < k->slot_count && !*ret_found; i++)
        if (k->slots[i].indexed > 0 &&
            !key_log_find_in_tree(db, k->slots[i].slot, key, now_us, ret, ret_found, err))
            return false;
    return true;
}

/* ---- into the trees ---- */

static int key_log_by_place(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    if (x->slot != y->slot)
        return x->slot < y->slot ? -1 : 1;
    return x->hash < y->hash ? -1 : x->hash > y->hash;
}

static void key_log_begin_run(struct key_log *k)
{
    struct map *full = k->now;

    k->now = k->run;
    k->run = full;
    k->sorted_count = k->moved = 0;
    for (size_t i = 0; i < MAP; i++)
        if (full->entries[i].seq != 0)
            k->sorted[k->sorted_count++] = full->entries[i];
    qsort(k->sorted, k->sorted_count, sizeof k->sorted[0], key_log_by_place);
    k->running = true;
}

static bool tree_put(struct db *db, const struct entry *e, struct err *err)
{
    for (int more = 0; more < SAME_HASH_MOST; more++) {
        int64_t changed, there;

        if (!db_run_slot(db, SQL_KEY_INDEX_ADD, e->slot,
                         DB_ARGS(db_int(e->hash + more), db_int(e->seq)), &changed, err))
            return false;
        if (changed == 1)
            return true;
        if (!tree_get(db, e->slot, e->hash + more, &there, err))
            return false;
        if (there == e->seq) /* from a run that a crash interrupted */
            return true;
    }
    /* So many keys of one hash are made on purpose.  Only they lose their protection: after the
     * run they are not found any more. */
    return true;
}

static int64_t highest_seq(const struct key_log *k, int64_t slot)
{
    int64_t highest = 0;

    for (size_t i = 0; i < k->sorted_count; i++)
        if (k->sorted[i].slot == slot && k->sorted[i].seq > highest)
            highest = k->sorted[i].seq;
    return highest;
}

static bool write_marks(struct key_log *k, struct db *db, struct err *err)
{
    for (size_t i = 0; i < k->slot_count; i++) {
        int64_t highest = highest_seq(k, k->slots[i].slot);

        if (highest > 0 &&
            !db_run(db, SQL_PART_SET,
                    DB_ARGS(db_int(TABLES_IDEMPOTENCY), db_int(k->slots[i].slot), db_int(highest)),
                    NULL, err))
            return false;
    }
    return true;
}

static void key_log_end_run(struct key_log *k)
{
    for (size_t i = 0; i < k->slot_count; i++) {
        int64_t highest = highest_seq(k, k->slots[i].slot);

        if (highest > 0)
            k->slots[i].indexed = highest;
    }
    map_clear(k->run);
    k->running = false;
}

static bool move_slice(struct key_log *k, struct db *db, size_t to, struct err *err)
{
    for (size_t i = k->moved; i < to; i++)
        if (key_log_slot_of(k, k->sorted[i].slot) != NULL && !tree_put(db, &k->sorted[i], err))
            return false;
    return to < k->sorted_count || write_marks(k, db, err);
}

static bool road_key_log_slice(struct key_log *k, struct db *db, struct err *err)
{
    size_t to = k->moved + KEY_SLICE < k->sorted_count ? k->moved + KEY_SLICE : k->sorted_count;

    if (!db_begin(db, err))
        return false;
    bool ok = move_slice(k, db, to, err);

    fault_point(INDEX_SLICE);
    if (!ok || !db_commit(db, err)) {
        db_rollback(db);
        return false;
    }
    k->moved = to;
    if (k->moved == k->sorted_count)
        key_log_end_run(k);
    return true;
}

/* When keys arrive faster than slices move them, the run is finished at once, to bound memory
 * (2). */
bool key_log_slice(struct key_log *k, struct db *db, bool *ret_waiting, struct err *err)
{
    if (!k->running && k->now->count >= KEY_RUN)
        key_log_begin_run(k);
    while (k->running) {
        if (!road_key_log_slice(k, db, err))
            return false;
        if (k->now->count < KEY_RUN)
            break;
    }
    *ret_waiting = k->running;
    return true;
}

/* ---- start ---- */

static bool load_slot(void *arg, struct db_rows *row, struct err *err)
{
    struct key_log *k = arg;
    int64_t indexed = db_get_int(row, PART_VALUES_VALUE);

    if (k->slot_count == KEY_SLOTS)
        return err_set(err, ERR_LIMIT, 0, "more than %d tables of keys", KEY_SLOTS);
    k->slots[k->slot_count++] = (struct slot){ .slot = db_get_int(row, PART_VALUES_SLOT),
                                               .indexed = indexed,
                                               .next_seq = indexed + 1 };
    return true;
}

/* Load the rows above the watermark, a page at a time; full maps are moved into the trees
 * meanwhile. */
static bool load_tail(struct key_log *k, struct db *db, int64_t slot, struct err *err)
{
    bool row = true, waiting;

    while (row) {
        AUTO(db_rows_done) struct db_rows rows = { 0 };
        int64_t after = key_log_slot_of(k, slot)->next_seq - 1;
        struct key_row r = { .slot = slot };

        if (!db_query_slot(db, SQL_KEY_TAIL, slot, DB_ARGS(db_int(after), db_int(KEY_SLICE)), &rows,
                           err) ||
            !db_next(&rows, &row, err))
            return false;
        for (bool more = row; more;) {
            r.key = row_sha256(&rows, KEY_TAIL_KEY);
            r.seq = db_get_int(&rows, KEY_TAIL_SEQ);
            key_log_added(k, &r);
            if (!db_next(&rows, &more, err))
                return false;
        }
        db_rows_done(&rows);
        if (!key_log_slice(k, db, &waiting, err))
            return false;
    }
    return true;
}

bool key_log_load(struct key_log *k, struct db *db, struct err *err)
{
    if (!rows_each(db, SQL_PART_VALUES, DB_NO_SLOT, DB_ARGS(db_int(TABLES_IDEMPOTENCY)), load_slot,
                   k, err))
        return false;
    for (size_t i = 0; i < k->slot_count; i++)
        if (!load_tail(k, db, k->slots[i].slot, err))
            return err_context(err, "read idempotency keys");
    return true;
}
