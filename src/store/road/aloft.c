#include "store/road/aloft.h"

#include "base/container_of.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"
#include "store/road/claims.h"
#include "store/road/settle_rows.h"

/* ---- notes ---- */

/* Whether the task is still claimed and not settled, also not by this group. */
static bool aloft_is_claimed(struct writer *w, const struct task *t, bool *ret, struct err *err)
{
    int64_t found;

    if (w->db->kind == DB_POSTGRESQL) {
        if (!db_one_int(w->db, SQL_ALOFT_LEASE, DB_ARGS(db_int(t->id), db_int(t->claim)), 0, &found,
                        err))
            return false;
    } else if (!claims_have(w->store->claims, t)) {
        found = 0;
    } else if (!db_one_int(
                   w->db, SQL_ALOFT_READY,
                   DB_ARGS(db_int(t->queue), db_int(t->prio), db_int(t->rank), db_int(t->id)), 0,
                   &found, err)) {
        return false;
    }
    *ret = found != 0;
    return true;
}

static bool put_note(struct writer *w, struct aloft_op *o, struct err *err)
{
    return (o->id.ptr == NULL ||
            db_send(w->db, SQL_ALOFT_PUT,
                    DB_ARGS(db_int(o->flight.doc), db_text(o->id), db_int(o->flight.task.id),
                            db_int(store_node(w->store)), db_int(o->endpoint), db_int(o->system),
                            db_int(o->sending)),
                    err)) &&
           (!o->flight.has_facts || settle_facts(w, &o->flight, err));
}

static bool aloft_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        struct aloft_op *o = container_of(ops[i], struct aloft_op, op);
        bool claimed;

        if (!aloft_is_claimed(w, &o->flight.task, &claimed, err) ||
            (claimed && !put_note(w, o, err)))
            return false;
    }
    return true;
}

const struct store_verb aloft_verb = { .name = "aloft", .run = aloft_run };

/* ---- their end ---- */

bool aloft_settled(struct writer *w, struct settle_op **ops, size_t count, struct err *err)
{
    size_t noted = 0;

    for (size_t i = 0; i < count; i++)
        noted += ops[i]->aloft;
    if (noted == 0)
        return true;
    struct rows gone = rows_of(w, SQL_ALOFT_DROP, 2, noted);

    for (size_t i = 0; i < count; i++) {
        if (!ops[i]->aloft)
            continue;
        struct db_value *v = row_of(&gone);

        v[0] = db_int(ops[i]->doc);
        v[1] = db_int(ops[i]->task.id);
    }
    return write_rows(w, &gone, err);
}

bool aloft_forget(struct db *db, struct err *err)
{
    return db_run(db, SQL_ALOFT_FORGET, DB_NO_ARGS, NULL, err);
}

/* ---- queries ---- */

static void read_aloft(struct db_rows *row, struct arena *a, void *to)
{
    *(struct aloft *)to =
        (struct aloft){ .id = row_text(row, ALOFT_OF_DOCUMENT_ID, a),
                        .endpoint = db_get_int(row, ALOFT_OF_DOCUMENT_ENDPOINT),
                        .system = db_get_int(row, ALOFT_OF_DOCUMENT_SYSTEM),
                        .since_us = db_get_int(row, ALOFT_OF_DOCUMENT_SINCE_US),
                        .sending = db_get_int(row, ALOFT_OF_DOCUMENT_SENDING) != 0 };
}

bool aloft_of_document(struct store *s, int64_t doc, struct arena *a, struct aloft *ret,
                       size_t most, size_t *ret_count, struct err *err)
{
    return store_collect(s, SQL_ALOFT_OF_DOCUMENT, DB_ARGS(db_int(doc), db_int(most)),
                         ROWS_INTO(ret, most, a, read_aloft), ret_count, err);
}

static void read_count(struct db_rows *row, struct arena *a, void *to)
{
    (void)a;
    *(struct aloft_count *)to = (struct aloft_count){
        .system = db_get_int(row, ALOFT_COUNTS_SYSTEM),
        .endpoint = db_get_int(row, ALOFT_COUNTS_ENDPOINT),
        .total = db_get_int(row, ALOFT_COUNTS_TOTAL),
        .waiting = db_get_int(row, ALOFT_COUNTS_STORED),
        .sending_elsewhere = db_get_int(row, ALOFT_COUNTS_SENDING_ELSEWHERE),
        .waiting_elsewhere = db_get_int(row, ALOFT_COUNTS_WAITING_ELSEWHERE),
    };
}

bool aloft_counts(struct store *s, struct aloft_count *ret, size_t most, size_t *ret_count,
                  struct err *err)
{
    if (!store_collect(s, SQL_ALOFT_COUNTS, DB_ARGS(db_int(store_node(s)), db_int(most)),
                       ROWS_INTO(ret, most, NULL, read_count), ret_count, err))
        return false;
    for (size_t i = 0; i < *ret_count && s->kind == DB_POSTGRESQL; i++)
        ret[i].waiting = 0; /* a claimed task has left the queue */
    return true;
}
