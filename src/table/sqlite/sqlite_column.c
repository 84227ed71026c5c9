/* sqlite_column.c - changes of a table of a SQLite file by a column that grows with them.
 *
 * A number, or a time as text: in a file there is no better order of times than what they mean, so
 * they are compared as microseconds, by a function of ours; days in front of the place are left to
 * an index of the column if there is one.  Nothing says how late a row may appear, but what the
 * configuration allows for.
 */
#include <sqlite3.h>

#include "base/clock.h"
#include "table/sqlite/sqlite_database.h"

#define DAY_US       (24LL * 3600 * CLOCK_S)
#define YEAR_9999_US (253402300800LL * CLOCK_S)

/* waybill_us(value, cell type): microseconds, or NULL. */
static void column_us(sqlite3_context *sql, int count, sqlite3_value **values)
{
    struct arena a = ARENA_INIT(1 << 20);
    struct err why = { 0 };
    struct cell time;

    if (count == 2 && sqlite3_value_type(values[0]) == SQLITE_TEXT &&
        sqlite3_value_bytes(values[0]) < 100) {
        const char *text = (const char *)sqlite3_value_text(values[0]);
        const struct cell raw = { .type = CELL_TEXT, .s = str_of(text != NULL ? text : "") };

        if (cell_cast(&raw, (enum cell_type)sqlite3_value_int(values[1]), &a, &time, &why))
            sqlite3_result_int64(sql, time.i);
    }
    arena_done(&a);
}

bool sqlite_column_prepare(struct sqlite_database *d, struct err *err)
{
    int rc = sqlite3_create_function_v2(d->handle, "waybill_us", 2,
                                        SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY,
                                        NULL, column_us, NULL, NULL, NULL);

    return rc == SQLITE_OK ? true : sqlite_fail(d, rc, "opening", err);
}

static bool column_find(const struct fit *fit, const struct capture *capture,
                        const struct shape_column **ret, struct err *err)
{
    const struct shape_column *c = shape_column(fit->shape, capture->column);

    if (c == NULL)
        return err_set(err, ERR_CONFIG, 0, "there is no column %.*s to capture changes by",
                       STR_ARG(str_first(capture->column, 60)));
    if (c->natural != CELL_INT && c->natural != CELL_INSTANT && c->natural != CELL_LOCAL)
        return err_set(err, ERR_CONFIG, 0,
                       "changes cannot be captured by column %.*s: it is neither a number nor a "
                       "point in time",
                       STR_ARG(str_first(capture->column, 60)));
    *ret = c;
    return true;
}

bool sqlite_column_ceiling(struct sqlite_database *d, const struct fit *fit,
                           const struct capture *capture, struct ceiling *ret, struct err *err)
{
    struct buf text = BUF_INIT(SQLITE_TEXT_MOST);
    const struct shape_column *c;
    sqlite3_stmt *stmt;
    bool row, ok;

    if (!column_find(fit, capture, &c, err))
        return false;
    if (c->natural != CELL_INT) {
        int64_t now = clock_wall_us();

        *ret = (struct ceiling){ .below = now - capture->safety_us, .now_x = now };
        return true;
    }
    buf_puts(&text, "SELECT max(t.");
    sqlite_name(&text, c->name);
    buf_printf(&text, ") FROM %.*s AS t", STR_ARG(fit->shape->quoted));
    ok = sqlite_ask(d, buf_view(&text), &stmt, err) &&
         sqlite_step(d, stmt, "the largest number", &row, err);
    if (ok) {
        int64_t most = sqlite3_column_int64(stmt, 0), below;

        if (__builtin_sub_overflow(most, capture->safety_us - 1, &below))
            below = most;
        /* The row with the largest number may be removed: it says nothing of going back. */
        *ret = (struct ceiling){ .below = below, .now_x = INT64_MAX };
        sqlite_end(stmt);
    }
    buf_done(&text);
    return ok;
}

static void column_put_x(struct buf *to, const struct shape_column *c)
{
    buf_puts(to, c->natural == CELL_INT ? "t." : "waybill_us(t.");
    sqlite_name(to, c->name);
    if (c->natural != CELL_INT)
        buf_printf(to, ", %d)", (int)c->natural);
}

static bool column_has_days(const struct shape_column *c, const struct change_place *after)
{
    return c->natural != CELL_INT && after->x > DAY_US && after->x < YEAR_9999_US;
}

static void column_put(struct buf *to, const struct fit *fit, const struct shape_column *c,
                       const struct change_place *after)
{
    buf_puts(to, "SELECT ");
    column_put_x(to, c);
    for (size_t i = 0; i < fit->count; i++)
        sqlite_put_column(to, ", t.", fit, i);
    buf_printf(to, " FROM %.*s AS t WHERE ", STR_ARG(fit->shape->quoted));
    column_put_x(to, c);
    buf_puts(to, " >= ?1 AND ");
    column_put_x(to, c);
    buf_puts(to, " < ?2");
    if (after->key.len > 0) {
        buf_puts(to, " AND (");
        column_put_x(to, c);
        buf_puts(to, " > ?1 OR (");
        sqlite_put_keys(to, "t.", fit);
        buf_puts(to, ") > (");
        sqlite_put_places(to, 5, fit->key_count);
        buf_puts(to, "))");
    }
    if (column_has_days(c, after)) {
        buf_puts(to, " AND t.");
        sqlite_name(to, c->name);
        buf_puts(to, " >= ?4");
    }
    buf_puts(to, " ORDER BY 1, ");
    sqlite_put_keys(to, "t.", fit);
    buf_puts(to, " LIMIT ?3");
}

static bool column_bind(struct sqlite_database *d, sqlite3_stmt *stmt, const struct fit *fit,
                        const struct shape_column *c, const struct change_place *after,
                        int64_t below, size_t most, struct err *err)
{
    struct cell day = { .type = CELL_DATE, .i = after->x / DAY_US - 1 }, text, *key;

    arena_reset(&d->row);
    sqlite_bind_int(stmt, 1, after->x);
    sqlite_bind_int(stmt, 2, below);
    sqlite_bind_int(stmt, 3, most > INT64_MAX ? INT64_MAX : (int64_t)most);
    if (column_has_days(c, after) && (!cell_cast(&day, CELL_TEXT, &d->row, &text, err) ||
                                      !sqlite_bind_text(d, stmt, 4, text.s, err)))
        return false;
    return after->key.len == 0 || (sqlite_place_key(d, fit, after->key, &key, err) &&
                                   sqlite_bind_key(d, stmt, 5, fit, key, err));
}

static bool column_go(struct sqlite_database *d, sqlite3_stmt *stmt, const struct fit *fit,
                      struct cell *cells, change_fn *fn, void *arg, struct err *err)
{
    bool row, more = true;

    while (more) {
        if (!sqlite_step(d, stmt, "reading changes", &row, err))
            return false;
        if (!row)
            break;
        struct change change = { .x = sqlite3_column_int64(stmt, 0),
                                 .origin = STR(""),
                                 .cells = cells };

        arena_reset(&d->row);
        for (size_t i = 0; i < fit->count; i++)
            if (!sqlite_read(d, stmt, (int)i + 1, sqlite_column(fit, i), &cells[i], err)) {
                sqlite_end(stmt);
                return false;
            }
        err->kind = ERR_NONE;
        more = fn(arg, &change, err);
    }
    sqlite_end(stmt);
    return more || err->kind == ERR_NONE;
}

bool sqlite_column_changes(struct sqlite_database *d, const struct fit *fit,
                           const struct capture *capture, const struct change_place *after,
                           int64_t below, size_t most, change_fn *fn, void *arg, struct err *err)
{
    struct buf text = BUF_INIT(SQLITE_TEXT_MOST);
    struct arena kept = ARENA_INIT(1 << 20);
    const struct shape_column *c;
    sqlite3_stmt *stmt;

    if (!column_find(fit, capture, &c, err))
        return false;
    column_put(&text, fit, c, after);
    bool ok = sqlite_ask(d, buf_view(&text), &stmt, err);

    if (ok && !column_bind(d, stmt, fit, c, after, below, most, err)) {
        sqlite_end(stmt);
        ok = false;
    }
    ok = ok &&
         column_go(d, stmt, fit, ARENA_ARRAY(&kept, struct cell, fit->count + 1), fn, arg, err);
    arena_done(&kept);
    buf_done(&text);
    return ok;
}
