/* sqlite_changes.c - the changes of a captured table of a SQLite file.
 *
 * Each change has an x of its own and there is one writer at a time: what is there is final, and
 * the ceiling is behind the counter.  Of two keys with the same x, which only a copy that was put
 * together by hand has, the place still says where it was.
 */
#include <sqlite3.h>

#include "table/sqlite/sqlite_database.h"

bool sqlite_ceiling(struct database *db, const struct fit *fit, const struct capture *capture,
                    struct ceiling *ret, struct err *err)
{
    struct sqlite_database *d = sqlite_of(db);
    sqlite3_stmt *stmt;
    bool row;

    if (!sqlite_here(d, err))
        return false;
    if (capture->kind == CAPTURE_COLUMN)
        return sqlite_column_ceiling(d, fit, capture, ret, err);
    if (!sqlite_ask(d, STR("SELECT x FROM main.waybill_capture WHERE tbl = ?1"), &stmt, err))
        return false;
    if (!sqlite_bind_text(d, stmt, 1, fit->shape->name, err) ||
        !sqlite_step(d, stmt, "the number of the last change", &row, err)) {
        sqlite_end(stmt);
        return false;
    }
    int64_t x = row ? sqlite3_column_int64(stmt, 0) : 0;

    sqlite_end(stmt);
    if (!row)
        return err_set(err, ERR_CONFIG, 0, "waybill_capture does not know the table");
    *ret = (struct ceiling){ .below = x + 1, .now_x = x + 1 };
    return true;
}

/* ---- places ---- */

/* "j.x >= ?1 AND (j.x > ?1 OR (j.k1, j.k2) > (?4, ?5))" */
static void changes_put_behind(struct buf *to, const struct fit *fit,
                               const struct change_place *after)
{
    buf_puts(to, "j.x >= ?1");
    if (after->key.len == 0)
        return;
    buf_puts(to, " AND (j.x > ?1 OR (j.k1");
    for (size_t i = 1; i < fit->key_count; i++)
        buf_printf(to, ", j.k%zu", i + 1);
    buf_puts(to, ") > (");
    sqlite_put_places(to, 4, fit->key_count);
    buf_puts(to, "))");
}

static bool changes_bind(struct sqlite_database *d, sqlite3_stmt *stmt, const struct fit *fit,
                         const struct change_place *after, int64_t below, size_t most,
                         struct err *err)
{
    struct cell *key;

    arena_reset(&d->row);
    sqlite_bind_int(stmt, 1, after->x);
    if (sqlite3_bind_parameter_index(stmt, "?2") > 0)
        sqlite_bind_int(stmt, 2, below);
    sqlite_bind_int(stmt, 3, most > INT64_MAX ? INT64_MAX : (int64_t)most);
    return after->key.len == 0 || (sqlite_place_key(d, fit, after->key, &key, err) &&
                                   sqlite_bind_key(d, stmt, 4, fit, key, err));
}

/* ---- reading ---- */

enum { CHANGE_CELLS = 3 };

struct changes_reading {
    struct sqlite_database *d;
    const struct fit *fit;
    struct cell *cells;
};

/* Of a row "x, origin, at_us, k1, ..., whether there is no row, the other columns". */
static bool change_read(struct changes_reading *r, sqlite3_stmt *stmt, struct change *ret,
                        struct err *err)
{
    const struct fit *fit = r->fit;
    size_t keys = fit->key_count;
    bool whole = true;

    arena_reset(&r->d->row);
    *ret = (struct change){ .x = sqlite3_column_int64(stmt, 0),
                            .origin = sqlite_text_at(stmt, 1),
                            .at_us = sqlite3_column_int64(stmt, 2),
                            .cells = r->cells };
    for (size_t i = 0; i < keys; i++) {
        if (!sqlite_read(r->d, stmt, (int)i + CHANGE_CELLS, sqlite_column(fit, i), &r->cells[i],
                         err))
            return false;
        whole = whole && r->cells[i].type != CELL_NULL;
    }
    ret->gone = whole && sqlite3_column_int(stmt, (int)keys + CHANGE_CELLS) != 0;
    for (size_t i = keys; i < fit->count; i++) {
        r->cells[i] = (struct cell){ .type = CELL_NULL };
        if (!ret->gone && !sqlite_read(r->d, stmt, (int)i + CHANGE_CELLS + 1, sqlite_column(fit, i),
                                       &r->cells[i], err))
            return false;
    }
    return true;
}

static bool changes_go(struct changes_reading *r, sqlite3_stmt *stmt, change_fn *fn, void *arg,
                       struct err *err)
{
    struct change change;
    bool row, more = true;

    while (more) {
        if (!sqlite_step(r->d, stmt, "reading changes", &row, err))
            return false;
        if (!row)
            break;
        if (!change_read(r, stmt, &change, err)) {
            sqlite_end(stmt);
            return false;
        }
        err->kind = ERR_NONE;
        more = fn(arg, &change, err);
    }
    sqlite_end(stmt);
    return more || err->kind == ERR_NONE;
}

static void changes_put(struct buf *to, const struct fit *fit, const struct change_place *after)
{
    buf_puts(to, "SELECT j.x, j.origin, j.at_us");
    for (size_t i = 0; i < fit->key_count; i++)
        buf_printf(to, ", j.k%zu", i + 1);
    sqlite_put_column(to, ", t.", fit, 0);
    buf_puts(to, " IS NULL");
    for (size_t i = fit->key_count; i < fit->count; i++)
        sqlite_put_column(to, ", t.", fit, i);
    buf_puts(to, " FROM main.");
    sqlite_journal(to, fit->shape->name);
    buf_printf(to, " AS j LEFT JOIN %.*s AS t ON ", STR_ARG(fit->shape->quoted));
    for (size_t i = 0; i < fit->key_count; i++) {
        sqlite_put_column(to, i > 0 ? " AND t." : "t.", fit, i);
        buf_printf(to, " = j.k%zu", i + 1);
    }
    buf_puts(to, " WHERE ");
    changes_put_behind(to, fit, after);
    buf_puts(to, " AND j.x < ?2 ORDER BY j.x LIMIT ?3");
}

bool sqlite_changes(struct database *db, const struct fit *fit, const struct capture *capture,
                    const struct change_place *after, int64_t below, size_t most, change_fn *fn,
                    void *arg, struct err *err)
{
    struct sqlite_database *d = sqlite_of(db);
    struct buf text = BUF_INIT(SQLITE_TEXT_MOST);
    struct arena kept = ARENA_INIT(1 << 20);
    struct changes_reading r = { .d = d, .fit = fit };
    sqlite3_stmt *stmt;

    if (capture->kind == CAPTURE_COLUMN)
        return sqlite_column_changes(d, fit, capture, after, below, most, fn, arg, err);
    r.cells = ARENA_ARRAY(&kept, struct cell, fit->count + 1);
    changes_put(&text, fit, after);
    bool ok = sqlite_ask(d, buf_view(&text), &stmt, err);

    if (ok && !changes_bind(d, stmt, fit, after, below, most, err)) {
        sqlite_end(stmt);
        ok = false;
    }
    ok = ok && changes_go(&r, stmt, fn, arg, err);
    arena_done(&kept);
    buf_done(&text);
    return ok;
}

/* ---- one key, all that wait, and what is not there any more ---- */

bool sqlite_changes_of(struct database *db, const struct fit *fit, const struct cell *keys,
                       size_t count, change_fn *fn, void *arg, struct err *err)
{
    struct sqlite_database *d = sqlite_of(db);
    struct buf text = BUF_INIT(SQLITE_TEXT_MOST);
    bool ok = true, row = true, more = true;
    sqlite3_stmt *stmt;

    buf_puts(&text, "SELECT j.x, j.origin, j.at_us FROM main.");
    sqlite_journal(&text, fit->shape->name);
    for (size_t i = 0; i < fit->key_count; i++)
        buf_printf(&text, "%s j.k%zu = ?%zu", i > 0 ? " AND" : " AS j WHERE", i + 1, i + 1);
    for (size_t i = 0; ok && more && i < count; i++) {
        const struct cell *key = &keys[i * fit->key_count];

        arena_reset(&d->row);
        if (!sqlite_ask(d, buf_view(&text), &stmt, err)) {
            ok = false;
            break;
        }
        ok = sqlite_bind_key(d, stmt, 1, fit, key, err) &&
             sqlite_step(d, stmt, "the last change of a key", &row, err);
        if (ok && row) {
            const struct change c = { .x = sqlite3_column_int64(stmt, 0),
                                      .origin = sqlite_text_at(stmt, 1),
                                      .at_us = sqlite3_column_int64(stmt, 2),
                                      .cells = key };

            err->kind = ERR_NONE;
            more = fn(arg, &c, err);
            ok = more || err->kind == ERR_NONE;
        }
        sqlite_end(stmt);
    }
    buf_done(&text);
    return ok;
}

bool sqlite_backlog(struct database *db, const struct fit *fit, const struct change_place *after,
                    int64_t most, int64_t *ret, struct err *err)
{
    struct sqlite_database *d = sqlite_of(db);
    struct buf text = BUF_INIT(SQLITE_TEXT_MOST);
    sqlite3_stmt *stmt;
    bool row;

    buf_puts(&text, "SELECT count(*) FROM (SELECT 1 FROM main.");
    sqlite_journal(&text, fit->shape->name);
    buf_puts(&text, " AS j WHERE ");
    changes_put_behind(&text, fit, after);
    buf_puts(&text, " LIMIT ?3)");
    bool ok = sqlite_ask(d, buf_view(&text), &stmt, err);

    buf_done(&text);
    if (!ok)
        return false;
    ok = changes_bind(d, stmt, fit, after, 0, most > 0 ? (size_t)most : 0, err) &&
         sqlite_step(d, stmt, "counting changes", &row, err);
    if (ok)
        *ret = sqlite3_column_int64(stmt, 0);
    sqlite_end(stmt);
    return ok;
}

bool sqlite_pruned(struct database *db, const struct fit *fit, int64_t *ret, struct err *err)
{
    struct sqlite_database *d = sqlite_of(db);
    sqlite3_stmt *stmt;
    bool row;

    *ret = 0;
    if (!sqlite_ask(d, STR("SELECT pruned FROM main.waybill_capture WHERE tbl = ?1"), &stmt, err))
        return false;
    bool ok = sqlite_bind_text(d, stmt, 1, fit->shape->name, err) &&
              sqlite_step(d, stmt, "what was pruned", &row, err);

    if (ok && row)
        *ret = sqlite3_column_int64(stmt, 0);
    sqlite_end(stmt);
    return ok;
}
