/* sqlite_mark.c - what a link keeps in a SQLite file: how far it is, and where what it writes comes
 * from.
 *
 * An origin stands in the rows of waybill_capture while the transaction is open, where the triggers
 * read it: it is never committed, so others do not see it.
 */
#include <sqlite3.h>
#include <stdio.h>

#include "table/sqlite/sqlite_database.h"

/* ---- statements for people ---- */

bool sqlite_plan_mark(struct database *db, struct arena *a, struct ddl *ret, struct err *err)
{
    struct sqlite_database *d = sqlite_of(db);
    bool has;

    if (!sqlite_here(d, err) ||
        !sqlite_schema_has(d, "table", STR("waybill_applied"), a, &has, NULL, err))
        return false;
    *ret = (struct ddl){ .statements = ARENA_ARRAY(a, struct ddl_statement, 1), .count = !has };
    ret->statements[0] = (struct ddl_statement){
        .text = STR("CREATE TABLE IF NOT EXISTS waybill_applied (link TEXT NOT NULL, tbl TEXT NOT "
                    "NULL, epoch TEXT NOT NULL, life TEXT NOT NULL, phase INTEGER NOT NULL, x "
                    "INTEGER NOT NULL, place_key BLOB NOT NULL, load_key BLOB NOT NULL, fence "
                    "INTEGER NOT NULL, batches INTEGER NOT NULL, rows INTEGER NOT NULL, at_us "
                    "INTEGER NOT NULL, PRIMARY KEY (link, tbl))"),
        .purpose = "how far the tables of links are"
    };
    return true;
}

bool sqlite_plan_mark_removal(struct database *db, struct str link, struct str table,
                              struct arena *a, struct ddl *ret, struct err *err)
{
    struct sqlite_database *d = sqlite_of(db);
    struct buf text = BUF_INIT(SQLITE_TEXT_MOST);
    bool has;

    if (!sqlite_here(d, err) ||
        !sqlite_schema_has(d, "table", STR("waybill_applied"), a, &has, NULL, err))
        return false;
    *ret =
        (struct ddl){ .statements = ARENA_ARRAY(a, struct ddl_statement, 2), .count = has ? 2 : 0 };
    buf_puts(&text, "DELETE FROM waybill_applied WHERE link = ");
    sqlite_literal(&text, link);
    buf_puts(&text, " AND tbl = ");
    sqlite_literal(&text, table);
    buf_puts(&text, SQLITE_IF_THERE);
    ret->statements[0] = (struct ddl_statement){ .text = arena_copy(a, buf_view(&text)),
                                                 .purpose = "how far the table of the link is" };
    buf_clear(&text);
    buf_puts(&text, "DROP TABLE waybill_applied" SQLITE_IF_EMPTY ", behind ");
    sqlite_literal(&text, link);
    buf_putc(&text, ' ');
    sqlite_literal(&text, table);
    ret->statements[1] = (struct ddl_statement){ .text = arena_copy(a, buf_view(&text)),
                                                 .purpose = "how far the tables of links are" };
    buf_done(&text);
    return true;
}

/* *ret_skip: there is nothing to do any more, or not yet. */
static bool ddl_skips(struct sqlite_database *d, struct str statement, struct str table,
                      const char *drop, const char *remove, bool *ret_skip, struct err *err)
{
    bool is_drop = str_starts(statement, str_of(drop)), has, row = false;
    char text[64];
    sqlite3_stmt *stmt;

    if (!is_drop && !str_starts(statement, str_of(remove)))
        return true;
    if (!sqlite_schema_has(d, "table", table, NULL, &has, NULL, err))
        return false;
    *ret_skip = !has;
    if (!has || !is_drop)
        return true;
    (void)snprintf(text, sizeof text, "SELECT 1 FROM main.%.*s LIMIT 1", STR_ARG(table));
    if (!sqlite_ask(d, str_of(text), &stmt, err) || !sqlite_step(d, stmt, "looking", &row, err))
        return false;
    sqlite_end(stmt);
    *ret_skip = row;
    return true;
}

bool sqlite_run_ddl(struct database *db, struct str statement, struct err *err)
{
    struct sqlite_database *d = sqlite_of(db);
    struct buf text = BUF_INIT(SQLITE_TEXT_MOST);
    bool skip = false, ok;

    if (!sqlite_here(d, err) ||
        !ddl_skips(d, statement, STR("waybill_capture"),
                   "DROP TABLE waybill_capture" SQLITE_IF_EMPTY,
                   "DELETE FROM waybill_capture WHERE ", &skip, err) ||
        !ddl_skips(d, statement, STR("waybill_applied"),
                   "DROP TABLE waybill_applied" SQLITE_IF_EMPTY,
                   "DELETE FROM waybill_applied WHERE ", &skip, err))
        return false;
    if (skip)
        return true;
    sqlite_forget(d);
    ok = buf_append(&text, statement, err) && sqlite_run(d, text.ptr, "a statement", err);
    buf_done(&text);
    return ok;
}

/* ---- marks ---- */

static bool sqlite_mark_bind_of(struct sqlite_database *d, sqlite3_stmt *stmt, struct str link,
                                struct str table, struct err *err)
{
    if (sqlite_bind_text(d, stmt, 1, link, err) && sqlite_bind_text(d, stmt, 2, table, err))
        return true;
    sqlite_end(stmt);
    return false;
}

static void sqlite_mark_read_of(sqlite3_stmt *stmt, struct arena *a, struct mark *ret)
{
    *ret = (struct mark){
        .epoch = arena_copy(a, sqlite_text_at(stmt, 0)),
        .life = arena_copy(a, sqlite_text_at(stmt, 1)),
        .phase = (enum mark_phase)sqlite3_column_int(stmt, 2),
        .place = { .x = sqlite3_column_int64(stmt, 3),
                   .key = arena_copy(a, sqlite_text_at(stmt, 4)) },
        .load_key = arena_copy(a, sqlite_text_at(stmt, 5)),
        .fence = sqlite3_column_int64(stmt, 6),
        .batches = sqlite3_column_int64(stmt, 7),
        .rows = sqlite3_column_int64(stmt, 8),
        .at_us = sqlite3_column_int64(stmt, 9),
    };
}

bool sqlite_mark_get(struct database *db, struct str link, struct str table, struct arena *a,
                     bool *ret_has, struct mark *ret, struct err *err)
{
    struct sqlite_database *d = sqlite_of(db);
    sqlite3_stmt *stmt;
    bool row, ok = true;

    if (!sqlite_ask(d,
                    STR("SELECT epoch, life, phase, x, place_key, load_key, fence, batches, rows, "
                        "at_us FROM main.waybill_applied WHERE link = ?1 AND tbl = ?2"),
                    &stmt, err) ||
        !sqlite_mark_bind_of(d, stmt, link, table, err) ||
        !sqlite_step(d, stmt, "reading the mark", &row, err))
        return false;
    if (row && sqlite3_column_int64(stmt, 2) >= MARK_LOAD &&
        sqlite3_column_int64(stmt, 2) <= MARK_FOLLOW)
        sqlite_mark_read_of(stmt, a, ret);
    else if (row)
        ok = err_set(err, ERR_CONFIG, 0, "the mark of the table in waybill_applied is damaged");
    sqlite_end(stmt);
    if (ok)
        *ret_has = row;
    return ok;
}

bool sqlite_mark_put(struct database *db, struct str link, struct str table,
                     const struct mark *mark, struct err *err)
{
    struct sqlite_database *d = sqlite_of(db);
    sqlite3_stmt *stmt;

    if (!sqlite_ask(d,
                    STR("INSERT OR REPLACE INTO main.waybill_applied (link, tbl, epoch, life, "
                        "phase, x, place_key, load_key, fence, batches, rows, at_us) VALUES (?1, "
                        "?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"),
                    &stmt, err) ||
        !sqlite_mark_bind_of(d, stmt, link, table, err))
        return false;
    if (!sqlite_bind_text(d, stmt, 3, mark->epoch, err) ||
        !sqlite_bind_text(d, stmt, 4, mark->life, err) ||
        !sqlite_bind_bytes(d, stmt, 7, mark->place.key, err) ||
        !sqlite_bind_bytes(d, stmt, 8, mark->load_key, err)) {
        sqlite_end(stmt);
        return false;
    }
    sqlite_bind_int(stmt, 5, mark->phase);
    sqlite_bind_int(stmt, 6, mark->place.x);
    sqlite_bind_int(stmt, 9, mark->fence);
    sqlite_bind_int(stmt, 10, mark->batches);
    sqlite_bind_int(stmt, 11, mark->rows);
    sqlite_bind_int(stmt, 12, mark->at_us);
    return sqlite_finish(d, stmt, "writing the mark", err);
}

bool sqlite_mark_drop(struct database *db, struct str link, struct str table, struct err *err)
{
    struct sqlite_database *d = sqlite_of(db);
    sqlite3_stmt *stmt;

    return sqlite_ask(d, STR("DELETE FROM main.waybill_applied WHERE link = ?1 AND tbl = ?2"),
                      &stmt, err) &&
           sqlite_mark_bind_of(d, stmt, link, table, err) &&
           sqlite_finish(d, stmt, "removing the mark", err);
}

/* ---- origin ---- */

static bool origin_put(struct sqlite_database *d, struct str origin, int64_t at_us, struct err *err)
{
    sqlite3_stmt *stmt;

    if (!sqlite_ask(
            d,
            STR("UPDATE main.waybill_capture SET origin = ?1, at_us = ?2 WHERE origin <> ?1 OR "
                "at_us <> ?2"),
            &stmt, err))
        return false;
    if (!sqlite_bind_text(d, stmt, 1, origin, err)) {
        sqlite_end(stmt);
        return false;
    }
    sqlite_bind_int(stmt, 2, at_us);
    return sqlite_finish(d, stmt, "the origin of what is written", err);
}

bool sqlite_origin(struct database *db, struct str origin, int64_t at_us, struct err *err)
{
    struct sqlite_database *d = sqlite_of(db);
    bool has;

    if (origin.len == 0 && at_us == 0 && !d->has_origin)
        return true;
    if (!sqlite_schema_has(d, "table", STR("waybill_capture"), NULL, &has, NULL, err))
        return false;
    if (!has) /* nothing is captured here */
        return true;
    d->has_origin = true;
    return origin_put(d, origin, at_us, err);
}

bool sqlite_origin_clear(struct sqlite_database *d, struct err *err)
{
    if (!d->has_origin)
        return true;
    d->has_origin = false;
    return origin_put(d, STR(""), 0, err);
}
