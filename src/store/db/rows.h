/* rows.h - reading the rows of a statement: all into an array, the first one, or one by one.
 *
 * Columns are read by their names: the enum that tools/gen_sql.py makes from `-- out:`.
 *
 * Ownership: row_text() copies a text to the arena; db_get_str() lends one until the next row.
 * Threads: that of the connection.
 */
#pragma once

#include "base/arena.h"
#include "base/digest.h"
#include "base/id.h"
#include "store/db/db.h"

/* Converts a row to an item; texts are copied to the arena. */
typedef void rows_read(struct db_rows *row, struct arena *a, void *to);

struct rows_into {
    rows_read *read;
    struct arena *arena;
    size_t size;  /* of an item */
    size_t most;  /* further rows are not read */
    void *items;  /* room for `most`; NULL: allocated in the arena, and grows */
    size_t count; /* how many were read */
};

#define ROWS_INTO(items_, most_, arena_, read_)     \
    (&(struct rows_into){ .read = (read_),          \
                          .arena = (arena_),        \
                          .size = sizeof *(items_), \
                          .most = (most_),          \
                          .items = (items_) })

/* ret_count may be NULL: into->count has it too. */
bool rows_collect(struct db *db, enum sql_id id, int64_t slot, struct db_args args,
                  struct rows_into *into, size_t *ret_count, struct err *err);

/* The first row; without one *ret is unchanged. */
bool rows_one(struct db *db, enum sql_id id, int64_t slot, struct db_args args, rows_read *read,
              struct arena *a, void *ret, bool *ret_found, struct err *err);

/* The first column of each row. */
bool rows_ints(struct db *db, enum sql_id id, struct db_args args, int64_t *ret, size_t most,
               size_t *ret_count, struct err *err);

/* Called for each row.  False with err set: failure; without: stop reading. */
typedef bool rows_visit(void *arg, struct db_rows *row, struct err *err);

bool rows_each(struct db *db, enum sql_id id, int64_t slot, struct db_args args, rows_visit *visit,
               void *arg, struct err *err);

/* Reads a row that db_find() found, in which a group of columns stands behind `which`. */
void row_found(struct db_rows *row, rows_read *read, struct arena *a, void *to);

/* One column, converted.  An id or digest of another size is zero, and the row is damaged. */
struct str row_text(struct db_rows *row, int column, struct arena *a);
struct id row_id(struct db_rows *row, int column);
struct sha256 row_sha256(struct db_rows *row, int column);
/* The row holds what was never stored: reading it fails, with the function that reads rows or at
 * the next db_next(). */
void row_is_damaged(struct db_rows *row);
/* The column is this id. */
bool row_is_id(struct db_rows *row, int column, const struct id *id);
