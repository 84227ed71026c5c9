/* known_folder.h - a folder of other people, and whether it is still the same one.
 *
 * A folder that is a mount point looks like an empty folder while nothing is mounted: what is
 * written there vanishes from sight later, and what should be read seems to be gone.  So a
 * folder is remembered by its inode when it is first met, opened by its path each time, and
 * refused when another one stands there.  It is not kept open: it can be unmounted.
 *
 * The same inode on another device is the same file system, mounted again.
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

/* Remember the folder.  One that is missing is made when its parent is there.  ERR_CONFIG when
 * something else stands there, ERR_TRANSIENT when it cannot be reached. */
bool known_folder_meet(struct known_folder *f, const char *path, struct err *err);

/* ERR_TRANSIENT: it cannot be opened now, or another one stands there. */
bool known_folder_open(const struct known_folder *f, int *ret_fd, struct err *err);
