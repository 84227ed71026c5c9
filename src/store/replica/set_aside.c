#include "store/replica/set_aside.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/digest.h"
#include "base/require.h"
#include "store/db/rows.h"
#include "store/kernel/change.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"
#include "store/replica/aside_row.h"
#include "store/replica/replica_text.h"

enum {
    ASIDE_PUT = 11, /* parameters of set_aside_put */
    ASIDE_FIRST_S = 60
};

/* Under which the row of a key is found: a key may be too long for an index. */
static struct sha256 aside_digest(struct str link, struct str table, struct str key)
{
    struct digest d = digest_start();

    digest_add(&d, link);
    digest_add(&d, str_mem("", 1));
    digest_add(&d, table);
    digest_add(&d, str_mem("", 1));
    digest_add(&d, key);
    return digest_end(&d);
}

static struct db_value aside_digest_value(const struct sha256 *d)
{
    return db_bytes(str_mem((const char *)d->bytes, SHA256_SIZE));
}

/* ---- putting ---- */

struct aside_put_op {
    struct store_op op;
    const struct set_aside *rows;
    size_t count;
    int64_t now_us, open;
};

static void aside_values(struct writer *w, const struct aside_put_op *o, size_t i, int64_t id,
                         struct db_value *v)
{
    const struct set_aside *row = &o->rows[i];
    struct sha256 *digest = ARENA_NEW(w->arena, struct sha256);

    *digest = aside_digest(row->link, row->table, row->key);
    v[0] = db_int(id);
    v[1] = aside_digest_value(digest);
    v[2] = db_text(row->link);
    v[3] = db_text(row->table);
    v[4] = db_bytes(row->key);
    v[5] = db_bytes(row->row.len <= SET_ASIDE_ROW_MOST ? row->row : STR(""));
    v[6] = db_text(row->kind);
    v[7] = db_text(replica_text(w->arena, row->why));
    v[8] = db_int(row->x);
    v[9] = db_int(o->now_us);
    v[10] = db_int(o->now_us + (int64_t)ASIDE_FIRST_S * CLOCK_S);
}

static bool aside_count(struct db *db, struct str link, struct str table, int64_t *ret,
                        struct err *err)
{
    return db_one_int(db, SQL_SET_ASIDE_OPEN, DB_ARGS(db_text(link), db_text(table)), 0, ret, err);
}

static bool aside_put_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct aside_put_op *o = container_of(ops[0], struct aside_put_op, op);
    struct db_value *v = ARENA_ARRAY(w->arena, struct db_value, o->count * ASIDE_PUT);
    int64_t last;

    require(count == 1);
    if (!db_one_int(w->db, SQL_MARK_TAKE,
                    DB_ARGS(db_text(STR("replica")), db_int((int64_t)o->count)), 0, &last, err))
        return false;
    for (size_t i = 0; i < o->count; i++)
        aside_values(w, o, i, last - (int64_t)o->count + 1 + (int64_t)i, v + i * ASIDE_PUT);
    return db_batch(w->db, SQL_SET_ASIDE_PUT, DB_NO_SLOT, v, ASIDE_PUT, o->count, err) &&
           aside_count(w->db, o->rows->link, o->rows->table, &o->open, err);
}

static const struct store_verb aside_put_verb = { .name = "set rows aside",
                                                  .run = aside_put_run,
                                                  .notes = true };

bool set_aside_put(struct store *s, const struct set_aside *rows, size_t count, int64_t now_us,
                   int64_t *ret_open, struct err *err)
{
    struct aside_put_op o = { .rows = rows, .count = count, .now_us = now_us };

    require(count > 0);
    if (!writers_call(s->writers, &aside_put_verb, &o.op, err))
        return false;
    *ret_open = o.open;
    return true;
}

/* ---- dropping ---- */

struct aside_drop_op {
    struct store_op op;
    struct str link, table;
    struct db_value *digests; /* NULL: all of the table */
    size_t count;
    int64_t open;
};

static bool aside_drop_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct aside_drop_op *o = container_of(ops[0], struct aside_drop_op, op);

    require(count == 1);
    if (o->digests == NULL)
        return db_run(w->db, SQL_SET_ASIDE_DROP_ALL, DB_ARGS(db_text(o->link), db_text(o->table)),
                      NULL, err);
    return db_batch(w->db, SQL_SET_ASIDE_DROP, DB_NO_SLOT, o->digests, 1, o->count, err) &&
           aside_count(w->db, o->link, o->table, &o->open, err);
}

static const struct store_verb aside_drop_verb = { .name = "rows not set aside any more",
                                                   .run = aside_drop_run,
                                                   .notes = true };

static bool aside_found(void *arg, int64_t slot, size_t at, struct db_rows *row, struct err *err)
{
    bool *there = arg;

    (void)slot;
    (void)row;
    (void)err;
    there[at] = true;
    return true;
}

/* Keeps of the digests those that are set aside. */
static bool aside_look(struct store *s, struct db_value *digests, struct arena *a, size_t *io_count,
                       struct err *err)
{
    AUTO(reader_back) struct reader r = reader_take(s, err);
    bool *there = ARENA_ARRAY(a, bool, *io_count);
    size_t n = 0;

    if (r.db == NULL || !db_find(r.db, SQL_SET_ASIDE_HAVE, DB_NO_SLOT, 1, digests, 1, *io_count,
                                 aside_found, there, err))
        return false;
    for (size_t i = 0; i < *io_count; i++)
        if (there[i])
            digests[n++] = digests[i];
    *io_count = n;
    return true;
}

bool set_aside_drop(struct store *s, struct str link, struct str table, const struct str *keys,
                    size_t count, int64_t *ret_open, struct err *err)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(64 << 20);
    struct aside_drop_op o = { .link = link, .table = table, .count = count };
    struct sha256 *digests = ARENA_ARRAY(&a, struct sha256, count + 1);

    o.digests = ARENA_ARRAY(&a, struct db_value, count + 1);
    for (size_t i = 0; i < count; i++) {
        digests[i] = aside_digest(link, table, keys[i]);
        o.digests[i] = aside_digest_value(&digests[i]);
    }
    if (count > 0 && !aside_look(s, o.digests, &a, &o.count, err))
        return false;
    if (o.count == 0)
        return set_aside_open(s, link, table, ret_open, err);
    if (!writers_call(s->writers, &aside_drop_verb, &o.op, err))
        return false;
    *ret_open = o.open;
    return true;
}

bool set_aside_drop_all(struct store *s, struct str link, struct str table, struct err *err)
{
    struct aside_drop_op o = { .link = link, .table = table };

    return writers_call(s->writers, &aside_drop_verb, &o.op, err);
}

/* ---- looking ---- */

void set_aside_read(struct db_rows *row, struct arena *a, void *to)
{
    int64_t discarded = db_get_int(row, REPLICA_ASIDE_DISCARDED);

    *(struct set_aside *)to =
        (struct set_aside){ .id = db_get_int(row, REPLICA_ASIDE_ID),
                            .link = row_text(row, REPLICA_ASIDE_LINK, a),
                            .table = row_text(row, REPLICA_ASIDE_TABLE_NAME, a),
                            .key = row_text(row, REPLICA_ASIDE_ROW_KEY, a),
                            .row = row_text(row, REPLICA_ASIDE_ROW_BYTES, a),
                            .kind = row_text(row, REPLICA_ASIDE_KIND, a),
                            .why = row_text(row, REPLICA_ASIDE_WHY, a),
                            .x = db_get_int(row, REPLICA_ASIDE_X),
                            .first_us = db_get_int(row, REPLICA_ASIDE_FIRST_US),
                            .last_us = db_get_int(row, REPLICA_ASIDE_LAST_US),
                            .due_us = db_get_int(row, REPLICA_ASIDE_DUE_US),
                            .tries = db_get_int(row, REPLICA_ASIDE_TRIES),
                            .discarded = discarded == ASIDE_DISCARDED,
                            .gone = discarded == ASIDE_GONE,
                            .judged_by = row_text(row, REPLICA_ASIDE_JUDGED_BY, a),
                            .judged_why = row_text(row, REPLICA_ASIDE_JUDGED_WHY, a),
                            .peer = row_text(row, REPLICA_ASIDE_PEER, a) };
}

bool set_aside_open(struct store *s, struct str link, struct str table, int64_t *ret_open,
                    struct err *err)
{
    return store_one_int(s, SQL_SET_ASIDE_OPEN, DB_ARGS(db_text(link), db_text(table)), 0, ret_open,
                         err);
}

bool set_aside_due(struct store *s, struct str link, struct str table, int64_t now_us, size_t most,
                   struct arena *a, struct set_aside *ret, size_t *ret_count, struct err *err)
{
    return store_collect(
        s, SQL_SET_ASIDE_DUE,
        DB_ARGS(db_text(link), db_text(table), db_int(now_us), db_int((int64_t)most)),
        ROWS_INTO(ret, most, a, set_aside_read), ret_count, err);
}

bool set_aside_list(struct store *s, struct str link, struct str table, int64_t after, size_t most,
                    struct arena *a, struct set_aside *ret, size_t *ret_count, struct err *err)
{
    struct rows_into *into = ROWS_INTO(ret, most, a, set_aside_read);
    struct db_value from = db_int(after), limit = db_int((int64_t)most);

    if (link.len == 0)
        return store_collect(s, SQL_SET_ASIDE_PAGE, DB_ARGS(db_text(table), from, limit), into,
                             ret_count, err);
    if (table.len == 0)
        return store_collect(s, SQL_SET_ASIDE_PAGE_LINK, DB_ARGS(db_text(link), from, limit), into,
                             ret_count, err);
    return store_collect(s, SQL_SET_ASIDE_PAGE_TABLE,
                         DB_ARGS(db_text(link), db_text(table), from, limit), into, ret_count, err);
}

bool set_aside_find(struct store *s, int64_t id, struct arena *a, bool *ret_has,
                    struct set_aside *ret, struct err *err)
{
    return store_one(s, SQL_SET_ASIDE_FIND, DB_ARGS(db_int(id)), set_aside_read, a, ret, ret_has,
                     err);
}

/* ---- people ---- */

bool set_aside_judge(struct store *s, int64_t id, bool discard, struct str by, struct str why,
                     bool *ret_has, struct err *err)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(64 << 10);

    return store_change_one(
        s,
        &(struct store_change){ .sql = SQL_SET_ASIDE_JUDGE,
                                .args = DB_ARGS(db_int(id), db_int(discard),
                                                db_text(replica_text(&a, by)),
                                                db_text(replica_text(&a, why))) },
        ret_has, err);
}
