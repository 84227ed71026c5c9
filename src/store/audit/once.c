#include "store/audit/once.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/require.h"
#include "store/kernel/store_state.h"

#define KEPT_US (INT64_C(24) * 3600 * CLOCK_S)

struct once_op {
    struct store_op op;
    const struct once_id *id;
    const struct sha256 *question;
    struct str answer;
    struct arena *arena;
    struct once_found *found;
};

static struct once_op *the_op(struct store_op **ops, size_t count)
{
    require(count == 1);
    return container_of(ops[0], struct once_op, op);
}

/* ---- begin ------------------------------------------------------------------------------------
 */

static bool read_row(struct writer *w, struct once_op *o, struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    struct str question = str_mem(o->question->bytes, SHA256_SIZE);
    bool row;

    if (!db_query(w->db, SQL_ONCE_GET, DB_ARGS(db_text(o->id->who), db_text(o->id->client)), &rows,
                  err) ||
        !db_next(&rows, &row, err))
        return false;
    if (!row)
        return err_set(err, ERR_TRANSIENT, 0, "an id of a caller was forgotten just now");
    bool same = str_eq(db_get_str(&rows, 0), question);

    *o->found = (struct once_found){ .state = !same                       ? ONCE_OTHER
                                              : db_get_int(&rows, 1) == 0 ? ONCE_BEGUN
                                                                          : ONCE_DONE,
                                     .age_us = db_get_int(&rows, 3) };
    if (o->found->state == ONCE_DONE && !db_is_null(&rows, 2))
        o->found->answer = arena_copy(o->arena, db_get_str(&rows, 2));
    return true;
}

static bool begin_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct once_op *o = the_op(ops, count);
    int64_t added;

    if (!db_run(w->db, SQL_ONCE_FORGET, DB_ARGS(db_int(KEPT_US)), NULL, err) ||
        !db_run(w->db, SQL_ONCE_ADD,
                DB_ARGS(db_text(o->id->who), db_text(o->id->client),
                        db_bytes(str_mem(o->question->bytes, SHA256_SIZE))),
                &added, err))
        return false;
    *o->found = (struct once_found){ .state = ONCE_NEW };
    return added > 0 || read_row(w, o, err);
}

static const struct store_verb begin_verb = { .name = "begin once",
                                              .notes = true,
                                              .run = begin_run };

bool once_begin(struct store *s, const struct once_id *id, const struct sha256 *question,
                struct arena *a, struct once_found *ret, struct err *err)
{
    struct once_op o = { .id = id, .question = question, .arena = a, .found = ret };

    require(id->client.len > 0 && id->client.len <= ONCE_CLIENT_MOST);
    return writers_call(s->writers, &begin_verb, &o.op, err);
}

/* ---- end --------------------------------------------------------------------------------------
 */

static bool end_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct once_op *o = the_op(ops, count);

    return db_run(w->db, SQL_ONCE_END,
                  DB_ARGS(db_text(o->id->who), db_text(o->id->client),
                          o->answer.ptr != NULL ? db_bytes(o->answer) : db_null()),
                  NULL, err);
}

static const struct store_verb end_verb = { .name = "end once", .notes = true, .run = end_run };

bool once_end(struct store *s, const struct once_id *id, struct str answer, struct err *err)
{
    struct once_op o = { .id = id, .answer = answer };

    if (answer.len > ONCE_ANSWER_MOST)
        o.answer = (struct str){ 0 };
    return writers_call(s->writers, &end_verb, &o.op, err);
}

static bool drop_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct once_op *o = the_op(ops, count);

    return db_run(w->db, SQL_ONCE_DROP, DB_ARGS(db_text(o->id->who), db_text(o->id->client)), NULL,
                  err);
}

static const struct store_verb drop_verb = { .name = "drop once", .notes = true, .run = drop_run };

bool once_drop(struct store *s, const struct once_id *id, struct err *err)
{
    struct once_op o = { .id = id };

    return writers_call(s->writers, &drop_verb, &o.op, err);
}
