#include "store/govern/endpoint_state.h"
#include "store/kernel/change.h"
#include "store/kernel/reader.h"

bool endpoint_state_put(struct store *s, const struct endpoint_state *e, struct err *err)
{
    return store_change(
        s,
        &(struct store_change){ .sql = SQL_ENDPOINT_STATE_PUT,
                                .args = DB_ARGS(db_int(e->endpoint), db_int(e->kind),
                                                db_int(e->node), db_int(e->since_us),
                                                db_int(e->until_us), db_text(e->message)),
                                .silent = true },
        NULL, err);
}

bool endpoint_state_close(struct store *s, int64_t endpoint, struct err *err)
{
    return store_change(s,
                        &(struct store_change){ .sql = SQL_ENDPOINT_STATE_CLOSE,
                                                .args = DB_ARGS(db_int(endpoint)),
                                                .silent = true },
                        NULL, err);
}

static enum endpoint_state_kind endpoint_state_kind_of(int64_t stored)
{
    return stored == ENDPOINT_PAUSE       ? ENDPOINT_PAUSE
           : stored == ENDPOINT_REJECTING ? ENDPOINT_REJECTING
                                          : ENDPOINT_OPEN;
}

static void endpoint_state_read_state(struct db_rows *row, struct arena *a, void *to)
{
    *(struct endpoint_state *)to = (struct endpoint_state){
        .endpoint = db_get_int(row, ENDPOINT_STATE_ALL_ENDPOINT),
        .kind = endpoint_state_kind_of(db_get_int(row, ENDPOINT_STATE_ALL_BREAKER)),
        .node = db_get_int(row, ENDPOINT_STATE_ALL_NODE_ID),
        .since_us = db_get_int(row, ENDPOINT_STATE_ALL_SINCE_US),
        .until_us = db_get_int(row, ENDPOINT_STATE_ALL_UNTIL_US),
        .message = row_text(row, ENDPOINT_STATE_ALL_MESSAGE, a)
    };
}

bool endpoint_state_list(struct store *s, struct arena *a, struct endpoint_state *ret, size_t most,
                         size_t *ret_count, struct err *err)
{
    return store_collect(s, SQL_ENDPOINT_STATE_ALL, DB_ARGS(db_int(most)),
                         ROWS_INTO(ret, most, a, endpoint_state_read_state), ret_count, err);
}
