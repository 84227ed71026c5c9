/* sqlite_capture.c - the journal of a table of a SQLite file: what it is made of, and whether it is
 * all there.
 *
 *     waybill_capture        tbl, epoch, life, x, origin, at_us, pruned: one row per captured
 *                            table, with the number of its last change, the origin and the time of
 *                            what is written now, and what was pruned
 *     waybill_journal_TABLE  x, origin, at_us, gone_at, and the key as k1, k2, ...: one row per
 * key; an index of those that are gone triggers               _insert, _update, _moved (the old key
 * of a row whose key changes), _delete; of a table with more unique indexes _unique and
 * _unique_moved
 *
 * Each change has an x of its own, from a counter in the transaction of the change: as there is one
 * writer at a time, changes become visible in the order of x.  Whether a row is gone is seen by
 * looking; gone_at is only set where a trigger saw it go.  We only read the file, so a removal
 * itself takes two journal rows of old removals with it.
 *
 * REPLACE  A row that gives way because of another key's unique value is removed without a trigger,
 *          unless the program has set recursive_triggers.  So before a row is written _unique marks
 *          the rows that have its unique values; one that stays after all is read once more.  Not
 *          seen: rows that give way to a partial unique index, to one of expressions, or to an
 *          explicit rowid of a table with a key of its own.
 *
 * epoch is made when a table is captured first, life each time that triggers were missing: changes
 * may have been missed.  A table that is made anew has no triggers.  DELETE without WHERE runs the
 * triggers of rows.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "table/sqlite/sqlite_parts.h"

static const char capture_table[] =
    "CREATE TABLE IF NOT EXISTS waybill_capture (tbl TEXT PRIMARY KEY NOT NULL, epoch TEXT NOT "
    "NULL, life TEXT NOT NULL, x INTEGER NOT NULL, origin TEXT NOT NULL, at_us INTEGER NOT NULL "
    "DEFAULT 0, pruned INTEGER NOT NULL DEFAULT 0)";
static const char *const capture_columns[] = {
    "ALTER TABLE waybill_capture ADD COLUMN at_us INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE waybill_capture ADD COLUMN pruned INTEGER NOT NULL DEFAULT 0"
};

/* ---- what is there of them ---- */

static bool capture_find(struct capture_parts *p, struct err *err)
{
    for (size_t i = 0; i < p->count; i++) {
        struct capture_part *part = &p->part[i];
        struct str sql;

        if (!sqlite_schema_has(p->d, part->type, part->name, p->a, &part->has, &sql, err))
            return false;
        part->same = part->none ? !part->has : part->has && str_eq(sql, part->sql);
    }
    return true;
}

static bool capture_find_columns(struct capture_parts *p, struct err *err)
{
    sqlite3_stmt *stmt;
    bool row;

    if (!sqlite_ask(p->d,
                    STR("SELECT count(*) FROM pragma_table_info('waybill_capture') "
                        "WHERE name IN ('at_us', 'pruned')"),
                    &stmt, err) ||
        !sqlite_step(p->d, stmt, "describing", &row, err))
        return false;
    p->earlier = row && sqlite3_column_int(stmt, 0) < 2;
    sqlite_end(stmt);
    return true;
}

static bool capture_find_row(struct capture_parts *p, struct err *err)
{
    sqlite3_stmt *stmt;

    if (!sqlite_schema_has(p->d, "table", STR("waybill_capture"), p->a, &p->has_table, NULL, err))
        return false;
    if (!p->has_table)
        return true;
    if (!capture_find_columns(p, err) ||
        !sqlite_ask(
            p->d,
            p->earlier ? STR("SELECT epoch, life, 0 FROM main.waybill_capture WHERE tbl = ?1")
                       : STR("SELECT epoch, life, pruned FROM main.waybill_capture WHERE tbl = ?1"),
            &stmt, err))
        return false;
    if (!sqlite_bind_text(p->d, stmt, 1, p->fit->shape->name, err) ||
        !sqlite_step(p->d, stmt, "reading what is captured", &p->has_row, err)) {
        sqlite_end(stmt);
        return false;
    }
    if (p->has_row) {
        p->epoch = arena_copy(p->a, str_first(sqlite_text_at(stmt, 0), 200));
        p->life = arena_copy(p->a, str_first(sqlite_text_at(stmt, 1), 200));
        p->pruned = sqlite3_column_int64(stmt, 2);
    }
    sqlite_end(stmt);
    return true;
}

static bool capture_make(struct capture_parts *p, struct sqlite_database *d, const struct fit *fit,
                         bool append, struct arena *a, struct err *err)
{
    *p = (struct capture_parts){
        .d = d, .fit = fit, .append = append, .a = a, .epoch = STR(""), .life = STR("")
    };
    return sqlite_here(d, err) && sqlite_parts_add(p, err) && capture_find(p, err) &&
           capture_find_row(p, err);
}

bool sqlite_look(struct database *db, const struct fit *fit, const struct capture *capture,
                 struct arena *a, struct capture_look *ret, struct err *err)
{
    struct capture_parts p;

    *ret = (struct capture_look){ .epoch = STR(""), .life = STR(""), .identity = STR("") };
    if (capture->kind == CAPTURE_COLUMN)
        return sqlite_here(sqlite_of(db), err);
    if (!capture_make(&p, sqlite_of(db), fit, capture->append, a, err))
        return false;
    ret->epoch = p.epoch;
    ret->life = p.life;
    ret->identity = str_first(p.epoch, 64); /* it is made once */
    ret->pruned = p.pruned;
    ret->now_us = clock_wall_us(); /* the file has none of its own */
    if (p.earlier) {
        ret->state = CAPTURE_IS_OTHER;
        (void)snprintf(
            ret->why, sizeof ret->why,
            "the journal was installed by an earlier build, without the time of changes");
    }
    for (size_t i = 0; i < p.count && ret->state == CAPTURE_IS_FINE; i++) {
        const struct capture_part *part = &p.part[i];

        if (part->same)
            continue;
        ret->state = part->has ? CAPTURE_IS_OTHER : CAPTURE_IS_MISSING;
        (void)snprintf(ret->why, sizeof ret->why, "%s %.*s %s", part->type,
                       STR_ARG(str_first(part->name, 100)),
                       part->none  ? "is of another kind of capture"
                       : part->has ? "is for another shape of the table, or another kind of capture"
                                   : "is not there");
    }
    if (ret->state == CAPTURE_IS_FINE && !p.has_row) {
        ret->state = CAPTURE_IS_MISSING;
        (void)snprintf(ret->why, sizeof ret->why, "waybill_capture does not know the table");
    }
    return true;
}

/* ---- statements for people ---- */

enum { STATEMENTS = 2 * SQLITE_PARTS + 8 };

static void plan_put(struct capture_parts *p, struct ddl *ddl, struct str text, const char *purpose)
{
    ddl->statements[ddl->count++] =
        (struct ddl_statement){ .text = arena_copy(p->a, text),
                                .purpose = arena_printf(p->a, "%.*s: %s",
                                                        STR_ARG(p->fit->shape->name), purpose) };
}

static const char *plan_type(const struct capture_part *part)
{
    return strcmp(part->type, "table") == 0   ? "TABLE"
           : strcmp(part->type, "index") == 0 ? "INDEX"
                                              : "TRIGGER";
}

/* A part as it will stand in the schema, which does not keep IF NOT EXISTS. */
static void plan_put_part(struct capture_parts *p, struct ddl *ddl, const struct capture_part *part)
{
    struct buf text = BUF_INIT(SQLITE_TEXT_MOST);
    const char *type = plan_type(part);

    buf_printf(&text, "CREATE %s IF NOT EXISTS", type);
    buf_put(&text, str_from(part->sql, strlen("CREATE ") + strlen(type)));
    plan_put(p, ddl, buf_view(&text), part->purpose);
    buf_done(&text);
}

static void plan_put_drop(struct capture_parts *p, struct ddl *ddl, const struct capture_part *part)
{
    struct buf text = BUF_INIT(4 * SHAPE_NAME_MOST);

    buf_printf(&text, "DROP %s IF EXISTS ", plan_type(part));
    sqlite_name(&text, part->name);
    plan_put(p, ddl, buf_view(&text), part->purpose);
    buf_done(&text);
}

static void plan_put_row(struct capture_parts *p, struct ddl *ddl)
{
    struct buf text = BUF_INIT(8 * SHAPE_NAME_MOST);

    buf_puts(&text, "INSERT INTO waybill_capture (tbl, epoch, life, x, origin) SELECT ");
    sqlite_literal(&text, p->fit->shape->name);
    buf_puts(&text, ", lower(hex(randomblob(16))), lower(hex(randomblob(16))), coalesce(max(x), "
                    "0), '' FROM ");
    sqlite_journal(&text, p->fit->shape->name);
    buf_puts(&text, " WHERE true ON CONFLICT (tbl) DO UPDATE SET life = excluded.life");
    plan_put(p, ddl, buf_view(&text), "which history of the table its journal has");
    buf_done(&text);
}

bool sqlite_plan_capture(struct database *db, const struct fit *fit, const struct capture *capture,
                         struct arena *a, struct ddl *ret, struct err *err)
{
    struct capture_parts p;
    bool whole = true;

    if (!capture_make(&p, sqlite_of(db), fit, capture->append, a, err))
        return false;
    *ret = (struct ddl){ .statements = ARENA_ARRAY(a, struct ddl_statement, STATEMENTS) };
    if (!p.has_table)
        ret->statements[ret->count++] =
            (struct ddl_statement){ .text = str_of(capture_table),
                                    .purpose = "which tables are captured" };
    for (size_t i = 0; p.earlier && i < sizeof capture_columns / sizeof *capture_columns; i++)
        ret->statements[ret->count++] =
            (struct ddl_statement){ .text = str_of(capture_columns[i]),
                                    .purpose = "which tables are captured" };
    for (size_t i = 0; i < p.count; i++) {
        if (p.part[i].same && (p.part[0].same || strcmp(p.part[i].type, "index") != 0))
            continue; /* an index goes with its table */
        whole = whole && p.part[i].spare;
        if (p.part[i].has)
            plan_put_drop(&p, ret, &p.part[i]);
        if (!p.part[i].none)
            plan_put_part(&p, ret, &p.part[i]);
    }
    if (!whole || !p.has_row)
        plan_put_row(&p, ret);
    return true;
}

bool sqlite_plan_capture_removal(struct database *db, const struct fit *fit, struct arena *a,
                                 struct ddl *ret, struct err *err)
{
    struct buf text = BUF_INIT(8 * SHAPE_NAME_MOST);
    struct capture_parts p;

    if (!capture_make(&p, sqlite_of(db), fit, false, a, err))
        return false;
    *ret = (struct ddl){ .statements = ARENA_ARRAY(a, struct ddl_statement, STATEMENTS) };
    for (size_t i = p.count; i-- > 0;) /* the triggers before the journal */
        if (p.part[i].has)
            plan_put_drop(&p, ret, &p.part[i]);
    if (!p.has_table)
        return true;
    buf_puts(&text, "DELETE FROM waybill_capture WHERE tbl = ");
    sqlite_literal(&text, fit->shape->name);
    buf_puts(&text, SQLITE_IF_THERE);
    plan_put(&p, ret, buf_view(&text), "which history of the table its journal has");
    buf_clear(&text);
    buf_puts(&text, "DROP TABLE waybill_capture" SQLITE_IF_EMPTY ", behind ");
    sqlite_literal(&text, fit->shape->name);
    plan_put(&p, ret, buf_view(&text), "which tables are captured");
    buf_done(&text);
    return true;
}
