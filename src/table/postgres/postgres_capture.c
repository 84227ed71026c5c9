/* postgres_capture.c - the statements that install and remove the journal of a table.
 *
 * One trigger for each event, once per statement, reads what the statement has changed as a table
 * and writes its keys to the journal, in order of the key, so that statements that change the same
 * rows do not wait for each other in a circle.  They run with the rights of whoever installed them:
 * those who write the table need none on the journal.  They are ENABLE ALWAYS, because a session
 * with session_replication_role = replica changes rows, too; and a trigger that somebody has
 * switched off and on again is ENABLE only, which look() tells.
 *
 * Variables of the function have its label in front: the table may have columns of their names.
 *
 * Of a table that only grows (`append`) only the trigger after INSERT is there; that the table was
 * emptied does not matter then, and journal rows age from the beginning.
 *
 * Each installation begins a new history (`id`), because what changed before it, or while a part
 * was missing, is not known.  `identity` stays: it says where the changes of the table come from.
 */
#include "base/require.h"
#include "table/postgres/postgres.h"

enum { PLAN_STATEMENTS = 16, PLAN_TEXT = 256 << 10, ARGS_ARENA = 1 << 20 };

const char *const postgres_triggers[EVENTS] = { [EVENT_INSERT] = "waybill_insert",
                                                [EVENT_UPDATE] = "waybill_update",
                                                [EVENT_DELETE] = "waybill_delete",
                                                [EVENT_TRUNCATE] = "waybill_truncate" };

/* ---- collecting ---- */

struct capturing {
    struct arena *arena;
    const struct fit *fit;
    bool append; /* only rows that are added are captured */
    struct ddl *ddl;
    struct buf text;
};

/* What is in `text` is a statement. */
static void capture_statement(struct capturing *c, const char *what)
{
    if (c->ddl->statements == NULL)
        c->ddl->statements = ARENA_ARRAY(c->arena, struct ddl_statement, PLAN_STATEMENTS);
    require(c->ddl->count < PLAN_STATEMENTS);
    c->ddl->statements[c->ddl->count++] =
        (struct ddl_statement){ .text = arena_copy(c->arena, buf_view(&c->text)),
                                .purpose = arena_printf(c->arena, "%s %.*s", what,
                                                        STR_ARG(c->fit->shape->name)) };
    buf_clear(&c->text);
}

static struct capturing capture_start(const struct fit *fit, struct arena *a, struct ddl *ret)
{
    *ret = (struct ddl){ 0 };
    return (struct capturing){ .arena = a, .fit = fit, .ddl = ret, .text = BUF_INIT(PLAN_TEXT) };
}

struct str postgres_key_columns(const struct fit *fit, struct arena *a)
{
    struct buf text = BUF_INIT(PLAN_TEXT);

    for (size_t i = 0; i < fit->key_count; i++) {
        const struct shape_column *c = postgres_column(fit, i);

        buf_puts(&text, i > 0 ? ", " : "");
        postgres_name(&text, c->name);
        buf_putc(&text, ' ');
        buf_put(&text, c->native);
    }
    struct str copy = arena_copy(a, buf_view(&text));

    buf_done(&text);
    return copy;
}

/* ---- the tables ---- */

static void capture_shared(struct capturing *c)
{
    buf_puts(&c->text, "CREATE TABLE IF NOT EXISTS ");
    postgres_capture_table(&c->text, c->fit->shape);
    buf_puts(&c->text, " (\n"
                       "    table_name text PRIMARY KEY,\n"
                       "    id uuid NOT NULL DEFAULT gen_random_uuid(),\n"
                       "    life bigint NOT NULL DEFAULT 1,\n"
                       "    key_columns text NOT NULL,\n"
                       "    installed timestamptz NOT NULL DEFAULT now(),\n"
                       "    identity uuid NOT NULL DEFAULT gen_random_uuid(),\n"
                       "    pruned bigint NOT NULL DEFAULT 0\n);\nALTER TABLE ");
    postgres_capture_table(&c->text, c->fit->shape);
    buf_puts(&c->text, " ADD COLUMN IF NOT EXISTS pruned bigint NOT NULL DEFAULT 0");
    capture_statement(c, "which tables of this schema are captured, such as");
}

static void capture_index(struct capturing *c, enum postgres_part part)
{
    struct buf bare = BUF_INIT(256);

    postgres_part_bare(&bare, c->fit->shape, part);
    buf_puts(&c->text, "CREATE INDEX IF NOT EXISTS ");
    postgres_name(&c->text, buf_view(&bare));
    buf_puts(&c->text, " ON ");
    postgres_part(&c->text, c->fit->shape, PART_JOURNAL);
    buf_done(&bare);
}

static void capture_journal(struct capturing *c)
{
    buf_puts(&c->text, "CREATE TABLE IF NOT EXISTS ");
    postgres_part(&c->text, c->fit->shape, PART_JOURNAL);
    buf_puts(&c->text, " (\n");
    for (size_t i = 0; i < c->fit->key_count; i++) {
        const struct shape_column *column = postgres_column(c->fit, i);

        buf_printf(&c->text, "    k%zu %.*s%s NOT NULL,\n", i + 1, STR_ARG(column->native),
                   column->natural == CELL_TEXT ? " COLLATE pg_catalog.\"C\"" : "");
    }
    buf_puts(&c->text, "    x xid8 NOT NULL,\n    gone boolean NOT NULL,\n"
                       "    origin text NOT NULL,\n    at_us bigint NOT NULL,\n"
                       "    gone_at bigint,\n    PRIMARY KEY (");
    postgres_keys(&c->text, c->fit, "");
    buf_puts(&c->text, ")\n);\nALTER TABLE ");
    postgres_part(&c->text, c->fit->shape, PART_JOURNAL); /* one of an earlier build */
    buf_puts(&c->text, " ADD COLUMN IF NOT EXISTS at_us bigint NOT NULL DEFAULT 0, "
                       "ADD COLUMN IF NOT EXISTS gone_at bigint");
    capture_statement(c, "the journal of");

    capture_index(c, PART_INDEX);
    buf_puts(&c->text, " (x, ");
    postgres_keys(&c->text, c->fit, "");
    buf_putc(&c->text, ')');
    capture_statement(c, "the order of changes of");

    capture_index(c, PART_GONE);
    buf_puts(&c->text, " (gone_at) WHERE gone_at IS NOT NULL");
    capture_statement(c, "what was removed long ago of");
}

/* ---- the function ---- */

static void capture_insert(struct buf *to, const struct fit *fit)
{
    buf_puts(to, "        INSERT INTO ");
    postgres_part(to, fit->shape, PART_JOURNAL);
    buf_puts(to, " (");
    postgres_keys(to, fit, "");
    buf_puts(to, ", x, gone, origin, at_us, gone_at)\n");
}

static void capture_conflict(struct buf *to, const struct fit *fit)
{
    buf_puts(to, "        ORDER BY ");
    for (size_t i = 0; i < fit->key_count; i++)
        buf_printf(to, "%s%zu", i > 0 ? ", " : "", i + 1);
    buf_puts(to, "\n        ON CONFLICT (");
    postgres_keys(to, fit, "");
    buf_puts(to, ") DO UPDATE SET x = excluded.x, gone = excluded.gone, "
                 "origin = excluded.origin, at_us = excluded.at_us, gone_at = excluded.gone_at;\n");
}

/* The columns of the key of a transition table, compared byte for byte. */
static void capture_key(struct buf *to, const struct fit *fit, const char *prefix)
{
    for (size_t i = 0; i < fit->key_count; i++) {
        const struct shape_column *c = postgres_column(fit, i);

        buf_puts(to, i > 0 ? ", " : "");
        buf_puts(to, prefix);
        postgres_name(to, c->name);
        if (c->natural == CELL_TEXT)
            buf_puts(to, " COLLATE pg_catalog.\"C\"");
    }
}

static void capture_simple(struct buf *to, const struct fit *fit, const char *table, bool gone,
                           bool ages)
{
    capture_insert(to, fit);
    buf_puts(to, "        SELECT ");
    capture_key(to, fit, "r.");
    buf_printf(to,
               ", pg_current_xact_id(), %s, waybill.came, waybill.at_us, %s\n        FROM %s r\n",
               gone ? "true" : "false", ages ? "waybill.now_us" : "NULL", table);
    capture_conflict(to, fit);
}

/* A key that was changed is there as the old one and the new one; gone is what is not new. */
static void capture_update(struct buf *to, const struct fit *fit)
{
    capture_insert(to, fit);
    buf_puts(to, "        SELECT ");
    postgres_keys(to, fit, "r.");
    buf_puts(
        to,
        ", pg_current_xact_id(), bool_and(r.gone), waybill.came, waybill.at_us,\n"
        "            CASE WHEN bool_and(r.gone) THEN waybill.now_us END\n        FROM (SELECT ");
    capture_key(to, fit, "n.");
    buf_puts(to, ", false FROM waybill_new n\n            UNION ALL SELECT ");
    capture_key(to, fit, "o.");
    buf_puts(to, ", true FROM waybill_old o) AS r(");
    postgres_keys(to, fit, "");
    buf_puts(to, ", gone)\n        GROUP BY ");
    postgres_keys(to, fit, "r.");
    buf_putc(to, '\n');
    capture_conflict(to, fit);
}

static void capture_function(struct capturing *c)
{
    const struct fit *fit = c->fit;
    struct buf body = BUF_INIT(PLAN_TEXT / 2);

    buf_puts(&body, "\n<<waybill>>\nDECLARE\n"
                    "    came CONSTANT text := coalesce(current_setting('waybill.origin', true), "
                    "'');\n"
                    "    now_us CONSTANT bigint := "
                    "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint;\n"
                    "    at_us CONSTANT bigint := coalesce("
                    "nullif(current_setting('waybill.at', true), '')::bigint, now_us);\n"
                    "BEGIN\n    IF TG_OP = 'INSERT' THEN\n");
    capture_simple(&body, fit, "waybill_new", false, c->append);
    buf_puts(&body, "    ELSIF TG_OP = 'DELETE' THEN\n");
    capture_simple(&body, fit, "waybill_old", true, true);
    buf_puts(&body, "    ELSIF TG_OP = 'UPDATE' THEN\n");
    capture_update(&body, fit);
    buf_puts(&body, "    ELSE\n        UPDATE ");
    postgres_capture_table(&body, fit->shape);
    buf_puts(&body, " SET life = life + 1\n        WHERE table_name = ");
    postgres_literal(&body, fit->shape->name);
    buf_puts(&body, ";\n    END IF;\n    RETURN NULL;\nEND\n");

    buf_puts(&c->text, "CREATE OR REPLACE FUNCTION ");
    postgres_part(&c->text, fit->shape, PART_FUNCTION);
    buf_puts(&c->text, "() RETURNS trigger\n"
                       "LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp\n"
                       "AS ");
    postgres_body(&c->text, buf_view(&body));
    capture_statement(c, "what writes the journal of");
    buf_done(&body);

    buf_puts(&c->text, "REVOKE ALL ON FUNCTION ");
    postgres_part(&c->text, fit->shape, PART_FUNCTION);
    buf_puts(&c->text, "() FROM PUBLIC");
    capture_statement(c, "that only its table uses what writes the journal of");
}

/* ---- the triggers ---- */

static void capture_drop_trigger(struct capturing *c, enum postgres_event event)
{
    buf_puts(&c->text, "DROP TRIGGER IF EXISTS ");
    buf_puts(&c->text, postgres_triggers[event]);
    buf_puts(&c->text, " ON ");
    buf_put(&c->text, c->fit->shape->quoted);
}

static void capture_trigger(struct capturing *c, enum postgres_event event)
{
    static const struct {
        const char *when, *tables;
    } events[EVENTS] = {
        [EVENT_INSERT] = { "AFTER INSERT ON ", "    REFERENCING NEW TABLE AS waybill_new\n" },
        [EVENT_UPDATE] = { "AFTER UPDATE ON ",
                           "    REFERENCING OLD TABLE AS waybill_old NEW TABLE AS waybill_new\n" },
        [EVENT_DELETE] = { "AFTER DELETE ON ", "    REFERENCING OLD TABLE AS waybill_old\n" },
        [EVENT_TRUNCATE] = { "AFTER TRUNCATE ON ", "" }
    };
    struct str table = c->fit->shape->quoted;

    capture_drop_trigger(c, event);
    if (c->append && event != EVENT_INSERT) {
        capture_statement(c, "no trigger of");
        return;
    }
    buf_printf(&c->text, ";\nCREATE TRIGGER %s ", postgres_triggers[event]);
    buf_puts(&c->text, events[event].when);
    buf_put(&c->text, table);
    buf_putc(&c->text, '\n');
    buf_puts(&c->text, events[event].tables);
    buf_puts(&c->text, "    FOR EACH STATEMENT EXECUTE FUNCTION ");
    postgres_part(&c->text, c->fit->shape, PART_FUNCTION);
    buf_puts(&c->text, "();\nALTER TABLE ");
    buf_put(&c->text, table);
    buf_printf(&c->text, " ENABLE ALWAYS TRIGGER %s", postgres_triggers[event]);
    capture_statement(c, "a trigger of");
}

static void capture_register(struct capturing *c)
{
    buf_puts(&c->text, "INSERT INTO ");
    postgres_capture_table(&c->text, c->fit->shape);
    buf_puts(&c->text, " (table_name, key_columns) VALUES (");
    postgres_literal(&c->text, c->fit->shape->name);
    buf_puts(&c->text, ", ");
    postgres_literal(&c->text, postgres_key_columns(c->fit, c->arena));
    buf_puts(&c->text, ")\nON CONFLICT (table_name) DO UPDATE SET id = gen_random_uuid(), "
                       "key_columns = excluded.key_columns, installed = now()");
    capture_statement(c, "a new history of");
}

/* ---- may it be captured? ---- */

struct capture_found {
    bool plain, family, subscribed;
    bool other; /* there is a journal of another key */
};

static bool capture_take(void *arg, const PGresult *row, struct err *err)
{
    struct capture_found *f = arg;

    (void)err;
    *f = (struct capture_found){ .plain = postgres_bool(row, 0),
                                 .family = postgres_bool(row, 1),
                                 .subscribed = postgres_bool(row, 2),
                                 .other = postgres_bool(row, 3) };
    return true;
}

/* The columns of a journal as those of a table that is made for the key would be. */
static bool capture_ask(struct postgres *p, const struct fit *fit, struct capture_found *ret,
                        struct err *err)
{
    struct arena a = ARENA_INIT(ARGS_ARENA);
    struct postgres_args *args = postgres_args(&a);
    struct buf journal = BUF_INIT(1024), want = BUF_INIT(PLAN_TEXT);

    postgres_part(&journal, fit->shape, PART_JOURNAL);
    for (size_t i = 0; i < fit->key_count; i++)
        buf_printf(&want, "k%zu %.*s, ", i + 1, STR_ARG(postgres_column(fit, i)->native));
    (void)postgres_arg_text(args, fit->shape->quoted);
    (void)postgres_arg_text(args, buf_view(&journal));
    (void)postgres_arg_text(args, buf_view(&want));
    buf_clear(&p->sql);
    buf_puts(&p->sql,
             "SELECT c.relkind = 'r', EXISTS (SELECT FROM pg_catalog.pg_inherits i"
             " WHERE c.oid IN (i.inhrelid, i.inhparent)), EXISTS (SELECT FROM"
             " pg_catalog.pg_subscription_rel s WHERE s.srrelid = c.oid),"
             " coalesce((SELECT pg_catalog.string_agg(a.attname || ' ' ||"
             " pg_catalog.format_type(a.atttypid, a.atttypmod) || ', ', '' ORDER BY a.attnum)"
             " FROM pg_catalog.pg_attribute a"
             " WHERE a.attrelid = pg_catalog.to_regclass($2) AND a.attnum > 0"
             " AND NOT a.attisdropped AND a.attname ~ '^k[0-9]+$') <> $3, false)"
             " FROM pg_catalog.pg_class c WHERE c.oid = $1::pg_catalog.regclass");
    bool ok = postgres_ask_once(p, args, capture_take, ret, err);

    buf_done(&journal);
    buf_done(&want);
    arena_done(&a);
    return ok;
}

static bool capture_may(const struct fit *fit, const struct capture_found *f, struct err *err)
{
    struct str name = str_first(fit->shape->name, 60);

    if (!f->plain || f->family)
        return err_set(err, ERR_CONFIG, 0,
                       "%.*s is a part of a partitioned or inherited table, whose triggers do not "
                       "see all changes: capture it by a column",
                       STR_ARG(name));
    return !f->subscribed ||
           err_set(err, ERR_CONFIG, 0,
                   "%.*s is filled by a subscription, whose changes triggers of statements do not "
                   "see: replicate it from where it comes from",
                   STR_ARG(name));
}

bool postgres_plan_capture(struct database *d, const struct fit *fit, const struct capture *capture,
                           struct arena *a, struct ddl *ret, struct err *err)
{
    struct capture_found found = { 0 };
    struct capturing c = capture_start(fit, a, ret);

    c.append = capture->append;
    if (!capture_ask(postgres_of(d), fit, &found, err) || !capture_may(fit, &found, err))
        return false;
    capture_shared(&c);
    if (found.other) {
        buf_puts(&c.text, "DROP TABLE IF EXISTS ");
        postgres_part(&c.text, fit->shape, PART_JOURNAL);
        capture_statement(&c, "no journal of another key of");
    }
    capture_journal(&c);
    capture_function(&c);
    for (int event = 0; event < EVENTS; event++)
        capture_trigger(&c, (enum postgres_event)event);
    capture_register(&c);
    buf_done(&c.text);
    return true;
}

/* ---- removal ---- */

bool postgres_plan_removal(struct database *d, const struct fit *fit, struct arena *a,
                           struct ddl *ret, struct err *err)
{
    struct capturing c = capture_start(fit, a, ret);
    struct buf table = BUF_INIT(1024), body = BUF_INIT(PLAN_TEXT / 2);

    (void)d;
    (void)err;
    for (int event = 0; event < EVENTS; event++) {
        capture_drop_trigger(&c, (enum postgres_event)event);
        capture_statement(&c, "no trigger of");
    }
    buf_puts(&c.text, "DROP FUNCTION IF EXISTS ");
    postgres_part(&c.text, fit->shape, PART_FUNCTION);
    buf_puts(&c.text, "()");
    capture_statement(&c, "nothing that writes a journal of");
    buf_puts(&c.text, "DROP TABLE IF EXISTS ");
    postgres_part(&c.text, fit->shape, PART_JOURNAL);
    capture_statement(&c, "no journal of");

    postgres_capture_table(&table, fit->shape);
    buf_puts(&body, "\nBEGIN\n    IF to_regclass(");
    postgres_literal(&body, buf_view(&table));
    buf_puts(&body, ") IS NULL THEN\n        RETURN;\n    END IF;\n    DELETE FROM ");
    buf_put(&body, buf_view(&table));
    buf_puts(&body, " WHERE table_name = ");
    postgres_literal(&body, fit->shape->name);
    buf_puts(&body, ";\n    IF NOT EXISTS (SELECT FROM ");
    buf_put(&body, buf_view(&table));
    buf_puts(&body, ") THEN\n        DROP TABLE ");
    buf_put(&body, buf_view(&table));
    buf_puts(&body, ";\n    END IF;\nEND\n");
    buf_puts(&c.text, "DO ");
    postgres_body(&c.text, buf_view(&body));
    capture_statement(&c, "that nothing is captured of");
    buf_done(&table);
    buf_done(&body);
    buf_done(&c.text);
    return true;
}
