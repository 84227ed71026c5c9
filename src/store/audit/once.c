#include "store/audit/once.h"

#include "base/clock.h"
#include "base/container_of.h"
#include "base/require.h"
#include "store/kernel/change.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"

#define KEPT_US (INT64_C(24) * 3600 * CLOCK_S)

struct once_op {
    struct store_op op;
    const struct once_id *id;
    const struct sha256 *question;
    struct arena *arena;
    struct once_found *found;
};

/* ---- begin ---- */

static void once_read_found(struct db_rows *row, struct arena *a, void *to)
{
    struct once_op *o = to;
    bool same =
        str_eq(db_get_str(row, ONCE_GET_QUESTION), str_mem(o->question->bytes, SHA256_SIZE));
    bool done = db_get_int(row, ONCE_GET_DONE) != 0;

    *o->found = (struct once_found){ .state = !same  ? ONCE_OTHER
                                              : done ? ONCE_DONE
                                                     : ONCE_BEGUN,
                                     .age_us = db_get_int(row, ONCE_GET_AGE_US) };
    if (o->found->state == ONCE_DONE && !db_is_null(row, ONCE_GET_ANSWER))
        o->found->answer = row_text(row, ONCE_GET_ANSWER, a);
}

static bool read_begun(struct writer *w, struct once_op *o, struct err *err)
{
    bool there;

    return rows_one(w->db, SQL_ONCE_GET, DB_NO_SLOT,
                    DB_ARGS(db_text(o->id->who), db_text(o->id->client)), once_read_found, o->arena,
                    o, &there, err) &&
           (there || err_set(err, ERR_TRANSIENT, 0, "an id of a caller was forgotten just now"));
}

static bool once_begin_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct once_op *o = container_of(ops[0], struct once_op, op);
    int64_t added;

    require(count == 1);
    if (!db_run(w->db, SQL_ONCE_FORGET, DB_ARGS(db_int(KEPT_US)), NULL, err) ||
        !db_run(w->db, SQL_ONCE_ADD,
                DB_ARGS(db_text(o->id->who), db_text(o->id->client),
                        db_bytes(str_mem(o->question->bytes, SHA256_SIZE))),
                &added, err))
        return false;
    *o->found = (struct once_found){ .state = ONCE_NEW };
    return added > 0 || read_begun(w, o, err);
}

static const struct store_verb begin_verb = { .name = "begin once",
                                              .notes = true,
                                              .run = once_begin_run };

bool once_begin(struct store *s, const struct once_id *id, const struct sha256 *question,
                struct arena *a, struct once_found *ret, struct err *err)
{
    struct once_op o = { .id = id, .question = question, .arena = a, .found = ret };

    require(id->client.len > 0 && id->client.len <= ONCE_CLIENT_MOST);
    return writers_call(s->writers, &begin_verb, &o.op, err);
}

/* ---- end ---- */

bool once_end(struct store *s, const struct once_id *id, struct str answer, struct err *err)
{
    bool fits = answer.ptr != NULL && answer.len <= ONCE_ANSWER_MOST;

    return store_change(
        s,
        &(struct store_change){ .sql = SQL_ONCE_END,
                                .args = DB_ARGS(db_text(id->who), db_text(id->client),
                                                fits ? db_bytes(answer) : db_null()),
                                .silent = true },
        NULL, err);
}

bool once_drop(struct store *s, const struct once_id *id, struct err *err)
{
    return store_change(
        s,
        &(struct store_change){ .sql = SQL_ONCE_DROP,
                                .args = DB_ARGS(db_text(id->who), db_text(id->client)),
                                .silent = true },
        NULL, err);
}
