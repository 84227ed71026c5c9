#include "store/db/rows.h"

#include "base/auto.h"

enum { ROOM_FIRST = 16 };

void row_is_damaged(struct db_rows *row)
{
    row->damaged = true;
}

/* After the last row that is read: was it whole? */
static bool rows_are_whole(struct db_rows *rows, struct err *err)
{
    bool row;

    return !rows->damaged || db_next(rows, &row, err);
}

bool rows_each(struct db *db, enum sql_id id, int64_t slot, struct db_args args, rows_visit *visit,
               void *arg, struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    bool row;

    if (!db_query_slot(db, id, slot, args, &rows, err))
        return false;
    do {
        if (!db_next(&rows, &row, err))
            return false;
    } while (row && visit(arg, &rows, err));
    return err->kind == ERR_NONE && rows_are_whole(&rows, err);
}

/* Makes room for one more item. */
static void *next_item(struct rows_into *into, size_t *io_room)
{
    if (into->count == *io_room) {
        size_t room = *io_room == 0 ? ROOM_FIRST : *io_room * 2;
        void *more = arena_array(into->arena, room, into->size);

        if (into->count > 0)
            memcpy(more, into->items, into->count * into->size);
        into->items = more;
        *io_room = room;
    }
    return (char *)into->items + into->count * into->size;
}

bool rows_collect(struct db *db, enum sql_id id, int64_t slot, struct db_args args,
                  struct rows_into *into, size_t *ret_count, struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    size_t room = into->items != NULL ? into->most : 0;
    bool row = true;

    into->count = 0;
    if (!db_query_slot(db, id, slot, args, &rows, err))
        return false;
    while (into->count < into->most) {
        if (!db_next(&rows, &row, err))
            return false;
        if (!row)
            break;
        into->read(&rows, into->arena, next_item(into, &room));
        into->count++;
    }
    if (ret_count != NULL)
        *ret_count = into->count;
    return rows_are_whole(&rows, err);
}

bool rows_one(struct db *db, enum sql_id id, int64_t slot, struct db_args args, rows_read *read,
              struct arena *a, void *ret, bool *ret_found, struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };

    if (!db_query_slot(db, id, slot, args, &rows, err) || !db_next(&rows, ret_found, err))
        return false;
    if (*ret_found)
        read(&rows, a, ret);
    return rows_are_whole(&rows, err);
}

static void rows_read_int(struct db_rows *row, struct arena *a, void *to)
{
    (void)a;
    *(int64_t *)to = db_get_int(row, 0);
}

bool rows_ints(struct db *db, enum sql_id id, struct db_args args, int64_t *ret, size_t most,
               size_t *ret_count, struct err *err)
{
    return rows_collect(db, id, DB_NO_SLOT, args, ROWS_INTO(ret, most, NULL, rows_read_int),
                        ret_count, err);
}

void row_found(struct db_rows *row, rows_read *read, struct arena *a, void *to)
{
    row->first = 1;
    read(row, a, to);
    row->first = 0;
}

struct str row_text(struct db_rows *row, int column, struct arena *a)
{
    return arena_copy(a, db_get_str(row, column));
}

struct id row_id(struct db_rows *row, int column)
{
    struct str bytes = db_get_str(row, column);
    struct id id = { 0 };

    if (bytes.len == sizeof id.bytes)
        memcpy(id.bytes, bytes.ptr, sizeof id.bytes);
    else
        row_is_damaged(row);
    return id;
}

struct sha256 row_sha256(struct db_rows *row, int column)
{
    struct str bytes = db_get_str(row, column);
    struct sha256 sha = { 0 };

    if (bytes.len == SHA256_SIZE)
        memcpy(sha.bytes, bytes.ptr, SHA256_SIZE);
    else
        row_is_damaged(row);
    return sha;
}

bool row_is_id(struct db_rows *row, int column, const struct id *id)
{
    return str_eq(db_get_str(row, column), str_mem(id->bytes, sizeof id->bytes));
}
