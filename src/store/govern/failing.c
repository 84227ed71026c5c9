#include "store/govern/failing.h"

#include "store/kernel/change.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"

bool failing_put(struct store *s, int64_t word, struct str message, struct err *err)
{
    return store_change(s,
                        &(struct store_change){
                            .sql = SQL_FAILING_PUT,
                            .args = DB_ARGS(db_int(word), db_int(store_node(s)), db_text(message)),
                            .silent = true },
                        NULL, err);
}

bool failing_drop(struct store *s, int64_t word, struct err *err)
{
    return store_change(
        s,
        &(struct store_change){ .sql = SQL_FAILING_DROP,
                                .args = DB_ARGS(db_int(word), db_int(store_node(s))),
                                .silent = true },
        NULL, err);
}

static void read_failing(struct db_rows *row, struct arena *a, void *to)
{
    *(struct failing *)to = (struct failing){ .word = db_get_int(row, FAILING_ALL_WORD),
                                              .node = db_get_int(row, FAILING_ALL_NODE_ID),
                                              .since_us = db_get_int(row, FAILING_ALL_SINCE_US),
                                              .message = row_text(row, FAILING_ALL_MESSAGE, a),
                                              .host = row_text(row, FAILING_ALL_HOST, a) };
}

bool failing_list(struct store *s, struct arena *a, struct failing *ret, size_t *ret_count,
                  struct err *err)
{
    return store_collect(s, SQL_FAILING_ALL, DB_ARGS(db_int(FAILINGS_MOST)),
                         ROWS_INTO(ret, FAILINGS_MOST, a, read_failing), ret_count, err);
}
