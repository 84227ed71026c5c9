/* db_sqlite.c - the SQLite driver of db.h. */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/require.h"
#include "store/db/db.h"
#include "store/db/vfs_sqlite.h"

/* Statements over numbered tables are prepared per table; a new one replaces the least recently
 * used one. */
enum { SLOTTED = 64 };

/* The log shrinks to this size when it begins anew; while somebody reads an old state of the
 * database it cannot, and beyond LOG_MOST nothing more is taken in. */
#define LOG_KEPT "16777216"
enum { LOG_MOST = 256 << 20, PAGE_BYTES = 4096 };

struct slotted {
    sqlite3_stmt *stmt;
    enum sql_id id;
    int64_t slot, used;
};

struct db_sqlite {
    struct db db;
    sqlite3 *handle;
    sqlite3_stmt *stmts[SQL_COUNT];
    struct slotted slotted[SLOTTED];
    int64_t uses;
    int wal_pages;
    bool reader;
};

static struct db_sqlite *db_sqlite_self_of(struct db *db)
{
    require(db->kind == DB_SQLITE);
    return container_of(db, struct db_sqlite, db);
}

/* After a failed sync or write only recovery knows the state of the file: the writer ends the
 * process.  A full disk is an ordinary error.  Other permanent errors get no code in err->sys,
 * because SQLITE_ERROR would be read as EPERM. */
static bool db_sqlite_fail(struct db_sqlite *self, int rc, const char *what, struct err *err)
{
    int primary = rc & 0xff, sys = sqlite3_system_errno(self->handle);

    bool shared_memory =
        rc == SQLITE_IOERR_SHMSIZE || rc == SQLITE_IOERR_SHMOPEN || rc == SQLITE_IOERR_SHMMAP;

    if (primary == SQLITE_FULL || (shared_memory && sys == ENOSPC))
        return err_set(err, ERR_LIMIT, ENOSPC, "%s: no space left for the database", what);
    if (primary == SQLITE_IOERR && !self->reader && rc != SQLITE_IOERR_NOMEM)
        file_fatal(what, sys != 0 ? sys : EIO);
    if (primary == SQLITE_BUSY || primary == SQLITE_LOCKED)
        return err_set(err, ERR_TRANSIENT, rc, "%s: %s", what, sqlite3_errmsg(self->handle));
    self->db.damaged = primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB;
    if (self->db.damaged)
        return err_set(err, ERR_PERMANENT, DB_DAMAGED,
                       "%s: the database file is damaged (%s): restore a backup", what,
                       sqlite3_errmsg(self->handle));
    return err_set(err, ERR_PERMANENT, 0, "%s: %s", what, sqlite3_errmsg(self->handle));
}

static bool db_sqlite_prepare(struct db_sqlite *self, enum sql_id id, int64_t slot,
                              sqlite3_stmt **ret, struct err *err)
{
    const struct sql_statement *s = &sql_sqlite[id];
    char number[24];
    const char *from = s->text, *at;
    sqlite3_str *text = sqlite3_str_new(self->handle);

    (void)snprintf(number, sizeof number, "%lld", (long long)slot);
    while ((at = strstr(from, "@SLOT@")) != NULL) {
        require(slot >= 0);
        sqlite3_str_append(text, from, (int)(at - from));
        sqlite3_str_appendall(text, number);
        from = at + 6;
    }
    sqlite3_str_appendall(text, from);
    char *sql = sqlite3_str_finish(text);

    require(sql != NULL);
    int rc = sqlite3_prepare_v3(self->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, ret, NULL);

    sqlite3_free(sql);
    return rc == SQLITE_OK ? true : db_sqlite_fail(self, rc, s->name, err);
}

static bool slotted_stmt(struct db_sqlite *self, enum sql_id id, int64_t slot, sqlite3_stmt **ret,
                         struct err *err)
{
    struct slotted *oldest = &self->slotted[0];

    self->uses++;
    for (struct slotted *s = self->slotted; s < self->slotted + SLOTTED; s++) {
        if (s->stmt != NULL && s->id == id && s->slot == slot) {
            s->used = self->uses;
            *ret = s->stmt;
            return true;
        }
        if (s->used < oldest->used)
            oldest = s;
    }
    sqlite3_stmt *stmt;

    if (!db_sqlite_prepare(self, id, slot, &stmt, err))
        return false;
    (void)sqlite3_finalize(oldest->stmt);
    *oldest = (struct slotted){ .stmt = stmt, .id = id, .slot = slot, .used = self->uses };
    *ret = stmt;
    return true;
}

static bool stmt_of(struct db_sqlite *self, enum sql_id id, int64_t slot, sqlite3_stmt **ret,
                    struct err *err)
{
    if (slot != DB_NO_SLOT)
        return slotted_stmt(self, id, slot, ret, err);
    if (self->stmts[id] == NULL && !db_sqlite_prepare(self, id, slot, &self->stmts[id], err))
        return false;
    *ret = self->stmts[id];
    return true;
}

static void bind(sqlite3_stmt *stmt, const struct db_value *v, size_t count)
{
    for (size_t i = 0; i < count; i++, v++) {
        int at = (int)i + 1, rc;

        switch (v->type) {
        case DB_INT:
            rc = sqlite3_bind_int64(stmt, at, v->i);
            break;
        case DB_TEXT:
            rc = sqlite3_bind_text64(stmt, at, v->s.ptr != NULL ? v->s.ptr : "", v->s.len,
                                     SQLITE_STATIC, SQLITE_UTF8);
            break;
        case DB_BYTES:
            rc = sqlite3_bind_blob64(stmt, at, v->s.ptr != NULL ? v->s.ptr : "", v->s.len,
                                     SQLITE_STATIC);
            break;
        default:
            rc = sqlite3_bind_null(stmt, at);
        }
        require(rc == SQLITE_OK);
    }
}

static bool step_to_end(struct db_sqlite *self, sqlite3_stmt *stmt, enum sql_id id, struct err *err)
{
    int rc;

    do
        rc = sqlite3_step(stmt);
    while (rc == SQLITE_ROW);
    if (rc != SQLITE_DONE) {
        rc = sqlite3_extended_errcode(self->handle);
        (void)sqlite3_reset(stmt);
        return db_sqlite_fail(self, rc, sql_sqlite[id].name, err);
    }
    (void)sqlite3_reset(stmt);
    return true;
}

static bool exec(struct db_sqlite *self, const char *text, struct err *err)
{
    int rc = sqlite3_exec(self->handle, text, NULL, NULL, NULL);

    return rc == SQLITE_OK
               ? true
               : db_sqlite_fail(self, sqlite3_extended_errcode(self->handle), "database", err);
}

static bool sqlite_begin(struct db *db, enum sql_id how, struct err *err)
{
    return db_send(db, how, DB_NO_ARGS, err);
}

static bool sqlite_commit(struct db *db, struct err *err)
{
    if (fault_error(GROUP_COMMIT))
        return err_set(err, ERR_PERMANENT, 0, "commit fails (injected)");
    return db_send(db, SQL_TX_COMMIT, DB_NO_ARGS, err);
}

static void sqlite_rollback(struct db *db)
{
    struct err err;

    if (sqlite3_get_autocommit(db_sqlite_self_of(db)->handle) == 0)
        (void)db_send(db, SQL_TX_ROLLBACK, DB_NO_ARGS, &err); /* no caller was notified */
}

static bool sqlite_send(struct db *db, enum sql_id id, int64_t slot, const struct db_value *values,
                        size_t columns, size_t rows, struct err *err)
{
    struct db_sqlite *self = db_sqlite_self_of(db);
    sqlite3_stmt *stmt;

    if (!stmt_of(self, id, slot, &stmt, err))
        return false;
    for (size_t i = 0; i < rows; i++) {
        bind(stmt, values + i * columns, columns);
        if (!step_to_end(self, stmt, id, err))
            return false;
    }
    return true;
}

static bool sqlite_run(struct db *db, enum sql_id id, int64_t slot, struct db_args args,
                       int64_t *ret_changed, struct err *err)
{
    if (!sqlite_send(db, id, slot, args.values, args.count, 1, err))
        return false;
    *ret_changed = sqlite3_changes64(db_sqlite_self_of(db)->handle);
    return true;
}

static bool sqlite_query(struct db *db, enum sql_id id, int64_t slot, struct db_args args,
                         struct db_rows *ret, struct err *err)
{
    sqlite3_stmt *stmt;

    if (!stmt_of(db_sqlite_self_of(db), id, slot, &stmt, err))
        return false;
    bind(stmt, args.values, args.count);
    ret->state = stmt;
    ret->row = (int)id;
    return true;
}

static bool sqlite_next(struct db_rows *rows, bool *ret_row, struct err *err)
{
    int rc = sqlite3_step(rows->state);

    if (rc != SQLITE_ROW && rc != SQLITE_DONE) {
        struct db_sqlite *self = db_sqlite_self_of(rows->db);

        rc = sqlite3_extended_errcode(self->handle);
        return db_sqlite_fail(self, rc, sql_sqlite[rows->row].name, err);
    }
    *ret_row = rc == SQLITE_ROW;
    return true;
}

static bool sqlite_is_null(struct db_rows *rows, int column)
{
    return sqlite3_column_type(rows->state, column) == SQLITE_NULL;
}

static int64_t sqlite_get_int(struct db_rows *rows, int column)
{
    return sqlite3_column_int64(rows->state, column);
}

static struct str sqlite_get_str(struct db_rows *rows, int column)
{
    const char *p = sqlite3_column_blob(rows->state, column);

    return str_mem(p != NULL ? p : "", (size_t)sqlite3_column_bytes(rows->state, column));
}

static void sqlite_rows_done(struct db_rows *rows)
{
    (void)sqlite3_reset(rows->state);
}

static bool sqlite_script(struct db *db, const char *text, struct err *err)
{
    return exec(db_sqlite_self_of(db), text, err);
}

static bool sqlite_alive(struct db *db)
{
    (void)db;
    return true;
}

static bool sqlite_revive(struct db *db, struct err *err)
{
    (void)db;
    (void)err;
    return true;
}

static void sqlite_close(struct db *db)
{
    struct db_sqlite *self = db_sqlite_self_of(db);

    for (size_t i = 0; i < SQL_COUNT; i++)
        (void)sqlite3_finalize(self->stmts[i]);
    for (size_t i = 0; i < SLOTTED; i++)
        (void)sqlite3_finalize(self->slotted[i].stmt);
    (void)sqlite3_close(self->handle);
    free(self);
}

static const struct db_driver driver = {
    .begin = sqlite_begin,
    .commit = sqlite_commit,
    .rollback = sqlite_rollback,
    .send = sqlite_send,
    .run = sqlite_run,
    .query = sqlite_query,
    .next = sqlite_next,
    .is_null = sqlite_is_null,
    .get_int = sqlite_get_int,
    .get_str = sqlite_get_str,
    .rows_done = sqlite_rows_done,
    .script = sqlite_script,
    .alive = sqlite_alive,
    .revive = sqlite_revive,
    .close = sqlite_close,
};

static void sql_now_us(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    (void)argv;
    sqlite3_result_int64(context, clock_wall_us());
}

/* Replaces SQLite's own hook, which would checkpoint within a commit. */
static int wal_hook(void *arg, sqlite3 *handle, const char *name, int pages)
{
    (void)handle;
    (void)name;
    ((struct db_sqlite *)arg)->wal_pages = pages;
    return SQLITE_OK;
}

/* Reads `synchronous` back, to refuse a SQLite build that lowers it.  Only a test build may ask
 * for less, to prove that the power-cut test detects the loss. */
static bool set_durable(struct db_sqlite *self, struct err *err)
{
    const char *lower = fault_switch("WAYBILL_TEST_SYNCHRONOUS");
    sqlite3_stmt *stmt;
    int level = -1;

    if (lower != NULL) {
        char text[64];

        (void)snprintf(text, sizeof text, "PRAGMA synchronous=%.8s", lower);
        return exec(self, text, err);
    }
    if (!exec(self, "PRAGMA synchronous=FULL", err))
        return false;
    if (sqlite3_prepare_v2(self->handle, "PRAGMA synchronous", -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW)
        level = sqlite3_column_int(stmt, 0);
    (void)sqlite3_finalize(stmt);
    if (level != 2)
        return err_set(err, ERR_CONFIG, 0, "the database does not sync on commit (level %d)",
                       level);
    return true;
}

static bool db_sqlite_set_up(struct db_sqlite *self, struct err *err)
{
    int flag;

    (void)sqlite3_extended_result_codes(self->handle, 1);
    (void)sqlite3_busy_timeout(self->handle, 5000);
    (void)sqlite3_db_config(self->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, &flag);
    (void)sqlite3_db_config(self->handle, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, &flag);
    (void)sqlite3_create_function_v2(self->handle, "now_us", 0, SQLITE_UTF8, NULL, sql_now_us, NULL,
                                     NULL, NULL);
    if (!exec(self, "PRAGMA trusted_schema=OFF; PRAGMA mmap_size=0; PRAGMA temp_store=MEMORY;",
              err))
        return false;
    if (self->reader)
        return exec(self, "PRAGMA wal_autocheckpoint=0; PRAGMA cache_size=-4096", err);
    (void)sqlite3_wal_hook(self->handle, wal_hook, self);
    return exec(self,
                "PRAGMA page_size=4096; PRAGMA journal_mode=WAL; PRAGMA secure_delete=OFF;"
                "PRAGMA journal_size_limit=" LOG_KEPT ";"
                "PRAGMA cache_size=-32768; PRAGMA foreign_keys=OFF",
                err) &&
           set_durable(self, err);
}

bool db_open_sqlite(const struct db_sqlite_options *options, struct db **ret, struct err *err)
{
    struct db_sqlite *self = NEW(struct db_sqlite);
    int flags = options->reader ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;

    self->db = (struct db){ .driver = &driver, .kind = DB_SQLITE };
    self->reader = options->reader;
    vfs_sqlite_register();
    int rc =
        sqlite3_open_v2(options->path, &self->handle, flags | SQLITE_OPEN_NOMUTEX, VFS_SQLITE_NAME);

    require(self->handle != NULL);
    if (rc != SQLITE_OK) {
        (void)err_set(err, ERR_CONFIG, rc, "open %s: %s", options->path,
                      sqlite3_errmsg(self->handle));
        sqlite_close(&self->db);
        return false;
    }
    if (!db_sqlite_set_up(self, err)) {
        sqlite_close(&self->db);
        return err_context(err, "open %s", options->path);
    }
    *ret = &self->db;
    return true;
}

sqlite3 *db_sqlite_handle(struct db *db)
{
    return db_sqlite_self_of(db)->handle;
}

int64_t db_sqlite_wal_pages(struct db *db)
{
    return db_sqlite_self_of(db)->wal_pages;
}

bool db_sqlite_log_has_room(struct db *db, struct err *err)
{
    const char *lower = fault_switch("WAYBILL_TEST_LOG_MOST");
    int64_t bytes = db_sqlite_wal_pages(db) * PAGE_BYTES, most = LOG_MOST;

    if (lower != NULL && !str_to_i64(str_of(lower), &most))
        most = LOG_MOST;
    return bytes <= most ||
           err_set(err, ERR_TRANSIENT, DB_NOT_ALL,
                   "the log of the database has grown to %lld MB, because another program reads "
                   "waybill.db in an open transaction: end it",
                   (long long)(bytes >> 20));
}

bool db_sqlite_checkpoint(struct db *db, struct err *err)
{
    struct db_sqlite *self = db_sqlite_self_of(db);
    int log = 0, moved = 0;

    fault_point(CHECKPOINT);
    int rc = sqlite3_wal_checkpoint_v2(self->handle, NULL, SQLITE_CHECKPOINT_PASSIVE, &log, &moved);

    if (rc != SQLITE_OK)
        return db_sqlite_fail(self, sqlite3_extended_errcode(self->handle), "checkpoint", err);
    self->wal_pages = log - moved;
    return true;
}
