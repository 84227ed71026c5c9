#include "store/road/delivery.h"

#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"

static struct payload_source delivery_bytes_of(struct db_rows *row)
{
    return (struct payload_source){ .place = { db_get_int(row, DELIVERY_B_SEG),
                                               db_get_int(row, DELIVERY_B_POS) },
                                    .num = db_get_int(row, DELIVERY_B_NUM),
                                    .size = db_get_int(row, DELIVERY_B_SIZE),
                                    .sha256 = row_sha256(row, DELIVERY_B_SHA256),
                                    .id = row_id(row, DELIVERY_DOC_ID) };
}

static void read_delivery(struct db_rows *row, struct arena *a, void *to)
{
    struct delivery *d = to;

    *d = (struct delivery){ .num = db_get_int(row, DELIVERY_NUM),
                            .doc = db_get_int(row, DELIVERY_DOC),
                            .id = row_text(row, DELIVERY_ID, a),
                            .endpoint = db_get_int(row, DELIVERY_ENDPOINT),
                            .system = db_get_int(row, DELIVERY_SYSTEM),
                            .queue = db_get_int(row, DELIVERY_QUEUE),
                            .state = (enum delivery_state)db_get_int(row, DELIVERY_STATE),
                            .attempts = db_get_int(row, DELIVERY_ATTEMPTS),
                            .first_us = db_get_int(row, DELIVERY_FIRST_US),
                            .due_us = db_get_int(row, DELIVERY_DUE_US),
                            .updated_us = db_get_int(row, DELIVERY_UPDATED_US),
                            .code = row_text(row, DELIVERY_CODE, a),
                            .message = row_text(row, DELIVERY_MESSAGE, a),
                            .name = row_text(row, DELIVERY_NAME, a),
                            .status = db_get_int(row, DELIVERY_STATUS),
                            .intent_us = db_get_int(row, DELIVERY_INTENT_US),
                            .asked = db_get_int(row, DELIVERY_ASKED),
                            .expires_us = db_get_int(row, DELIVERY_EXPIRES_US),
                            .lane = db_get_int(row, DELIVERY_LANE),
                            .turn = db_get_int(row, DELIVERY_TURN),
                            .has_bytes = !db_is_null(row, DELIVERY_B_SEG) };
    if (d->has_bytes)
        d->bytes = delivery_bytes_of(row);
}

static bool read_deliveries(struct store *s, enum sql_id id, struct db_args args, size_t most,
                            struct arena *a, struct delivery *ret, size_t *ret_count,
                            struct err *err)
{
    size_t n;

    if (!store_collect(s, id, args, ROWS_INTO(ret, most, a, read_delivery), &n, err))
        return false;
    for (size_t i = 0; i < n; i++)
        if ((unsigned)ret[i].state >= DELIVERY_STATES)
            return err_set(err, ERR_PERMANENT, 0, "delivery %lld is in no state (%d)",
                           (long long)ret[i].num, (int)ret[i].state);
    *ret_count = n;
    return true;
}

bool delivery_get(struct store *s, int64_t num, struct arena *a, struct delivery *ret,
                  struct err *err)
{
    size_t n;

    return read_deliveries(s, SQL_DELIVERY_GET, DB_ARGS(db_int(num)), 1, a, ret, &n, err) && n == 1;
}

bool delivery_of_document(struct store *s, int64_t doc, struct arena *a, struct delivery *ret,
                          size_t *ret_count, struct err *err)
{
    return read_deliveries(s, SQL_DELIVERY_OF_DOCUMENT,
                           DB_ARGS(db_int(doc), db_int(DELIVERIES_MOST)), DELIVERIES_MOST, a, ret,
                           ret_count, err);
}
