/* mariadb_error.c - what an error of MariaDB means for its caller, told without values of rows.
 *
 * Of most errors the server's own text is shown.  Those of values have the value in it ("Duplicate
 * entry 'abc' for key 'mail'"): of these only what stands behind it, the name of the key or column.
 */
#include <errmsg.h>
#include <mysqld_error.h>
#include <stdio.h>
#include <string.h>

#include "table/mariadb/mariadb.h"

/* Errors whose text has no values, by what they mean. */
static const struct {
    enum err_kind kind;
    unsigned numbers[20]; /* 0 behind the last */
} said_by_server[] = {
    { ERR_TRANSIENT,
      { ER_CON_COUNT_ERROR, ER_TOO_MANY_USER_CONNECTIONS, ER_USER_LIMIT_REACHED, ER_HOST_IS_BLOCKED,
        ER_SERVER_SHUTDOWN, ER_DISK_FULL, ER_RECORD_FILE_FULL, ER_OUTOFMEMORY, ER_OUT_OF_RESOURCES,
        ER_QUERY_INTERRUPTED, ER_CONNECTION_KILLED, ER_STATEMENT_TIMEOUT } },
    { ERR_LIMIT, { ER_NET_PACKET_TOO_LARGE } },
    { ERR_CONFIG,
      { CR_SSL_CONNECTION_ERROR, ER_ACCESS_DENIED_ERROR, ER_ACCESS_DENIED_NO_PASSWORD_ERROR,
        ER_DBACCESS_DENIED_ERROR, ER_HOST_NOT_PRIVILEGED, ER_BAD_DB_ERROR,
        ER_TABLEACCESS_DENIED_ERROR, ER_COLUMNACCESS_DENIED_ERROR, ER_SPECIFIC_ACCESS_DENIED_ERROR,
        ER_NO_SUCH_TABLE, ER_UNKNOWN_SEQUENCES, ER_BAD_FIELD_ERROR, ER_OPTION_PREVENTS_STATEMENT,
        ER_BINLOG_STMT_MODE_AND_ROW_ENGINE } },
    { ERR_PERMANENT,
      { ER_NO_DEFAULT_FOR_FIELD, ER_ROW_IS_REFERENCED, ER_ROW_IS_REFERENCED_2, ER_NO_REFERENCED_ROW,
        ER_NO_REFERENCED_ROW_2, ER_CONSTRAINT_FAILED, ER_SIGNAL_EXCEPTION, ER_PARSE_ERROR } },
};

static const struct mariadb_meaning {
    unsigned number;
    enum err_kind kind;
    bool named;       /* the name at the end of its text is shown */
    const char *text; /* ours */
    bool contended;
} meanings[] = {
    { ER_LOCK_WAIT_TIMEOUT, ERR_TRANSIENT, false, "a lock was not free in time", true },
    { ER_LOCK_DEADLOCK, ERR_TRANSIENT, false, "a deadlock", true },
    { ER_CHECKREAD, ERR_TRANSIENT, false, "a row was changed meanwhile", true },
    { CR_NET_PACKET_TOO_LARGE, ERR_LIMIT, false, "a row is larger than we take" },
    { CR_SERVER_GONE_ERROR, ERR_TRANSIENT, false, "the server is gone" },
    { CR_SERVER_LOST, ERR_TRANSIENT, false, "the server does not answer any more" },
    { CR_CONNECTION_ERROR, ERR_TRANSIENT, false, "the server cannot be reached by its socket" },
    { CR_CONN_HOST_ERROR, ERR_TRANSIENT, false, "the server cannot be reached" },
    { CR_UNKNOWN_HOST, ERR_TRANSIENT, false, "the name of the server cannot be resolved" },
    { ER_DUP_ENTRY, ERR_PERMANENT, true, "another row has a value that must be unique" },
    { ER_SUBQUERY_NO_1_ROW, ERR_PERMANENT, false,
      "another row has a value that must be unique" }, /* mariadb_write.c */
    { ER_BAD_NULL_ERROR, ERR_PERMANENT, true, "NULL where none may be" },
    { ER_WARN_DATA_OUT_OF_RANGE, ERR_PERMANENT, true, "a number out of range" },
    { ER_TRUNCATED_WRONG_VALUE, ERR_PERMANENT, true, "a value of another form" },
    { ER_TRUNCATED_WRONG_VALUE_FOR_FIELD, ERR_PERMANENT, true, "a value of another form" },
    { ER_DATA_TOO_LONG, ERR_PERMANENT, true, "a value that is too long" },
    { WARN_DATA_TRUNCATED, ERR_PERMANENT, true, "a value that the column does not take" },
};

/* "... for key 'mail'", "... for column `d`.`t`.`mail` at row 1", "Column 'mail' ...". */
static struct str error_name(const char *text)
{
    static const char *const before[] = { " for key '", " for column '", " for column `",
                                          "Column '" };

    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        const char *found = NULL;

        for (const char *at = strstr(text, before[i]); at != NULL; at = strstr(at + 1, before[i]))
            found = at;
        if (found == NULL)
            continue;
        found += strlen(before[i]);
        const char *end = strstr(found, " at row ");
        struct str name = end != NULL ? str_mem(found, (size_t)(end - found)) : str_of(found);

        if (end == NULL && memchr(name.ptr, '\'', name.len) != NULL)
            name.len = (size_t)((const char *)memchr(name.ptr, '\'', name.len) - name.ptr);
        if (name.len > 0 && (name.ptr[name.len - 1] == '\'' || name.ptr[name.len - 1] == '`'))
            name.len--;
        for (size_t dot = 0; dot + 2 < name.len; dot++) /* of `d`.`t`.`mail` the last */
            if (memcmp(name.ptr + dot, "`.`", 3) == 0) {
                name = str_from(name, dot + 3);
                dot = 0;
            }
        return str_first(name, 100);
    }
    return STR("");
}

/* Errors that are not in the list, by the first letters of their SQLSTATE. */
static enum err_kind error_class(unsigned number, const char *state)
{
    if (number >= CR_MIN_ERROR && number <= CR_MAX_ERROR)
        return ERR_TRANSIENT;
    if (strncmp(state, "08", 2) == 0 || strncmp(state, "40", 2) == 0 ||
        strncmp(state, "70", 2) == 0)
        return ERR_TRANSIENT;
    return ERR_PERMANENT;
}

static bool error_is_said(unsigned number, enum err_kind *ret)
{
    for (size_t i = 0; i < sizeof said_by_server / sizeof *said_by_server; i++)
        for (const unsigned *n = said_by_server[i].numbers; *n != 0; n++)
            if (*n == number) {
                *ret = said_by_server[i].kind;
                return true;
            }
    return false;
}

bool mariadb_fail(struct database *d, unsigned number, const char *state, const char *text,
                  struct err *err)
{
    const struct mariadb_meaning *m = NULL;
    enum err_kind kind;

    if ((number >= CR_MIN_ERROR && number <= CR_MAX_ERROR && number != CR_COMMANDS_OUT_OF_SYNC) ||
        number == ER_SERVER_SHUTDOWN || number == ER_CONNECTION_KILLED ||
        number == ER_NET_PACKET_TOO_LARGE)
        d->lost = true;
    if (error_is_said(number, &kind))
        return err_set(err, kind, (int)number, "%.*s (%u)", STR_ARG(str_first(str_of(text), 180)),
                       number);
    for (size_t i = 0; m == NULL && i < sizeof meanings / sizeof *meanings; i++)
        if (meanings[i].number == number)
            m = &meanings[i];
    if (m == NULL)
        return err_set(err, error_class(number, state), (int)number, "error %u of the server (%s)",
                       number, state);
    struct str name = m->named ? error_name(text) : STR("");

    if (name.len == 0)
        return err_set(err, m->kind, m->contended ? DATABASE_CONTENDED : (int)number, "%s (%u)",
                       m->text, number);
    return err_set(err, m->kind, (int)number, "%.*s: %s (%u)", STR_ARG(name), m->text, number);
}

bool mariadb_failed(struct database *d, struct err *err)
{
    return mariadb_fail(d, mysql_errno(d->my), mysql_sqlstate(d->my), mysql_error(d->my), err);
}
