/* sqlite_rows.c - rows of a SQLite file: read by key, written, removed. */
#include <sqlite3.h>

#include "table/key.h"
#include "table/sqlite/sqlite_database.h"

/* ---- parts of statements ---- */

const struct shape_column *sqlite_column(const struct fit *fit, size_t i)
{
    return &fit->shape->columns[fit->columns[i].at];
}

/* With the table in front: a bare name that is no column (any more) would be a text to SQLite. */
void sqlite_put_column(struct buf *to, const char *alias, const struct fit *fit, size_t i)
{
    buf_puts(to, alias);
    sqlite_name(to, sqlite_column(fit, i)->name);
}

static void rows_put_columns(struct buf *to, const char *alias, const struct fit *fit, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        buf_puts(to, i > 0 ? ", " : "");
        sqlite_put_column(to, alias, fit, i);
    }
}

void sqlite_put_keys(struct buf *to, const char *alias, const struct fit *fit)
{
    rows_put_columns(to, alias, fit, fit->key_count);
}

void sqlite_put_places(struct buf *to, size_t first, size_t count)
{
    for (size_t i = 0; i < count; i++)
        buf_printf(to, "%s?%zu", i > 0 ? ", " : "", first + i);
}

static void rows_put_key_is(struct buf *to, const struct fit *fit)
{
    for (size_t i = 0; i < fit->key_count; i++) {
        buf_puts(to, i > 0 ? " AND " : "");
        sqlite_put_column(to, "t.", fit, i);
        buf_printf(to, " = ?%zu", i + 1);
    }
}

/* (k1, k2) > (?1, ?2) */
static void rows_put_bound(struct buf *to, const struct fit *fit, const char *compare, size_t first)
{
    buf_putc(to, '(');
    sqlite_put_keys(to, "t.", fit);
    buf_printf(to, ") %s (", compare);
    sqlite_put_places(to, first, fit->key_count);
    buf_putc(to, ')');
}

bool sqlite_bind_key(struct sqlite_database *d, sqlite3_stmt *stmt, size_t first,
                     const struct fit *fit, const struct cell *key, struct err *err)
{
    for (size_t i = 0; i < fit->key_count; i++)
        if (!sqlite_bind(d, stmt, (int)(first + i), sqlite_column(fit, i), &key[i], err))
            return false;
    return true;
}

bool sqlite_place_key(struct sqlite_database *d, const struct fit *fit, struct str key,
                      struct cell **ret, struct err *err)
{
    enum cell_type *travels = ARENA_ARRAY(&d->row, enum cell_type, fit->key_count);
    struct cell *came = ARENA_ARRAY(&d->row, struct cell, fit->key_count);

    *ret = ARENA_ARRAY(&d->row, struct cell, fit->key_count);
    for (size_t i = 0; i < fit->key_count; i++)
        travels[i] = fit->columns[i].travels;
    if (!key_take(key, travels, fit->key_count, &d->row, came, err))
        return false;
    for (size_t i = 0; i < fit->key_count; i++)
        if (!cell_cast(&came[i], sqlite_column(fit, i)->natural, &d->row, &(*ret)[i], err))
            return false;
    return true;
}

/* ---- reading ---- */

struct reading {
    struct sqlite_database *d;
    const struct fit *fit;
    struct cell *cells;
    struct arena kept;
    row_fn *fn;
    void *arg;
};

static void reading_init(struct reading *r, struct sqlite_database *d, const struct fit *fit,
                         row_fn *fn, void *arg)
{
    *r = (struct reading){ .d = d, .fit = fit, .kept = ARENA_INIT(1 << 20), .fn = fn, .arg = arg };
    r->cells = ARENA_ARRAY(&r->kept, struct cell, fit->count + 1);
}

/* All that is left of a statement.  *ret_over: `fn` wants no more. */
static bool reading_go(struct reading *r, sqlite3_stmt *stmt, bool *ret_over, struct err *err)
{
    bool row;

    *ret_over = false;
    while (!*ret_over) {
        if (!sqlite_step(r->d, stmt, "reading rows", &row, err))
            return false;
        if (!row)
            break;
        arena_reset(&r->d->row);
        for (size_t i = 0; i < r->fit->count; i++)
            if (!sqlite_read(r->d, stmt, (int)i, sqlite_column(r->fit, i), &r->cells[i], err)) {
                sqlite_end(stmt);
                return false;
            }
        err->kind = ERR_NONE;
        *ret_over = !r->fn(r->arg, r->cells, err);
    }
    sqlite_end(stmt);
    return !*ret_over || err->kind == ERR_NONE;
}

bool sqlite_rows(struct database *db, const struct fit *fit, const struct cell *after,
                 const struct cell *upto, size_t most, row_fn *fn, void *arg, struct err *err)
{
    struct sqlite_database *d = sqlite_of(db);
    struct buf text = BUF_INIT(SQLITE_TEXT_MOST);
    size_t keys = fit->key_count;
    struct reading r;
    sqlite3_stmt *stmt;
    bool over;

    buf_puts(&text, "SELECT ");
    rows_put_columns(&text, "t.", fit, fit->count);
    buf_printf(&text, " FROM %.*s AS t", STR_ARG(fit->shape->quoted));
    if (after != NULL || upto != NULL)
        buf_puts(&text, " WHERE ");
    if (after != NULL)
        rows_put_bound(&text, fit, ">", 2);
    if (upto != NULL) {
        buf_puts(&text, after != NULL ? " AND " : "");
        rows_put_bound(&text, fit, "<=", 2 + (after != NULL ? keys : 0));
    }
    buf_puts(&text, " ORDER BY ");
    sqlite_put_keys(&text, "t.", fit);
    buf_puts(&text, " LIMIT ?1");
    reading_init(&r, d, fit, fn, arg);
    bool ok = sqlite_ask(d, buf_view(&text), &stmt, err);

    if (ok) {
        sqlite_bind_int(stmt, 1, most > INT64_MAX ? INT64_MAX : (int64_t)most);
        ok = (after == NULL || sqlite_bind_key(d, stmt, 2, fit, after, err)) &&
             (upto == NULL ||
              sqlite_bind_key(d, stmt, 2 + (after != NULL ? keys : 0), fit, upto, err));
        ok = ok ? reading_go(&r, stmt, &over, err) : (sqlite_end(stmt), false);
    }
    arena_done(&r.kept);
    buf_done(&text);
    return ok;
}

bool sqlite_rows_of(struct database *db, const struct fit *fit, const struct cell *keys,
                    size_t count, row_fn *fn, void *arg, struct err *err)
{
    struct sqlite_database *d = sqlite_of(db);
    struct buf text = BUF_INIT(SQLITE_TEXT_MOST);
    bool ok = true, over = false;
    struct reading r;
    sqlite3_stmt *stmt;

    buf_puts(&text, "SELECT ");
    rows_put_columns(&text, "t.", fit, fit->count);
    buf_printf(&text, " FROM %.*s AS t WHERE ", STR_ARG(fit->shape->quoted));
    rows_put_key_is(&text, fit);
    reading_init(&r, d, fit, fn, arg);
    for (size_t i = 0; ok && !over && i < count; i++) {
        arena_reset(&d->row);
        ok = sqlite_ask(d, buf_view(&text), &stmt, err);
        if (ok && !sqlite_bind_key(d, stmt, 1, fit, &keys[i * fit->key_count], err)) {
            sqlite_end(stmt);
            ok = false;
        }
        ok = ok && reading_go(&r, stmt, &over, err);
    }
    arena_done(&r.kept);
    buf_done(&text);
    return ok;
}

bool sqlite_count(struct database *db, const struct fit *fit, int64_t *ret, struct err *err)
{
    struct sqlite_database *d = sqlite_of(db);
    struct buf text = BUF_INIT(SQLITE_TEXT_MOST);
    sqlite3_stmt *stmt;
    bool row, ok;

    buf_printf(&text, "SELECT count(*) FROM %.*s", STR_ARG(fit->shape->quoted));
    ok = sqlite_ask(d, buf_view(&text), &stmt, err) &&
         sqlite_step(d, stmt, "counting rows", &row, err);
    if (ok) {
        *ret = sqlite3_column_int64(stmt, 0);
        sqlite_end(stmt);
    }
    buf_done(&text);
    return ok;
}

/* ---- writing ---- */

/* What foreign keys say of a call that has written: as a statement of other databases that writes
 * all the rows at once. */
static bool writing_is_fine(struct sqlite_database *d, struct err *err)
{
    int open = 0, high;

    (void)sqlite3_db_status(d->handle, SQLITE_DBSTATUS_DEFERRED_FKS, &open, &high, 0);
    return open == 0 ||
           err_set(err, ERR_PERMANENT, 0, "a foreign key has no row that it refers to");
}

/* Runs a statement for each of `count` rows of `wide` cells. */
static bool writing_go(struct sqlite_database *d, const struct buf *text, const struct fit *fit,
                       const struct cell *cells, size_t wide, size_t count, int64_t *ret_changed,
                       struct err *err)
{
    sqlite3_stmt *stmt;

    if (!sqlite_ask(d, buf_view(text), &stmt, err))
        return false;
    for (size_t n = 0; n < count; n++) {
        arena_reset(&d->row);
        for (size_t i = 0; i < wide; i++)
            if (!sqlite_bind(d, stmt, (int)i + 1, sqlite_column(fit, i), &cells[n * wide + i],
                             err)) {
                sqlite_end(stmt);
                return false;
            }
        if (!sqlite_finish(d, stmt, "writing", err))
            return false;
        if (ret_changed != NULL)
            *ret_changed += sqlite3_changes64(d->handle);
    }
    return writing_is_fine(d, err);
}

/* OR ABORT: a table that is made with ON CONFLICT REPLACE would remove rows of other keys. */
static void writing_put_insert(struct buf *text, const struct fit *fit)
{
    buf_printf(text, "INSERT OR ABORT INTO %.*s (", STR_ARG(fit->shape->quoted));
    rows_put_columns(text, "", fit, fit->count);
    buf_puts(text, ") VALUES (");
    sqlite_put_places(text, 1, fit->count);
    buf_putc(text, ')');
}

bool sqlite_add(struct database *db, const struct fit *fit, const struct cell *rows, size_t count,
                struct err *err)
{
    struct buf text = BUF_INIT(SQLITE_TEXT_MOST);

    writing_put_insert(&text, fit);
    bool ok = writing_go(sqlite_of(db), &text, fit, rows, fit->count, count, NULL, err);

    buf_done(&text);
    return ok;
}

bool sqlite_upsert(struct database *db, const struct fit *fit, const struct cell *rows,
                   size_t count, struct err *err)
{
    struct buf text = BUF_INIT(SQLITE_TEXT_MOST);

    writing_put_insert(&text, fit);
    buf_puts(&text, " ON CONFLICT (");
    sqlite_put_keys(&text, "", fit);
    buf_puts(&text, fit->count > fit->key_count ? ") DO UPDATE SET " : ") DO NOTHING");
    for (size_t i = fit->key_count; i < fit->count; i++) {
        buf_puts(&text, i > fit->key_count ? ", " : "");
        sqlite_put_column(&text, "", fit, i);
        sqlite_put_column(&text, " = excluded.", fit, i);
    }
    bool ok = writing_go(sqlite_of(db), &text, fit, rows, fit->count, count, NULL, err);

    buf_done(&text);
    return ok;
}

bool sqlite_remove(struct database *db, const struct fit *fit, const struct cell *keys,
                   size_t count, int64_t *ret_removed, struct err *err)
{
    struct buf text = BUF_INIT(SQLITE_TEXT_MOST);
    int64_t removed = 0;

    buf_printf(&text, "DELETE FROM %.*s AS t WHERE ", STR_ARG(fit->shape->quoted));
    rows_put_key_is(&text, fit);
    bool ok = writing_go(sqlite_of(db), &text, fit, keys, fit->key_count, count, &removed, err);

    if (ok)
        *ret_removed = removed;
    buf_done(&text);
    return ok;
}
