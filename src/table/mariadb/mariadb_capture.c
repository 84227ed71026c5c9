/* mariadb_capture.c - the statements that install and remove the journal of a table.
 *
 * In the schema of the table: `waybill_sequence`, which numbers the changes of all its tables;
 * `waybill_capture`, one row per table; per table a journal with one row per key (k1, k2, ... its
 * columns; x, gone, origin, at_us, gone_at) and three triggers of rows.  Triggers see neither what
 * TRUNCATE does
 * (`life` tells that) nor what foreign keys do by themselves: a table that has a CASCADE or SET
 * NULL is refused.
 *
 * Triggers run with the rights of the account that has installed them, which must stay; the server
 * must log rows or a mixture (binlog_format), not statements.  Of a Galera cluster only one node
 * may be written to: the sequence of each has numbers of its own.
 *
 * Of a table that only grows (`append`) only the trigger after INSERT is there; that it was emptied
 * does not matter then, and journal rows age from the beginning.
 *
 * A trigger is AFTER its row, which is what makes the ceiling right (mariadb_ceiling.c).
 */
#include <stdio.h>

#include "table/mariadb/mariadb.h"

enum { CAPTURE_STATEMENTS = 10, CAPTURE_TYPES = 8 << 10 };

const char *const mariadb_events[MARIADB_TRIGGERS] = { "INSERT", "UPDATE", "DELETE" };

static struct str capture_column(const struct fit *fit, size_t i)
{
    return fit->shape->columns[fit->columns[i].at].name;
}

struct str mariadb_trigger_name(const struct fit *fit, size_t i, struct arena *a)
{
    static const char *const prefixes[MARIADB_TRIGGERS] = { "waybill_insert_", "waybill_update_",
                                                            "waybill_delete_" };

    return mariadb_own_name(prefixes[i], fit->shape->name, a);
}

static void capture_put_note(struct buf *sql, const struct fit *fit, const char *row, int gone,
                             bool ages)
{
    buf_puts(sql, "INSERT INTO ");
    mariadb_put_journal(sql, fit->shape);
    buf_puts(sql, " (");
    for (size_t i = 0; i < fit->key_count; i++)
        buf_printf(sql, "k%zu, ", i + 1);
    buf_puts(sql, "x, gone, origin, at_us, gone_at) VALUES (");
    for (size_t i = 0; i < fit->key_count; i++) {
        buf_puts(sql, row);
        mariadb_put_name(sql, capture_column(fit, i));
        buf_puts(sql, ", ");
    }
    buf_puts(sql, "NEXTVAL(");
    mariadb_put_ours(sql, fit->shape->schema, "waybill_sequence");
    buf_printf(sql,
               "), %d, COALESCE(@waybill_origin, ''), COALESCE(@waybill_at, " MARIADB_NOW
               "), %s) ON DUPLICATE KEY UPDATE x = VALUES(x), gone = %d, origin = VALUES(origin),"
               " at_us = VALUES(at_us), gone_at = VALUES(gone_at)",
               gone, ages ? MARIADB_NOW : "NULL", gone);
}

void mariadb_put_trigger_body(struct buf *sql, const struct fit *fit, size_t i, bool append)
{
    if (i != 1) {
        capture_put_note(sql, fit, i == 0 ? "NEW." : "OLD.", i == 2, i == 2 || append);
        return;
    }
    buf_puts(sql, "BEGIN\n  IF NOT (");
    for (size_t k = 0; k < fit->key_count; k++) {
        buf_puts(sql, k > 0 ? " AND OLD." : "OLD.");
        mariadb_put_name(sql, capture_column(fit, k));
        buf_puts(sql, " <=> NEW.");
        mariadb_put_name(sql, capture_column(fit, k));
    }
    buf_puts(sql, ") THEN\n    ");
    capture_put_note(sql, fit, "OLD.", 1, true);
    buf_puts(sql, ";\n  END IF;\n  ");
    capture_put_note(sql, fit, "NEW.", 0, false);
    buf_puts(sql, ";\nEND");
}

void mariadb_put_key_text(struct buf *text, const struct fit *fit)
{
    for (size_t i = 0; i < fit->key_count; i++) {
        const struct shape_column *c = &fit->shape->columns[fit->columns[i].at];

        buf_printf(text, "%s%.*s %.*s", i > 0 ? ", " : "", STR_ARG(c->name), STR_ARG(c->native));
    }
}

/* ---- what cannot be captured ---- */

struct capture_facts {
    bool innodb, cascades;
    struct buf types; /* "k1 int(11) NOT NULL, ..." */
    const struct fit *fit;
    size_t columns;
};

static bool facts_engine(void *arg, const struct cell *cells, struct err *err)
{
    struct capture_facts *f = arg;

    (void)err;
    f->innodb = cells[0].i != 0;
    f->cascades = cells[1].i != 0;
    return true;
}

static bool facts_column(void *arg, const struct cell *cells, struct err *err)
{
    struct capture_facts *f = arg;

    (void)err;
    for (size_t i = 0; i < f->fit->key_count; i++) {
        if (!str_eq(cells[0].s, capture_column(f->fit, i)))
            continue;
        f->columns++;
        buf_printf(&f->types, "  k%zu %.*s", i + 1, STR_ARG(cells[1].s));
        if (cells[2].s.len > 0)
            buf_printf(&f->types, " CHARACTER SET %.*s COLLATE %.*s", STR_ARG(cells[2].s),
                       STR_ARG(cells[3].s));
        buf_puts(&f->types, " NOT NULL,\n");
    }
    return true;
}

static bool facts_read(struct database *d, const struct fit *fit, struct capture_facts *f,
                       struct err *err)
{
    static const enum mariadb_kind kinds[] = { MARIADB_TEXT, MARIADB_TEXT, MARIADB_TEXT,
                                               MARIADB_TEXT };
    static const enum mariadb_kind numbers[] = { MARIADB_INT, MARIADB_INT };
    const struct cell schema = mariadb_text(fit->shape->schema),
                      name = mariadb_text(fit->shape->name);
    const struct cell first[] = { schema, name, schema, name, name },
                      second[] = { schema, name, name };
    const struct mariadb_ask engine = {
        .sql = STR("SELECT ENGINE = 'InnoDB', EXISTS (SELECT 1 FROM"
                   " information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = ?"
                   " AND TABLE_NAME = ? AND (UPDATE_RULE NOT IN ('RESTRICT', 'NO ACTION')"
                   " OR DELETE_RULE NOT IN ('RESTRICT', 'NO ACTION')))"
                   " FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?"
                   " AND BINARY TABLE_NAME = ?"),
        .params = first,
        .param_count = 5,
        .kinds = numbers,
        .column_count = 2,
        .fn = facts_engine,
        .arg = f
    };
    const struct mariadb_ask columns = {
        .sql = STR("SELECT COLUMN_NAME, COLUMN_TYPE, COALESCE(CHARACTER_SET_NAME, ''),"
                   " COALESCE(COLLATION_NAME, '') FROM information_schema.COLUMNS"
                   " WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND BINARY TABLE_NAME = ?"
                   " ORDER BY ORDINAL_POSITION"),
        .params = second,
        .param_count = 3,
        .kinds = kinds,
        .column_count = 4,
        .fn = facts_column,
        .arg = f
    };

    return mariadb_ask(d, &engine, err) && mariadb_ask(d, &columns, err);
}

static bool facts_check(const struct capture_facts *f, struct err *err)
{
    if (!f->innodb)
        return err_set(err, ERR_PERMANENT, 0,
                       "the table is not kept by InnoDB: without transactions its changes cannot "
                       "be followed. ALTER TABLE ... ENGINE=InnoDB, or capture: column");
    if (f->cascades)
        return err_set(err, ERR_PERMANENT, 0,
                       "a foreign key of the table has CASCADE or SET NULL, which runs no triggers "
                       "in MariaDB: make it RESTRICT, or use capture: column");
    return f->columns == f->fit->key_count ||
           err_set(err, ERR_TRANSIENT, 0, "the table is being changed");
}

/* ---- installing ---- */

static void capture_add(struct ddl *ddl, struct arena *a, struct buf *sql, const char *purpose,
                        const struct fit *fit)
{
    ddl->statements[ddl->count++] =
        (struct ddl_statement){ .text = arena_copy(a, buf_view(sql)),
                                .purpose = fit == NULL ? purpose
                                                       : arena_printf(a, "%s of %.*s", purpose,
                                                                      STR_ARG(fit->shape->name)) };
    buf_clear(sql);
}

static void capture_plan_shared(const struct fit *fit, struct arena *a, struct ddl *ret,
                                struct buf *sql)
{
    buf_puts(sql, "CREATE SEQUENCE IF NOT EXISTS ");
    mariadb_put_ours(sql, fit->shape->schema, "waybill_sequence");
    buf_puts(sql, " START WITH 1 INCREMENT BY 1 CACHE 1000 NOCYCLE ENGINE=InnoDB");
    capture_add(ret, a, sql, "numbers of changes", NULL);
    buf_puts(sql, "CREATE TABLE IF NOT EXISTS ");
    mariadb_put_ours(sql, fit->shape->schema, "waybill_capture");
    buf_puts(sql, " (\n"
                  "  name VARBINARY(256) NOT NULL PRIMARY KEY,\n"
                  "  key_columns BLOB NOT NULL,\n"
                  "  epoch VARBINARY(64) NOT NULL,\n"
                  "  identity VARBINARY(64) NOT NULL,\n"
                  "  pruned BIGINT NOT NULL DEFAULT 0\n"
                  ") ENGINE=InnoDB");
    capture_add(ret, a, sql, "the tables that are captured", NULL);
    buf_puts(sql, "ALTER TABLE "); /* of an earlier build */
    mariadb_put_ours(sql, fit->shape->schema, "waybill_capture");
    buf_puts(sql, " ADD COLUMN IF NOT EXISTS pruned BIGINT NOT NULL DEFAULT 0");
    capture_add(ret, a, sql, "of which changes are forgotten", NULL);
}

/* It has no index but what is needed to read it by number, and to find what was removed long ago;
 * that one does not change while a row is only changed. */
static void capture_plan_journal(const struct fit *fit, const struct capture_facts *f,
                                 struct arena *a, struct ddl *ret, struct buf *sql)
{
    buf_puts(sql, "CREATE OR REPLACE TABLE ");
    mariadb_put_journal(sql, fit->shape);
    buf_puts(sql, " (\n");
    buf_put(sql, buf_view(&f->types));
    buf_puts(sql, "  x BIGINT NOT NULL,\n"
                  "  gone TINYINT NOT NULL,\n"
                  "  origin VARBINARY(200) NOT NULL,\n"
                  "  at_us BIGINT NOT NULL,\n"
                  "  gone_at BIGINT NULL,\n"
                  "  PRIMARY KEY (");
    for (size_t i = 0; i < fit->key_count; i++)
        buf_printf(sql, "%sk%zu", i > 0 ? ", " : "", i + 1);
    buf_puts(sql, "),\n  KEY x (x),\n  KEY gone (gone_at)\n) ENGINE=InnoDB");
    capture_add(ret, a, sql, "the journal", fit);
}

static void capture_plan_no_trigger(const struct fit *fit, size_t i, struct arena *a,
                                    struct ddl *ret, struct buf *sql)
{
    buf_puts(sql, "DROP TRIGGER IF EXISTS ");
    mariadb_put_name(sql, fit->shape->schema);
    buf_putc(sql, '.');
    mariadb_put_name(sql, mariadb_trigger_name(fit, i, a));
    capture_add(ret, a, sql, "a trigger", fit);
}

bool mariadb_plan_capture(struct database *d, const struct fit *fit, const struct capture *capture,
                          struct arena *a, struct ddl *ret, struct err *err)
{
    static const char *const purposes[MARIADB_TRIGGERS] = { "the trigger after INSERT",
                                                            "the trigger after UPDATE",
                                                            "the trigger after DELETE" };
    struct capture_facts f = { .types = BUF_INIT(CAPTURE_TYPES * SHAPE_KEY_MOST), .fit = fit };
    struct buf sql = BUF_INIT(MARIADB_SQL_MOST);
    bool ok = facts_read(d, fit, &f, err) && facts_check(&f, err);

    *ret = (struct ddl){ .statements = ARENA_ARRAY(a, struct ddl_statement, CAPTURE_STATEMENTS) };
    if (ok) {
        capture_plan_shared(fit, a, ret, &sql);
        capture_plan_journal(fit, &f, a, ret, &sql);
    }
    for (size_t i = 0; ok && i < MARIADB_TRIGGERS; i++) {
        if (capture->append && i > 0) {
            capture_plan_no_trigger(fit, i, a, ret, &sql);
            continue;
        }
        buf_puts(&sql, "CREATE OR REPLACE TRIGGER ");
        mariadb_put_name(&sql, fit->shape->schema);
        buf_putc(&sql, '.');
        mariadb_put_name(&sql, mariadb_trigger_name(fit, i, a));
        buf_printf(&sql, " AFTER %s ON ", mariadb_events[i]);
        buf_put(&sql, fit->shape->quoted);
        buf_puts(&sql, " FOR EACH ROW\n");
        mariadb_put_trigger_body(&sql, fit, i, capture->append);
        capture_add(ret, a, &sql, purposes[i], fit);
    }
    if (ok) { /* last: only then is it installed, and a new history begins */
        buf_puts(&sql, "INSERT INTO ");
        mariadb_put_ours(&sql, fit->shape->schema, "waybill_capture");
        buf_puts(&sql, " (name, key_columns, epoch, identity) VALUES (");
        mariadb_put_literal(&sql, fit->shape->name);
        buf_puts(&sql, ", ");
        mariadb_put_key_text(&f.types, (buf_clear(&f.types), fit));
        mariadb_put_literal(&sql, buf_view(&f.types));
        buf_puts(&sql, ", UUID(), UUID()) ON DUPLICATE KEY UPDATE key_columns = "
                       "VALUES(key_columns), epoch = VALUES(epoch)");
        capture_add(ret, a, &sql, "that it is captured, and since when: the row", fit);
    }
    buf_done(&f.types);
    buf_done(&sql);
    return ok;
}

/* ---- removing ---- */

bool mariadb_plan_capture_removal(struct database *d, const struct fit *fit, struct arena *a,
                                  struct ddl *ret, struct err *err)
{
    struct buf sql = BUF_INIT(MARIADB_SQL_MOST);

    (void)d;
    (void)err;
    *ret = (struct ddl){ .statements = ARENA_ARRAY(a, struct ddl_statement, CAPTURE_STATEMENTS) };
    for (size_t i = 0; i < MARIADB_TRIGGERS; i++)
        capture_plan_no_trigger(fit, i, a, ret, &sql);
    buf_puts(&sql, "DROP TABLE IF EXISTS ");
    mariadb_put_journal(&sql, fit->shape);
    capture_add(ret, a, &sql, "the journal", fit);
    buf_puts(&sql, "BEGIN NOT ATOMIC\n"
                   "  IF EXISTS (SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = ");
    mariadb_put_literal(&sql, fit->shape->schema);
    buf_puts(&sql, " AND TABLE_NAME = 'waybill_capture') THEN\n    DELETE FROM ");
    mariadb_put_ours(&sql, fit->shape->schema, "waybill_capture");
    buf_puts(&sql, " WHERE name = ");
    mariadb_put_literal(&sql, fit->shape->name);
    buf_puts(&sql, ";\n    IF NOT EXISTS (SELECT 1 FROM ");
    mariadb_put_ours(&sql, fit->shape->schema, "waybill_capture");
    buf_puts(&sql, ") THEN\n      DROP TABLE ");
    mariadb_put_ours(&sql, fit->shape->schema, "waybill_capture");
    buf_puts(&sql, ";\n      DROP SEQUENCE IF EXISTS ");
    mariadb_put_ours(&sql, fit->shape->schema, "waybill_sequence");
    buf_puts(&sql, ";\n    END IF;\n  END IF;\nEND");
    capture_add(ret, a, &sql, "the row", fit);
    buf_done(&sql);
    return true;
}
