#include "sql/sql_odbc.h"

#include <dlfcn.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "sql/sql_bind.h"
#include "sql/sql_names.h"

enum { TEXT_MOST = 1000, COLUMN_NAME_MOST = 512 };

bool odbc_load(struct odbc *o, struct sql_failure *f)
{
    void *library = dlopen("libodbc.so.2", RTLD_NOW | RTLD_GLOBAL);

    if (library == NULL)
        return sql_fail(f, SQL_FAULT_CONFIG,
                        "the driver manager of ODBC is not installed (Debian: libodbc2)");
    const struct {
        const char *name;
        void *to;
    } wanted[] = {
#define ODBC_WANTED(name) { #name, &o->call.name },
        ODBC_FUNCTIONS(ODBC_WANTED)
#undef ODBC_WANTED
    };

    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        void *found = dlsym(library, wanted[i].name);

        if (found == NULL)
            return sql_fail(f, SQL_FAULT_CONFIG, "libodbc.so.2 has no %s", wanted[i].name);
        memcpy(wanted[i].to, &found, sizeof found);
    }
    return true;
}

/* ---- what the driver says ---- */

/* [vendor][driver][server] in front of the text. */
static struct str without_vendor(struct str text)
{
    struct str rest = text, head;

    while (rest.len > 0 && rest.ptr[0] == '[' && str_find(rest, ']') > 0)
        rest = str_trim(str_cut(rest, ']', &head));
    return rest.len > 0 ? rest : text;
}

static bool odbc_is_dead(struct odbc *o)
{
    SQLUINTEGER dead = SQL_CD_FALSE;

    return o->dbc != NULL &&
           SQL_SUCCEEDED(o->call.SQLGetConnectAttr(o->dbc, SQL_ATTR_CONNECTION_DEAD, &dead,
                                                   (SQLINTEGER)sizeof dead, NULL)) &&
           dead == SQL_CD_TRUE;
}

bool odbc_say(struct odbc *o, SQLSMALLINT type, SQLHANDLE of, bool opening, struct sql_failure *f)
{
    char state[SQL_STATE_SIZE] = "", text[TEXT_MOST] = "";
    SQLINTEGER native = 0;
    SQLSMALLINT length = 0;

    if (!SQL_SUCCEEDED(o->call.SQLGetDiagRec(type, of, 1, (SQLCHAR *)state, &native,
                                             (SQLCHAR *)text, sizeof text, &length)))
        return sql_fail(f, opening ? SQL_FAULT_LOST : SQL_FAULT_LATER,
                        "the driver failed and does not say why");
    text[sizeof text - 1] = state[sizeof state - 1] = '\0';
    struct str said = without_vendor(str_of(text));
    enum sql_fault kind = sql_failure_class(state, native, said, opening);

    if (!opening && kind != SQL_FAULT_LOST && odbc_is_dead(o))
        kind = SQL_FAULT_LOST;
    o->gone = o->gone || kind == SQL_FAULT_LOST;
    said = str_first(said, SQL_TEXT_MOST - 32);
    (void)sql_fail(f, kind, "%.*s (%s%s)", STR_ARG(said), state[0] != '\0' ? "SQLSTATE " : "",
                   state);
    memcpy(f->state, state, sizeof f->state);
    f->native = native;
    return false;
}

static bool say_statement(struct odbc *o, struct sql_failure *f)
{
    buf_clear(&o->prepared);
    return odbc_say(o, SQL_HANDLE_STMT, o->stmt, false, f);
}

/* ---- the connection ---- */

/* Attributes are pointers or numbers, by the same argument. */
static SQLPOINTER odbc_number(SQLULEN n)
{
    union {
        SQLULEN number;
        SQLPOINTER pointer;
    } as = { .number = n };

    return as.pointer;
}

static bool set_up(struct odbc *o, struct sql_failure *f)
{
    if (!SQL_SUCCEEDED(o->call.SQLAllocHandle(SQL_HANDLE_ENV, SQL_NULL_HANDLE, &o->env)) ||
        !SQL_SUCCEEDED(
            o->call.SQLSetEnvAttr(o->env, SQL_ATTR_ODBC_VERSION, odbc_number(SQL_OV_ODBC3), 0)) ||
        !SQL_SUCCEEDED(o->call.SQLAllocHandle(SQL_HANDLE_DBC, o->env, &o->dbc)))
        return sql_fail(f, SQL_FAULT_CONFIG, "the driver manager of ODBC does not work");
    return true;
}

/* Times of a session have no zone: they are UTC.  PostgreSQL is told by the environment. */
static bool set_zone(struct odbc *o, const char *database, struct sql_failure *f)
{
    static char statement[] = "SET time_zone = '+00:00'";

    if (strcasestr(database, "mariadb") == NULL && strcasestr(database, "mysql") == NULL)
        return true;
    bool ok = SQL_SUCCEEDED(o->call.SQLExecDirect(o->stmt, (SQLCHAR *)statement, SQL_NTS)) ||
              odbc_say(o, SQL_HANDLE_STMT, o->stmt, true, f);

    (void)o->call.SQLFreeStmt(o->stmt, SQL_CLOSE);
    return ok;
}

bool odbc_connect(struct odbc *o, struct str connect, long login_seconds, struct sql_failure *f)
{
    AUTO_TEXT text = strndup(connect.ptr, connect.len);
    char database[32] = "", version[32] = "";

    if (text == NULL || !set_up(o, f))
        return false;
    (void)o->call.SQLSetConnectAttr(o->dbc, SQL_ATTR_LOGIN_TIMEOUT,
                                    odbc_number((SQLULEN)login_seconds), 0); /* some have none */
    if (!SQL_SUCCEEDED(o->call.SQLDriverConnect(o->dbc, NULL, (SQLCHAR *)text, SQL_NTS, NULL, 0,
                                                NULL, SQL_DRIVER_NOPROMPT)))
        return odbc_say(o, SQL_HANDLE_DBC, o->dbc, true, f);
    explicit_bzero(text, connect.len);
    (void)o->call.SQLGetInfo(o->dbc, SQL_DBMS_NAME, database, sizeof database, NULL);
    (void)o->call.SQLGetInfo(o->dbc, SQL_DBMS_VER, version, sizeof version, NULL);
    (void)snprintf(o->database, sizeof o->database, "%.31s %.31s", database, version);
    o->describes = strcasestr(database, "postgres") != NULL;
    o->plain_times = strcasestr(database, "sqlite") != NULL;
    if (!SQL_SUCCEEDED(o->call.SQLSetConnectAttr(
            o->dbc, SQL_ATTR_AUTOCOMMIT, odbc_number(SQL_AUTOCOMMIT_OFF), SQL_IS_UINTEGER)) ||
        !SQL_SUCCEEDED(o->call.SQLAllocHandle(SQL_HANDLE_STMT, o->dbc, &o->stmt)))
        return odbc_say(o, SQL_HANDLE_DBC, o->dbc, true, f);
    return set_zone(o, database, f);
}

void odbc_disconnect(struct odbc *o)
{
    struct sql_failure ignored = { 0 };

    (void)odbc_end(o, false, &ignored);
    (void)o->call.SQLFreeHandle(SQL_HANDLE_STMT, o->stmt);
    (void)o->call.SQLDisconnect(o->dbc);
}

bool odbc_end(struct odbc *o, bool commit, struct sql_failure *f)
{
    buf_clear(&o->prepared);
    o->columns = 0;
    (void)o->call.SQLFreeStmt(o->stmt, SQL_CLOSE);
    (void)o->call.SQLFreeStmt(o->stmt, SQL_RESET_PARAMS);
    if (SQL_SUCCEEDED(
            o->call.SQLEndTran(SQL_HANDLE_DBC, o->dbc, commit ? SQL_COMMIT : SQL_ROLLBACK)))
        return true;
    (void)odbc_say(o, SQL_HANDLE_DBC, o->dbc, false, f);
    if (commit && f->kind == SQL_FAULT_LOST) {
        struct sql_failure lost = *f;

        (void)sql_fail(f, SQL_FAULT_DOUBT, "no answer came to the commit: %.280s", lost.text);
        memcpy(f->state, lost.state, sizeof f->state);
        f->native = lost.native;
    }
    return false;
}

/* ---- a statement ---- */

/* PostgreSQL says which type it expects, and so a number, a date or JSON can be sent as text. */
static bool describe_parameters(struct odbc *o, size_t count, struct sql_failure *f)
{
    SQLSMALLINT digits, nullable;
    SQLULEN size;

    memset(o->expected, 0, sizeof o->expected);
    for (size_t i = 0; o->describes && i < count; i++)
        if (!SQL_SUCCEEDED(o->call.SQLDescribeParam(o->stmt, (SQLUSMALLINT)(i + 1), &o->expected[i],
                                                    &size, &digits, &nullable)))
            return say_statement(o, f); /* the statement itself is wrong */
    return true;
}

static bool prepare(struct odbc *o, struct str statement, size_t count, struct sql_failure *f)
{
    struct err err = { 0 };

    (void)o->call.SQLFreeStmt(o->stmt, SQL_CLOSE);
    o->columns = 0;
    if (str_eq(buf_view(&o->prepared), statement))
        return true;
    (void)o->call.SQLFreeStmt(o->stmt, SQL_RESET_PARAMS);
    buf_clear(&o->prepared);
    if (!buf_append(&o->prepared, statement, &err))
        return sql_fail(f, SQL_FAULT_LIMIT, "the statement has more than %d bytes",
                        SQL_STATEMENT_MOST);
    if (!SQL_SUCCEEDED(
            o->call.SQLPrepare(o->stmt, (SQLCHAR *)o->prepared.ptr, (SQLINTEGER)o->prepared.len)))
        return say_statement(o, f);
    return describe_parameters(o, count, f);
}

static enum datum_kind kind_of_column(SQLSMALLINT type)
{
    switch (type) {
    case SQL_BIT:
        return DATUM_BOOL;
    case SQL_TINYINT:
    case SQL_SMALLINT:
    case SQL_INTEGER:
    case SQL_BIGINT:
        return DATUM_INTEGER;
    case SQL_DECIMAL:
    case SQL_NUMERIC:
        return DATUM_DECIMAL;
    case SQL_REAL:
    case SQL_FLOAT:
    case SQL_DOUBLE:
        return DATUM_FLOAT;
    case SQL_BINARY:
    case SQL_VARBINARY:
    case SQL_LONGVARBINARY:
        return DATUM_BYTES;
    case SQL_TYPE_DATE:
    case SQL_DATE:
        return DATUM_DATE;
    case SQL_TYPE_TIME:
    case SQL_TIME:
        return DATUM_TIME;
    case SQL_TYPE_TIMESTAMP:
    case SQL_TIMESTAMP:
        return DATUM_TIMESTAMP;
    default:
        return DATUM_TEXT;
    }
}

static bool count_columns(struct odbc *o, struct sql_failure *f)
{
    if (!SQL_SUCCEEDED(o->call.SQLNumResultCols(o->stmt, &o->columns)))
        return say_statement(o, f);
    return o->columns <= SQL_COLUMNS_MOST ||
           sql_fail(f, SQL_FAULT_LIMIT, "the rows have more than %d columns", SQL_COLUMNS_MOST);
}

bool odbc_prepare(struct odbc *o, struct str statement, size_t count, struct sql_failure *f)
{
    return prepare(o, statement, count, f) && count_columns(o, f);
}

bool odbc_run(struct odbc *o, struct str statement, const struct datum *values, size_t count,
              int64_t *ret_affected, struct sql_failure *f)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct bound *bound = ARENA_ARRAY(&a, struct bound, count + 1);
    SQLLEN affected = -1;

    if (!prepare(o, statement, count, f))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!bind_value(o, (SQLUSMALLINT)(i + 1), &values[i], o->expected[i], &bound[i], f))
            return false;
    SQLRETURN done = o->call.SQLExecute(o->stmt);

    if (!SQL_SUCCEEDED(done) && done != SQL_NO_DATA) /* NO_DATA: it changed no row */
        return say_statement(o, f);
    if (!count_columns(o, f))
        return false;
    if (!SQL_SUCCEEDED(o->call.SQLRowCount(o->stmt, &affected)))
        affected = -1;
    *ret_affected = done == SQL_NO_DATA ? 0 : affected;
    return true;
}

bool odbc_describe(struct odbc *o, SQLSMALLINT i, struct arena *a, struct str *ret_name,
                   struct sql_failure *f)
{
    SQLSMALLINT length = 0, type, digits, nullable;
    char name[COLUMN_NAME_MOST] = "";
    SQLULEN size;

    if (!SQL_SUCCEEDED(o->call.SQLDescribeCol(o->stmt, (SQLUSMALLINT)(i + 1), (SQLCHAR *)name,
                                              sizeof name, &length, &type, &size, &digits,
                                              &nullable)))
        return say_statement(o, f);
    name[sizeof name - 1] = '\0';
    o->column[i] = (struct odbc_column){ type, kind_of_column(type) };
    if (o->plain_times && o->column[i].kind >= DATUM_DATE)
        o->column[i].kind = DATUM_TEXT;
    *ret_name = arena_copy(a, str_first(str_of(name), sizeof name - 1));
    return true;
}

bool odbc_fetch(struct odbc *o, bool *ret, struct sql_failure *f)
{
    if (o->columns == 0) {
        *ret = false;
        return true;
    }
    SQLRETURN got = o->call.SQLFetch(o->stmt);

    *ret = got != SQL_NO_DATA;
    if (SQL_SUCCEEDED(got) || got == SQL_NO_DATA)
        return true;
    return say_statement(o, f);
}
