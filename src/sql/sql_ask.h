/* sql_ask.h - one question to a database, for a step: the rows as JSON (sql_row.h).
 *
 * Values of the document are bound to the parameters of the query: those that the step finds by
 * name (`values`), the words of sql_words.h, attributes.  The transaction is always rolled back.
 *
 * Threads: one that may block; `struct sql_ask` is never changed after it was read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "core/connector.h"
#include "sql/sql_line.h"
#include "sql/sql_names.h"

enum { SQL_ASK_ROWS_MOST = 1000, SQL_ASK_BYTES_MOST = SERVICE_RECORD_MOST };

/* Room for the answer: a row is checked before it is known how many of its bytes are escaped. */
enum { SQL_ASK_ROOM = SERVICE_ASK_ROOM };

_Static_assert((int)SQL_ASK_ROOM > 7 * (int)SQL_ASK_BYTES_MOST, "sql_row.h: each byte escaped");

struct sql_ask {
    struct sql_line line; /* first */
    struct sql_names query;
    const struct str *values; /* names that the step finds itself */
    size_t value_count;
    bool all; /* a JSON array of rows; else one row */
};

/* The keys dsn, query, values, rows, timeout and connect_timeout. */
bool sql_ask_read(const struct settings *s, struct sql_ask *ret, struct err *err);
/* For `check` of an option_kind that has these keys. */
void sql_ask_check(const struct yaml_node *map, struct problem_list *problems);

/* Appends the answer to `to`, which has room for SQL_ASK_ROOM.  DELIVERED: its status is 200, or
 * 204: there is no row.  FAILED: the same again would fail again; everything else: it may be asked
 * again. */
void sql_ask_run(struct sql_ask *self, const struct sending *s, struct call *c, struct buf *to,
                 struct verdict *ret);
