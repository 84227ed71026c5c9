/* accept.c - commit 1: documents become durable.
 *
 * The problem.  A sender that gets its 202 forgets the document, so payload, record and task must
 * be on stable storage before the answer.  A sender that gets no answer sends again; with an
 * idempotency key the repetition must not become a second document, also when both requests run at
 * the same time or on two nodes.
 *
 * The method.  accept_run() gets all documents of the writer's group:
 *   1. look up the keys: a known key gives the first id again, or a refusal if the body differs;
 *      of equal keys within the group the first one counts (join_twins());
 *   2. for each new document draw its number and id, and append its payload to a segment (SQLite);
 *      a large payload was uploaded before and is only adopted;
 *   3. write payload (PostgreSQL), task, key, counts, number in the order of acceptance, document.
 * The writer syncs the segment, commits, and only then answers (writer.h).
 *
 * Invariants
 *   (1) A document that was answered has its payload, its row and a task or what followed from it.
 *   (2) A key that has not expired names at most one document.
 *   (3) Numbers in the order of acceptance follow the order of commits (order.h).
 *
 * Why (2) holds.  On SQLite one writer looks up and adds (key_log.c).  On PostgreSQL two nodes may
 * look up one key at the same time and find nothing.  Both insert it; the primary key of the table
 * lets the second insert wait for the first one's commit and then fail.  Its group is run again
 * (writer.h) and now finds the key.  A primary key covers one table only, and keys lie in the
 * table of the time at which they expire.  Two requests may expire in neighbouring tables, by the
 * time between them or because the clocks differ; so a key that expires near the edge of a table
 * goes into both (KEY_EDGE_US), and the two inserts meet in one of them.  All transactions
 * insert in the order of tables and keys, so they do not deadlock.  A row that has expired is
 * deleted when its key comes again, to make room in the primary key.
 *
 * Why (3) holds.  SQLite has one writer.  On PostgreSQL the row of order_seq is locked from taking
 * the numbers to the commit.  All other nodes wait for that lock, so it must not wait for this
 * node, which may be frozen at any moment: the statement that takes the numbers and inserts the
 * documents goes to the server in one message with the COMMIT (db_run_at_commit()).
 *
 * Crashes
 *   before the commit    no row exists and no answer was given.  Bytes in a segment are dead space,
 *                        a large payload without a document is swept (payload.h).
 *   after the commit     the document is durable.  A sender without an answer repeats: with a key
 *                        it gets the first id, without one it makes a second document.
 * A task that came claimed is not lost with its node: on PostgreSQL its lease is rescued
 * (rescue.h), on SQLite the claim was a mark in memory and its row in task_ready is claimable.
 */
#include "store/road/accept.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/auto.h"
#include "base/chance.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/require.h"
#include "store/db/rows.h"
#include "store/kernel/store_state.h"
#include "store/payload/payload.h"
#include "store/payload/payload_days.h"
#include "store/road/accept_rows.h"
#include "store/road/key_clock.h"
#include "store/road/key_log.h"
#include "store/road/lease_rows.h"
#include "store/road/order.h"
#include "store/segment/record.h"

/* A key lies in the table of the time at which it expires, so that a table is dropped whole; a
 * lookup searches every table that the key could be in. */
#define KEY_TABLE_US (INT64_C(4) * 3600 * 1000000)

/* PostgreSQL: a key that expires this close to the time of the neighbouring table goes into both
 * tables.  A concurrent insert of the same key, a moment apart or by a clock that differs a
 * little, then collides with it in one of them. */
#define KEY_EDGE_US (INT64_C(60) * 1000000)

/* ---- keys ---- */

struct lookup {
    struct accept_op **keyed;
    struct db *db;
    int64_t now_us;
};

static void answer_again(struct accept_op *a, const uint8_t id[static 16], const struct sha256 *sha)
{
    memcpy(a->id.bytes, id, 16);
    a->result = digest_same(sha, &a->sha256) ? ACCEPT_REPEATED : ACCEPT_KEY_DIFFERS;
}

static bool accept_found_key(void *arg, int64_t slot, size_t at, struct db_rows *row,
                             struct err *err)
{
    struct lookup *l = arg;
    struct accept_op *a = l->keyed[at];

    if (db_get_int(row, IDEM_FIND_UNTIL_US) <= l->now_us) /* expired: deleted to free the key */
        return db_run_slot(l->db, SQL_IDEM_FORGET, slot,
                           DB_ARGS(db_bytes(str_mem(a->key.bytes, SHA256_SIZE))), NULL, err);
    struct id id = row_id(row, IDEM_FIND_ID);
    struct sha256 first = row_sha256(row, IDEM_FIND_SHA256);

    answer_again(a, id.bytes, &first);
    return true;
}

static int accept_by_key(const void *a, const void *b)
{
    const struct accept_op *const *x = a, *const *y = b;

    return memcmp((*x)->key.bytes, (*y)->key.bytes, SHA256_SIZE);
}

/* Of requests with the same key in one group the first one stores its document, the others get
 * its id.  Requests whose key was found in the store already have their answer. */
static void join_twins(struct accept_op **keyed, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (keyed[i]->result == ACCEPT_STORED &&
            memcmp(keyed[i]->key.bytes, keyed[i - 1]->key.bytes, SHA256_SIZE) == 0) {
            keyed[i]->twin = keyed[i - 1]->twin != NULL ? keyed[i - 1]->twin : keyed[i - 1];
            keyed[i]->result = digest_same(&keyed[i]->sha256, &keyed[i]->twin->sha256)
                                   ? ACCEPT_REPEATED
                                   : ACCEPT_KEY_DIFFERS;
        }
}

/* Search up to the newest table: the period may have been longer when the key was stored. */
static bool look_up_in_tables(struct writer *w, struct accept_op **keyed, size_t count,
                              int64_t now_us, struct err *err)
{
    struct db_value *keys = ARENA_ARRAY(w->arena, struct db_value, count);
    struct lookup l = { .keyed = keyed, .db = w->db, .now_us = now_us };
    int64_t first = now_us / KEY_TABLE_US, last = w->store->key_slot_newest;

    for (size_t i = 0; i < count; i++)
        keys[i] = db_bytes(str_mem(keyed[i]->key.bytes, SHA256_SIZE));
    if (last < first) /* the housekeeper did not run for hours: it makes new tables soon */
        return err_set(err, ERR_TRANSIENT, DB_NOT_ALL,
                       "there is no table of keys for this time yet");
    for (int64_t n; first <= last; first += n) {
        n = last - first + 1 < DB_SLOTS_MOST ? last - first + 1 : DB_SLOTS_MOST;
        if (!db_find(w->db, SQL_IDEM_FIND, first, (size_t)n, keys, 1, count, accept_found_key, &l,
                     err))
            return false;
    }
    return true;
}

static bool look_up_in_log(struct writer *w, struct accept_op **keyed, size_t count, int64_t now_us,
                           struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        struct key_row row;
        bool found;

        if (!key_log_find(w->store->key_log, w->db, &keyed[i]->key, now_us, &row, &found, err))
            return false;
        if (found)
            answer_again(keyed[i], row.id.bytes, &row.sha256);
    }
    return true;
}

static bool look_up_keys(struct writer *w, struct accept_op **keyed, size_t count, struct err *err)
{
    int64_t now = key_clock_over_us(w->store->key_clock);

    qsort(keyed, count, sizeof *keyed, accept_by_key); /* a fixed order of locks: no deadlocks */
    if (w->db->kind == DB_SQLITE ? !look_up_in_log(w, keyed, count, now, err)
                                 : !look_up_in_tables(w, keyed, count, now, err))
        return false;
    join_twins(keyed, count);
    return true;
}

/* Append the rows of keys that go into a second table; `rows` has room for twice as many. */
static size_t add_neighbours(const struct writer *w, struct key_row *rows, size_t count,
                             int64_t now_us)
{
    size_t n = count;

    for (size_t i = 0; i < count; i++) {
        int64_t within = rows[i].until_us % KEY_TABLE_US, slot = rows[i].slot;

        if (within < KEY_EDGE_US)
            slot--;
        else if (within >= KEY_TABLE_US - KEY_EDGE_US)
            slot++;
        if (slot == rows[i].slot || slot < now_us / KEY_TABLE_US ||
            slot > w->store->key_slot_newest)
            continue;
        rows[n] = rows[i];
        rows[n++].slot = slot;
    }
    return n;
}

static int by_table(const void *a, const void *b)
{
    const struct key_row *x = a, *y = b;

    if (x->slot != y->slot)
        return x->slot < y->slot ? -1 : 1;
    return memcmp(x->key.bytes, y->key.bytes, SHA256_SIZE);
}

static bool add_to_tables(struct writer *w, struct key_row *keys, size_t count, int64_t now_us,
                          struct err *err)
{
    enum { COLUMNS = 4 };

    count = add_neighbours(w, keys, count, now_us);
    qsort(keys, count, sizeof *keys, by_table); /* a fixed order of locks */
    struct db_value *rows = ARENA_ARRAY(w->arena, struct db_value, count * COLUMNS);

    for (size_t from = 0, to; from < count; from = to) {
        for (to = from; to < count && keys[to].slot == keys[from].slot; to++) {
            struct db_value *v = rows + to * COLUMNS;

            v[0] = db_bytes(str_mem(keys[to].key.bytes, SHA256_SIZE));
            v[1] = db_bytes(str_mem(keys[to].id.bytes, sizeof keys[to].id.bytes));
            v[2] = db_bytes(str_mem(keys[to].sha256.bytes, SHA256_SIZE));
            v[3] = db_int(keys[to].until_us);
        }
        if (!db_batch(w->db, SQL_IDEM_ADD, keys[from].slot, rows + from * COLUMNS, COLUMNS,
                      to - from, err))
            return false;
    }
    return true;
}

static bool accept_add_keys(struct writer *w, struct accept_op **keyed, size_t count,
                            struct err *err)
{
    struct key_row *rows = ARENA_ARRAY(w->arena, struct key_row, 2 * count);
    int64_t now = key_clock_now_us(w->store->key_clock);
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        struct accept_op *a = keyed[i];
        int64_t until = now + a->key_period_us;

        if (a->result == ACCEPT_STORED)
            rows[n++] = (struct key_row){ .key = a->key,
                                          .sha256 = a->sha256,
                                          .id = a->id,
                                          .slot = until / KEY_TABLE_US,
                                          .until_us = until };
    }
    if (w->db->kind == DB_POSTGRESQL)
        return add_to_tables(w, rows, n, now, err);
    if (!key_log_number(w->store->key_log, rows, n, err))
        return false;
    n = 0;
    for (size_t i = 0; i < count; i++)
        if (keyed[i]->result == ACCEPT_STORED) {
            keyed[i]->key_slot = rows[n].slot;
            keyed[i]->key_seq = rows[n++].seq;
        }
    return key_log_add(w->db, rows, n, err);
}

/* ---- rows ---- */

enum { AT_COMMIT_BYTES = 2 * 1024 * 1024 /* more rows than this go before the COMMIT */ };

/* Rough size of the rows, for the choice between the two ways of numbering. */
static size_t bytes_of(struct accept_op **fresh, size_t count)
{
    size_t n = 0;

    for (size_t i = 0; i < count; i++)
        n += fresh[i]->name.len + fresh[i]->ctype.len + fresh[i]->head.len;
    return n;
}

/* The documents get their numbers and their rows in the trip of the COMMIT. */
static void number_at_commit(struct writer *w, struct accept_op **fresh, size_t count)
{
    struct db_value *docs = ARENA_ARRAY(w->arena, struct db_value, count * ACCEPT_DOC);
    int64_t *last = ARENA_ARRAY(w->arena, int64_t, 1);

    for (size_t i = 0; i < count; i++) {
        accept_doc_row(docs + i * ACCEPT_DOC, fresh[i]);
        fresh[i]->last_seq = last;
        fresh[i]->seq = (int64_t)i + 1 - (int64_t)count;
    }
    db_run_at_commit(w->db, SQL_DOC_ADD_NUMBERED, docs, ACCEPT_DOC, count, last);
}

static bool add_documents(struct writer *w, struct accept_op **fresh, size_t count, struct err *err)
{
    enum { DOC = ACCEPT_DOC + 1 };
    struct db_value *docs = ARENA_ARRAY(w->arena, struct db_value, count * DOC);

    for (size_t i = 0; i < count; i++) {
        accept_doc_row(docs + i * DOC, fresh[i]);
        docs[i * DOC + ACCEPT_DOC] = db_int(fresh[i]->seq);
    }
    return db_batch(w->db, SQL_DOC_ADD, DB_NO_SLOT, docs, DOC, count, err);
}

/* Numbers in the order of commits (3).  SQLite has one writer, so the document's own number will
 * do; on PostgreSQL taking numbers locks them until the commit.  This is the way of verbs that go
 * on with the document's row in the same transaction.  A document that is taken in again keeps
 * what it had. */
static bool number_documents(struct writer *w, struct accept_op **fresh, size_t count,
                             struct err *err)
{
    enum { COLUMNS = 3 };
    bool numbered = order_is_numbered(w->store);
    struct db_value *rows = ARENA_ARRAY(w->arena, struct db_value, count * COLUMNS);
    int64_t first = 0;
    size_t n = 0;

    for (size_t i = 0; i < count; i++)
        fresh[i]->last_seq = NULL;
    if (numbered && count > 0 && w->db->kind == DB_POSTGRESQL && fresh[0]->keeps_seq == 0 &&
        !order_take_numbers(w, count, &first, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        struct accept_op *a = fresh[i];

        if (a->taken_in)
            a->seq = a->keeps_seq;
        else
            a->seq = !numbered           ? 0
                     : a->keeps_seq != 0 ? a->keeps_seq
                     : first != 0        ? first + (int64_t)i
                                         : a->num;
        if (a->seq == 0)
            continue;
        rows[n * COLUMNS] = db_int(a->gateway);
        rows[n * COLUMNS + 1] = db_int(a->seq);
        rows[n++ * COLUMNS + 2] = db_int(a->keeps_child);
    }
    return db_batch(w->db, SQL_ORDER_OPEN_ADD, DB_NO_SLOT, rows, COLUMNS, n, err);
}

/* All rows of new documents but the documents themselves. */
static bool store_around(struct writer *w, struct accept_op **fresh, size_t count,
                         struct accept_op **keyed, size_t keys, struct err *err)
{
    return accept_add_payloads(w, fresh, count, err) && accept_add_tasks(w, fresh, count, err) &&
           accept_adopt_all(w, fresh, count, err) && accept_add_keys(w, keyed, keys, err) &&
           accept_count(w, fresh, count, err);
}

/* Keys before order_seq, as number_at_commit() has it: one order of locks, so that two nodes do not
 * deadlock; and the row that all nodes need is locked last. */
static bool store_fresh(struct writer *w, struct accept_op **fresh, size_t count,
                        struct accept_op **keyed, size_t keys, struct err *err)
{
    return store_around(w, fresh, count, keyed, keys, err) &&
           number_documents(w, fresh, count, err) && add_documents(w, fresh, count, err);
}

/* As store_fresh(), for a verb that does not look at the documents again before the commit. */
static bool store_fresh_last(struct writer *w, struct accept_op **fresh, size_t count,
                             struct accept_op **keyed, size_t keys, struct err *err)
{
    if (w->db->kind != DB_POSTGRESQL || count == 0 || fresh[0]->keeps_seq != 0 ||
        !order_is_numbered(w->store) || bytes_of(fresh, count) > AT_COMMIT_BYTES)
        return store_fresh(w, fresh, count, keyed, keys, err);
    number_at_commit(w, fresh, count);
    return store_around(w, fresh, count, keyed, keys, err);
}

static void accept_begin(struct accept_op *a)
{
    a->result = ACCEPT_STORED;
    a->twin = NULL;
    a->last_seq = NULL;
    a->claimed = false;
}

bool accept_known(struct writer *w, struct accept_op *a, struct err *err)
{
    accept_begin(a);
    return !a->has_key || look_up_keys(w, &a, 1, err);
}

bool accept_name(struct writer *w, struct accept_op *a, struct err *err)
{
    if (!writer_number(w, &a->num, err))
        return false;
    a->id = id_make(a->received_us, a->num, chance_u64());
    return true;
}

bool accept_store(struct writer *w, struct accept_op *a, struct err *err)
{
    return accept_place(w, a, err) && store_fresh(w, &a, 1, &a, a->has_key ? 1 : 0, err);
}

bool accept_take_in(struct writer *w, struct accept_op **fresh, size_t count, struct err *err)
{
    struct accept_op **keyed = ARENA_ARRAY(w->arena, struct accept_op *, count);
    size_t keys = 0;

    for (size_t i = 0; i < count; i++) {
        accept_begin(fresh[i]);
        if (fresh[i]->has_key)
            keyed[keys++] = fresh[i];
    }
    return store_fresh(w, fresh, count, keyed, keys, err);
}

typedef bool store_documents(struct writer *w, struct accept_op **fresh, size_t count,
                             struct accept_op **keyed, size_t keys, struct err *err);

static bool accept_by(struct writer *w, struct store_op **ops, size_t count, store_documents *store,
                      struct err *err)
{
    struct accept_op **keyed = ARENA_ARRAY(w->arena, struct accept_op *, count);
    struct accept_op **fresh = ARENA_ARRAY(w->arena, struct accept_op *, count);
    size_t keys = 0, n = 0;

    if (w->db->kind == DB_SQLITE && !db_sqlite_log_has_room(w->db, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        struct accept_op *a = container_of(ops[i], struct accept_op, op);

        accept_begin(a);
        if (a->has_key)
            keyed[keys++] = a;
    }
    if (keys > 0 && !look_up_keys(w, keyed, keys, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        struct accept_op *a = container_of(ops[i], struct accept_op, op);

        if (a->result != ACCEPT_STORED)
            continue;
        if (!accept_name(w, a, err) || !accept_place(w, a, err))
            return false;
        fresh[n++] = a;
    }
    for (size_t i = 0; i < keys; i++)
        if (keyed[i]->twin != NULL)
            keyed[i]->id = keyed[i]->twin->id;
    return store(w, fresh, n, keyed, keys, err);
}

static bool accept_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    return accept_by(w, ops, count, store_fresh_last, err);
}

/* The number that the commit gave.  If its answer was lost and the writer found out otherwise that
 * it was done, the document is asked; if that fails, its claim goes back: a flight needs it. */
static void learn_number(struct writer *w, struct accept_op *a)
{
    struct err err = { 0 };
    int64_t seq = a->seq + *a->last_seq;

    if (*a->last_seq == 0 &&
        (!db_one_int(w->db, SQL_DOC_SEQ, DB_ARGS(db_int(a->num)), 0, &seq, &err) || seq == 0) &&
        a->claimed) {
        lease_give_up(w->store, &a->task);
        a->claimed = false;
    }
    a->seq = seq;
    a->last_seq = NULL;
}

void accept_stored(struct writer *w, struct accept_op *a)
{
    struct key_row row = { .key = a->key, .slot = a->key_slot, .seq = a->key_seq };

    if (a->last_seq != NULL && a->result == ACCEPT_STORED)
        learn_number(w, a);
    if (w->db->kind != DB_SQLITE || a->result != ACCEPT_STORED)
        return;
    if (a->has_key)
        key_log_added(w->store->key_log, &row);
    if (a->claim_wanted)
        a->claimed = accept_claim(w, &a->task);
}

bool accept_one(struct writer *w, struct accept_op *op, struct err *err)
{
    struct store_op *ops = &op->op;

    require(!op->has_key && !op->claim_wanted);
    return accept_by(w, &ops, 1, store_fresh, err);
}

static void accept_committed(struct writer *w, struct store_op **ops, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct accept_op *a = container_of(ops[i], struct accept_op, op);

        accept_stored(w, a);
        w->accepted += a->result == ACCEPT_STORED;
    }
}

const struct store_verb accept_verb = { .name = "accept",
                                        .run = accept_run,
                                        .last = true, /* locks the row of order_seq */
                                        .takes = true,
                                        .committed = accept_committed };

/* ---- the tables of keys ---- */

enum { OVER_MOST = 64 };

struct keep_op {
    struct store_op op;
    int64_t period_us, first, last, newest;
    int64_t over[OVER_MOST];
    size_t over_count, other_count; /* tables to drop; tables that stay outside first..last */
    struct steady clock;            /* in force after the commit */
    bool again;                     /* not the first reading of the clock */
};

static bool see_part(void *arg, struct db_rows *row, struct err *err)
{
    struct keep_op *k = arg;
    int64_t slot = db_get_int(row, 0);

    (void)err;
    if (slot < k->first - 1 && k->again && k->over_count < OVER_MOST)
        k->over[k->over_count++] = slot;
    else if (slot < k->first || slot > k->last)
        k->other_count++;
    if (slot > k->newest && slot - k->first < (int64_t)KEY_SLOTS)
        k->newest = slot;
    return true;
}

static bool read_parts(struct writer *w, struct keep_op *k, struct err *err)
{
    k->over_count = k->other_count = 0;
    k->newest = k->last;
    return rows_each(w->db, SQL_PART_ALL, DB_NO_SLOT, DB_ARGS(db_int(TABLES_IDEMPOTENCY)), see_part,
                     k, err);
}

static bool drop_table(struct writer *w, int64_t slot, struct err *err)
{
    return db_run_slot(w->db, SQL_IDEM_DROP, slot, DB_NO_ARGS, NULL, err) &&
           (w->db->kind == DB_POSTGRESQL ||
            db_run_slot(w->db, SQL_KEY_INDEX_DROP, slot, DB_NO_ARGS, NULL, err)) &&
           db_run(w->db, SQL_PART_DROP, DB_ARGS(db_int(TABLES_IDEMPOTENCY), db_int(slot)), NULL,
                  err);
}

static bool make_table(struct writer *w, int64_t slot, struct err *err)
{
    int64_t added;

    /* Insert the row first: a concurrent transaction that makes the same table waits for it. */
    if (!db_run(w->db, SQL_PART_ADD, DB_ARGS(db_int(TABLES_IDEMPOTENCY), db_int(slot)), &added,
                err))
        return false;
    return added == 0 || (db_run_slot(w->db, SQL_IDEM_MAKE, slot, DB_NO_ARGS, NULL, err) &&
                          (w->db->kind == DB_POSTGRESQL ||
                           db_run_slot(w->db, SQL_KEY_INDEX_MAKE, slot, DB_NO_ARGS, NULL, err)));
}

static bool accept_keep_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct keep_op *k = container_of(ops[0], struct keep_op, op);

    require(count == 1);
    if (!key_clock_look(w->store->key_clock, w->db, &k->clock, &k->again, err))
        return false;
    k->first = steady_early_us(&k->clock, clock_mono_us()) / KEY_TABLE_US;
    k->last = (key_clock_now_of(&k->clock) + k->period_us) / KEY_TABLE_US + 1;
    if (!read_parts(w, k, err))
        return false;
    if (k->last - k->first + 1 + (int64_t)k->other_count > (int64_t)KEY_SLOTS)
        return err_set(err, ERR_LIMIT, 0,
                       "keys that are remembered for %lld days need more than %d tables; shorten "
                       "`idempotency` of the gateways",
                       (long long)(k->period_us / (INT64_C(86400) * CLOCK_S)), (int)KEY_SLOTS);
    /* Fill the gap that a clock that ran ahead has left: lookups read all tables up to the newest.
     */
    if (w->db->kind == DB_POSTGRESQL)
        k->last = k->newest;
    for (size_t i = 0; i < k->over_count; i++)
        if (!drop_table(w, k->over[i], err))
            return false;
    for (int64_t slot = k->first; slot <= k->last; slot++)
        if (!make_table(w, slot, err))
            return false;
    return true;
}

static void accept_keep_committed(struct writer *w, struct store_op **ops, size_t count)
{
    const struct keep_op *k = container_of(ops[0], struct keep_op, op);

    require(count == 1);
    key_clock_set(w->store->key_clock, &k->clock);
    for (size_t i = 0; i < k->over_count && w->db->kind == DB_SQLITE; i++)
        key_log_slot_gone(w->store->key_log, k->over[i]);
    for (int64_t slot = k->first; slot <= k->last && w->db->kind == DB_SQLITE; slot++)
        key_log_slot_made(w->store->key_log, slot);
}

static const struct store_verb keep_verb = { .name = "keep key tables",
                                             .notes = true,
                                             .run = accept_keep_run,
                                             .committed = accept_keep_committed };

bool accept_keep_tables(struct store *s, int64_t period_us, struct err *err)
{
    struct keep_op k = { .period_us = period_us };

    if (!writers_call(s->writers, &keep_verb, &k.op, err))
        return false;
    s->key_slot_newest = k.newest;
    return true;
}

bool accept_keys_are_unsure(struct store *s)
{
    return key_clock_is_doubted(s->key_clock);
}
