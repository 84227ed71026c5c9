/* file.h - durable files: after a power cut a file is there completely, or not at all.
 *
 * publish_file(), file_move() and file_rename_*() are the only functions that rename: write,
 * fsync, rename, fsync the folder.  A failed sync of our own storage ends the process with exit
 * status 74: the kernel has dropped the dirty pages and reports that only once, so only recovery
 * can find out what is on the disk.  In a folder of other programs, where documents come from or
 * go to, a failed sync is an ordinary error (file_try_sync).  Every sync goes through this file
 * and is counted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

/* Data and size on stable storage, or the process ends. */
void file_sync(int fd, const char *what);
void file_sync_dir(int dirfd, const char *what);
/* Syncs the parent, so that the name of the folder itself survives a power cut. */
void file_sync_parent(int dirfd, const char *what);
/* Syncs a file or a folder that is not ours.  ERR_UNCERTAIN: the data must be written again.  A
 * file system that cannot sync folders is no error. */
bool file_try_sync(int fd, const char *what, struct err *err);
uint64_t file_syncs(void);  /* number of syncs since the start */
void file_count_sync(void); /* counts a sync that a library made */

/* A storage failure that nothing in this process can repair: one last log line,
 * then exit 74. */
_Noreturn void file_fatal(const char *what, int sys);
/* The same for a database that is damaged. */
_Noreturn void file_fatal_damaged(const char *why);

bool file_write_all(int fd, struct str bytes, struct err *err);
bool file_write_at(int fd, struct str bytes, int64_t offset, struct err *err);
bool file_read_at(int fd, void *to, size_t len, int64_t offset,
                  struct err *err); /* short: an error */
bool file_read_whole(int dirfd, const char *name, struct buf *to, struct err *err);

/* Give the synced file `temp` in dirfd the name `name`, durably; an existing
 * `name` is an error unless replace is set. */
bool publish_file(int dirfd, const char *temp, const char *name, bool replace, struct err *err);

/* Move a file to another folder under its name, durably; an existing file is replaced. */
bool file_move(int from_dirfd, const char *name, int to_dirfd, struct err *err);

/* Give a file another name, in the same folder or another one of the same file system, never
 * over an existing file (err.sys EEXIST).  Not synced: the caller syncs the folders if
 * needed. */
bool file_rename_new(int from_dirfd, const char *from, int to_dirfd, const char *to,
                     struct err *err);

/* The same, and replaces an existing file. */
bool file_rename_over(int dirfd, const char *from, const char *to, struct err *err);

/* As openat(), but the path cannot lead out of the folder by `..`, and no symbolic link in it is
 * followed.  -1 and errno: EXDEV or ELOOP for such a path. */
int file_open_beneath(int dirfd, const char *path, int flags, mode_t mode);

/* Writes and publishes a whole small file with this mode. */
bool publish_bytes(int dirfd, const char *name, struct str bytes, mode_t mode, struct err *err);

bool file_make_dir(int dirfd, const char *name,
                   struct err *err); /* durable; an existing folder is fine */
bool file_free_bytes(int dirfd, int64_t *ret_bytes, struct err *err); /* for an ordinary user */

/* ERR_LIMIT for a full disk (also quota), ERR_TRANSIENT for the rest. */
enum err_kind file_err_kind(int sys);
