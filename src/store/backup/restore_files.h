/* restore_files.h - a backup becomes a store again; without a node.
 *
 * Every file is read against the manifest before anything is written, and once more while it is
 * copied: a backup in which a bit has changed is refused with the name of the file.
 *
 * SQLite: into a folder without a store.  The database gets its name last, when the note is in it
 * that holds everything back (restore.h), so that no node ever runs on half of a restore; until
 * then the folder has a file `restoring`, and whoever restores into it again starts over.
 * PostgreSQL: the database was brought back by its own tools; here it is looked at and gets the
 * note.
 *
 * Threads: any; blocks.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "store/backup/manifest.h"

#define RESTORE_UNFINISHED "restoring"

struct restore_files {
    const char *backup;             /* its folder */
    const char *data;               /* where the node's folder shall be; NULL: none */
    const char *url;                /* PostgreSQL; NULL: SQLite in `data` */
    const char *key;                /* a key file, or NULL */
    void (*step)(const char *what); /* another part is done; may be NULL */

    struct manifest manifest; /* the answer */
    bool key_missing;         /* the secrets need a key that is not there */
};

/* ERR_PERMANENT: it is no backup, or damaged. */
bool restore_files_check(struct restore_files *r, struct err *err);
/* The same, and then restore it. */
bool restore_files_run(struct restore_files *r, struct err *err);
