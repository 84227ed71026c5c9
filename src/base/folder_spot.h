/* folder_spot.h - where a folder is: itself and every folder above it, by device and inode.
 *
 * Two paths tell nothing about whether one folder lies in the other: symbolic links, `..`, mounts
 * and bind mounts lead to the same folder under many names.  Device and inode do.  A folder that
 * does not exist yet is described by the nearest one above it that does, and by the names that are
 * missing below that.
 *
 * Threads: any; the calls of the kernel may block.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { FOLDER_ABOVE_MOST = 128, FOLDER_NAMES_MOST = 512 };

struct folder_spot {
    /* First the folder, or the nearest one above it that exists; then those above that up to the
     * root, `own` in all.  Behind them those above its other places (bind mounts). */
    struct folder_node {
        uint64_t dev, ino;
    } above[FOLDER_ABOVE_MOST];
    size_t own, count;
    char missing[FOLDER_NAMES_MOST]; /* "a/b": names that do not exist yet; "": the folder does */
    char path[FOLDER_NAMES_MOST];    /* absolute, for messages; cut when it is longer */
};

/* ERR_CONFIG: it is not a folder, or its path cannot be followed; ERR_TRANSIENT: it cannot be
 * reached. */
bool folder_spot_find(const char *path, struct folder_spot *ret, struct err *err);
/* The same of an open folder. */
bool folder_spot_of(int fd, struct folder_spot *ret, struct err *err);
/* The same of a folder in another one, whether it exists or not. */
bool folder_spot_below(int fd, const char *name, struct folder_spot *ret, struct err *err);

/* `inner` is `outer` or lies in it, in whichever of its places. */
bool folder_spot_is_in(const struct folder_spot *inner, const struct folder_spot *outer);
/* The same by the path under which `inner` was found alone. */
bool folder_spot_was_in(const struct folder_spot *inner, const struct folder_spot *outer);
