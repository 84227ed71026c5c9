/* restore_files.h - restores a backup while no node runs.
 *
 * Every file is compared with the manifest before anything is written, and again while it is
 * copied: a backup with a changed bit is refused, and the error names the file.
 *
 * SQLite: restores into a folder without a store.  The database gets its name last, when it has the
 * row that holds every delivery (restore.h), so that no node can run on half of a restore.  Until
 * then the folder has a file `restoring`, and a repeated restore starts over.
 * PostgreSQL: the server's own tools have restored the database; here it is checked and gets the
 * row.
 *
 * Threads: any; blocks.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "store/backup/manifest.h"

#define RESTORE_UNFINISHED "restoring"

struct restore_files {
    const char *backup;             /* its folder */
    const char *data;               /* the data folder to create; NULL: none */
    const char *url;                /* PostgreSQL; NULL: SQLite in `data` */
    const char *key;                /* a key file, or NULL */
    void (*step)(const char *what); /* reports progress; may be NULL */

    struct manifest manifest; /* the answer */
    bool key_missing;         /* the key of the secrets was not found */
    struct buf damage;        /* what the backup does not have whole, a line each; buf_done() it */
};

/* ERR_PERMANENT: the folder is no backup, or it is damaged. */
bool restore_files_check(struct restore_files *r, struct err *err);
/* Checks the backup, then restores it. */
bool restore_files_run(struct restore_files *r, struct err *err);
