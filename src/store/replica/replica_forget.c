#include "store/replica/replica_forget.h"

#include "store/kernel/change.h"
#include "store/kernel/reader.h"

enum { FORGET_PASSES = 20, FORGET_ROWS = 1000 };

static bool forget_change(struct store *s, enum sql_id sql, int64_t number, int64_t *ret_changed,
                          struct err *err)
{
    return store_change(
        s, &(struct store_change){ .sql = sql, .args = DB_ARGS(db_int(number)), .silent = true },
        ret_changed, err);
}

bool replica_forget(struct store *s, bool *ret_more, struct err *err)
{
    int64_t passes[FORGET_PASSES], rows, orders, old;
    size_t count;

    if (!store_ints(s, SQL_REPLICA_LEFT_PASSES, DB_ARGS(db_int(FORGET_PASSES)), passes,
                    FORGET_PASSES, &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!forget_change(s, SQL_FINDING_DROP, passes[i], NULL, err) ||
            !forget_change(s, SQL_PASS_DROP, passes[i], NULL, err))
            return false;
    if (!forget_change(s, SQL_REPLICA_LEFT_ASIDE, FORGET_ROWS, &rows, err) ||
        !forget_change(s, SQL_REPLICA_LEFT_ORDERS, FORGET_ROWS, &orders, err) ||
        !forget_change(s, SQL_CONFLICT_OLD, FORGET_ROWS, &old, err))
        return false;
    *ret_more = count == FORGET_PASSES || rows == FORGET_ROWS || orders == FORGET_ROWS ||
                old == FORGET_ROWS;
    return true;
}
