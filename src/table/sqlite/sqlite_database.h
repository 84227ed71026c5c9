/* sqlite_database.h - the inside of the SQLite driver, for the files sqlite*.c.
 *
 * Statements are made as text of names that were read from the database and quoted by
 * sqlite_name(); values are bound.  A statement is kept with its text as the key, so that a table
 * that changes makes new ones.
 *
 * Ownership: a statement of sqlite_ask() belongs to the connection; whoever asked for it ends it
 * with sqlite_end() before the next one is asked for.
 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "table/database.h"
#include "table/shape.h"

enum {
    SQLITE_KEPT = 48,
    SQLITE_TEXT_MOST = 8 << 20, /* of a statement: all columns, each name some times */
    SQLITE_CELLS = 512 << 20    /* of one row */
};

/* Of columns (shape_column.detail): how SQLite converts what is put into them. */
enum sqlite_affinity {
    SQLITE_AS_IS,
    SQLITE_TEXTUAL,
    SQLITE_NUMERICAL,
    SQLITE_WHOLE,
    SQLITE_FLOATS
};

struct sqlite_kept {
    char *text;
    size_t len;
    sqlite3_stmt *stmt;
    int64_t used;
};

struct sqlite_database {
    sqlite3 *handle;
    struct call *call;
    int64_t timeout_us, waits_since_us;
    char *path;
    struct sqlite_kept kept[SQLITE_KEPT];
    int64_t uses;
    enum { SQLITE_OUTSIDE, SQLITE_READS, SQLITE_LOOKS, SQLITE_WRITES } in; /* a transaction */
    bool saved, broken;
    bool has_origin;  /* of this transaction */
    bool is_wide;     /* UTF-16: its order of text is not that of bytes */
    struct arena row; /* what the row that is read now needs */
    int log_pages;    /* of the write-ahead log, after the last commit */
    sqlite3 *guard;   /* keeps other writers away during a checkpoint; or NULL */
};

static inline struct sqlite_database *sqlite_of(struct database *d)
{
    return (struct sqlite_database *)d;
}

/* ---- statements: sqlite_ask.c ---- */

bool sqlite_fail(struct sqlite_database *d, int rc, const char *what, struct err *err);
/* The file is the one that was opened; outside of a transaction. */
bool sqlite_here(struct sqlite_database *d, struct err *err);
void sqlite_name(struct buf *to, struct str name);     /* "name" */
void sqlite_literal(struct buf *to, struct str text);  /* 'text' */
void sqlite_journal(struct buf *to, struct str table); /* "waybill_journal_TABLE" */
/* True if the text can be a name in statements that we make. */
bool sqlite_name_is_fine(struct str name);

bool sqlite_ask(struct sqlite_database *d, struct str text, sqlite3_stmt **ret, struct err *err);
/* *ret_row false: it is over. */
bool sqlite_step(struct sqlite_database *d, sqlite3_stmt *stmt, const char *what, bool *ret_row,
                 struct err *err);
void sqlite_end(sqlite3_stmt *stmt);
/* To its end, and ends it. */
bool sqlite_finish(struct sqlite_database *d, sqlite3_stmt *stmt, const char *what,
                   struct err *err);
/* One or more statements without values, which are not kept. */
bool sqlite_run(struct sqlite_database *d, const char *text, const char *what, struct err *err);
void sqlite_forget(struct sqlite_database *d); /* all that is kept */

struct str sqlite_text_at(sqlite3_stmt *stmt, int at); /* text or bytes; lent until the next step */
bool sqlite_bind_text(struct sqlite_database *d, sqlite3_stmt *stmt, int at, struct str text,
                      struct err *err);
bool sqlite_bind_bytes(struct sqlite_database *d, sqlite3_stmt *stmt, int at, struct str bytes,
                       struct err *err);
void sqlite_bind_int(sqlite3_stmt *stmt, int at, int64_t value);

/* A table or index of that name is there; *ret_sql, in the arena, is what it was made with. */
bool sqlite_schema_has(struct sqlite_database *d, const char *type, struct str name,
                       struct arena *a, bool *ret_has, struct str *ret_sql, struct err *err);

/* ---- values: sqlite_value.c ---- */

/* The natural type of a column that was declared so. */
enum cell_type sqlite_natural(struct str declared, enum sqlite_affinity *ret);

/* Value `at` of the row as a cell of the column's natural type; what has no such form is given as
 * what it is.  It lends from the statement and from d->row. */
bool sqlite_read(struct sqlite_database *d, sqlite3_stmt *stmt, int at,
                 const struct shape_column *column, struct cell *ret, struct err *err);
/* ERR_PERMANENT: the column would not keep it as it is. */
bool sqlite_bind(struct sqlite_database *d, sqlite3_stmt *stmt, int at,
                 const struct shape_column *column, const struct cell *cell, struct err *err);

/* ---- of a fit: sqlite_rows.c ---- */

const struct shape_column *sqlite_column(const struct fit *fit, size_t i);
void sqlite_put_column(struct buf *to, const char *alias, const struct fit *fit, size_t i);
void sqlite_put_keys(struct buf *to, const char *alias, const struct fit *fit);
void sqlite_put_places(struct buf *to, size_t first, size_t count); /* "?1, ?2" */
bool sqlite_bind_key(struct sqlite_database *d, sqlite3_stmt *stmt, size_t first,
                     const struct fit *fit, const struct cell *key, struct err *err);

/* ---- the functions of struct database_type ---- */

bool sqlite_describe(struct database *d, struct str table, struct arena *a, struct shape **ret,
                     struct err *err);

bool sqlite_plan_capture(struct database *d, const struct fit *fit, const struct capture *capture,
                         struct arena *a, struct ddl *ret, struct err *err);
bool sqlite_plan_capture_removal(struct database *d, const struct fit *fit, struct arena *a,
                                 struct ddl *ret, struct err *err);
bool sqlite_look(struct database *d, const struct fit *fit, const struct capture *capture,
                 struct arena *a, struct capture_look *ret, struct err *err);

bool sqlite_ceiling(struct database *d, const struct fit *fit, const struct capture *capture,
                    struct ceiling *ret, struct err *err);
bool sqlite_changes(struct database *d, const struct fit *fit, const struct capture *capture,
                    const struct change_place *after, int64_t below, size_t most, change_fn *fn,
                    void *arg, struct err *err);
bool sqlite_changes_of(struct database *d, const struct fit *fit, const struct cell *keys,
                       size_t count, change_fn *fn, void *arg, struct err *err);
bool sqlite_backlog(struct database *d, const struct fit *fit, const struct change_place *after,
                    int64_t most, int64_t *ret, struct err *err);
bool sqlite_pruned(struct database *d, const struct fit *fit, int64_t *ret, struct err *err);
/* CAPTURE_COLUMN: sqlite_column.c */
bool sqlite_column_ceiling(struct sqlite_database *d, const struct fit *fit,
                           const struct capture *capture, struct ceiling *ret, struct err *err);
bool sqlite_column_changes(struct sqlite_database *d, const struct fit *fit,
                           const struct capture *capture, const struct change_place *after,
                           int64_t below, size_t most, change_fn *fn, void *arg, struct err *err);
bool sqlite_column_prepare(struct sqlite_database *d, struct err *err); /* once, when opened */
/* The key of a place as natural cells, in d->row. */
bool sqlite_place_key(struct sqlite_database *d, const struct fit *fit, struct str key,
                      struct cell **ret, struct err *err);

bool sqlite_rows(struct database *d, const struct fit *fit, const struct cell *after,
                 const struct cell *upto, size_t most, row_fn *fn, void *arg, struct err *err);
bool sqlite_rows_of(struct database *d, const struct fit *fit, const struct cell *keys,
                    size_t count, row_fn *fn, void *arg, struct err *err);
bool sqlite_count(struct database *d, const struct fit *fit, int64_t *ret, struct err *err);
bool sqlite_find_rows(struct database *db, const struct sought *s, struct arena *a,
                      struct found *ret, struct err *err);
bool sqlite_upsert(struct database *d, const struct fit *fit, const struct cell *rows, size_t count,
                   struct err *err);
bool sqlite_add(struct database *d, const struct fit *fit, const struct cell *rows, size_t count,
                struct err *err);
bool sqlite_remove(struct database *d, const struct fit *fit, const struct cell *keys, size_t count,
                   int64_t *ret_removed, struct err *err);

bool sqlite_plan_mark(struct database *d, struct arena *a, struct ddl *ret, struct err *err);
bool sqlite_plan_mark_removal(struct database *d, struct str link, struct str table,
                              struct arena *a, struct ddl *ret, struct err *err);
bool sqlite_mark_get(struct database *d, struct str link, struct str table, struct arena *a,
                     bool *ret_has, struct mark *ret, struct err *err);
bool sqlite_mark_put(struct database *d, struct str link, struct str table, const struct mark *mark,
                     struct err *err);
bool sqlite_mark_drop(struct database *d, struct str link, struct str table, struct err *err);
bool sqlite_origin(struct database *d, struct str origin, int64_t at_us, struct err *err);
bool sqlite_origin_clear(struct sqlite_database *d, struct err *err);
bool sqlite_run_ddl(struct database *d, struct str statement, struct err *err);

/* The ends of statements that run_ddl() reads: what a table of ours has by then decides.  What
 * stands behind them tells statements of different tables apart. */
#define SQLITE_IF_EMPTY " -- if it is empty by then"
#define SQLITE_IF_THERE " -- if that is there by then"
