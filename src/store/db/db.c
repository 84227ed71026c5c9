#include "store/db/db.h"

#include "base/auto.h"
#include "base/require.h"

bool db_begin(struct db *db, struct err *err)
{
    return db->driver->begin(db, SQL_TX_BEGIN, err);
}

bool db_view(struct db *db, struct err *err)
{
    return db->driver->begin(db, SQL_TX_VIEW, err);
}

bool db_commit(struct db *db, struct err *err)
{
    return db->driver->commit(db, err);
}

void db_rollback(struct db *db)
{
    db->driver->rollback(db);
}

bool db_send(struct db *db, enum sql_id id, struct db_args args, struct err *err)
{
    return db->driver->send(db, id, DB_NO_SLOT, args.values, args.count, 1, err);
}

bool db_batch(struct db *db, enum sql_id id, int64_t slot, const struct db_value *values,
              size_t columns, size_t rows, struct err *err)
{
    return rows == 0 || db->driver->send(db, id, slot, values, columns, rows, err);
}

bool db_run_slot(struct db *db, enum sql_id id, int64_t slot, struct db_args args,
                 int64_t *ret_changed, struct err *err)
{
    int64_t changed;

    return db->driver->run(db, id, slot, args, ret_changed != NULL ? ret_changed : &changed, err);
}

bool db_run(struct db *db, enum sql_id id, struct db_args args, int64_t *ret_changed,
            struct err *err)
{
    return db_run_slot(db, id, DB_NO_SLOT, args, ret_changed, err);
}

bool db_query_slot(struct db *db, enum sql_id id, int64_t slot, struct db_args args,
                   struct db_rows *ret, struct err *err)
{
    *ret = (struct db_rows){ .db = db };
    return db->driver->query(db, id, slot, args, ret, err);
}

void db_run_at_commit(struct db *db, enum sql_id id, const struct db_value *values, size_t columns,
                      size_t rows, int64_t *ret)
{
    require(db->driver->run_at_commit != NULL);
    *ret = 0;
    db->driver->run_at_commit(db, id, values, columns, rows, ret);
}

bool db_query(struct db *db, enum sql_id id, struct db_args args, struct db_rows *ret,
              struct err *err)
{
    return db_query_slot(db, id, DB_NO_SLOT, args, ret, err);
}

/* Calls `found` for each row of an answer to many rows of parameters. */
static bool db_tell_found(struct db_rows *r, int64_t slot, size_t rows, db_found *found, void *arg,
                          struct err *err)
{
    for (;;) {
        bool row;

        if (!db_next(r, &row, err))
            return false;
        if (!row)
            return true;
        size_t at = (size_t)db_get_int(r, 0) - 1;

        require(at < rows);
        if (!found(arg, slot, at, r, err))
            return false;
    }
}

static bool find_at_once(struct db *db, enum sql_id id, int64_t slot, size_t slots,
                         const struct db_value *values, size_t columns, size_t rows,
                         db_found *found, void *arg, struct err *err)
{
    struct db_rows r[DB_SLOTS_MOST];

    if (!db->driver->query_rows(db, id, slot, slots, values, columns, rows, r, err))
        return false;
    bool ok = true;

    for (size_t i = 0; i < slots; i++) {
        ok = ok && db_tell_found(&r[i], slot + (int64_t)i, rows, found, arg, err);
        db_rows_done(&r[i]);
    }
    return ok;
}

static bool find_one(struct db *db, enum sql_id id, int64_t slot, struct db_args args, size_t at,
                     db_found *found, void *arg, struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };

    if (!db_query_slot(db, id, slot, args, &rows, err))
        return false;
    for (;;) {
        bool row;

        if (!db_next(&rows, &row, err))
            return false;
        if (!row)
            return true;
        if (!found(arg, slot, at, &rows, err))
            return false;
    }
}

static bool find_one_by_one(struct db *db, enum sql_id id, int64_t slot, size_t slots,
                            const struct db_value *values, size_t columns, size_t rows,
                            db_found *found, void *arg, struct err *err)
{
    for (size_t i = 0; i < slots; i++)
        for (size_t at = 0; at < rows; at++) {
            struct db_args args = { .values = values + at * columns, .count = columns };

            if (!find_one(db, id, slot + (int64_t)i, args, at, found, arg, err))
                return false;
        }
    return true;
}

bool db_find(struct db *db, enum sql_id id, int64_t slot, size_t slots,
             const struct db_value *values, size_t columns, size_t rows, db_found *found, void *arg,
             struct err *err)
{
    require(slots <= DB_SLOTS_MOST);
    if (rows == 0)
        return true;
    return db->driver->query_rows != NULL
               ? find_at_once(db, id, slot, slots, values, columns, rows, found, arg, err)
               : find_one_by_one(db, id, slot, slots, values, columns, rows, found, arg, err);
}

bool db_next(struct db_rows *rows, bool *ret_row, struct err *err)
{
    if (rows->damaged)
        return err_set(err, ERR_PERMANENT, 0,
                       "a row of the database is damaged: a value is not what was stored; "
                       "restore a backup");
    return rows->db->driver->next(rows, ret_row, err);
}

bool db_is_null(struct db_rows *rows, int column)
{
    return rows->db->driver->is_null(rows, rows->first + column);
}

int64_t db_get_int(struct db_rows *rows, int column)
{
    return rows->db->driver->get_int(rows, rows->first + column);
}

struct str db_get_str(struct db_rows *rows, int column)
{
    return rows->db->driver->get_str(rows, rows->first + column);
}

void db_rows_done(struct db_rows *rows)
{
    if (rows->state != NULL)
        rows->db->driver->rows_done(rows);
    rows->state = NULL;
}

bool db_one_int_slot(struct db *db, enum sql_id id, int64_t slot, struct db_args args,
                     int64_t otherwise, int64_t *ret, struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    bool row;

    if (!db_query_slot(db, id, slot, args, &rows, err) || !db_next(&rows, &row, err))
        return false;
    *ret = row && !db_is_null(&rows, 0) ? db_get_int(&rows, 0) : otherwise;
    return true;
}

bool db_one_int(struct db *db, enum sql_id id, struct db_args args, int64_t otherwise, int64_t *ret,
                struct err *err)
{
    return db_one_int_slot(db, id, DB_NO_SLOT, args, otherwise, ret, err);
}

bool db_script(struct db *db, const char *text, struct err *err)
{
    return db->driver->script(db, text, err);
}

bool db_alive(struct db *db)
{
    return db->driver->alive(db);
}

bool db_revive(struct db *db, struct err *err)
{
    return db->driver->revive(db, err);
}

void db_close(struct db *db)
{
    if (db != NULL)
        db->driver->close(db);
}
