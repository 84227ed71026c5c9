#include "store/road/delivery.h"

#include "base/auto.h"
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

static bool delivery_has_state(const struct delivery *d, struct err *err)
{
    return (unsigned)d->state < DELIVERY_STATES ||
           err_set(err, ERR_PERMANENT, 0, "delivery %lld is in no state (%d)", (long long)d->num,
                   (int)d->state);
}

static bool delivery_found(void *arg, int64_t slot, size_t at, struct db_rows *row, struct err *err)
{
    struct delivery_look *l = (struct delivery_look *)arg + at;

    (void)slot;
    row_found(row, read_delivery, l->arena, &l->delivery);
    l->found = true;
    return delivery_has_state(&l->delivery, err);
}

bool delivery_find(struct store *s, struct delivery_look *looks, size_t count, struct err *err)
{
    AUTO(reader_back) struct reader r = reader_take(s, err);
    AUTO(arena_done) struct arena a = ARENA_INIT(count * sizeof(struct db_value) + 1024);
    struct db_value *nums = ARENA_ARRAY(&a, struct db_value, count);

    for (size_t i = 0; i < count; i++) {
        nums[i] = db_int(looks[i].num);
        looks[i].found = false;
    }
    return r.db != NULL && db_find(r.db, SQL_DELIVERY_FIND, DB_NO_SLOT, 1, nums, 1, count,
                                   delivery_found, looks, err);
}

bool delivery_of_document(struct store *s, int64_t doc, struct arena *a, struct delivery *ret,
                          size_t *ret_count, struct err *err)
{
    if (!store_collect(s, SQL_DELIVERY_OF_DOCUMENT, DB_ARGS(db_int(doc), db_int(DELIVERIES_MOST)),
                       ROWS_INTO(ret, DELIVERIES_MOST, a, read_delivery), ret_count, err))
        return false;
    for (size_t i = 0; i < *ret_count; i++)
        if (!delivery_has_state(&ret[i], err))
            return false;
    return true;
}
