#include "store/index.h"

#include "base/clock.h"
#include "base/fault.h"
#include "store/done.h"
#include "store/inside.h"

static bool fill(struct writer *w, int64_t upto, struct err *err)
{
    struct db_value range[] = { db_int(w->store->indexed), db_int(upto) };
    struct db_args args = { .values = range, .count = 2 };
    int64_t days[DONE_DAYS_MOST];
    size_t n = done_recent(w->store, days);

    if (!db_run(w->db, SQL_FACET_FILL, args, NULL, err))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!db_run_slot(w->db, SQL_FACET_FILL_DONE, days[i], args, NULL, err))
            return false;
    return db_run(w->db, SQL_MARK_SET, DB_ARGS(db_text(STR("indexed")), db_int(upto)), NULL, err);
}

static bool slice(struct writer *w, int64_t upto, struct err *err)
{
    if (!db_begin(w->db, err))
        return false;
    bool ok = fill(w, upto, err);

    fault_point(INDEX_SLICE);
    if (!ok || !db_commit(w->db, err)) {
        db_rollback(w->db);
        return false;
    }
    w->store->indexed = upto;
    return true;
}

/* Before the first number: everything below the blocks that were taken was given out by
 * an earlier process. */
static bool find_top(struct writer *w, struct err *err)
{
    int64_t last;

    if (w->top != 0)
        return true;
    if (!db_one_int(w->db, SQL_MARK_GET, DB_ARGS(db_text(STR("num"))), 0, &last, err))
        return false;
    w->top = last + 1;
    return true;
}

/* A slice waits until it is worth a commit of its own, and for one period more: by then most
 * documents have ended, and are indexed once and for all. */
bool index_slice(struct writer *w, bool *ret_waiting, struct err *err)
{
    int64_t now = clock_mono_us();

    if (!find_top(w, err))
        return false;
    if (now - w->indexed_us >= INDEX_EVERY_US) {
        w->indexed_upto = w->index_ripe;
        w->index_ripe = w->top - 1;
        w->indexed_us = now;
    }
    int64_t waiting = w->indexed_upto - w->store->indexed;

    *ret_waiting = w->top - 1 > w->store->indexed;
    if (waiting <= 0)
        return true;
    return slice(w, w->store->indexed + (waiting < INDEX_SLICE ? waiting : INDEX_SLICE), err);
}
