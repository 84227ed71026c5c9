/* sql_row.h - a row of a query as JSON.
 *
 *     {"id": 12, "price": 10.50, "at": "2026-03-29T02:30:00.123456", "scan": "aGVsbG8=", "note":
 * null}
 *
 * Numbers keep the text that the database gave: no digit is lost, 10.50 stays 10.50.  What is no
 * number in JSON (NaN, infinity) becomes a text.  Times are texts with microseconds, binary values
 * base64, NULL is null.
 *
 * Pure: no I/O.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "sql/sql_link.h"

/* Two columns of one name cannot be told apart: ERR_CONFIG, with the remedy. */
bool sql_row_check(const struct sql_field *columns, size_t count, struct err *err);

/* Appends the row.  ERR_PERMANENT: it cannot be told (a value that the driver could not read, a
 * text that is not UTF-8); ERR_LIMIT: it does not fit into `to`.  What was appended by then is
 * taken back. */
bool sql_row_json(const struct sql_field *columns, const struct datum *row, size_t count,
                  struct buf *to, struct err *err);
