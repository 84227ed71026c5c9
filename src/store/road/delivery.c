#include "store/road/delivery.h"

#include "base/auto.h"
#include "base/require.h"
#include "store/kernel/store_state.h"

static struct payload_source bytes_of(struct db_rows *rows)
{
    struct payload_source b = { .place = { db_get_int(rows, 15), db_get_int(rows, 16) },
                                .num = db_get_int(rows, 17),
                                .size = db_get_int(rows, 18) };
    struct str sha = db_get_str(rows, 19);

    require(sha.len == SHA256_SIZE);
    memcpy(b.sha256.bytes, sha.ptr, sha.len);
    struct str id = db_get_str(rows, 20);

    require(id.len == sizeof b.id.bytes);
    memcpy(b.id.bytes, id.ptr, id.len);
    return b;
}

static bool delivery_of(struct db_rows *rows, struct arena *a, struct delivery *ret,
                        struct err *err)
{
    int64_t state = db_get_int(rows, 6);

    if (state < 0 || state >= DELIVERY_STATES)
        return err_set(err, ERR_PERMANENT, 0, "delivery %lld is in no state (%lld)",
                       (long long)db_get_int(rows, 0), (long long)state);
    *ret = (struct delivery){ .num = db_get_int(rows, 0),
                              .doc = db_get_int(rows, 1),
                              .endpoint = db_get_int(rows, 3),
                              .system = db_get_int(rows, 4),
                              .queue = db_get_int(rows, 5),
                              .state = (enum delivery_state)state,
                              .attempts = db_get_int(rows, 7),
                              .first_us = db_get_int(rows, 8),
                              .due_us = db_get_int(rows, 9),
                              .updated_us = db_get_int(rows, 10),
                              .status = db_get_int(rows, 14),
                              .intent_us = db_get_int(rows, 21),
                              .asked = db_get_int(rows, 22),
                              .expires_us = db_get_int(rows, 23),
                              .lane = db_get_int(rows, 24),
                              .turn = db_get_int(rows, 25),
                              .has_bytes = !db_is_null(rows, 15) };
    ret->id = arena_copy(a, db_get_str(rows, 2));
    ret->code = arena_copy(a, db_get_str(rows, 11));
    ret->message = arena_copy(a, db_get_str(rows, 12));
    ret->name = arena_copy(a, db_get_str(rows, 13));
    if (ret->has_bytes)
        ret->bytes = bytes_of(rows);
    return true;
}

static bool read_deliveries(struct db *db, enum sql_id id, struct db_args args, size_t most,
                            struct arena *a, struct delivery *ret, size_t *ret_count,
                            struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    bool row;
    size_t n = 0;

    if (!db_query(db, id, args, &rows, err))
        return false;
    for (; n < most; n++) {
        if (!db_next(&rows, &row, err))
            return false;
        if (!row)
            break;
        if (!delivery_of(&rows, a, &ret[n], err))
            return false;
    }
    *ret_count = n;
    return true;
}

bool delivery_get(struct store *s, int64_t num, struct arena *a, struct delivery *ret,
                  struct err *err)
{
    struct db *db = store_reader(s, err);
    size_t n = 0;

    if (db == NULL)
        return false;
    bool ok = read_deliveries(db, SQL_DELIVERY_GET, DB_ARGS(db_int(num)), 1, a, ret, &n, err);

    store_reader_back(s, db);
    return ok && n == 1;
}

bool delivery_of_document(struct store *s, int64_t doc, struct arena *a, struct delivery *ret,
                          size_t *ret_count, struct err *err)
{
    struct db *db = store_reader(s, err);

    if (db == NULL)
        return false;
    bool ok =
        read_deliveries(db, SQL_DELIVERY_OF_DOCUMENT, DB_ARGS(db_int(doc), db_int(DELIVERIES_MOST)),
                        DELIVERIES_MOST, a, ret, ret_count, err);

    store_reader_back(s, db);
    return ok;
}
