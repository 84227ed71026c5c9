/* file.h - files that are there after a power cut, or not at all.
 *
 * publish_file(), file_move() and file_rename_*() are the only functions that rename: write,
 * fsync, rename, fsync the folder.  A failed sync of our own storage ends the process: the
 * kernel has thrown the pages away and said so once; only recovery can know what is on the
 * disk (the exit status is 74).  In a folder of other people, where documents come from or go
 * to, a failed sync is an error like any other (file_try_sync).  Every sync of the house goes
 * through here and is counted.
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
/* The name of the folder itself survives a power cut too, whoever made it and when. */
void file_sync_parent(int dirfd, const char *what);
/* The same for a file or a folder that is not ours: ERR_UNCERTAIN, and what was written must
 * be written again.  A folder on a file system that cannot sync folders is fine. */
bool file_try_sync(int fd, const char *what, struct err *err);
uint64_t file_syncs(void);  /* how many, since the start */
void file_count_sync(void); /* one that a library made for us */

/* A storage failure that nothing in this process can repair: one last log line,
 * then exit 74. */
_Noreturn void file_fatal(const char *what, int sys);

bool file_write_all(int fd, struct str bytes, struct err *err);
bool file_write_at(int fd, struct str bytes, int64_t offset, struct err *err);
bool file_read_at(int fd, void *to, size_t len, int64_t offset,
                  struct err *err); /* short: an error */
bool file_read_whole(int dirfd, const char *name, struct buf *to, struct err *err);

/* Give the synced file `temp` in dirfd the name `name`, durably; an existing
 * `name` is an error unless replace is set. */
bool publish_file(int dirfd, const char *temp, const char *name, bool replace, struct err *err);

/* Move a file to another folder under its name, durably; one that is there is replaced. */
bool file_move(int from_dirfd, const char *name, int to_dirfd, struct err *err);

/* Give a file another name, in the same folder or another one of the same file system, never
 * over one that is there (err.sys EEXIST).  Not synced: the caller syncs the folders when it
 * matters. */
bool file_rename_new(int from_dirfd, const char *from, int to_dirfd, const char *to,
                     struct err *err);

/* The same, over one that is there. */
bool file_rename_over(int dirfd, const char *from, const char *to, struct err *err);

/* As openat(), but the path cannot lead out of the folder, over `..` or over links: no symbolic
 * link is followed anywhere.  -1 and errno: EXDEV or ELOOP for such a path. */
int file_open_beneath(int dirfd, const char *path, int flags, mode_t mode);

/* A whole small file, published; mode as given. */
bool publish_bytes(int dirfd, const char *name, struct str bytes, mode_t mode, struct err *err);

bool file_make_dir(int dirfd, const char *name,
                   struct err *err); /* durable; there already is fine */
bool file_free_bytes(int dirfd, int64_t *ret_bytes, struct err *err); /* for an ordinary user */

/* ERR_LIMIT for a full disk (also quota), ERR_TRANSIENT for the rest. */
enum err_kind file_err_kind(int sys);
