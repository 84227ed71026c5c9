/* mariadb_statement.c - prepared statements: parameters in, rows out one by one.
 *
 * The server sends a result as it is read, so that memory is that of a row.  A reading that ends
 * before its rows do reads what is left, and throws it away: statements have a LIMIT.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "core/call.h"
#include "table/mariadb/mariadb.h"

enum { CALL_ROWS = 256 /* between two looks whether somebody still waits */ };

/* The library keeps an error that ends the rows of a statement with the connection only. */
static bool statement_failed(struct database *d, MYSQL_STMT *stmt, struct err *err)
{
    if (mysql_stmt_errno(stmt) == 0)
        return mariadb_failed(d, err);
    return mariadb_fail(d, mysql_stmt_errno(stmt), mysql_stmt_sqlstate(stmt),
                        mysql_stmt_error(stmt), err);
}

static bool statement_wanted(struct database *d, struct err *err)
{
    call_alive(d->call);
    return !call_is_over(d->call) || err_set(err, ERR_TRANSIENT, 0, "nobody waits for it any more");
}

/* ---- those that are kept ---- */

static void statement_drop(struct mariadb_statement *s)
{
    if (s->stmt != NULL)
        (void)mysql_stmt_close(s->stmt);
    s->stmt = NULL;
    buf_done(&s->sql);
    s->sql = (struct buf)BUF_INIT(MARIADB_SQL_MOST);
}

void mariadb_forget_statements(struct database *d)
{
    for (size_t i = 0; i < MARIADB_STATEMENTS; i++)
        statement_drop(&d->statements[i]);
}

static struct mariadb_statement *statement_find(struct database *d, struct str sql)
{
    struct mariadb_statement *oldest = &d->statements[0];

    for (size_t i = 0; i < MARIADB_STATEMENTS; i++) {
        struct mariadb_statement *s = &d->statements[i];

        if (s->stmt != NULL && str_eq(buf_view(&s->sql), sql))
            return s;
        if (s->stmt == NULL || (oldest->stmt != NULL && s->used < oldest->used))
            oldest = s;
    }
    statement_drop(oldest);
    return oldest;
}

static bool statement_prepare(struct database *d, struct str sql, struct mariadb_statement **ret,
                              struct err *err)
{
    struct mariadb_statement *s = statement_find(d, sql);

    s->used = ++d->tick;
    *ret = s;
    if (s->stmt != NULL)
        return true;
    if (!buf_append(&s->sql, sql, err))
        return false;
    s->stmt = mysql_stmt_init(d->my);
    if (s->stmt == NULL)
        return mariadb_failed(d, err);
    if (mysql_stmt_prepare(s->stmt, sql.ptr, (unsigned long)sql.len) == 0)
        return true;
    (void)statement_failed(d, s->stmt, err);
    statement_drop(s);
    return false;
}

/* ---- one that runs ---- */

struct statement_run {
    struct mariadb_slot *in, *out;
    MYSQL_BIND *in_binds, *out_binds;
    struct cell *cells;
};

static void statement_done(struct statement_run *r)
{
    free(r->in);
    free(r->out);
    free(r->in_binds);
    free(r->out_binds);
    free(r->cells);
}

static bool statement_start(struct database *d, const struct mariadb_ask *ask,
                            struct statement_run *r, MYSQL_STMT *stmt, struct err *err)
{
    if (mysql_stmt_param_count(stmt) != ask->param_count)
        return err_set(err, ERR_PERMANENT, 0, "a statement with other parameters");
    r->in = xcalloc(ask->param_count + 1, sizeof *r->in);
    r->in_binds = xcalloc(ask->param_count + 1, sizeof *r->in_binds);
    for (size_t i = 0; i < ask->param_count; i++)
        if (!mariadb_bind(&ask->params[i], &r->in[i], &r->in_binds[i], err))
            return false;
    if (ask->param_count > 0 && mysql_stmt_bind_param(stmt, r->in_binds) != 0)
        return statement_failed(d, stmt, err);
    if (mysql_stmt_execute(stmt) != 0)
        return statement_failed(d, stmt, err);
    return true;
}

static bool statement_row(struct database *d, const struct mariadb_ask *ask,
                          struct statement_run *r, MYSQL_STMT *stmt, struct err *err)
{
    arena_reset(&d->row);
    for (size_t i = 0; i < ask->column_count; i++)
        if (!mariadb_value(stmt, (unsigned)i, ask->kinds[i], &r->out[i], &r->out_binds[i], &d->row,
                           &r->cells[i], err))
            return false;
    return ask->fn(ask->arg, r->cells, err);
}

static bool statement_read(struct database *d, const struct mariadb_ask *ask,
                           struct statement_run *r, MYSQL_STMT *stmt, struct err *err)
{
    struct err why = { 0 };

    if (mysql_stmt_field_count(stmt) != ask->column_count)
        return err_set(err, ERR_PERMANENT, 0, "a result with other columns");
    r->out = xcalloc(ask->column_count + 1, sizeof *r->out);
    r->out_binds = xcalloc(ask->column_count + 1, sizeof *r->out_binds);
    r->cells = xcalloc(ask->column_count + 1, sizeof *r->cells);
    for (size_t i = 0; i < ask->column_count; i++)
        mariadb_bind_result(ask->kinds[i], &r->out[i], &r->out_binds[i]);
    if (mysql_stmt_bind_result(stmt, r->out_binds) != 0)
        return statement_failed(d, stmt, err);
    for (size_t n = 1;; n++) {
        int got = mysql_stmt_fetch(stmt);

        if (got == MYSQL_NO_DATA)
            return true;
        if (got != 0 && got != MYSQL_DATA_TRUNCATED)
            return statement_failed(d, stmt, err);
        if (!statement_row(d, ask, r, stmt, &why)) {
            if (why.kind != ERR_NONE)
                *err = why;
            return why.kind == ERR_NONE;
        }
        if (n % CALL_ROWS == 0 && !statement_wanted(d, err))
            return false;
    }
}

static bool statement_run(struct database *d, const struct mariadb_ask *ask, int64_t *ret_rows,
                          struct err *err)
{
    struct mariadb_statement *s;
    struct statement_run r = { 0 };

    if (!statement_wanted(d, err) || !statement_prepare(d, ask->sql, &s, err))
        return false;
    bool ok = statement_start(d, ask, &r, s->stmt, err);

    if (ok && ask->fn != NULL)
        ok = statement_read(d, ask, &r, s->stmt, err);
    else if (ok && ret_rows != NULL)
        *ret_rows = (int64_t)mysql_stmt_affected_rows(s->stmt);
    if (ask->fn != NULL && !d->lost && mysql_stmt_free_result(s->stmt) != 0 && ok)
        ok = statement_failed(d, s->stmt, err);
    statement_done(&r);
    if (!ok)
        statement_drop(s);
    return ok;
}

bool mariadb_ask(struct database *d, const struct mariadb_ask *ask, struct err *err)
{
    return statement_run(d, ask, NULL, err);
}

bool mariadb_tell(struct database *d, struct str sql, const struct cell *params, size_t count,
                  int64_t *ret_rows, struct err *err)
{
    const struct mariadb_ask ask = { .sql = sql, .params = params, .param_count = count };

    return statement_run(d, &ask, ret_rows, err);
}

bool mariadb_run(struct database *d, struct str sql, struct err *err)
{
    if (!statement_wanted(d, err))
        return false;
    if (mysql_real_query(d->my, sql.ptr, (unsigned long)sql.len) != 0)
        return mariadb_failed(d, err);
    MYSQL_RES *rows = mysql_store_result(d->my);

    if (rows != NULL)
        mysql_free_result(rows);
    return true;
}
