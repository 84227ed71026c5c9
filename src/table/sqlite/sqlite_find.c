/* sqlite_find.c - rows that should not be there (sought.h).
 *
 * SQLite sorts in our memory, also for groups without an index and for a join without one: so it is
 * asked how it would go about it, and a table that is too large for that is not looked at.
 *
 * Times are texts here, compared as what they mean (sqlite_column.c): a text with a zone as an
 * instant, one without by the clock of columns without a zone.  A value that is no time is an
 * error: nobody knows how old it is.
 */
#include <sqlite3.h>
#include <string.h>

#include "base/auto.h"
#include "table/sought.h"
#include "table/sqlite/sqlite_database.h"

enum {
    FIND_MEMORY = 256 << 20, /* that a sort may need */
    FIND_ROW = 100,          /* ... of each row, beside its values */
    BEFORE_PLACES = 2,       /* ?1 and ?2 are the two forms of a time */
};

/* ---- parts of statements ---- */

static void sqlite_find_put_column(struct buf *to, const char *table, const struct shape_column *c)
{
    buf_puts(to, table);
    sqlite_name(to, c->name);
}

static void sqlite_find_put_shown(struct buf *to, const struct sought *s)
{
    size_t places[SOUGHT_SHOWN_MOST], n = sought_shown(s, places);

    for (size_t i = 0; i < n; i++) {
        const struct shape_column *c = &s->shape->columns[places[i]];

        sqlite_find_put_column(to, i > 0 ? ", CASE typeof(t." : "CASE typeof(t.", c);
        sqlite_find_put_column(to, ") WHEN 'blob' THEN hex(substr(t.", c);
        buf_printf(to, ", 1, %d)) ELSE substr(CAST(", SOUGHT_VALUE_MOST / 2 + 1);
        sqlite_find_put_column(to, "t.", c);
        buf_printf(to, " AS TEXT), 1, %d) END", SOUGHT_VALUE_MOST + 1);
    }
    buf_puts(to, s->kind == SOUGHT_DUPLICATES ? ", CAST(count(*) AS TEXT)" : "");
}

static void sqlite_find_put_us(struct buf *to, const struct shape_column *c, enum cell_type type)
{
    sqlite_find_put_column(to, "waybill_us(t.", c);
    buf_printf(to, ", %d)", (int)type);
}

/* A text that was not declared as a time may have a zone, or none. */
static bool sqlite_find_is_either(const struct shape_column *c)
{
    return c->natural == CELL_LOCAL || c->natural == CELL_TEXT;
}

static void sqlite_find_put_older(struct buf *to, const struct shape_column *c)
{
    if (!sqlite_find_is_either(c)) {
        buf_puts(to, " AND ");
        sqlite_find_put_us(to, c, c->natural);
        buf_puts(to, " < ?1");
        return;
    }
    buf_puts(to, " AND CASE WHEN ");
    sqlite_find_put_us(to, c, CELL_LOCAL);
    buf_puts(to, " IS NOT NULL THEN ");
    sqlite_find_put_us(to, c, CELL_LOCAL);
    buf_puts(to, " < ?2 ELSE ");
    sqlite_find_put_us(to, c, CELL_INSTANT);
    buf_puts(to, " < ?1 END");
}

static void sqlite_find_put_no_time(struct buf *to, const struct shape_column *c)
{
    buf_puts(to, " AND ");
    sqlite_find_put_us(to, c, sqlite_find_is_either(c) ? CELL_LOCAL : c->natural);
    buf_puts(to, " IS NULL");
    if (!sqlite_find_is_either(c))
        return;
    buf_puts(to, " AND ");
    sqlite_find_put_us(to, c, CELL_INSTANT);
    buf_puts(to, " IS NULL");
}

/* FROM and WHERE; the values are ?4 and so on. */
static void sqlite_find_put_from(struct buf *to, const struct sought *s)
{
    buf_printf(to, " FROM %.*s AS t WHERE 1", STR_ARG(s->shape->quoted));
    for (size_t i = 0; i < s->value_count; i++) {
        sqlite_find_put_column(to, " AND t.", &s->shape->columns[s->values[i].column]);
        if (s->values[i].value.type == CELL_NULL)
            buf_puts(to, " IS NULL");
        else
            buf_printf(to, " = ?%zu", BEFORE_PLACES + 2 + i);
    }
    for (size_t i = 0; i < s->count; i++) {
        sqlite_find_put_column(to, " AND t.", sought_column(s, i));
        buf_puts(to, " IS NOT NULL");
    }
}

static void sqlite_find_put_none(struct buf *to, const struct sought *s)
{
    buf_printf(to, " AND NOT EXISTS (SELECT 1 FROM %.*s AS k WHERE ", STR_ARG(s->in->quoted));
    for (size_t i = 0; i < s->count; i++) {
        sqlite_find_put_column(to, i > 0 ? " AND k." : "k.", &s->in->columns[s->keys[i]]);
        sqlite_find_put_column(to, " = t.", sought_column(s, i));
    }
    buf_putc(to, ')');
}

static void sqlite_find_put(struct buf *to, const struct sought *s)
{
    buf_puts(to, s->kind == SOUGHT_ROWS ? "SELECT count(*) FROM (SELECT 1" : "SELECT ");
    if (s->kind != SOUGHT_ROWS)
        sqlite_find_put_shown(to, s);
    sqlite_find_put_from(to, s);
    if (s->kind == SOUGHT_OLDER)
        sqlite_find_put_older(to, sought_column(s, 0));
    if (s->kind == SOUGHT_ORPHANS)
        sqlite_find_put_none(to, s);
    if (s->kind == SOUGHT_DUPLICATES) {
        buf_puts(to, " GROUP BY ");
        for (size_t i = 0; i < s->count; i++)
            sqlite_find_put_column(to, i > 0 ? ", t." : "t.", sought_column(s, i));
        buf_puts(to, " HAVING count(*) > 1");
    }
    buf_puts(to, s->kind == SOUGHT_ROWS ? " LIMIT ?3)" : " LIMIT ?3");
}

/* ---- values ---- */

/* Places that a statement does not have are left out. */
static bool sqlite_find_bind(struct sqlite_database *d, sqlite3_stmt *stmt, const struct sought *s,
                             struct err *err)
{
    int places = sqlite3_bind_parameter_count(stmt);
    struct cell before = { .i = s->before_us };

    if (s->kind == SOUGHT_OLDER && !sqlite_find_is_either(sought_column(s, 0)) &&
        !sought_before(s, &before, err))
        return false;
    if (s->kind == SOUGHT_OLDER && places >= 1)
        sqlite_bind_int(stmt, 1, before.i);
    if (s->kind == SOUGHT_OLDER && places >= BEFORE_PLACES)
        sqlite_bind_int(stmt, BEFORE_PLACES, s->before_local_us);
    if (places > BEFORE_PLACES)
        sqlite_bind_int(stmt, BEFORE_PLACES + 1, s->most);
    for (size_t i = 0; i < s->value_count; i++)
        if (s->values[i].value.type != CELL_NULL &&
            !sqlite_bind(d, stmt, (int)(BEFORE_PLACES + 2 + i),
                         &s->shape->columns[s->values[i].column], &s->values[i].value, err))
            return false;
    return true;
}

/* A statement with its values, at its first row. */
static bool sqlite_find_start(struct sqlite_database *d, const struct buf *text,
                              const struct sought *s, sqlite3_stmt **ret, bool *ret_row,
                              struct err *err)
{
    if (!sqlite_ask(d, buf_view(text), ret, err))
        return false;
    if (!sqlite_find_bind(d, *ret, s, err)) {
        sqlite_end(*ret);
        return false;
    }
    return sqlite_step(d, *ret, "looking", ret_row, err);
}

/* ---- how much memory it needs ---- */

/* *ret: it would sort rows of the table, or of the other one. */
static bool sqlite_find_sorts(struct sqlite_database *d, const struct buf *text, bool *ret,
                              struct err *err)
{
    AUTO(buf_done) struct buf plan = BUF_INIT(SQLITE_TEXT_MOST);
    sqlite3_stmt *stmt;
    bool row = true, ok = true;

    *ret = false;
    buf_printf(&plan, "EXPLAIN QUERY PLAN %.*s", STR_ARG(buf_view(text)));
    if (!sqlite_ask(d, buf_view(&plan), &stmt, err))
        return false;
    while ((ok = sqlite_step(d, stmt, "looking", &row, err)) && row) {
        const char *detail = (const char *)sqlite3_column_text(stmt, 3);

        *ret = *ret || (detail != NULL && (strstr(detail, "TEMP B-TREE") != NULL ||
                                           strstr(detail, "AUTOMATIC") != NULL));
    }
    if (ok)
        sqlite_end(stmt);
    return ok;
}

static bool sqlite_find_weighs(struct sqlite_database *d, const struct shape *shape,
                               const size_t *columns, size_t count, struct err *err)
{
    AUTO(buf_done) struct buf text = BUF_INIT(SQLITE_TEXT_MOST);
    sqlite3_stmt *stmt;
    bool row;

    buf_puts(&text, "SELECT count(*), total(0");
    for (size_t i = 0; i < count; i++) {
        sqlite_find_put_column(&text, " + ifnull(length(t.", &shape->columns[columns[i]]);
        buf_puts(&text, "), 0)");
    }
    buf_printf(&text, ") FROM %.*s AS t", STR_ARG(shape->quoted));
    if (!sqlite_ask(d, buf_view(&text), &stmt, err) || !sqlite_step(d, stmt, "looking", &row, err))
        return false;
    double rows = sqlite3_column_double(stmt, 0), bytes = sqlite3_column_double(stmt, 1);

    sqlite_end(stmt);
    return rows * FIND_ROW + bytes * 2 <= FIND_MEMORY ||
           err_set(err, ERR_LIMIT, 0,
                   "table %.*s has %.0f rows and no index that begins with these columns; to sort "
                   "them takes more than %d MiB of memory: make such an index",
                   STR_ARG(str_first(shape->name, 60)), rows, FIND_MEMORY >> 20);
}

static bool sqlite_find_fits(struct sqlite_database *d, const struct buf *text,
                             const struct sought *s, struct err *err)
{
    bool sorts = false;

    if (s->kind != SOUGHT_DUPLICATES && s->kind != SOUGHT_ORPHANS)
        return true;
    if (!sqlite_find_sorts(d, text, &sorts, err))
        return false;
    return !sorts || (s->kind == SOUGHT_DUPLICATES
                          ? sqlite_find_weighs(d, s->shape, s->columns, s->count, err)
                          : sqlite_find_weighs(d, s->in, s->keys, s->count, err));
}

/* ---- asking ---- */

static bool sqlite_find_has_times(struct sqlite_database *d, const struct sought *s,
                                  struct err *err)
{
    AUTO(buf_done) struct buf text = BUF_INIT(SQLITE_TEXT_MOST);
    const struct shape_column *c = sought_column(s, 0);
    struct cell before;
    sqlite3_stmt *stmt;
    bool row;

    if (c->natural != CELL_TEXT && !sought_before(s, &before, err))
        return false;
    buf_puts(&text, "SELECT 1");
    sqlite_find_put_from(&text, s);
    sqlite_find_put_no_time(&text, c);
    buf_puts(&text, " LIMIT 1");
    if (!sqlite_find_start(d, &text, s, &stmt, &row, err))
        return false;
    sqlite_end(stmt);
    return !row || err_set(err, ERR_PERMANENT, 0,
                           "column %.*s has values that are no times as text (2026-11-19 07:00:00)",
                           STR_ARG(str_first(c->name, 60)));
}

static void sqlite_find_take(const struct sought *s, sqlite3_stmt *stmt, struct arena *a,
                             struct found *ret)
{
    struct str texts[SOUGHT_SHOWN_MOST + 1];
    int n = sqlite3_column_count(stmt);

    if (s->kind == SOUGHT_ROWS) {
        ret->count = sqlite3_column_int64(stmt, 0);
        return;
    }
    for (int i = 0; i < n; i++)
        texts[i] = sqlite3_column_type(stmt, i) == SQLITE_NULL ? (struct str){ 0 }
                                                               : sqlite_text_at(stmt, i);
    found_add(ret, s, texts, a);
}

bool sqlite_find_rows(struct database *db, const struct sought *s, struct arena *a,
                      struct found *ret, struct err *err)
{
    AUTO(buf_done) struct buf text = BUF_INIT(SQLITE_TEXT_MOST);
    struct sqlite_database *d = sqlite_of(db);
    sqlite3_stmt *stmt;
    bool row;

    *ret = (struct found){ 0 };
    if (s->kind == SOUGHT_OLDER && !sqlite_find_has_times(d, s, err))
        return false;
    sqlite_find_put(&text, s);
    if (!sqlite_find_fits(d, &text, s, err) || !sqlite_find_start(d, &text, s, &stmt, &row, err))
        return false;
    while (row) {
        sqlite_find_take(s, stmt, a, ret);
        if (!sqlite_step(d, stmt, "looking", &row, err))
            return false;
    }
    sqlite_end(stmt);
    return true;
}
