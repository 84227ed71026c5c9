/* sql_link.h - a connection to a database, in a process of its own: the caller's side.
 *
 * Drivers of ODBC are libraries of other people that block, and that read what a server sends.  So
 * each connection has a process (sql_main.h), confined to sockets and the driver's files, which is
 * killed when its time is over: a driver that hangs or crashes costs one attempt.
 *
 *     if (!sql_link_open(place, c, until_us, &l, &f)) ...
 *     sql_link_run(l, statement, values, count, &result, &f)     a transaction begins by itself
 *     while (sql_link_next(l, &row, &f) && row != NULL) ...      row[i] for result.columns[i]
 *     sql_link_commit(l, &f) or sql_link_rollback(l, &f)
 *     sql_link_close(l)
 *
 * Invariants
 *   (1) One statement at a time; a new one, a commit and a rollback end the rows of the last one.
 *   (2) What was not committed never happened: a failure of anything but the commit leaves nothing
 *       behind, once the transaction is rolled back or the link closed.
 *   (3) A link that is lost (sql_link_is_lost) fails every call with the failure it died of.
 *   (4) Nothing that the process says is trusted: lengths are checked, and what is out of turn ends
 *       it.
 *
 * Values are texts of exact numbers; times have microseconds and no zone, the session's is UTC.
 *
 * Threads: one at a time; every call but close may block until `until_us`.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "sql/sql_failure.h"
#include "sql/sql_place.h"

struct call;
struct sql_link;

enum datum_kind {
    DATUM_NULL,
    DATUM_TEXT,      /* UTF-8 */
    DATUM_BYTES,     /* bound as text where the column is one and the bytes are UTF-8 */
    DATUM_INTEGER,   /* -12 */
    DATUM_DECIMAL,   /* 12345678901234567890.1234500000 */
    DATUM_FLOAT,     /* 0.1, 1e+300: the shortest text that is read as the same number */
    DATUM_BOOL,      /* true, false */
    DATUM_DATE,      /* 2026-03-29 */
    DATUM_TIME,      /* 02:30:00, with .123456 if it has fractions */
    DATUM_TIMESTAMP, /* 2026-03-29T02:30:00.123456 */
    DATUM_FAILED     /* of a row: this value cannot be told; bytes: why.  Never a parameter */
};

struct datum {
    enum datum_kind kind;
    struct str bytes;
};

struct sql_field {
    struct str name; /* as the database gives it; UTF-8 */
    enum datum_kind kind;
};

enum {
    SQL_VALUE_MOST = 80 << 20, /* bytes of one parameter */
    SQL_ROW_MOST = 16 << 20,   /* bytes of one row; a value over it is DATUM_FAILED */
    SQL_COLUMNS_MOST = 1000,
    SQL_MEMORY_MOST = 1 << 30 /* of the process */
};

struct sql_result {
    const struct sql_field *columns; /* until the next run */
    size_t column_count;             /* 0: the statement has no rows */
    int64_t affected;                /* rows that it changed; -1: the driver does not tell */
};

/* c: NULL, nobody gives it up; its `egress`, and sql_file.h, are asked before a connection is made.
 * A place that is to have TLS and has not is LOST, before the first statement.  until_us:
 * monotonic, when the process is killed; it holds until sql_link_set_pace(). */
bool sql_link_open(const struct sql_place *place, struct call *c, int64_t until_us,
                   struct sql_link **ret, struct sql_failure *f);
/* For a link that was kept: whose call it is now. */
void sql_link_set_pace(struct sql_link *l, struct call *c, int64_t until_us);

/* `statement` has a `?` for each value (sql_names.h). */
bool sql_link_run(struct sql_link *l, struct str statement, const struct datum *values,
                  size_t count, struct sql_result *ret, struct sql_failure *f);
/* Prepares it and does not run it: the columns that its rows would have.  How much of it is checked
 * is the driver's matter. */
bool sql_link_describe(struct sql_link *l, struct str statement, size_t count,
                       struct sql_result *ret, struct sql_failure *f);
/* *ret NULL: there are no more rows.  The row is lent until the next call. */
bool sql_link_next(struct sql_link *l, const struct datum **ret, struct sql_failure *f);

/* Fails with LATER or STATEMENT (a constraint that is checked at the end): rolled back; with DOUBT:
 * nobody knows. */
bool sql_link_commit(struct sql_link *l, struct sql_failure *f);
bool sql_link_rollback(struct sql_link *l, struct sql_failure *f);

/* One look, without waiting: the process lives and said nothing.  That the server has closed the
 * connection shows at the next statement: LOST, and nothing happened. */
bool sql_link_is_open(struct sql_link *l);
bool sql_link_is_lost(const struct sql_link *l);
/* Name and version of the database, as the driver tells them; lent. */
const char *sql_link_database(const struct sql_link *l);
/* Closes it as the driver does, so that neither a log of the server nor a file beside a database of
 * SQLite shows it; may block until `until_us`. */
void sql_link_leave(struct sql_link *l);
/* Kills the process; what was not committed is rolled back by the server.  NULL is fine. */
void sql_link_close(struct sql_link *l);
