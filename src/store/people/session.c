#include "store/people/session.h"

#include "base/auto.h"
#include "base/container_of.h"
#include "base/require.h"
#include "store/kernel/store_state.h"

static struct str digest_bytes(const struct sha256 *d)
{
    return str_mem(d->bytes, SHA256_SIZE);
}

/* ---- changes --------------------------------------------------------------------------------- */

struct session_op {
    struct store_op op;
    const struct session *made;
    const struct sha256 *id; /* that ends; may be NULL */
    int64_t changed;
    const struct session_use *uses;
    size_t count;
};

static bool raise_mark(struct writer *w, struct err *err)
{
    int64_t mark;

    return db_one_int(w->db, SQL_MARK_TAKE, DB_ARGS(db_text(STR("login")), db_int(1)), 0, &mark,
                      err);
}

static bool insert(struct writer *w, const struct session *m, struct err *err)
{
    return db_run(w->db, SQL_SESSION_ADD,
                  DB_ARGS(db_bytes(digest_bytes(&m->id)), db_text(m->user),
                          db_int(SESSION_LASTS_US), db_text(m->address), db_text(m->agent)),
                  NULL, err) &&
           db_run(w->db, SQL_SESSION_CROWD, DB_ARGS(db_text(m->user), db_int(SESSIONS_OF_ONE)),
                  NULL, err);
}

static bool add_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct session_op *o = container_of(ops[0], struct session_op, op);

    require(count == 1);
    if (!raise_mark(w, err) ||
        !db_run(w->db, SQL_SESSION_FORGET, DB_ARGS(db_int(SESSION_IDLE_US)), NULL, err) ||
        !db_run(w->db, SQL_USER_CAME, DB_ARGS(db_text(o->made->user), db_text(o->made->password)),
                &o->changed, err))
        return false;
    o->op.nothing = o->changed == 0; /* nobody came: the session before goes on */
    if (o->op.nothing)
        return true;
    return (o->id == NULL ||
            db_run(w->db, SQL_SESSION_DROP, DB_ARGS(db_bytes(digest_bytes(o->id))), NULL, err)) &&
           insert(w, o->made, err);
}

static const struct store_verb add_verb = { .name = "add session", .run = add_run };

bool session_add(struct store *s, const struct session *made, const struct sha256 *before,
                 bool *ret_was, struct err *err)
{
    struct session_op o = { .made = made, .id = before };

    require(made->agent.len <= SESSION_AGENT_MOST && made->address.len <= SESSION_ADDRESS_MOST);
    if (!writers_call(s->writers, &add_verb, &o.op, err))
        return false;
    *ret_was = o.changed == 1;
    return true;
}

static bool end_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct session_op *o = container_of(ops[0], struct session_op, op);

    require(count == 1);
    if (!raise_mark(w, err) ||
        !db_run(w->db, SQL_SESSION_DROP, DB_ARGS(db_bytes(digest_bytes(o->id))), &o->changed, err))
        return false;
    o->op.nothing = o->changed == 0;
    return true;
}

static const struct store_verb end_verb = { .name = "end session", .run = end_run };

bool session_end(struct store *s, const struct sha256 *id, bool *ret_was, struct err *err)
{
    struct session_op o = { .id = id };

    if (!writers_call(s->writers, &end_verb, &o.op, err))
        return false;
    *ret_was = o.changed == 1;
    return true;
}

static bool use_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct session_op *o = container_of(ops[0], struct session_op, op);

    require(count == 1);
    for (size_t i = 0; i < o->count; i++)
        if (!db_run(w->db, SQL_SESSION_SEEN,
                    DB_ARGS(db_bytes(digest_bytes(&o->uses[i].id)), db_int(o->uses[i].ago_us)),
                    NULL, err))
            return false;
    return true;
}

static const struct store_verb use_verb = { .name = "note sessions", .run = use_run };

bool session_note_used(struct store *s, const struct session_use *uses, size_t count,
                       struct err *err)
{
    struct session_op o = { .uses = uses, .count = count };

    return writers_call(s->writers, &use_verb, &o.op, err);
}

/* ---- looking --------------------------------------------------------------------------------- */

static struct session read_row(struct db_rows *rows, struct arena *a)
{
    struct str id = db_get_str(rows, 0);
    struct session got = { .made_us = db_get_int(rows, 4),
                           .seen_us = db_get_int(rows, 5),
                           .expires_us = db_get_int(rows, 6),
                           .idle_us = db_get_int(rows, 7),
                           .left_us = db_get_int(rows, 8) };

    require(id.len == SHA256_SIZE);
    memcpy(got.id.bytes, id.ptr, id.len);
    got.user = arena_copy(a, db_get_str(rows, 1));
    got.address = arena_copy(a, db_get_str(rows, 2));
    got.agent = arena_copy(a, db_get_str(rows, 3));
    return got;
}

static bool read_all(struct db *db, struct arena *a, struct session **ret, size_t *ret_count,
                     struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    struct session *all = NULL;
    size_t n = 0, room = 0;
    bool row;

    if (!db_query(db, SQL_SESSION_ALL, DB_ARGS(db_int(SESSION_IDLE_US)), &rows, err))
        return false;
    for (;;) {
        if (!db_next(&rows, &row, err))
            return false;
        if (!row || n == SESSIONS_MOST)
            break;
        if (n == room) {
            struct session *more = ARENA_ARRAY(a, struct session, room * 2 + 16);

            if (n > 0)
                memcpy(more, all, n * sizeof *all);
            all = more;
            room = room * 2 + 16;
        }
        all[n++] = read_row(&rows, a);
    }
    *ret = all;
    *ret_count = n;
    return true;
}

bool session_list(struct store *s, struct arena *a, struct session **ret, size_t *ret_count,
                  struct err *err)
{
    struct db *db = store_reader(s, err);

    if (db == NULL)
        return false;
    bool ok = read_all(db, a, ret, ret_count, err);

    store_reader_back(s, db);
    return ok;
}
