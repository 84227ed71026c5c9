/* sql_cursor.h - how far a query that is asked again and again has come: the values of its cursor
 * columns in one row.
 *
 * Values are compared column by column.  Numbers and times have an order that we know; that of
 * texts is the database's own (its collation), so of these only equality is certain.
 *
 * Pure: no I/O.  A cursor owns its bytes: it is copied by assignment.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "sql/sql_link.h"

enum { SQL_CURSOR_COLUMNS = 8, SQL_CURSOR_BYTES = 200 };

struct sql_cursor {
    size_t count; /* columns; 0: none */
    enum datum_kind kind[SQL_CURSOR_COLUMNS];
    size_t end[SQL_CURSOR_COLUMNS]; /* of each value in `bytes` */
    char bytes[SQL_CURSOR_BYTES];   /* of all values together */
};

/* The value of a column, lent. */
struct datum sql_cursor_value(const struct sql_cursor *c, size_t i);

/* Adds the value of the next column.  ERR_CONFIG: no cursor can be made of it (NULL, binary, too
 * long), with the remedy; `name` is that of the column. */
bool sql_cursor_add(struct sql_cursor *c, struct str name, const struct datum *d, struct err *err);

/* Where each of the columns stands in a result; names of another case are the same.  ERR_CONFIG:
 * one is missing. */
bool sql_cursor_find(const struct str *names, size_t count, const struct sql_result *result,
                     size_t *ret, struct err *err);

bool sql_cursor_same(const struct sql_cursor *a, const struct sql_cursor *b);

enum sql_order { SQL_ORDER_BEFORE, SQL_ORDER_SAME, SQL_ORDER_BEHIND, SQL_ORDER_UNKNOWN };
/* Where `a` stands, seen from `b`. */
enum sql_order sql_cursor_order(const struct sql_cursor *a, const struct sql_cursor *b);

/* As a JSON array of kind and text: ["i","12","s","x"]; one that is none is []. */
void sql_cursor_put(const struct sql_cursor *c, struct buf *to);
/* The kind that a word of it names. */
bool sql_cursor_kind(struct str word, enum datum_kind *ret);
/* For people: 12, x */
void sql_cursor_say(const struct sql_cursor *c, struct buf *to);
