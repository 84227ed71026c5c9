/* postgres_mark.c - how far a table of a link is: its row of waybill_applied, in the destination.
 *
 * The table is found by the search path of the role, which is where it was created.  A row that is
 * there is locked; while there is none, a lock by its name keeps two who begin apart.
 */
#include <stdio.h>

#include "base/digest.h"
#include "base/require.h"
#include "table/postgres/postgres.h"

enum { ARGS_ARENA = 1 << 20, MARK_STATEMENTS = 2, STATEMENT_MOST = 16 << 10 };

/* ---- the table ---- */

static struct ddl_statement *mark_statement(struct ddl *ddl, struct arena *a, const char *purpose)
{
    if (ddl->statements == NULL)
        ddl->statements = ARENA_ARRAY(a, struct ddl_statement, MARK_STATEMENTS);
    require(ddl->count < MARK_STATEMENTS);
    ddl->statements[ddl->count].purpose = purpose;
    return &ddl->statements[ddl->count++];
}

static bool mark_take_text(void *arg, const PGresult *row, struct err *err)
{
    struct buf *to = arg;

    return buf_append(to, postgres_text(row, 0), err);
}

bool postgres_plan_mark(struct database *d, struct arena *a, struct ddl *ret, struct err *err)
{
    struct postgres *p = postgres_of(d);
    struct buf schema = BUF_INIT(1024), text = BUF_INIT(STATEMENT_MOST);

    *ret = (struct ddl){ 0 };
    buf_clear(&p->sql);
    buf_puts(&p->sql, "SELECT coalesce((SELECT n.nspname FROM pg_catalog.pg_class c JOIN "
                      "pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = "
                      "pg_catalog.to_regclass('waybill_applied')), "
                      "pg_catalog.current_schema())::text");
    bool ok = postgres_ask_once(p, NULL, mark_take_text, &schema, err);

    if (ok && schema.len == 0)
        ok = err_set(err, ERR_CONFIG, 0, "no schema is in the search path of this role");
    if (ok) {
        buf_puts(&text, "CREATE TABLE IF NOT EXISTS ");
        postgres_name(&text, buf_view(&schema));
        buf_puts(&text, ".waybill_applied (\n"
                        "    link text NOT NULL,\n"
                        "    table_name text NOT NULL,\n"
                        "    epoch text NOT NULL,\n"
                        "    life text NOT NULL,\n"
                        "    phase smallint NOT NULL,\n"
                        "    x bigint NOT NULL,\n"
                        "    x_key bytea NOT NULL,\n"
                        "    load_key bytea NOT NULL,\n"
                        "    fence bigint NOT NULL,\n"
                        "    batches bigint NOT NULL,\n"
                        "    row_count bigint NOT NULL,\n"
                        "    written_at timestamptz NOT NULL,\n"
                        "    PRIMARY KEY (link, table_name)\n)");
        mark_statement(ret, a, "how far the tables of links are")->text =
            arena_copy(a, buf_view(&text));
    }
    buf_done(&schema);
    buf_done(&text);
    return ok;
}

bool postgres_plan_mark_removal(struct database *d, struct str link, struct str table,
                                struct arena *a, struct ddl *ret, struct err *err)
{
    struct buf text = BUF_INIT(STATEMENT_MOST), body = BUF_INIT(STATEMENT_MOST);

    (void)d;
    (void)err;
    *ret = (struct ddl){ 0 };
    buf_puts(&body, "\nBEGIN\n"
                    "    IF to_regclass('waybill_applied') IS NULL THEN\n"
                    "        RETURN;\n"
                    "    END IF;\n"
                    "    DELETE FROM waybill_applied WHERE link = ");
    postgres_literal(&body, link);
    buf_puts(&body, " AND table_name = ");
    postgres_literal(&body, table);
    buf_puts(&body, ";\n    IF NOT EXISTS (SELECT FROM waybill_applied) THEN\n"
                    "        DROP TABLE waybill_applied;\n"
                    "    END IF;\n"
                    "END\n");
    buf_puts(&text, "DO ");
    postgres_body(&text, buf_view(&body));
    mark_statement(ret, a, "how far the table was")->text = arena_copy(a, buf_view(&text));
    buf_done(&text);
    buf_done(&body);
    return true;
}

/* ---- reading ---- */

struct mark_reading {
    struct postgres *p;
    struct arena *arena;
    bool *has;
    struct mark *mark;
};

static bool mark_take_row(void *arg, const PGresult *row, struct err *err)
{
    struct mark_reading *m = arg;
    int64_t phase = postgres_int(row, 2);

    if (phase < MARK_LOAD || phase > MARK_FOLLOW)
        return err_set(err, ERR_PERMANENT, 0, "waybill_applied has a phase that there is not");
    *m->has = true;
    *m->mark = (struct mark){
        .epoch = arena_copy(m->arena, postgres_text(row, 0)),
        .life = arena_copy(m->arena, postgres_text(row, 1)),
        .phase = (enum mark_phase)phase,
        .place = { .x = postgres_int(row, 3), .key = arena_copy(m->arena, postgres_text(row, 4)) },
        .load_key = arena_copy(m->arena, postgres_text(row, 5)),
        .fence = postgres_int(row, 6),
        .batches = postgres_int(row, 7),
        .rows = postgres_int(row, 8),
    };
    m->mark->at_us = postgres_cell(m->p, row, 9).i;
    return true;
}

static bool mark_select(struct postgres *p, struct str link, struct str table,
                        struct mark_reading *m, struct err *err)
{
    struct arena a = ARENA_INIT(ARGS_ARENA);
    struct postgres_args *args = postgres_args(&a);

    (void)postgres_arg_text(args, link);
    (void)postgres_arg_text(args, table);
    buf_clear(&p->sql);
    buf_puts(&p->sql, "SELECT epoch, life, phase, x, x_key, load_key, fence, batches, row_count, "
                      "written_at FROM waybill_applied WHERE link = $1 AND table_name = $2");
    if (p->mode == DATABASE_WRITE)
        buf_puts(&p->sql, " FOR UPDATE");
    bool ok = postgres_ask(p, args, mark_take_row, m, err);

    arena_done(&a);
    return ok;
}

static int64_t mark_lock_number(struct str link, struct str table)
{
    struct digest d = digest_start();
    int64_t n;

    digest_add(&d, STR("waybill_applied"));
    digest_add(&d, str_mem("", 1));
    digest_add(&d, link);
    digest_add(&d, str_mem("", 1));
    digest_add(&d, table);
    struct sha256 hash = digest_end(&d);

    memcpy(&n, hash.bytes, sizeof n);
    return n;
}

static bool mark_lock(struct postgres *p, struct str link, struct str table, struct err *err)
{
    struct arena a = ARENA_INIT(ARGS_ARENA);
    struct postgres_args *args = postgres_args(&a);

    (void)postgres_arg_int(args, mark_lock_number(link, table));
    buf_clear(&p->sql);
    buf_puts(&p->sql, "SELECT pg_catalog.pg_advisory_xact_lock($1)");
    bool ok = postgres_ask(p, args, NULL, NULL, err);

    arena_done(&a);
    return ok;
}

bool postgres_mark_get(struct database *d, struct str link, struct str table, struct arena *a,
                       bool *ret_has, struct mark *ret, struct err *err)
{
    struct postgres *p = postgres_of(d);
    struct mark_reading m = { .p = p, .arena = a, .has = ret_has, .mark = ret };

    *ret_has = false;
    if (!mark_select(p, link, table, &m, err))
        return false;
    if (*ret_has || p->mode != DATABASE_WRITE)
        return true;
    return mark_lock(p, link, table, err) && mark_select(p, link, table, &m, err);
}

/* ---- writing ---- */

bool postgres_mark_put(struct database *d, struct str link, struct str table,
                       const struct mark *mark, struct err *err)
{
    struct postgres *p = postgres_of(d);
    struct arena a = ARENA_INIT(ARGS_ARENA);
    struct postgres_args *args = postgres_args(&a);
    struct buf at = BUF_INIT(16);
    const struct cell at_cell = { .type = CELL_INSTANT, .i = mark->at_us };

    (void)postgres_arg_text(args, link);
    (void)postgres_arg_text(args, table);
    (void)postgres_arg_text(args, mark->epoch);
    (void)postgres_arg_text(args, mark->life);
    (void)postgres_arg_int(args, mark->phase);
    (void)postgres_arg_int(args, mark->place.x);
    (void)postgres_arg(args, TYPE_BYTEA, mark->place.key);
    (void)postgres_arg(args, TYPE_BYTEA, mark->load_key);
    (void)postgres_arg_int(args, mark->fence);
    (void)postgres_arg_int(args, mark->batches);
    (void)postgres_arg_int(args, mark->rows);
    bool ok = postgres_put(&at, TYPE_TIMESTAMPTZ, &at_cell, err);

    if (ok) {
        (void)postgres_arg(args, TYPE_TIMESTAMPTZ, buf_view(&at));
        buf_clear(&p->sql);
        buf_puts(&p->sql,
                 "INSERT INTO waybill_applied AS a (link, table_name, epoch, life, phase, x, "
                 "x_key, load_key, fence, batches, row_count, written_at) "
                 "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) "
                 "ON CONFLICT (link, table_name) DO UPDATE SET epoch = excluded.epoch, "
                 "life = excluded.life, phase = excluded.phase, x = excluded.x, "
                 "x_key = excluded.x_key, load_key = excluded.load_key, fence = excluded.fence, "
                 "batches = excluded.batches, row_count = excluded.row_count, "
                 "written_at = excluded.written_at");
        ok = postgres_ask(p, args, NULL, NULL, err);
    }
    buf_done(&at);
    arena_done(&a);
    return ok;
}

bool postgres_mark_drop(struct database *d, struct str link, struct str table, struct err *err)
{
    struct postgres *p = postgres_of(d);
    struct arena a = ARENA_INIT(ARGS_ARENA);
    struct postgres_args *args = postgres_args(&a);

    (void)postgres_arg_text(args, link);
    (void)postgres_arg_text(args, table);
    buf_clear(&p->sql);
    buf_puts(&p->sql, "DELETE FROM waybill_applied WHERE link = $1 AND table_name = $2");
    bool ok = postgres_ask(p, args, NULL, NULL, err);

    arena_done(&a);
    return ok;
}

/* Until the transaction ends; the triggers of a journal ask for it. */
bool postgres_origin(struct database *d, struct str origin, int64_t at_us, struct err *err)
{
    struct postgres *p = postgres_of(d);
    struct arena a = ARENA_INIT(ARGS_ARENA);
    struct postgres_args *args = postgres_args(&a);
    char at[24];

    (void)snprintf(at, sizeof at, "%lld", (long long)at_us);
    (void)postgres_arg_text(args, origin);
    (void)postgres_arg_text(args, at_us != 0 ? str_of(at) : STR(""));
    buf_clear(&p->sql);
    buf_puts(&p->sql, "SELECT pg_catalog.set_config('waybill.origin', $1, true), "
                      "pg_catalog.set_config('waybill.at', $2, true)");
    bool ok = postgres_ask(p, args, NULL, NULL, err);

    arena_done(&a);
    return ok;
}
