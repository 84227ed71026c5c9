/* postgres.c - PostgreSQL as a place of tables that are replicated (database.h): its entry, its
 * options, its transactions.
 *
 * What we read is planned for streams in order of an index: sorts and joins that read a whole table
 * first are off while we only read.  Where we write, other people's triggers run in our session,
 * and nothing is changed for them.
 */
#include "table/postgres/postgres.h"

static const struct option postgres_options[] = {
    OPTION("dsn", OPT_SECRET, "its address, such as postgres://user:password@host:port/database",
           .flags = OPT_REQUIRED),
    OPTION("connect_timeout", OPT_DURATION, "how long connecting may take", .fallback = "10s",
           .least = 1000000),
    OPTION("timeout", OPT_DURATION, "how long the server may be silent", .fallback = "60s",
           .least = 1000000),
    { 0 },
};

static bool postgres_broken(const struct database *d)
{
    const struct postgres *p = (const struct postgres *)(const void *)d;

    return p->broken || PQstatus(p->conn) != CONNECTION_OK;
}

static void postgres_lend(struct database *d, struct call *call)
{
    struct postgres *p = (struct postgres *)(void *)d;

    p->call = call;
}

/* ---- transactions ---- */

static bool postgres_transaction_begin(struct database *d, enum database_mode mode, struct err *err)
{
    static const char *const begins[] = {
        [DATABASE_READ] = "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY; "
                          "SET LOCAL enable_sort = off; SET LOCAL enable_hashjoin = off; "
                          "SET LOCAL enable_mergejoin = off; SET LOCAL enable_bitmapscan = off; "
                          "SET LOCAL max_parallel_workers_per_gather = 0; "
                          "SET LOCAL plan_cache_mode = force_generic_plan",
        [DATABASE_SNAPSHOT] = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; "
                              "SET LOCAL enable_sort = off; SET LOCAL enable_hashjoin = off; "
                              "SET LOCAL enable_mergejoin = off; "
                              "SET LOCAL enable_bitmapscan = off; "
                              "SET LOCAL max_parallel_workers_per_gather = 0; "
                              "SET LOCAL plan_cache_mode = force_generic_plan",
        [DATABASE_WRITE] = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
    };
    struct postgres *p = postgres_of(d);

    p->saved = p->deferred = false;
    p->mode = mode;
    p->open = postgres_run(p, begins[mode], err);
    return p->open;
}

/* A connection that ends while it commits leaves open whether it did: also where the server still
 * says why it ends. */
static bool postgres_transaction_commit(struct database *d, struct err *err)
{
    struct postgres *p = postgres_of(d);

    if (!p->open)
        return err_set(err, ERR_PERMANENT, 0, "there is no transaction to commit");
    bool before = p->broken || PQtransactionStatus(p->conn) == PQTRANS_INERROR;

    p->open = p->saved = p->deferred = false;
    if (!postgres_run(p, "COMMIT", err)) {
        if (!before && p->broken && p->mode == DATABASE_WRITE)
            err->kind = ERR_UNCERTAIN;
        return false;
    }
    return !before || p->mode != DATABASE_WRITE ||
           err_set(err, ERR_PERMANENT, 0, "the transaction had failed: it was rolled back");
}

static void postgres_transaction_rollback(struct database *d)
{
    struct postgres *p = postgres_of(d);
    struct err why = { 0 };

    if (p->open && !p->broken && !postgres_run(p, "ROLLBACK", &why))
        p->broken = true;
    p->open = p->saved = p->deferred = false;
}

static bool postgres_transaction_save(struct database *d, struct err *err)
{
    struct postgres *p = postgres_of(d);
    bool had = p->saved;

    p->saved = true;
    return postgres_run(
        p, had ? "RELEASE SAVEPOINT waybill; SAVEPOINT waybill" : "SAVEPOINT waybill", err);
}

static bool postgres_transaction_back(struct database *d, struct err *err)
{
    struct postgres *p = postgres_of(d);

    p->deferred = false;
    return postgres_run(p, "ROLLBACK TO SAVEPOINT waybill", err);
}

/* ---- statements that were shown to a person ---- */

static bool postgres_run_ddl(struct database *d, struct str statement, struct err *err)
{
    struct postgres *p = postgres_of(d);

    if (memchr(statement.ptr, '\0', statement.len) != NULL)
        return err_set(err, ERR_PERMANENT, 0, "a statement is no text");
    buf_clear(&p->sql);
    return buf_append(&p->sql, statement, err) && postgres_run(p, p->sql.ptr, err);
}

const struct database_type database_postgres = {
    .kind = { .name = "postgres",
              .help = "a database of PostgreSQL, 13 or newer",
              .keys = postgres_options,
              .example = "orders: { kind: postgres, dsn: secret:orders-db }",
              .groups = true },
    .open = postgres_open,
    .close = postgres_close,
    .broken = postgres_broken,
    .lend = postgres_lend,
    .describe = postgres_describe,
    .begin = postgres_transaction_begin,
    .commit = postgres_transaction_commit,
    .rollback = postgres_transaction_rollback,
    .save = postgres_transaction_save,
    .back = postgres_transaction_back,
    .plan_capture = postgres_plan_capture,
    .plan_capture_removal = postgres_plan_removal,
    .look = postgres_look,
    .ceiling = postgres_ceiling,
    .changes = postgres_changes,
    .changes_of = postgres_changes_of,
    .backlog = postgres_backlog,
    .pruned = postgres_pruned,
    .prune = postgres_prune,
    .rows = postgres_rows,
    .rows_of = postgres_rows_of,
    .count = postgres_count,
    .find = postgres_find,
    .plan_mark = postgres_plan_mark,
    .plan_mark_removal = postgres_plan_mark_removal,
    .mark_get = postgres_mark_get,
    .mark_put = postgres_mark_put,
    .mark_drop = postgres_mark_drop,
    .origin = postgres_origin,
    .upsert = postgres_upsert,
    .add = postgres_add,
    .remove = postgres_remove,
    .run_ddl = postgres_run_ddl,
};
