/* mounts.h - the other paths under which a folder can be seen.
 *
 * A bind mount shows a folder a second time, with other ancestors.  The kernel's table of mounts
 * (/proc/self/mountinfo) says which part of which file system is mounted where; from it follow the
 * other paths of a folder.  File systems that do not say which part is mounted (NFS, SMB, FUSE)
 * are left out: only whoever serves them knows what they show twice.
 *
 * Threads: any; pure but for mounts_read().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

enum { MOUNTS_TEXT_MOST = 4 << 20, MOUNTS_PATH_MOST = 4096 };

/* Appends the table of mounts of this process. */
bool mounts_read(struct buf *to, struct err *err);

/* `part`: not the folder is seen at `path`, but something in it. */
typedef void mounts_found(void *arg, const char *path, bool part);

/* Calls `found` for each other path of the folder at `path`, an absolute path without symbolic
 * links on the mount `id` (stx_mnt_id).  A path may be hidden by a mount on top of it, so the
 * caller must look whether it is the same folder. */
void mounts_other_paths(struct str table, uint64_t id, struct str path, mounts_found *found,
                        void *arg);
