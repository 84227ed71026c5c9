/* file_copy.h - copies a file and computes its digest.
 *
 * For backups and restores: a failed read, write or sync is an error that names the file, and never
 * ends the process.  The copy is synced; its folder is not.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "store/backup/manifest.h"

struct file_copy {
    int from_dirfd, to_dirfd; /* to_dirfd -1: only read, for the digest */
    const char *as;           /* name of the copy; NULL: the same */
    int64_t most;             /* bytes to copy; -1: all */
    _Atomic bool *stop;       /* may be NULL */
    _Atomic int64_t *copied;  /* counts bytes; may be NULL */
};

/* `name` is a path below both folders; an existing file is replaced.  *ret gets the name, length
 * and digest. */
bool file_copy(const struct file_copy *c, const char *name, struct manifest_file *ret,
               struct err *err);
