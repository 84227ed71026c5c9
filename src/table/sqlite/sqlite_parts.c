/* sqlite_parts.c - the journal of a table of a SQLite file and its triggers, as statements
 * (sqlite_capture.c). */
#include "table/sqlite/sqlite_parts.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "table/tombstone.h"

enum { INDEXES_MOST = 32, INDEX_COLUMNS_MOST = 64 };

/* ---- texts ---- */

/* "NEW.key1 IS j.k1 AND ...": equal, also where both are NULL. */
static void put_same(struct buf *to, const struct fit *fit, const char *left, const char *right)
{
    for (size_t i = 0; i < fit->key_count; i++) {
        buf_puts(to, i > 0 ? " AND " : "");
        if (left != NULL)
            sqlite_put_column(to, left, fit, i);
        else
            buf_printf(to, "k%zu", i + 1);
        sqlite_put_column(to, right, fit, i);
    }
}

static void put_journal_columns(struct buf *to, const struct fit *fit)
{
    for (size_t i = 0; i < fit->key_count; i++)
        buf_printf(to, ", k%zu", i + 1);
}

static void put_is_known(struct buf *to, const struct fit *fit, const char *row)
{
    for (size_t i = 0; i < fit->key_count; i++)
        if (sqlite_column(fit, i)->nullable) {
            sqlite_put_column(to, row, fit, i);
            buf_puts(to, " IS NOT NULL AND ");
        }
}

/* Microseconds since 1970, as far as SQLite tells them: milliseconds. */
#define SQLITE_NOW "(CAST((julianday('now') - 2440587.5) * 86400000 + 0.5 AS INTEGER) * 1000)"

/* Behind a removal, so that the journal does not keep for ever what was removed. */
static void put_prune(struct buf *to, const struct fit *fit)
{
    struct buf old = BUF_INIT(SQLITE_TEXT_MOST);

    buf_puts(&old, "(SELECT x FROM ");
    sqlite_journal(&old, fit->shape->name);
    buf_printf(&old, " WHERE gone_at < " SQLITE_NOW " - %lld ORDER BY gone_at LIMIT 2)",
               (long long)tombstone_age_us());
    buf_puts(to, "  UPDATE waybill_capture SET pruned = max(pruned, coalesce((SELECT max(x) FROM ");
    buf_put(to, buf_view(&old));
    buf_puts(to, "), 0)) WHERE tbl = ");
    sqlite_literal(to, fit->shape->name);
    buf_puts(to, ";\n  DELETE FROM ");
    sqlite_journal(to, fit->shape->name);
    buf_puts(to, " WHERE x IN ");
    buf_put(to, buf_view(&old));
    buf_puts(to, ";\n");
    buf_done(&old);
}

static void put_next(struct buf *to, const struct fit *fit)
{
    buf_puts(to, "  UPDATE waybill_capture SET x = x + 1 WHERE tbl = ");
    sqlite_literal(to, fit->shape->name);
}

/* Marks the key of a row, "NEW." or "OLD.".  That of a row that is gone has no place in the journal
 * if it is NULL in part: nobody can have the row. */
static void put_mark_of(struct buf *to, const struct fit *fit, const char *row, bool gone,
                        bool ages)
{
    char is[16];

    put_next(to, fit);
    buf_puts(to, ";\n  DELETE FROM ");
    sqlite_journal(to, fit->shape->name);
    buf_puts(to, " WHERE ");
    (void)snprintf(is, sizeof is, " IS %s", row);
    put_same(to, fit, NULL, is);
    buf_puts(to, ";\n  INSERT INTO ");
    sqlite_journal(to, fit->shape->name);
    buf_puts(to, " (x, origin, at_us, gone_at");
    put_journal_columns(to, fit);
    buf_printf(to, ") SELECT x, origin, coalesce(nullif(at_us, 0), " SQLITE_NOW "), %s, ",
               ages ? SQLITE_NOW : "NULL");
    sqlite_put_keys(to, row, fit);
    buf_puts(to, " FROM waybill_capture WHERE ");
    if (gone)
        put_is_known(to, fit, row);
    buf_puts(to, "tbl = ");
    sqlite_literal(to, fit->shape->name);
    buf_puts(to, ";\n");
    if (ages)
        put_prune(to, fit);
}

/* ---- parts ---- */

static void part_add(struct capture_parts *p, const char *type, const char *suffix,
                     const char *purpose, struct str sql, bool spare)
{
    struct buf name = BUF_INIT(4 * SHAPE_NAME_MOST);

    buf_printf(&name, "waybill_journal_%.*s%s", STR_ARG(p->fit->shape->name), suffix);
    p->part[p->count++] = (struct capture_part){ .type = type,
                                                 .suffix = suffix,
                                                 .purpose = purpose,
                                                 .name = arena_copy(p->a, buf_view(&name)),
                                                 .sql = arena_copy(p->a, sql),
                                                 .spare = spare,
                                                 .none = sql.len == 0 };
    buf_done(&name);
}

static void put_part_name(struct buf *to, const struct fit *fit, const char *suffix)
{
    struct buf name = BUF_INIT(4 * SHAPE_NAME_MOST);

    buf_printf(&name, "waybill_journal_%.*s%s", STR_ARG(fit->shape->name), suffix);
    sqlite_name(to, buf_view(&name));
    buf_done(&name);
}

static void parts_add_journal(struct capture_parts *p)
{
    static const char *const as[] = { [SQLITE_AS_IS] = "BLOB",
                                      [SQLITE_TEXTUAL] = "TEXT",
                                      [SQLITE_NUMERICAL] = "NUMERIC",
                                      [SQLITE_WHOLE] = "INTEGER",
                                      [SQLITE_FLOATS] = "REAL" };
    const struct fit *fit = p->fit;
    struct buf sql = BUF_INIT(SQLITE_TEXT_MOST);

    buf_puts(&sql, "CREATE TABLE ");
    sqlite_journal(&sql, fit->shape->name);
    buf_puts(&sql, " (x INTEGER PRIMARY KEY, origin TEXT NOT NULL, at_us INTEGER NOT NULL, "
                   "gone_at INTEGER");
    for (size_t i = 0; i < fit->key_count; i++)
        buf_printf(&sql, ", k%zu %s", i + 1, as[sqlite_column(fit, i)->detail]);
    buf_puts(&sql, ", UNIQUE (k1");
    for (size_t i = 1; i < fit->key_count; i++)
        buf_printf(&sql, ", k%zu", i + 1);
    buf_puts(&sql, "))");
    part_add(p, "table", "", "its journal", buf_view(&sql), false);
    buf_clear(&sql);
    buf_puts(&sql, "CREATE INDEX ");
    put_part_name(&sql, fit, "_gone");
    buf_puts(&sql, " ON ");
    sqlite_journal(&sql, fit->shape->name);
    buf_puts(&sql, " (gone_at) WHERE gone_at IS NOT NULL");
    part_add(p, "index", "_gone", "rows that were removed long ago", buf_view(&sql), true);
    buf_done(&sql);
}

static void trigger_begin(struct buf *sql, const struct fit *fit, const char *suffix,
                          const char *event)
{
    buf_puts(sql, "CREATE TRIGGER ");
    put_part_name(sql, fit, suffix);
    buf_printf(sql, " %s ON ", event);
    sqlite_name(sql, fit->shape->name);
}

static void parts_add_trigger(struct capture_parts *p, const char *suffix, const char *event,
                              const char *purpose, const char *row, bool gone, bool moved)
{
    struct buf sql = BUF_INIT(SQLITE_TEXT_MOST);
    bool needed = !p->append || strcmp(suffix, "_insert") == 0;

    trigger_begin(&sql, p->fit, suffix, event);
    if (moved) {
        buf_puts(&sql, " WHEN NOT (");
        put_same(&sql, p->fit, "OLD.", " IS NEW.");
        buf_putc(&sql, ')');
    }
    buf_puts(&sql, " BEGIN\n");
    put_mark_of(&sql, p->fit, row, gone, gone || p->append);
    buf_puts(&sql, "END");
    part_add(p, "trigger", suffix, purpose, needed ? buf_view(&sql) : STR(""), false);
    buf_done(&sql);
}

/* ---- rows that give way ---- */

struct unique_index {
    struct str name;
    struct unique_column {
        struct str name, collation;
    } columns[INDEX_COLUMNS_MOST];
    size_t count;
};

/* "FROM t WHERE t.u = NEW.u COLLATE x AND ... AND NOT (t.k IS NEW.k)" */
static void put_rivals(struct buf *to, const struct fit *fit, const struct unique_index *u)
{
    buf_puts(to, " FROM ");
    sqlite_name(to, fit->shape->name);
    buf_puts(to, " AS t WHERE ");
    for (size_t i = 0; i < u->count; i++) {
        buf_puts(to, "t.");
        sqlite_name(to, u->columns[i].name);
        buf_puts(to, " = NEW.");
        sqlite_name(to, u->columns[i].name);
        buf_puts(to, " COLLATE ");
        sqlite_name(to, u->columns[i].collation);
        buf_puts(to, " AND ");
    }
    put_is_known(to, fit, "t.");
    buf_puts(to, "NOT (");
    put_same(to, fit, "t.", " IS NEW.");
    buf_putc(to, ')');
}

static void put_mark_rivals(struct buf *to, const struct fit *fit, const struct unique_index *u)
{
    put_next(to, fit);
    buf_puts(to, " AND EXISTS (SELECT 1");
    put_rivals(to, fit, u);
    buf_puts(to, ");\n  DELETE FROM ");
    sqlite_journal(to, fit->shape->name);
    buf_puts(to, " WHERE (k1");
    for (size_t i = 1; i < fit->key_count; i++)
        buf_printf(to, ", k%zu", i + 1);
    buf_puts(to, ") IN (SELECT ");
    sqlite_put_keys(to, "t.", fit);
    put_rivals(to, fit, u);
    buf_puts(to, ");\n  INSERT INTO ");
    sqlite_journal(to, fit->shape->name);
    buf_puts(to, " (x, origin, at_us");
    put_journal_columns(to, fit);
    buf_puts(to, ") SELECT (SELECT x FROM waybill_capture WHERE tbl = ");
    sqlite_literal(to, fit->shape->name);
    buf_puts(to, "), (SELECT origin FROM waybill_capture WHERE tbl = ");
    sqlite_literal(to, fit->shape->name);
    buf_puts(to, "), (SELECT coalesce(nullif(at_us, 0), " SQLITE_NOW
                 ") FROM waybill_capture WHERE tbl = ");
    sqlite_literal(to, fit->shape->name);
    buf_puts(to, "), ");
    sqlite_put_keys(to, "t.", fit);
    put_rivals(to, fit, u);
    buf_puts(to, " AND EXISTS (SELECT 1 FROM waybill_capture WHERE tbl = ");
    sqlite_literal(to, fit->shape->name);
    buf_puts(to, ") LIMIT 1;\n");
}

/* The unique indexes of the table beside its key: of columns only, and of all rows. */
static bool unique_read(struct capture_parts *p, struct unique_index **ret, size_t *ret_count,
                        struct err *err)
{
    struct unique_index *all = ARENA_ARRAY(p->a, struct unique_index, INDEXES_MOST), *u = NULL;
    size_t count = 0;
    sqlite3_stmt *stmt;
    bool row, ok;

    if (!sqlite_ask(p->d,
                    STR("SELECT l.name, x.name, x.coll FROM pragma_index_list(?1, 'main') AS l "
                        "JOIN pragma_index_xinfo(l.name, 'main') AS x WHERE l.\"unique\" AND NOT "
                        "l.partial AND l.origin <> 'pk' AND x.key = 1 AND NOT EXISTS (SELECT 1 "
                        "FROM pragma_index_xinfo(l.name, 'main') AS y WHERE y.key = 1 AND y.cid < "
                        "0) ORDER BY l.name, x.seqno"),
                    &stmt, err))
        return false;
    ok = sqlite_bind_text(p->d, stmt, 1, p->fit->shape->name, err);
    while (ok && (ok = sqlite_step(p->d, stmt, "describing", &row, err)) && row) {
        struct str name = sqlite_text_at(stmt, 0);

        if (u == NULL || !str_eq(u->name, name)) {
            if (count == INDEXES_MOST)
                break;
            u = &all[count++];
            u->name = arena_copy(p->a, name);
        }
        if (u->count == INDEX_COLUMNS_MOST)
            continue;
        u->columns[u->count++] =
            (struct unique_column){ .name = arena_copy(p->a, sqlite_text_at(stmt, 1)),
                                    .collation = arena_copy(p->a, sqlite_text_at(stmt, 2)) };
    }
    sqlite_end(stmt);
    *ret = all;
    *ret_count = count;
    return ok;
}

static bool parts_add_unique(struct capture_parts *p, struct err *err)
{
    static const char *const suffix[] = { "_unique", "_unique_moved" };
    static const char *const event[] = { "BEFORE INSERT", "BEFORE UPDATE" };
    struct unique_index *all;
    size_t count;

    if (!unique_read(p, &all, &count, err))
        return false;
    for (size_t i = 0; i < 2; i++) {
        struct buf sql = BUF_INIT(SQLITE_TEXT_MOST);

        trigger_begin(&sql, p->fit, suffix[i], event[i]);
        buf_puts(&sql, " BEGIN\n");
        for (size_t n = 0; n < count; n++)
            put_mark_rivals(&sql, p->fit, &all[n]);
        buf_puts(&sql, "END");
        part_add(p, "trigger", suffix[i], "rows that give way to others by REPLACE",
                 count > 0 && !p->append ? buf_view(&sql) : STR(""), true);
        buf_done(&sql);
    }
    return true;
}

bool sqlite_parts_add(struct capture_parts *p, struct err *err)
{
    parts_add_journal(p);
    parts_add_trigger(p, "_insert", "AFTER INSERT", "rows that are added", "NEW.", false, false);
    parts_add_trigger(p, "_update", "AFTER UPDATE", "rows that are changed", "NEW.", false, false);
    parts_add_trigger(p, "_moved", "AFTER UPDATE", "keys that are changed", "OLD.", true, true);
    parts_add_trigger(p, "_delete", "AFTER DELETE", "rows that are removed", "OLD.", true, false);
    return parts_add_unique(p, err);
}
