/* backup_old.h - the backups that one owner has in a folder: which there are, and removing old
 * ones.
 *
 * Each is a folder of its own, named PREFIX-YYYYMMDDTHHMMSSZ.  Nothing else in the folder is
 * touched.  A folder with such a name is removed only if it holds a backup of this store, or what a
 * backup that was not finished has left, and nothing that is no file of a backup; its manifest goes
 * first, so that a removal that was interrupted leaves no backup that looks whole.
 *
 * Threads: any that may block; a folder on a share may hang.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct store;

enum { BACKUP_OLD_NAME = 100, BACKUP_OLD_MOST = 4096 /* of an owner, in a folder */ };

/* PREFIX-20261118T020000Z. */
void backup_old_name(struct str prefix, int64_t at_us, char ret[static BACKUP_OLD_NAME]);

enum backup_old_state {
    BACKUP_OLD_NONE,       /* it is not there */
    BACKUP_OLD_WHOLE,      /* a backup of this store, with its manifest */
    BACKUP_OLD_UNFINISHED, /* one that was not finished */
    BACKUP_OLD_STRANGE     /* something else, or the backup of another store */
};

bool backup_old_look(struct store *s, int dirfd, const char *name, enum backup_old_state *ret,
                     struct err *err);

struct backup_old_result {
    size_t whole, removed;
    char strange[BACKUP_OLD_NAME]; /* a whole one beyond `keep` that holds something else, too */
};

/* Removes whole backups but the newest `keep`, and those that were not finished. */
bool backup_old_prune(struct store *s, int dirfd, struct str prefix, size_t keep,
                      struct backup_old_result *ret, struct err *err);
