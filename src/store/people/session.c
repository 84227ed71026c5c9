#include "store/people/session.h"

#include "base/container_of.h"
#include "base/require.h"
#include "store/kernel/change.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"

static struct str session_digest_bytes(const struct sha256 *d)
{
    return str_mem(d->bytes, SHA256_SIZE);
}

/* ---- changes ---- */

struct session_op {
    struct store_op op;
    const struct session *made;
    const struct sha256 *id; /* the session to end; may be NULL */
    int64_t changed;
    const struct session_use *uses;
    size_t count;
};

static bool session_insert(struct writer *w, const struct session *m, struct err *err)
{
    return db_run(w->db, SQL_SESSION_ADD,
                  DB_ARGS(db_bytes(session_digest_bytes(&m->id)), db_text(m->user),
                          db_int(SESSION_LASTS_US), db_text(m->address), db_text(m->agent)),
                  NULL, err) &&
           db_run(w->db, SQL_SESSION_CROWD, DB_ARGS(db_text(m->user), db_int(SESSIONS_OF_ONE)),
                  NULL, err);
}

static bool session_add_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct session_op *o = container_of(ops[0], struct session_op, op);

    require(count == 1);
    if (!mark_take(w, "login", NULL, err) ||
        !db_run(w->db, SQL_SESSION_FORGET, DB_ARGS(db_int(SESSION_IDLE_US)), NULL, err) ||
        !db_run(w->db, SQL_USER_CAME, DB_ARGS(db_text(o->made->user), db_text(o->made->password)),
                &o->changed, err))
        return false;
    o->op.nothing = o->changed == 0; /* login refused: the former session stays valid */
    if (o->op.nothing)
        return true;
    return (o->id == NULL || db_run(w->db, SQL_SESSION_DROP,
                                    DB_ARGS(db_bytes(session_digest_bytes(o->id))), NULL, err)) &&
           session_insert(w, o->made, err);
}

static const struct store_verb add_verb = { .name = "add session", .run = session_add_run };

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

bool session_end(struct store *s, const struct sha256 *id, bool *ret_was, struct err *err)
{
    return store_change_one(
        s,
        &(struct store_change){ .sql = SQL_SESSION_DROP,
                                .args = DB_ARGS(db_bytes(session_digest_bytes(id))),
                                .mark = "login" },
        ret_was, err);
}

static bool use_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct session_op *o = container_of(ops[0], struct session_op, op);

    require(count == 1);
    for (size_t i = 0; i < o->count; i++)
        if (!db_run(
                w->db, SQL_SESSION_SEEN,
                DB_ARGS(db_bytes(session_digest_bytes(&o->uses[i].id)), db_int(o->uses[i].ago_us)),
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

/* ---- reading ---- */

static void read_session(struct db_rows *row, struct arena *a, void *to)
{
    *(struct session *)to = (struct session){ .id = row_sha256(row, SESSION_ALL_ID),
                                              .user = row_text(row, SESSION_ALL_NAME, a),
                                              .address = row_text(row, SESSION_ALL_ADDRESS, a),
                                              .agent = row_text(row, SESSION_ALL_AGENT, a),
                                              .made_us = db_get_int(row, SESSION_ALL_MADE_US),
                                              .seen_us = db_get_int(row, SESSION_ALL_SEEN_US),
                                              .expires_us = db_get_int(row, SESSION_ALL_EXPIRES_US),
                                              .idle_us = db_get_int(row, SESSION_ALL_IDLE_US),
                                              .left_us = db_get_int(row, SESSION_ALL_LEFT_US) };
}

bool session_list(struct store *s, struct arena *a, struct session **ret, size_t *ret_count,
                  struct err *err)
{
    struct rows_into into = {
        .read = read_session, .arena = a, .size = sizeof **ret, .most = SESSIONS_MOST
    };

    if (!store_collect(s, SQL_SESSION_ALL, DB_ARGS(db_int(SESSION_IDLE_US)), &into, ret_count, err))
        return false;
    *ret = into.items;
    return true;
}
