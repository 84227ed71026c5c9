/* file_copy.h - a file from one folder to another, its digest taken on the way.
 *
 * For backups and restores: what cannot be read or written is an error that names the file, never
 * the end of the process.  The copy is synced; its folder is not.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "store/backup/manifest.h"

struct file_copy {
    int from_dirfd, to_dirfd; /* to_dirfd -1: it is only read */
    const char *as;           /* its name there; NULL: the same */
    int64_t most;             /* so many bytes of it; -1: all */
    _Atomic bool *stop;       /* may be NULL */
    _Atomic int64_t *copied;  /* counts bytes; may be NULL */
};

/* `name` is a path below both folders; a file that is there is replaced.  *ret gets its name,
 * length and digest. */
bool file_copy(const struct file_copy *c, const char *name, struct manifest_file *ret,
               struct err *err);
