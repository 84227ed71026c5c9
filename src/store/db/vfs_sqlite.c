#include "store/db/vfs_sqlite.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/require.h"

/* The unix layer has one method table for database files and others for logs and
 * journals: each gets a copy with some methods replaced. */
enum {
    TABLES = 4,
    GATHER_MOST = 64 << 10, /* the unix layer writes less than 128 KiB at a time */
    ALIGN = 16
};

/* Stored behind the unix layer's own struct of a file. */
struct gather {
    bool is_log;
    char *bytes; /* GATHER_MOST, from the first write on */
    sqlite3_int64 at;
    size_t len;
};

static sqlite3_vfs *unix_vfs, own;
static size_t gather_at;
static struct {
    const sqlite3_io_methods *of;
    sqlite3_io_methods ours;
} tables[TABLES];
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static struct gather *gather_of(sqlite3_file *file)
{
    return (struct gather *)((char *)file + gather_at);
}

static const sqlite3_io_methods *below(const sqlite3_file *file)
{
    for (int i = 0; i < TABLES; i++)
        if (file->pMethods == &tables[i].ours)
            return tables[i].of;
    unreachable("a file has our method table");
}

/* ---- gathering log writes ---- */

static int flush(sqlite3_file *file)
{
    struct gather *g = gather_of(file);
    size_t len = g->len;

    g->len = 0; /* also on failure: SQLite does not repeat a failed write */
    return len > 0 ? below(file)->xWrite(file, g->bytes, (int)len, g->at) : SQLITE_OK;
}

static int write_gathered(sqlite3_file *file, const void *bytes, int len, sqlite3_int64 at)
{
    struct gather *g = gather_of(file);

    if (g->is_log && fault_error(DB_FULL))
        return SQLITE_FULL;
    if (!g->is_log || len > GATHER_MOST)
        return below(file)->xWrite(file, bytes, len, at);
    if (g->len > 0 && (at != g->at + (sqlite3_int64)g->len || g->len + (size_t)len > GATHER_MOST)) {
        int rc = flush(file);

        if (rc != SQLITE_OK)
            return rc;
    }
    if (g->bytes == NULL)
        g->bytes = xmalloc(GATHER_MOST);
    if (g->len == 0)
        g->at = at;
    memcpy(g->bytes + g->len, bytes, (size_t)len);
    g->len += (size_t)len;
    return SQLITE_OK;
}

static int read_flushed(sqlite3_file *file, void *to, int len, sqlite3_int64 at)
{
    int rc = flush(file);

    return rc == SQLITE_OK ? below(file)->xRead(file, to, len, at) : rc;
}

static int truncate_flushed(sqlite3_file *file, sqlite3_int64 size)
{
    int rc = flush(file);

    return rc == SQLITE_OK ? below(file)->xTruncate(file, size) : rc;
}

static int size_flushed(sqlite3_file *file, sqlite3_int64 *ret)
{
    int rc = flush(file);

    return rc == SQLITE_OK ? below(file)->xFileSize(file, ret) : rc;
}

static int close_flushed(sqlite3_file *file)
{
    struct gather *g = gather_of(file);
    int rc = flush(file), closed = below(file)->xClose(file);

    free(g->bytes);
    *g = (struct gather){ 0 };
    return rc != SQLITE_OK ? rc : closed;
}

/* ---- syncs ---- */

static int sync_counted(sqlite3_file *file, int flags)
{
    int rc = flush(file);

    if (rc != SQLITE_OK)
        return rc;
    file_count_sync();
    if (fault_error(DB_SYNC))
        return SQLITE_IOERR_FSYNC;
    return below(file)->xSync(file, flags);
}

/* ---- the layer ---- */

static void replace(sqlite3_io_methods *m)
{
    m->xSync = sync_counted;
    m->xWrite = write_gathered;
    m->xRead = read_flushed;
    m->xTruncate = truncate_flushed;
    m->xFileSize = size_flushed;
    m->xClose = close_flushed;
}

static int open_ours(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                     int *ret_flags)
{
    int rc = unix_vfs->xOpen(unix_vfs, name, file, flags, ret_flags), i = 0;

    (void)vfs;
    if (rc != SQLITE_OK || file->pMethods == NULL)
        return rc;
    *gather_of(file) = (struct gather){ .is_log = (flags & SQLITE_OPEN_WAL) != 0 };
    (void)pthread_mutex_lock(&mutex);
    while (i < TABLES && tables[i].of != NULL && tables[i].of != file->pMethods)
        i++;
    require(i < TABLES);
    if (tables[i].of == NULL) {
        tables[i].ours = *file->pMethods;
        replace(&tables[i].ours);
        tables[i].of = file->pMethods;
    }
    file->pMethods = &tables[i].ours;
    (void)pthread_mutex_unlock(&mutex);
    return rc;
}

static void vfs_sqlite_make(void)
{
    /* With memory statistics SQLite takes a lock at every allocation. */
    require(sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0) == SQLITE_OK);
    unix_vfs = sqlite3_vfs_find("unix");
    require(unix_vfs != NULL);
    gather_at = ((size_t)unix_vfs->szOsFile + ALIGN - 1) / ALIGN * ALIGN;
    own = *unix_vfs;
    own.pNext = NULL;
    own.zName = VFS_SQLITE_NAME;
    own.xOpen = open_ours;
    own.szOsFile = (int)(gather_at + sizeof(struct gather));
    require(sqlite3_vfs_register(&own, 0) == SQLITE_OK);
}

void vfs_sqlite_register(void)
{
    (void)pthread_once(&once, vfs_sqlite_make);
}
