/* sqlite.c - SQLite files of others as databases of tables (database.h).
 *
 * A file is opened as it is, and never made.  Of a source nothing is written, and its write-ahead
 * log is never moved into it: not while it is open, nor when it is closed.  Of a destination we
 * are to be the only writer: with SQLite before 3.51.3 two that write or checkpoint at the same
 * moment can damage the file.  After many commits the log is moved, while a connection of ours
 * holds the lock of writers.
 *
 * A file that was replaced by another one (a copy was put back) is not read any more: the
 * connection is broken then.
 *
 * Foreign keys of a destination count, and are looked at behind each call that writes: rows of one
 * call may come in any order.
 */
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "core/call.h"
#include "table/sqlite/sqlite_database.h"

enum {
    LOG_PAGES = 1000, /* are moved into the file */
    STEPS = 20000,    /* of SQLite's machine, from one look at the call to the next */
    WAIT_MOST_MS = 25 /* of one wait for a lock */
};

#define TIMEOUT_US (60 * CLOCK_S)

/* ---- opening ---- */

static int sqlite_waits(void *arg, int n)
{
    struct sqlite_database *d = arg;
    int64_t now = clock_mono_us();

    if (n == 0)
        d->waits_since_us = now;
    if (call_is_over(d->call) || now - d->waits_since_us >= d->timeout_us)
        return 0;
    int64_t ms = n < 5 ? (int64_t)1 << n : WAIT_MOST_MS;

    clock_sleep_us((ms < WAIT_MOST_MS ? ms : WAIT_MOST_MS) * CLOCK_MS);
    return 1;
}

static int sqlite_goes_on(void *arg)
{
    const struct sqlite_database *d = arg;

    return call_is_over(d->call);
}

static int sqlite_logged(void *arg, sqlite3 *handle, const char *schema, int pages)
{
    struct sqlite_database *d = arg;

    (void)handle;
    (void)schema;
    d->log_pages = pages;
    return SQLITE_OK;
}

static bool sqlite_find(const struct database_address *address, char **ret, struct err *err)
{
    struct str path = address->path;
    struct stat st;

    if (path.len == 0 || memchr(path.ptr, '\0', path.len) != NULL)
        return err_set(err, ERR_CONFIG, 0, "the path of the file is empty or no path");
    /* Without a slash SQLite has words of its own, such as ":memory:". */
    struct buf whole = BUF_INIT(1 << 16);
    bool ok =
        (path.ptr[0] == '/' || buf_append(&whole, STR("./"), err)) && buf_append(&whole, path, err);

    if (ok && stat(whole.ptr, &st) != 0)
        ok = err_set(err, ERR_CONFIG, 0, "there is no file %.*s", STR_ARG(str_first(path, 120)));
    else if (ok && !S_ISREG(st.st_mode))
        ok = err_set(err, ERR_CONFIG, 0, "%.*s is no file", STR_ARG(str_first(path, 120)));
    if (ok)
        *ret = xstrndup(buf_view(&whole));
    buf_done(&whole);
    return ok;
}

/* What comes from the file is not trusted. */
static void sqlite_restrict(sqlite3 *handle)
{
    (void)sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    (void)sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    (void)sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
    (void)sqlite3_db_config(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    (void)sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_FKEY, 1, NULL);
    (void)sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, 2 * SHAPE_ROW_BYTES);
    (void)sqlite3_limit(handle, SQLITE_LIMIT_SQL_LENGTH, SQLITE_TEXT_MOST);
    (void)sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0);
    (void)sqlite3_limit(handle, SQLITE_LIMIT_WORKER_THREADS, 0);
}

static int sqlite_connect(const char *path, sqlite3 **ret)
{
    int rc = sqlite3_open_v2(
        path, ret, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);

    if (*ret != NULL)
        sqlite_restrict(*ret);
    return rc;
}

/* The first read shows whether it is a database at all. */
static bool sqlite_settle(struct sqlite_database *d, struct err *err)
{
    sqlite3_stmt *stmt;
    bool row;

    (void)sqlite3_busy_handler(d->handle, sqlite_waits, d);
    sqlite3_progress_handler(d->handle, STEPS, sqlite_goes_on, d);
    (void)sqlite3_wal_hook(d->handle, sqlite_logged, d); /* and no checkpoint by itself */
    /* A confined process may make no temporary files. */
    if (!sqlite_run(d, "PRAGMA synchronous = FULL", "opening", err) ||
        !sqlite_run(d, "PRAGMA temp_store = MEMORY", "opening", err) ||
        !sqlite_run(d, "SELECT count(*) FROM main.sqlite_schema", "opening", err) ||
        !sqlite_column_prepare(d, err) || !sqlite_ask(d, STR("PRAGMA main.encoding"), &stmt, err))
        return false;
    if (!sqlite_step(d, stmt, "opening", &row, err))
        return false;
    d->is_wide = !row || !str_is(sqlite_text_at(stmt, 0), "UTF-8");
    sqlite_end(stmt);
    return true;
}

static void sqlite_table_close(struct database *db)
{
    struct sqlite_database *d = sqlite_of(db);

    if (d == NULL)
        return;
    sqlite_forget(d);
    (void)sqlite3_close(d->guard);
    (void)sqlite3_close(d->handle);
    arena_done(&d->row);
    free(d->path);
    free(d);
}

static bool sqlite_open(const struct database_address *address, struct database **ret,
                        struct err *err)
{
    struct sqlite_database *d = NEW(struct sqlite_database);

    *d = (struct sqlite_database){ .call = address->call,
                                   .timeout_us =
                                       address->timeout_us > 0 ? address->timeout_us : TIMEOUT_US,
                                   .row = ARENA_INIT(SQLITE_CELLS) };
    bool ok = sqlite_find(address, &d->path, err);
    int rc = ok ? sqlite_connect(d->path, &d->handle) : SQLITE_OK;

    if (ok && rc != SQLITE_OK) {
        ok = sqlite_fail(d, rc, "opening", err);
        if ((rc & 0xff) == SQLITE_CANTOPEN)
            err->kind = ERR_CONFIG;
    }
    ok = ok && sqlite_settle(d, err);
    if (!ok) {
        sqlite_table_close((struct database *)d);
        return false;
    }
    *ret = (struct database *)d;
    return true;
}

static bool sqlite_broken(const struct database *db)
{
    return ((const struct sqlite_database *)db)->broken;
}

static void sqlite_lend(struct database *db, struct call *call)
{
    struct sqlite_database *d = (struct sqlite_database *)db;

    d->call = call;
}

/* ---- transactions ---- */

static bool sqlite_table_begin(struct database *db, enum database_mode mode, struct err *err)
{
    struct sqlite_database *d = sqlite_of(db);

    if (!sqlite_here(d, err))
        return false;
    d->saved = d->has_origin = false;
    switch (mode) {
    case DATABASE_READ: /* each statement by itself */
        d->in = SQLITE_READS;
        return true;
    case DATABASE_SNAPSHOT: /* the first read decides which moment it is */
        if (!sqlite_run(d, "BEGIN", "beginning", err) ||
            !sqlite_run(d, "SELECT count(*) FROM main.sqlite_schema", "beginning", err))
            return false;
        d->in = SQLITE_LOOKS;
        return true;
    case DATABASE_WRITE:
        if (!sqlite_run(d, "BEGIN IMMEDIATE", "beginning", err) ||
            !sqlite_run(d, "PRAGMA defer_foreign_keys = ON", "beginning", err))
            return false;
        d->in = SQLITE_WRITES;
        return true;
    }
    return err_set(err, ERR_PERMANENT, 0, "there is no such transaction");
}

/* Moves the log into the file, as far as nobody reads what it would replace.  No other connection
 * may write meanwhile: if that cannot be had at once, it is left for later. */
static void sqlite_checkpoint(struct sqlite_database *d)
{
    if (d->guard == NULL && sqlite_connect(d->path, &d->guard) != SQLITE_OK) {
        (void)sqlite3_close(d->guard);
        d->guard = NULL;
        return;
    }
    (void)sqlite3_wal_autocheckpoint(d->guard, 0);
    if (sqlite3_exec(d->guard, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
        return;
    (void)sqlite3_wal_checkpoint_v2(d->handle, "main", SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    (void)sqlite3_exec(d->guard, "ROLLBACK", NULL, NULL, NULL);
    d->log_pages = 0;
}

static bool sqlite_table_commit(struct database *db, struct err *err)
{
    struct sqlite_database *d = sqlite_of(db);
    bool writes = d->in == SQLITE_WRITES;

    if (d->in == SQLITE_READS) {
        d->in = SQLITE_OUTSIDE;
        return true;
    }
    if (writes && !sqlite_origin_clear(d, err))
        return false;
    if (!sqlite_run(d, "COMMIT", "committing", err)) {
        if (writes && (err->sys & 0xff) == SQLITE_IOERR)
            err->kind = ERR_UNCERTAIN;
        return false;
    }
    d->in = SQLITE_OUTSIDE;
    if (writes && d->log_pages >= LOG_PAGES)
        sqlite_checkpoint(d);
    return true;
}

static void sqlite_table_rollback(struct database *db)
{
    struct sqlite_database *d = sqlite_of(db);

    if (sqlite3_get_autocommit(d->handle) == 0)
        (void)sqlite3_exec(d->handle, "ROLLBACK", NULL, NULL, NULL);
    if (sqlite3_get_autocommit(d->handle) == 0)
        d->broken = true;
    d->in = SQLITE_OUTSIDE;
    d->saved = d->has_origin = false;
}

static bool sqlite_save(struct database *db, struct err *err)
{
    struct sqlite_database *d = sqlite_of(db);

    if (sqlite3_get_autocommit(d->handle) != 0)
        return err_set(err, ERR_PERMANENT, 0, "no transaction is open for a savepoint");
    if (d->saved && !sqlite_run(d, "RELEASE waybill", "a savepoint", err))
        return false;
    d->saved = false;
    if (!sqlite_run(d, "SAVEPOINT waybill", "a savepoint", err))
        return false;
    d->saved = true;
    return true;
}

static bool sqlite_back(struct database *db, struct err *err)
{
    struct sqlite_database *d = sqlite_of(db);

    if (sqlite3_get_autocommit(d->handle) != 0)
        return err_set(err, ERR_PERMANENT, 0,
                       "the table itself has rolled the whole transaction back (RAISE(ROLLBACK))");
    return sqlite_run(d, "ROLLBACK TO waybill", "back to a savepoint", err);
}

/* ---- all of it ---- */

static const struct option sqlite_keys[] = {
    OPTION("path", OPT_PATH, "the file; it has to be there", .flags = OPT_REQUIRED),
    OPTION("timeout", OPT_DURATION, "how long to wait for another program that writes to it",
           .fallback = "60s", .least = 1 * CLOCK_S, .most = 3600LL * CLOCK_S),
    { 0 }
};

const struct database_type database_sqlite = {
    .kind = { .name = "sqlite",
              .help = "a SQLite file",
              .keys = sqlite_keys,
              .example = "{ kind: sqlite, path: /srv/mirror.db }" },
    .open = sqlite_open,
    .close = sqlite_table_close,
    .broken = sqlite_broken,
    .lend = sqlite_lend,
    .describe = sqlite_describe,
    .begin = sqlite_table_begin,
    .commit = sqlite_table_commit,
    .rollback = sqlite_table_rollback,
    .save = sqlite_save,
    .back = sqlite_back,
    .plan_capture = sqlite_plan_capture,
    .plan_capture_removal = sqlite_plan_capture_removal,
    .look = sqlite_look,
    .ceiling = sqlite_ceiling,
    .changes = sqlite_changes,
    .changes_of = sqlite_changes_of,
    .backlog = sqlite_backlog,
    .pruned = sqlite_pruned,
    .rows = sqlite_rows,
    .rows_of = sqlite_rows_of,
    .count = sqlite_count,
    .find = sqlite_find_rows,
    .plan_mark = sqlite_plan_mark,
    .plan_mark_removal = sqlite_plan_mark_removal,
    .mark_get = sqlite_mark_get,
    .mark_put = sqlite_mark_put,
    .mark_drop = sqlite_mark_drop,
    .origin = sqlite_origin,
    .upsert = sqlite_upsert,
    .add = sqlite_add,
    .remove = sqlite_remove,
    .run_ddl = sqlite_run_ddl
};
