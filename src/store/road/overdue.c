#include "store/road/overdue.h"

#include "base/clock.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"
#include "store/road/claims.h"

static void read_overdue(struct db_rows *row, struct arena *a, void *to)
{
    (void)a;
    *(struct overdue *)to = (struct overdue){ .queue = db_get_int(row, TASK_OVERDUE_QUEUE),
                                              .node = db_get_int(row, TASK_OVERDUE_NODE_ID),
                                              .count = db_get_int(row, TASK_OVERDUE_TOTAL),
                                              .over_us = db_get_int(row, TASK_OVERDUE_OVER_US),
                                              .doc = db_get_int(row, TASK_OVERDUE_DOC) };
}

/* SQLite: deadlines go by the monotonic clock, which nobody sets. */
static bool overdue_in_memory(struct store *s, struct overdue *ret, size_t *ret_count,
                              struct err *err)
{
    struct claims_late late[OVERDUE_MOST];
    size_t count = claims_late(s->claims, clock_mono_us(), late, OVERDUE_MOST);

    for (size_t i = 0; i < count; i++) {
        size_t n;

        ret[i] = (struct overdue){ .queue = late[i].queue,
                                   .node = store_node(s),
                                   .count = late[i].count,
                                   .over_us = late[i].over_us };
        if (!store_ints(s, SQL_TASK_DOCUMENT, DB_ARGS(db_int(late[i].id)), &ret[i].doc, 1, &n, err))
            return false;
    }
    *ret_count = count;
    return true;
}

bool overdue_claims(struct store *s, struct overdue ret[static OVERDUE_MOST], size_t *ret_count,
                    struct err *err)
{
    if (s->claims != NULL)
        return overdue_in_memory(s, ret, ret_count, err);
    return store_collect(s, SQL_TASK_OVERDUE, DB_ARGS(db_int(OVERDUE_MOST)),
                         ROWS_INTO(ret, OVERDUE_MOST, NULL, read_overdue), ret_count, err);
}
