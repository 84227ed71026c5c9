/* pg_value.h - the parameters of a statement in PostgreSQL's binary form.
 *
 * A statement takes one row of values, or (a batch) one array per column.  The
 * parameters point into the scratch buffer and into the values themselves: both
 * are lent until the statement is sent.
 *
 * Format      integers are 8 bytes, big-endian; text and bytes are unchanged.  An array is
 *             i32 dimensions (1), i32 has-nulls, u32 element type, i32 count, i32 lower bound (1),
 *             then each element: i32 length (-1: null), bytes.
 */
#pragma once

#include <libpq-fe.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "store/db/db.h"

enum { PG_PARAMS_MOST = 32 };

struct pg_params {
    int count;
    const char *values[PG_PARAMS_MOST];
    int lengths[PG_PARAMS_MOST];
    int formats[PG_PARAMS_MOST]; /* all binary */
    uint64_t ints[PG_PARAMS_MOST];
};

/* The types of the parameters, for preparing a statement; returns their number. */
int pg_types(const struct sql_statement *s, Oid types[static PG_PARAMS_MOST]);

void pg_row(const char *types, const struct db_value *values, size_t columns,
            struct pg_params *ret);

/* The number of rows, at least one, that fit into one statement of about `most` bytes. */
size_t pg_rows_within(const struct db_value *values, size_t columns, size_t rows, size_t most);
/* ERR_LIMIT: a single row is larger than the scratch buffer may be. */
bool pg_arrays(const char *types, const struct db_value *values, size_t columns, size_t rows,
               struct buf *scratch, struct pg_params *ret, struct err *err);

int64_t pg_int(const PGresult *result, int row, int column); /* 0 for NULL */
