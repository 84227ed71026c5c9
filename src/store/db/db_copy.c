#include "store/db/db_copy.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/require.h"
#include "store/db/vfs_sqlite.h"

enum { PAGE_BYTES = 4096 };

struct db_copy {
    sqlite3 *to;
    sqlite3_backup *backup; /* NULL: detached */
};

static bool db_copy_fail(sqlite3 *handle, int rc, struct err *err)
{
    int primary = rc & 0xff;

    if (primary == SQLITE_FULL)
        return err_set(err, ERR_LIMIT, ENOSPC, "copy the database: no space left in the backup");
    return err_set(err, primary == SQLITE_CORRUPT ? ERR_PERMANENT : ERR_TRANSIENT, rc,
                   "copy the database: %s",
                   rc == sqlite3_errcode(handle) ? sqlite3_errmsg(handle) : sqlite3_errstr(rc));
}

bool db_copy_begin(struct db *from, const char *path, struct db_copy **ret, struct err *err)
{
    struct db_copy *c = NEW(struct db_copy);

    vfs_sqlite_register();
    int rc = sqlite3_open_v2(
        path, &c->to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, "unix");

    require(c->to != NULL);
    /* A partial copy is worthless, so it needs no journal; the caller syncs the complete one. */
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(c->to,
                          "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=512",
                          NULL, NULL, NULL);
    if (rc == SQLITE_OK) {
        c->backup = sqlite3_backup_init(c->to, "main", db_sqlite_handle(from), "main");
        rc = c->backup != NULL ? SQLITE_OK : sqlite3_errcode(c->to);
    }
    if (rc != SQLITE_OK) {
        (void)db_copy_fail(c->to, rc, err);
        (void)sqlite3_close(c->to);
        free(c);
        return false;
    }
    *ret = c;
    return true;
}

bool db_copy_step(struct db_copy *c, int pages, bool *ret_done, int64_t *ret_left,
                  int64_t *ret_total, struct err *err)
{
    int rc = sqlite3_backup_step(c->backup, pages);

    *ret_left = (int64_t)sqlite3_backup_remaining(c->backup) * PAGE_BYTES;
    *ret_total = (int64_t)sqlite3_backup_pagecount(c->backup) * PAGE_BYTES;
    *ret_done = rc == SQLITE_DONE;
    if (rc == SQLITE_OK || rc == SQLITE_DONE || rc == SQLITE_BUSY || rc == SQLITE_LOCKED)
        return true;
    return db_copy_fail(c->to, rc, err);
}

void db_copy_detach(struct db_copy *c)
{
    (void)sqlite3_backup_finish(c->backup); /* the last step has returned its error */
    c->backup = NULL;
}

/* The copy has the WAL mode of its source; a backup must be a single file. */
bool db_copy_end(struct db_copy *c, struct err *err)
{
    if (c == NULL)
        return true;
    require(c->backup == NULL);
    int rc = sqlite3_exec(c->to, "PRAGMA journal_mode=DELETE", NULL, NULL, NULL);
    bool ok = rc == SQLITE_OK || db_copy_fail(c->to, rc, err);

    (void)sqlite3_close(c->to);
    free(c);
    return ok;
}
