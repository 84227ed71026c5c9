/* sql_odbc.h - ODBC, in the process of a connection: connect, run, fetch, commit.
 *
 * The driver manager (libodbc) is loaded here, at run time: no other process of the program has it.
 *
 * Threads: one.
 */
#pragma once

#include <sql.h>
#include <sqlext.h>
#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "sql/sql_failure.h"
#include "sql/sql_link.h"
#include "sql/sql_names.h"

/* The functions that are used. */
#define ODBC_FUNCTIONS(X) \
    X(SQLAllocHandle)     \
    X(SQLFreeHandle)      \
    X(SQLSetEnvAttr)      \
    X(SQLSetConnectAttr)  \
    X(SQLGetConnectAttr)  \
    X(SQLDriverConnect)   \
    X(SQLDisconnect)      \
    X(SQLGetInfo)         \
    X(SQLEndTran)         \
    X(SQLPrepare)         \
    X(SQLExecute)         \
    X(SQLExecDirect)      \
    X(SQLDescribeParam)   \
    X(SQLBindParameter)   \
    X(SQLNumResultCols)   \
    X(SQLDescribeCol)     \
    X(SQLRowCount)        \
    X(SQLFetch)           \
    X(SQLGetData)         \
    X(SQLFreeStmt)        \
    X(SQLGetDiagRec)

struct odbc_functions {
#define ODBC_MEMBER(name) __typeof__(name) *name;
    ODBC_FUNCTIONS(ODBC_MEMBER)
#undef ODBC_MEMBER
};

enum { ODBC_DATABASE_SIZE = 80 };

struct odbc_column {
    SQLSMALLINT type; /* of SQL */
    enum datum_kind kind;
};

struct odbc {
    struct odbc_functions call;
    SQLHENV env;
    SQLHDBC dbc;
    SQLHSTMT stmt;
    bool describes;   /* the driver knows the types of parameters */
    bool plain_times; /* SQLite's times are texts, which its driver cuts to milliseconds */
    bool gone;        /* the connection is */
    char database[ODBC_DATABASE_SIZE];         /* its name and version */
    struct buf prepared;                       /* the statement that `stmt` has; empty: none */
    SQLSMALLINT expected[SQL_PARAMETERS_MOST]; /* the types of its parameters; 0: not known */
    SQLSMALLINT columns;
    struct odbc_column column[SQL_COLUMNS_MOST];
};

/* CONFIG: libodbc is not installed. */
bool odbc_load(struct odbc *o, struct sql_failure *f);
bool odbc_connect(struct odbc *o, struct str connect, long login_seconds, struct sql_failure *f);

/* Ends the connection; what was not committed is rolled back. */
void odbc_disconnect(struct odbc *o);

/* Prepares a statement and does not run it: o->columns are those that its rows would have. */
bool odbc_prepare(struct odbc *o, struct str statement, size_t count, struct sql_failure *f);
/* The values stay where they are until the end of the call. */
bool odbc_run(struct odbc *o, struct str statement, const struct datum *values, size_t count,
              int64_t *ret_affected, struct sql_failure *f);
/* The name of column i of the last run, from 0, on the arena. */
bool odbc_describe(struct odbc *o, SQLSMALLINT i, struct arena *a, struct str *ret_name,
                   struct sql_failure *f);
/* *ret false: no row is left. */
bool odbc_fetch(struct odbc *o, bool *ret, struct sql_failure *f);
/* Value i of the row; its bytes are put into `room`, which was cleared.  Over `most` bytes, or when
 * it cannot be read, it is DATUM_FAILED. */
void odbc_value(struct odbc *o, SQLSMALLINT i, size_t most, struct buf *room, struct datum *ret);

/* commit: LOST has become DOUBT. */
bool odbc_end(struct odbc *o, bool commit, struct sql_failure *f);

/* For sql_bind.c: what the driver said last about a handle. */
bool odbc_say(struct odbc *o, SQLSMALLINT type, SQLHANDLE of, bool opening, struct sql_failure *f);
