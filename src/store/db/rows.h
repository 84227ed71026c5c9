/* rows.h - reading the rows of a statement: all into an array, the first, or one after the other.
 *
 * Columns are read by their names: the enum that tools/gen_sql.py makes from `-- out:`.
 *
 * Ownership: a text that row_text() gives is the arena's; what db_get_str() lends is gone with the
 * row.  Threads: those of the connection.
 */
#pragma once

#include "base/arena.h"
#include "base/digest.h"
#include "base/id.h"
#include "store/db/db.h"

/* Makes an item of a row; its texts are copied to the arena. */
typedef void rows_read(struct db_rows *row, struct arena *a, void *to);

struct rows_into {
    rows_read *read;
    struct arena *arena;
    size_t size;  /* of an item */
    size_t most;  /* rows behind so many are left */
    void *items;  /* room for them; NULL: made in the arena, and grows */
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

/* The first row, if there is one: otherwise *ret stays as it is. */
bool rows_one(struct db *db, enum sql_id id, int64_t slot, struct db_args args, rows_read *read,
              struct arena *a, void *ret, bool *ret_found, struct err *err);

/* The first column of each. */
bool rows_ints(struct db *db, enum sql_id id, struct db_args args, int64_t *ret, size_t most,
               size_t *ret_count, struct err *err);

/* Called for each row; false with err set: it failed, without: it has enough. */
typedef bool rows_visit(void *arg, struct db_rows *row, struct err *err);

bool rows_each(struct db *db, enum sql_id id, int64_t slot, struct db_args args, rows_visit *visit,
               void *arg, struct err *err);

/* One column as what it holds; the size of an id and of a digest is required. */
struct str row_text(struct db_rows *row, int column, struct arena *a);
struct id row_id(struct db_rows *row, int column);
struct sha256 row_sha256(struct db_rows *row, int column);
/* Whether the column is this id. */
bool row_is_id(struct db_rows *row, int column, const struct id *id);
