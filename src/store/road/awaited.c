#include "store/road/awaited.h"

#include "base/fault.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"
#include "store/road/settle_rows.h"

/* ---- commits ---- */

static bool add_waits(struct writer *w, struct settle_op **ops, size_t count, size_t most,
                      struct err *err)
{
    struct rows add = rows_of(w, SQL_AWAITED_ADD, 5, most);

    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < ops[i]->wait_count; k++) {
            const struct awaited *a = &ops[i]->waits[k];
            struct db_value *v = row_of(&add);

            v[0] = db_int(ops[i]->doc);
            v[1] = db_text(a->delivery);
            v[2] = db_int(a->endpoint);
            v[3] = db_int(a->system);
            v[4] = db_int(a->due_us);
        }
    return write_rows(w, &add, err);
}

static bool end_waits(struct writer *w, const struct settle_op *o, struct err *err)
{
    const struct answered *a = &o->answers;

    if (!db_send(w->db, SQL_AWAITED_LINK, DB_ARGS(db_int(a->doc), db_int(o->doc)), err) ||
        !db_send(w->db, SQL_AWAITED_ANSWERED,
                 DB_ARGS(db_int(a->doc), db_int(a->system), db_text(a->delivery)), err))
        return false;
    fault_point(ANSWER_LINKED);
    return true;
}

bool awaited_settled(struct writer *w, struct settle_op **ops, size_t count, struct err *err)
{
    size_t waits = 0;

    for (size_t i = 0; i < count; i++)
        waits += ops[i]->wait_count;
    for (size_t i = 0; i < count; i++)
        if (ops[i]->answers.doc != 0 && !end_waits(w, ops[i], err))
            return false;
    return waits == 0 || add_waits(w, ops, count, waits, err);
}

/* ---- looks ---- */

bool awaited_has(struct store *s, const struct answered *q, bool *ret, struct err *err)
{
    int64_t count = 0;
    size_t rows;

    if (!store_ints(s, SQL_AWAITED_HAS,
                    DB_ARGS(db_int(q->doc), db_int(q->system), db_text(q->delivery)), &count, 1,
                    &rows, err))
        return false;
    *ret = count > 0;
    return true;
}

static void awaited_read_late(struct db_rows *row, struct arena *a, void *to)
{
    struct awaited_late *l = to;

    l->count = db_get_int(row, AWAITED_OVERDUE_N);
    if (l->count == 0)
        return;
    l->oldest_us = db_get_int(row, AWAITED_OVERDUE_OLDEST);
    l->delivery = row_text(row, AWAITED_OVERDUE_DELIVERY, a);
}

bool awaited_overdue(struct store *s, int64_t endpoint, int64_t now_us, struct arena *a,
                     struct awaited_late *ret, struct err *err)
{
    bool there;

    *ret = (struct awaited_late){ 0 };
    return store_one(s, SQL_AWAITED_OVERDUE,
                     DB_ARGS(db_int(endpoint), db_int(now_us - AWAITED_SHOWN_US), db_int(now_us),
                             db_int(AWAITED_COUNT_MOST)),
                     awaited_read_late, a, ret, &there, err);
}

bool awaited_ended(struct store *s, int64_t above, int64_t *ret, size_t most, size_t *ret_count,
                   struct err *err)
{
    return store_ints(s, SQL_AWAITED_DOCS, DB_ARGS(db_int(above), db_int(most)), ret, most,
                      ret_count, err);
}
