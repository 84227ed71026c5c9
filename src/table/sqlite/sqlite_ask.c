/* sqlite_ask.c - statements of the SQLite driver: made, kept, run; and what their failures mean. */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/require.h"
#include "table/sqlite/sqlite_database.h"

/* ---- failures ---- */

static enum err_kind sqlite_means(int rc)
{
    switch (rc & 0xff) {
    case SQLITE_TOOBIG:
        return ERR_LIMIT;
    case SQLITE_NOTADB:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return ERR_CONFIG;
    case SQLITE_ERROR:
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_RANGE:
    case SQLITE_NOLFS:
        return ERR_PERMANENT;
    default: /* busy, full, input and output, a damaged file: no fault of what was asked */
        return ERR_TRANSIENT;
    }
}

/* The tables are not (any more) what a statement was made for. */
static bool sqlite_is_changed(const char *text)
{
    return strncmp(text, "no such table", 13) == 0 || strncmp(text, "no such column", 14) == 0 ||
           strstr(text, "has no column named") != NULL;
}

bool sqlite_fail(struct sqlite_database *d, int rc, const char *what, struct err *err)
{
    int primary = rc & 0xff;
    const char *text = d->handle != NULL && primary != SQLITE_NOMEM ? sqlite3_errmsg(d->handle)
                                                                    : sqlite3_errstr(rc);
    bool changed = primary == SQLITE_ERROR && sqlite_is_changed(text);

    if (primary == SQLITE_IOERR || primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB ||
        primary == SQLITE_CANTOPEN)
        d->broken = true;
    return err_set(err, changed ? ERR_CONFIG : sqlite_means(rc), rc, "%s: %s", what, text);
}

bool sqlite_here(struct sqlite_database *d, struct err *err)
{
    int moved = 0;

    if (sqlite3_file_control(d->handle, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK &&
        moved) {
        d->broken = true;
        return err_set(err, ERR_TRANSIENT, 0, "the file was replaced by another one");
    }
    return true;
}

/* ---- names ---- */

static void sqlite_quote(struct buf *to, char quote, struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == quote)
            buf_putc(to, quote);
        buf_putc(to, text.ptr[i]);
    }
}

void sqlite_name(struct buf *to, struct str name)
{
    buf_putc(to, '"');
    sqlite_quote(to, '"', name);
    buf_putc(to, '"');
}

void sqlite_literal(struct buf *to, struct str text)
{
    buf_putc(to, '\'');
    sqlite_quote(to, '\'', text);
    buf_putc(to, '\'');
}

void sqlite_journal(struct buf *to, struct str table)
{
    buf_puts(to, "\"waybill_journal_");
    sqlite_quote(to, '"', table);
    buf_putc(to, '"');
}

bool sqlite_name_is_fine(struct str name)
{
    return name.len > 0 && name.len <= SHAPE_NAME_MOST && str_is_utf8(name) &&
           !str_has_control(name);
}

/* ---- statements that are kept ---- */

static void kept_drop(struct sqlite_kept *k)
{
    (void)sqlite3_finalize(k->stmt);
    free(k->text);
    *k = (struct sqlite_kept){ 0 };
}

void sqlite_forget(struct sqlite_database *d)
{
    for (size_t i = 0; i < SQLITE_KEPT; i++)
        kept_drop(&d->kept[i]);
}

bool sqlite_ask(struct sqlite_database *d, struct str text, sqlite3_stmt **ret, struct err *err)
{
    struct sqlite_kept *oldest = &d->kept[0];
    sqlite3_stmt *stmt;

    d->uses++;
    for (struct sqlite_kept *k = d->kept; k < d->kept + SQLITE_KEPT; k++) {
        if (k->stmt != NULL && str_eq(str_mem(k->text, k->len), text)) {
            k->used = d->uses;
            *ret = k->stmt;
            return true;
        }
        if (k->used < oldest->used)
            oldest = k;
    }
    int rc = sqlite3_prepare_v3(d->handle, text.ptr, (int)text.len, SQLITE_PREPARE_PERSISTENT,
                                &stmt, NULL);

    if (rc != SQLITE_OK) {
        (void)sqlite_fail(d, rc, "a statement", err);
        if ((rc & 0xff) == SQLITE_ERROR) /* the tables are not what they were */
            err->kind = ERR_CONFIG;
        return false;
    }
    kept_drop(oldest);
    *oldest = (struct sqlite_kept){
        .text = xstrndup(text), .len = text.len, .stmt = stmt, .used = d->uses
    };
    *ret = stmt;
    return true;
}

void sqlite_end(sqlite3_stmt *stmt)
{
    (void)sqlite3_reset(stmt);
    (void)sqlite3_clear_bindings(stmt);
}

bool sqlite_step(struct sqlite_database *d, sqlite3_stmt *stmt, const char *what, bool *ret_row,
                 struct err *err)
{
    int rc = sqlite3_step(stmt);

    *ret_row = rc == SQLITE_ROW;
    if (rc == SQLITE_ROW || rc == SQLITE_DONE)
        return true;
    (void)sqlite_fail(d, rc, what, err);
    sqlite_end(stmt);
    return false;
}

bool sqlite_finish(struct sqlite_database *d, sqlite3_stmt *stmt, const char *what, struct err *err)
{
    bool row;

    do
        if (!sqlite_step(d, stmt, what, &row, err))
            return false;
    while (row);
    sqlite_end(stmt);
    return true;
}

bool sqlite_run(struct sqlite_database *d, const char *text, const char *what, struct err *err)
{
    int rc = sqlite3_exec(d->handle, text, NULL, NULL, NULL);

    return rc == SQLITE_OK ? true : sqlite_fail(d, rc, what, err);
}

/* ---- values ---- */

struct str sqlite_text_at(sqlite3_stmt *stmt, int at)
{
    const void *p = sqlite3_column_type(stmt, at) == SQLITE_BLOB
                        ? sqlite3_column_blob(stmt, at)
                        : (const void *)sqlite3_column_text(stmt, at);

    return str_mem(p != NULL ? p : "", (size_t)sqlite3_column_bytes(stmt, at));
}

bool sqlite_bind_text(struct sqlite_database *d, sqlite3_stmt *stmt, int at, struct str text,
                      struct err *err)
{
    int rc = sqlite3_bind_text64(stmt, at, text.ptr != NULL ? text.ptr : "", text.len,
                                 SQLITE_STATIC, SQLITE_UTF8);

    return rc == SQLITE_OK ? true : sqlite_fail(d, rc, "a value", err);
}

bool sqlite_bind_bytes(struct sqlite_database *d, sqlite3_stmt *stmt, int at, struct str bytes,
                       struct err *err)
{
    int rc =
        sqlite3_bind_blob64(stmt, at, bytes.ptr != NULL ? bytes.ptr : "", bytes.len, SQLITE_STATIC);

    return rc == SQLITE_OK ? true : sqlite_fail(d, rc, "a value", err);
}

void sqlite_bind_int(sqlite3_stmt *stmt, int at, int64_t value)
{
    require(sqlite3_bind_int64(stmt, at, value) == SQLITE_OK);
}

/* ---- the schema ---- */

bool sqlite_schema_has(struct sqlite_database *d, const char *type, struct str name,
                       struct arena *a, bool *ret_has, struct str *ret_sql, struct err *err)
{
    sqlite3_stmt *stmt;

    if (!sqlite_ask(d,
                    STR("SELECT sql FROM main.sqlite_schema WHERE type = ?1 "
                        "AND name = ?2 COLLATE NOCASE"),
                    &stmt, err))
        return false;
    if (!sqlite_bind_text(d, stmt, 1, str_of(type), err) ||
        !sqlite_bind_text(d, stmt, 2, name, err) ||
        !sqlite_step(d, stmt, "reading the schema", ret_has, err)) {
        sqlite_end(stmt);
        return false;
    }
    if (*ret_has && ret_sql != NULL)
        *ret_sql = arena_copy(a, sqlite_text_at(stmt, 0));
    sqlite_end(stmt);
    return true;
}
