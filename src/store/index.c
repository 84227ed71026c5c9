#include "store/index.h"

#include "base/clock.h"
#include "base/fault.h"
#include "store/inside.h"

static bool fill(struct writer *w, int64_t *ret_filled, struct err *err)
{
    struct db *db = w->db;
    int64_t above, upto;

    if (!db_one_int(db, SQL_MARK_GET, DB_ARGS(db_text(STR("indexed"))), 0, &above, err) ||
        !db_one_int(db, SQL_DOC_UPTO, DB_ARGS(db_int(above), db_int(INDEX_SLICE)), above, &upto,
                    err))
        return false;
    *ret_filled = upto - above;
    if (upto == above)
        return true;
    if (!db_begin(db, err))
        return false;
    if (!db_run(db, SQL_FACET_FILL, DB_ARGS(db_int(above), db_int(upto)), NULL, err) ||
        !db_run(db, SQL_MARK_SET, DB_ARGS(db_text(STR("indexed")), db_int(upto)), NULL, err)) {
        db_rollback(db);
        return false;
    }
    fault_point(INDEX_SLICE);
    if (!db_commit(db, err)) {
        db_rollback(db);
        return false;
    }
    w->indexed_upto = upto + 1;
    return true;
}

/* A slice waits until it is worth a commit of its own. */
bool index_slice(struct writer *w, bool *ret_waiting, struct err *err)
{
    int64_t now = clock_mono_us(), waiting = w->top - w->indexed_upto;
    int64_t filled = 0;

    *ret_waiting = waiting > 0;
    if (waiting == 0 || (waiting < INDEX_SLICE && now - w->indexed_us < INDEX_EVERY_US))
        return true;
    w->indexed_us = now;
    if (!fill(w, &filled, err))
        return false;
    if (filled == 0)
        w->indexed_upto = w->top; /* the numbers between have no rows */
    *ret_waiting = w->indexed_upto < w->top;
    return true;
}
