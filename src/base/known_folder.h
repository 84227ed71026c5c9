/* known_folder.h - a folder outside of our storage, and whether it is still the same one.
 *
 * A mount point looks like an empty folder while nothing is mounted: files that are written there
 * are hidden by the next mount, and files that should be read seem to be deleted.  So the inode of
 * a folder is remembered when it is first seen; the folder is opened by its path each time, and
 * refused when its inode is another.  It is not kept open, so that it can be unmounted.
 *
 * The device is not compared: the same inode on another device is the same file system, mounted
 * again.
 *
 * Threads: any, after known_folder_meet().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct known_folder {
    const char *path; /* lent */
    uint64_t ino;
};

/* Remembers the folder.  A missing folder is created if its parent exists.  ERR_CONFIG: the path
 * is not a folder; ERR_TRANSIENT: the folder cannot be reached. */
bool known_folder_meet(struct known_folder *f, const char *path, struct err *err);

/* ERR_TRANSIENT: the folder cannot be opened now, or it is another one. */
bool known_folder_open(const struct known_folder *f, int *ret_fd, struct err *err);
