#include "store/replica/conflict.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/require.h"
#include "store/db/rows.h"
#include "store/kernel/change.h"
#include "store/kernel/store_state.h"
#include "store/replica/replica_text.h"

enum { CONFLICT_PUT = 10 }; /* parameters of conflict_put */

#define CONFLICT_KEPT_US    (CONFLICT_DAYS * (int64_t)86400 * CLOCK_S)
#define CONFLICT_FOREVER_US (INT64_C(253370764800) * CLOCK_S) /* the year 9999 */

struct conflict_put_op {
    struct store_op op;
    const struct set_aside *rows;
    size_t count;
    int64_t now_us, due_us;
};

/* A key may lose more than once, with other rows. */
static struct sha256 conflict_digest(const struct set_aside *row)
{
    struct digest d = digest_start();
    const struct str parts[] = { row->link, row->table, row->key, STR(CONFLICT_KIND), row->row };

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const uint64_t len = parts[i].len;

        digest_add(&d, str_mem((const char *)&len, sizeof len));
        digest_add(&d, parts[i]);
    }
    return digest_end(&d);
}

static void conflict_values(struct writer *w, const struct conflict_put_op *o, size_t i, int64_t id,
                            struct db_value *v)
{
    const struct set_aside *row = &o->rows[i];
    struct sha256 *digest = ARENA_NEW(w->arena, struct sha256);

    *digest = conflict_digest(row);
    v[0] = db_int(id);
    v[1] = db_bytes(str_mem((const char *)digest->bytes, SHA256_SIZE));
    v[2] = db_text(row->link);
    v[3] = db_text(row->table);
    v[4] = db_bytes(row->key);
    v[5] = db_bytes(row->row);
    v[6] = db_text(replica_text(w->arena, row->why));
    v[7] = db_int(row->x);
    v[8] = db_int(o->now_us);
    v[9] = db_int(o->due_us);
}

static bool conflict_put_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct conflict_put_op *o = container_of(ops[0], struct conflict_put_op, op);
    struct db_value *v = ARENA_ARRAY(w->arena, struct db_value, o->count * CONFLICT_PUT);
    int64_t last;

    require(count == 1);
    if (!db_one_int(w->db, SQL_MARK_TAKE,
                    DB_ARGS(db_text(STR("replica")), db_int((int64_t)o->count)), 0, &last, err))
        return false;
    for (size_t i = 0; i < o->count; i++)
        conflict_values(w, o, i, last - (int64_t)o->count + 1 + (int64_t)i, v + i * CONFLICT_PUT);
    return db_batch(w->db, SQL_CONFLICT_PUT, DB_NO_SLOT, v, CONFLICT_PUT, o->count, err);
}

static const struct store_verb conflict_put_verb = { .name = "rows that have lost",
                                                     .run = conflict_put_run,
                                                     .notes = true };

bool conflict_put(struct store *s, const struct set_aside *rows, size_t count, int64_t now_us,
                  bool waits, struct err *err)
{
    struct conflict_put_op o = { .rows = rows,
                                 .count = count,
                                 .now_us = now_us,
                                 .due_us =
                                     waits ? CONFLICT_FOREVER_US : now_us + CONFLICT_KEPT_US };

    require(count > 0);
    return writers_call(s->writers, &conflict_put_verb, &o.op, err);
}

bool conflict_settle(struct store *s, int64_t id, bool written, struct str why, struct err *err)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(64 << 10);

    if (written)
        return store_change(s,
                            &(struct store_change){ .sql = SQL_CONFLICT_DROP,
                                                    .args = DB_ARGS(db_int(id)),
                                                    .silent = true },
                            NULL, err);
    return store_change(
        s,
        &(struct store_change){
            .sql = SQL_CONFLICT_STAYS,
            .args = DB_ARGS(db_int(id), db_text(replica_text(&a, why)), db_int(CONFLICT_KEPT_US)),
            .silent = true },
        NULL, err);
}
