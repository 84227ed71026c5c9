#include "store/manual/parts.h"

#include "base/arena.h"
#include "base/auto.h"
#include "store/kernel/store_state.h"
#include "store/road/order.h"

/* Whose turn it is may change under our hands only where a lane decides, and there not any more
 * once it is locked.  By itself: a statement sees what was so when it began. */
static bool lock_standing(struct writer *w, int64_t doc, struct err *err)
{
    int64_t count;

    return w->db->kind != DB_POSTGRESQL ||
           db_one_int(w->db, SQL_OPERATE_STANDING, DB_ARGS(db_int(doc)), 0, &count, err);
}

bool parts_read(struct writer *w, int64_t doc, struct parts *ret, struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    bool row;

    ret->count = 0;
    if (!lock_standing(w, doc, err) ||
        !db_query(w->db, SQL_OPERATE_DELIVERIES, DB_ARGS(db_int(doc)), &rows, err))
        return false;
    for (;;) {
        if (!db_next(&rows, &row, err))
            return false;
        if (!row)
            return true;
        if (ret->count == SETTLE_PARTS_MOST)
            return err_set(err, ERR_PERMANENT, 0, "a document with more than %d deliveries",
                           SETTLE_PARTS_MOST);
        bool ordered = db_get_int(&rows, 7) != 0;
        int64_t turn = db_get_int(&rows, 8);

        ret->list[ret->count++] = (struct part){ .num = db_get_int(&rows, 0),
                                                 .id = arena_copy(w->arena, db_get_str(&rows, 1)),
                                                 .endpoint = db_get_int(&rows, 2),
                                                 .queue = db_get_int(&rows, 3),
                                                 .state = (enum delivery_state)db_get_int(&rows, 4),
                                                 .due_us = db_get_int(&rows, 5),
                                                 .sent = db_get_int(&rows, 6) != 0,
                                                 .ordered = ordered,
                                                 .waits = turn == TURN_WAITS,
                                                 .left = ordered && turn == TURN_NONE };
    }
}
