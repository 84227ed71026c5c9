#include "store/vfs_sqlite.h"

#include <pthread.h>
#include <sqlite3.h>

#include "base/fault.h"
#include "base/file.h"
#include "base/require.h"

/* The unix layer has one method table for database files and others for logs and
 * journals: each gets a copy of its own, with the sync replaced. */
enum { TABLES = 4 };

static sqlite3_vfs *unix_vfs, own;
static struct {
    const sqlite3_io_methods *of;
    sqlite3_io_methods counted;
} tables[TABLES];
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static int sync_counted(sqlite3_file *file, int flags)
{
    file_count_sync();
    if (fault_error(DB_SYNC))
        return SQLITE_IOERR_FSYNC;
    for (int i = 0; i < TABLES; i++)
        if (file->pMethods == &tables[i].counted)
            return tables[i].of->xSync(file, flags);
    unreachable("a file has our method table");
}

static int open_counted(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                        int *ret_flags)
{
    int rc = unix_vfs->xOpen(unix_vfs, name, file, flags, ret_flags), i = 0;

    (void)vfs;
    if (rc != SQLITE_OK || file->pMethods == NULL)
        return rc;
    (void)pthread_mutex_lock(&mutex);
    while (i < TABLES && tables[i].of != NULL && tables[i].of != file->pMethods)
        i++;
    require(i < TABLES);
    if (tables[i].of == NULL) {
        tables[i].counted = *file->pMethods;
        tables[i].counted.xSync = sync_counted;
        tables[i].of = file->pMethods;
    }
    file->pMethods = &tables[i].counted;
    (void)pthread_mutex_unlock(&mutex);
    return rc;
}

static void make(void)
{
    /* Counting its memory costs SQLite a lock at every allocation. */
    require(sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0) == SQLITE_OK);
    unix_vfs = sqlite3_vfs_find("unix");
    require(unix_vfs != NULL);
    own = *unix_vfs;
    own.pNext = NULL;
    own.zName = VFS_SQLITE_NAME;
    own.xOpen = open_counted;
    require(sqlite3_vfs_register(&own, 0) == SQLITE_OK);
}

void vfs_sqlite_register(void)
{
    (void)pthread_once(&once, make);
}
