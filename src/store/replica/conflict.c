#include "store/replica/conflict.h"

#include "base/auto.h"
#include "base/container_of.h"
#include "base/require.h"
#include "store/db/rows.h"
#include "store/kernel/change.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"
#include "store/replica/aside_row.h"
#include "store/replica/replica_text.h"

enum {
    CONFLICT_PUT = 13, /* parameters of conflict_put */
    CONFLICT_SAID = 2  /* of conflict_told and conflict_gone */
};

#define CONFLICT_KEPT_US (CONFLICT_DAYS * (int64_t)86400 * CLOCK_S)

int64_t conflict_due(int64_t now_us, bool waits)
{
    return waits ? CONFLICT_FOREVER_US : now_us + CONFLICT_KEPT_US;
}

bool conflict_waits(const struct set_aside *row)
{
    return row->due_us == CONFLICT_FOREVER_US;
}

/* A key may lose more than once, with other rows. */
struct sha256 conflict_digest(const struct set_aside *row)
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

/* Under which it is found: nobody's row takes the place of another one's. */
static struct db_value conflict_name(struct arena *a, struct str peer, struct sha256 of)
{
    struct sha256 *name = ARENA_NEW(a, struct sha256);
    struct str bytes = str_mem((const char *)of.bytes, SHA256_SIZE);

    *name = of;
    if (peer.len > 0) {
        struct digest d = digest_start();

        digest_add(&d, bytes);
        digest_add(&d, peer);
        *name = digest_end(&d);
    }
    return db_bytes(str_mem((const char *)name->bytes, SHA256_SIZE));
}

/* ---- putting ---- */

struct conflict_put_op {
    struct store_op op;
    const struct set_aside *rows;
    size_t count;
    struct str peer;
    const struct sha256 *gone;
    size_t gone_count;
    int64_t now_us;
    bool untold;
};

static void conflict_values(struct writer *w, const struct conflict_put_op *o, size_t i, int64_t id,
                            struct db_value *v)
{
    const struct set_aside *row = &o->rows[i];

    v[0] = db_int(id);
    v[1] = conflict_name(w->arena, o->peer, conflict_digest(row));
    v[2] = db_text(row->link);
    v[3] = db_text(row->table);
    v[4] = db_bytes(row->key);
    v[5] = db_bytes(row->row);
    v[6] = db_text(replica_text(w->arena, row->why));
    v[7] = db_int(row->x);
    v[8] = db_int(o->now_us);
    v[9] = db_int(row->due_us);
    v[10] = db_text(o->peer);
    v[11] = db_int(row->discarded ? ASIDE_DISCARDED : ASIDE_KEPT);
    v[12] = db_int(!o->untold);
}

static bool conflict_put_rows(struct writer *w, struct conflict_put_op *o, struct err *err)
{
    struct db_value *v = ARENA_ARRAY(w->arena, struct db_value, o->count * CONFLICT_PUT);
    int64_t last;

    if (!db_one_int(w->db, SQL_MARK_TAKE,
                    DB_ARGS(db_text(STR("replica")), db_int((int64_t)o->count)), 0, &last, err))
        return false;
    for (size_t i = 0; i < o->count; i++)
        conflict_values(w, o, i, last - (int64_t)o->count + 1 + (int64_t)i, v + i * CONFLICT_PUT);
    return db_batch(w->db, SQL_CONFLICT_PUT, DB_NO_SLOT, v, CONFLICT_PUT, o->count, err);
}

/* Copies of a peer's rows that have gone there; in whatever state they are. */
static bool conflict_put_gone(struct writer *w, struct conflict_put_op *o, struct err *err)
{
    static const int64_t states[] = { ASIDE_DISCARDED, ASIDE_KEPT };
    struct db_value *v = ARENA_ARRAY(w->arena, struct db_value, o->gone_count * 4);
    size_t n = 0;

    for (size_t i = 0; i < o->gone_count; i++)
        for (size_t j = 0; j < 2; j++) {
            v[n++] = conflict_name(w->arena, o->peer, o->gone[i]);
            v[n++] = db_int(states[j]);
        }
    return db_batch(w->db, SQL_CONFLICT_GONE, DB_NO_SLOT, v, CONFLICT_SAID, n / 2, err);
}

static bool conflict_put_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct conflict_put_op *o = container_of(ops[0], struct conflict_put_op, op);

    require(count == 1);
    return (o->gone_count == 0 || conflict_put_gone(w, o, err)) &&
           (o->count == 0 || conflict_put_rows(w, o, err));
}

static const struct store_verb conflict_put_verb = { .name = "rows that have lost",
                                                     .run = conflict_put_run,
                                                     .notes = true };

bool conflict_put(struct store *s, const struct set_aside *rows, size_t count, int64_t now_us,
                  bool untold, struct err *err)
{
    struct conflict_put_op o = {
        .rows = rows, .count = count, .peer = STR(""), .now_us = now_us, .untold = untold
    };

    require(count > 0);
    return writers_call(s->writers, &conflict_put_verb, &o.op, err);
}

/* About: those that come at the same moment are not counted. */
static bool conflict_has_room(struct store *s, const struct conflict_copies *c, struct err *err)
{
    const struct db_value peer = db_text(c->peer);
    int64_t rows, bytes;

    if (!store_one_int(s, SQL_CONFLICT_HELD, DB_ARGS(peer), 0, &rows, err) ||
        !store_one_int(s, SQL_CONFLICT_HELD_BYTES, DB_ARGS(peer), 0, &bytes, err))
        return false;
    return (rows < CONFLICT_PEER_MOST && bytes < CONFLICT_PEER_BYTES) ||
           err_set(err, ERR_LIMIT, 0,
                   "%lld rows of links of %.*s that have lost are kept here, %lld bytes: no more "
                   "are taken until some have gone",
                   (long long)rows, STR_ARG(str_first(c->peer, 60)), (long long)bytes);
}

bool conflict_copy(struct store *s, const struct conflict_copies *c, int64_t now_us,
                   struct err *err)
{
    struct conflict_put_op o = { .rows = c->rows,
                                 .count = c->count,
                                 .peer = c->peer,
                                 .gone = c->gone,
                                 .gone_count = c->gone_count,
                                 .now_us = now_us };

    require(c->peer.len > 0);
    if (c->count > 0 && !conflict_has_room(s, c, err))
        return false;
    return (c->count == 0 && c->gone_count == 0) ||
           writers_call(s->writers, &conflict_put_verb, &o.op, err);
}

/* ---- what became of one ---- */

bool conflict_settle(struct store *s, int64_t id, bool written, bool untold, struct str why,
                     struct err *err)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(64 << 10);
    const struct db_value kept = db_int(CONFLICT_KEPT_US), of = db_int(id);

    if (written && untold)
        return store_change(s,
                            &(struct store_change){ .sql = SQL_CONFLICT_LEAVE,
                                                    .args = DB_ARGS(of, kept),
                                                    .silent = true },
                            NULL, err);
    if (written)
        return store_change(
            s,
            &(struct store_change){ .sql = SQL_CONFLICT_DROP, .args = DB_ARGS(of), .silent = true },
            NULL, err);
    return store_change(
        s,
        &(struct store_change){ .sql = SQL_CONFLICT_STAYS,
                                .args = DB_ARGS(of, db_text(replica_text(&a, why)), kept),
                                .silent = true },
        NULL, err);
}

/* ---- at two locations ---- */

bool conflict_untold(struct store *s, struct str link, struct str table, size_t most,
                     struct arena *a, struct set_aside *ret, size_t *ret_count, struct err *err)
{
    return store_collect(s, SQL_CONFLICT_UNTOLD,
                         DB_ARGS(db_text(link), db_text(table), db_int((int64_t)most)),
                         ROWS_INTO(ret, most, a, set_aside_read), ret_count, err);
}

struct conflict_told_op {
    struct store_op op;
    const struct set_aside *rows;
    size_t count;
};

/* Those that have gone, or the others. */
static bool conflict_told_some(struct writer *w, const struct conflict_told_op *o, bool gone,
                               enum sql_id sql, struct err *err)
{
    struct db_value *v = ARENA_ARRAY(w->arena, struct db_value, o->count * CONFLICT_SAID);
    size_t n = 0;

    for (size_t i = 0; i < o->count; i++) {
        const struct set_aside *row = &o->rows[i];

        if (row->gone != gone)
            continue;
        v[n++] = conflict_name(w->arena, STR(""), conflict_digest(row));
        v[n++] = db_int(gone ? ASIDE_GONE : row->discarded ? ASIDE_DISCARDED : ASIDE_KEPT);
    }
    return n == 0 || db_batch(w->db, sql, DB_NO_SLOT, v, CONFLICT_SAID, n / 2, err);
}

static bool conflict_told_run(struct writer *w, struct store_op **ops, size_t count,
                              struct err *err)
{
    const struct conflict_told_op *o = container_of(ops[0], struct conflict_told_op, op);

    require(count == 1);
    return conflict_told_some(w, o, false, SQL_CONFLICT_TOLD, err) &&
           conflict_told_some(w, o, true, SQL_CONFLICT_GONE, err);
}

static const struct store_verb conflict_told_verb = { .name = "rows that the other side knows",
                                                      .run = conflict_told_run,
                                                      .notes = true };

bool conflict_told(struct store *s, const struct set_aside *rows, size_t count, struct err *err)
{
    struct conflict_told_op o = { .rows = rows, .count = count };

    require(count > 0);
    return writers_call(s->writers, &conflict_told_verb, &o.op, err);
}
