#include "store/manual/live_deliveries.h"

#include "base/arena.h"
#include "store/db/rows.h"
#include "store/kernel/store_state.h"
#include "store/road/order.h"

/* PostgreSQL: locks the deliveries that stand in a lane without a task, so that no other
 * transaction gives one of them a task meanwhile.  It is a statement of its own because the next
 * one must see what was committed before the lock was granted. */
static bool lock_standing(struct writer *w, int64_t doc, struct err *err)
{
    int64_t count;

    return w->db->kind != DB_POSTGRESQL ||
           db_one_int(w->db, SQL_OPERATE_STANDING, DB_ARGS(db_int(doc)), 0, &count, err);
}

struct reading {
    struct arena *arena;
    struct live_deliveries *parts;
};

static bool add_part(void *arg, struct db_rows *row, struct err *err)
{
    struct reading *r = arg;
    bool ordered = db_get_int(row, OPERATE_DELIVERIES_LANE) != 0;
    int64_t turn = db_get_int(row, OPERATE_DELIVERIES_TURN);

    if (r->parts->count == SETTLE_DELIVERIES_MOST)
        return err_set(err, ERR_PERMANENT, 0, "a document with more than %d deliveries",
                       SETTLE_DELIVERIES_MOST);
    r->parts->list[r->parts->count++] =
        (struct live_delivery){ .num = db_get_int(row, OPERATE_DELIVERIES_NUM),
                                .id = row_text(row, OPERATE_DELIVERIES_ID, r->arena),
                                .endpoint = db_get_int(row, OPERATE_DELIVERIES_ENDPOINT),
                                .queue = db_get_int(row, OPERATE_DELIVERIES_QUEUE),
                                .state =
                                    (enum delivery_state)db_get_int(row, OPERATE_DELIVERIES_STATE),
                                .due_us = db_get_int(row, OPERATE_DELIVERIES_DUE_US),
                                .sent = db_get_int(row, OPERATE_DELIVERIES_INTENT_US) != 0,
                                .ordered = ordered,
                                .waits = turn == TURN_WAITS,
                                .left = ordered && turn == TURN_NONE };
    return true;
}

bool live_deliveries_read(struct writer *w, int64_t doc, struct live_deliveries *ret,
                          struct err *err)
{
    struct reading r = { .arena = w->arena, .parts = ret };

    ret->count = 0;
    return lock_standing(w, doc, err) && rows_each(w->db, SQL_OPERATE_DELIVERIES, DB_NO_SLOT,
                                                   DB_ARGS(db_int(doc)), add_part, &r, err);
}
