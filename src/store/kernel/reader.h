/* reader.h - reading from the store on a connection of the pool.
 *
 *     AUTO(reader_back) struct reader r = reader_take(s, err);
 *
 *     if (r.db == NULL)
 *         return false;
 *
 * The connection is returned to the pool at the end of the scope.  A single statement needs no
 * scope: store_collect() and its like take a connection, read and return it.
 *
 * Threads: any that may block.
 */
#pragma once

#include "store/db/rows.h"

struct store;

struct reader {
    struct store *store;
    struct db *db; /* NULL: the database cannot be reached */
};

struct reader reader_take(struct store *s, struct err *err);
void reader_back(struct reader *r); /* safe without a connection, and twice */

/* Like rows_collect(), rows_one(), rows_ints() and db_one_int(). */
bool store_collect(struct store *s, enum sql_id id, struct db_args args, struct rows_into *into,
                   size_t *ret_count, struct err *err);
bool store_one(struct store *s, enum sql_id id, struct db_args args, rows_read *read,
               struct arena *a, void *ret, bool *ret_found, struct err *err);
bool store_ints(struct store *s, enum sql_id id, struct db_args args, int64_t *ret, size_t most,
                size_t *ret_count, struct err *err);
bool store_one_int(struct store *s, enum sql_id id, struct db_args args, int64_t otherwise,
                   int64_t *ret, struct err *err);
/* The value of a mark (change.h). */
bool store_mark(struct store *s, const char *name, int64_t *ret, struct err *err);
