#include "store/road/settle_trim.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/auto.h"
#include "store/db/rows.h"
#include "store/kernel/store_state.h"

static int trim_by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

static bool trim_one(struct writer *w, int64_t doc, struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    bool row;

    if (!db_query(w->db, SQL_SETTLE_TRIM_READ, DB_ARGS(db_int(doc)), &rows, err) ||
        !db_next(&rows, &row, err))
        return false;
    struct str trail = row ? db_get_str(&rows, 0) : STR("");
    AUTO(buf_done) struct buf less = BUF_INIT(trail.len + 1);

    buf_put(&less, trail);
    db_rows_done(&rows);
    if (less.len <= TIMELINE_FULL) /* somebody was faster */
        return true;
    timeline_trim(&less);
    return db_run(w->db, SQL_SETTLE_TRIM, DB_ARGS(db_int(doc), db_bytes(buf_view(&less))), NULL,
                  err);
}

/* In the order of their numbers, as all settlements lock documents (settle.c). */
bool settle_trim(struct writer *w, struct settle_op **ops, size_t count, struct err *err)
{
    int64_t *docs = NULL;
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        if (!ops[i]->trims)
            continue;
        if (docs == NULL)
            docs = ARENA_ARRAY(w->arena, int64_t, count);
        docs[n++] = ops[i]->doc;
    }
    if (n == 0)
        return true;
    qsort(docs, n, sizeof *docs, trim_by_number);
    for (size_t i = 0; i < n; i++)
        if ((i == 0 || docs[i] != docs[i - 1]) && !trim_one(w, docs[i], err))
            return false;
    return true;
}
