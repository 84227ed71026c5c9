#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fault.h"
#include "base/log.h"

static _Atomic uint64_t syncs;

uint64_t file_syncs(void)
{
    return atomic_load_explicit(&syncs, memory_order_relaxed);
}

void file_count_sync(void)
{
    atomic_fetch_add_explicit(&syncs, 1, memory_order_relaxed);
}

enum err_kind file_err_kind(int sys)
{
    return sys == ENOSPC || sys == EDQUOT || sys == EFBIG ? ERR_LIMIT : ERR_TRANSIENT;
}

_Noreturn void file_fatal(const char *what, int sys)
{
    log_event(LOG_ERROR, "storage.failed", kv_z("what", what), kv_z("why", strerror(sys)),
              kv_z("hint", "Acknowledged documents are safe. Check the disk, then start again: "
                           "start-up recovers."));
    log_stop();
    _exit(74);
}

_Noreturn void file_fatal_damaged(const char *why)
{
    log_event(LOG_ERROR, "storage.damaged", kv_z("why", why),
              kv_z("hint", "Nothing is accepted or sent any more. Keep the data folder, look with "
                           "`waybill doctor --data`, restore the last backup "
                           "(docs/backup.md)."));
    log_stop();
    _exit(74);
}

void file_sync(int fd, const char *what)
{
    file_count_sync();
    if (fdatasync(fd) < 0)
        file_fatal(what, errno);
}

void file_sync_dir(int dirfd, const char *what)
{
    file_count_sync();
    if (fsync(dirfd) < 0)
        file_fatal(what, errno);
}

bool file_try_sync(int fd, const char *what, struct err *err)
{
    file_count_sync();
    if (fault_switch("WAYBILL_TEST_NO_FILE_SYNC") != NULL)
        return true;
    if (fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP)
        return true;
    return err_set(err, ERR_UNCERTAIN, errno, "sync %s: %s", what, strerror(errno));
}

bool file_write_all(int fd, struct str bytes, struct err *err)
{
    while (bytes.len > 0) {
        ssize_t n = write(fd, bytes.ptr, bytes.len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(err, file_err_kind(errno), errno, "write: %s", strerror(errno));
        bytes = str_from(bytes, (size_t)n);
    }
    return true;
}

bool file_write_at(int fd, struct str bytes, int64_t offset, struct err *err)
{
    while (bytes.len > 0) {
        ssize_t n = pwrite(fd, bytes.ptr, bytes.len, offset);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(err, file_err_kind(errno), errno, "write: %s", strerror(errno));
        bytes = str_from(bytes, (size_t)n);
        offset += n;
    }
    return true;
}

bool file_read_at(int fd, void *to, size_t len, int64_t offset, struct err *err)
{
    char *p = to;

    while (len > 0) {
        ssize_t n = pread(fd, p, len, offset);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(err, ERR_TRANSIENT, errno, "read: %s", strerror(errno));
        if (n == 0)
            return err_set(err, ERR_PERMANENT, 0, "the file ends %zu bytes early", len);
        p += n;
        len -= (size_t)n;
        offset += n;
    }
    return true;
}

bool file_read_whole(int dirfd, const char *name, struct buf *to, struct err *err)
{
    AUTO_FD fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return err_set(err, ERR_PERMANENT, errno, "open %s: %s", name, strerror(errno));
    for (;;) {
        char block[16384];
        ssize_t n = read(fd, block, sizeof block);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(err, ERR_TRANSIENT, errno, "read %s: %s", name, strerror(errno));
        if (n == 0)
            return true;
        if (!buf_append(to, str_mem(block, (size_t)n), err))
            return err_context(err, "read %s", name);
    }
}

bool publish_file(int dirfd, const char *temp, const char *name, bool replace, struct err *err)
{
    unsigned flags = replace ? 0 : RENAME_NOREPLACE;

    if (renameat2(dirfd, temp, dirfd, name, flags) < 0)
        return err_set(err, file_err_kind(errno), errno, "rename %s to %s: %s", temp, name,
                       strerror(errno));
    file_sync_dir(dirfd, name);
    return true;
}

/* Removes a leftover of a crash first: its mode may be another. */
static bool make_temp(int dirfd, const char *temp, struct str bytes, mode_t mode, const char *name,
                      struct err *err)
{
    (void)unlinkat(dirfd, temp, 0);
    AUTO_FD fd = openat(dirfd, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd < 0)
        return err_set(err, file_err_kind(errno), errno, "create %s: %s", temp, strerror(errno));
    if (fchmod(fd, mode) < 0)
        return err_set(err, ERR_PERMANENT, errno, "mode of %s: %s", temp, strerror(errno));
    if (!file_write_all(fd, bytes, err))
        return err_context(err, "file %s", temp);
    file_sync(fd, name);
    return true;
}

bool file_move(int from_dirfd, const char *name, int to_dirfd, struct err *err)
{
    if (renameat(from_dirfd, name, to_dirfd, name) < 0)
        return err_set(err, file_err_kind(errno), errno, "move %s: %s", name, strerror(errno));
    file_sync_dir(to_dirfd, name);
    file_sync_dir(from_dirfd, name);
    return true;
}

/* For file systems without RENAME_NOREPLACE (NFS): linkat() never replaces a file. */
static int rename_by_link(int from_dirfd, const char *from, int to_dirfd, const char *to)
{
    if (linkat(from_dirfd, from, to_dirfd, to, 0) < 0)
        return -1;
    return unlinkat(from_dirfd, from, 0);
}

bool file_rename_new(int from_dirfd, const char *from, int to_dirfd, const char *to,
                     struct err *err)
{
    if (renameat2(from_dirfd, from, to_dirfd, to, RENAME_NOREPLACE) == 0)
        return true;
    if ((errno == EINVAL || errno == ENOSYS) && rename_by_link(from_dirfd, from, to_dirfd, to) == 0)
        return true;
    return err_set(err, file_err_kind(errno), errno, "rename %s to %s: %s", from, to,
                   strerror(errno));
}

bool file_rename_over(int dirfd, const char *from, const char *to, struct err *err)
{
    if (renameat(dirfd, from, dirfd, to) == 0)
        return true;
    return err_set(err, file_err_kind(errno), errno, "rename %s to %s: %s", from, to,
                   strerror(errno));
}

int file_open_beneath(int dirfd, const char *path, int flags, mode_t mode)
{
    struct open_how how = { .flags = (uint64_t)(unsigned)flags | O_CLOEXEC,
                            .mode = (flags & O_CREAT) != 0 ? mode : 0,
                            .resolve =
                                RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
    long fd = -1;

    for (int tries = 0; fd < 0 && tries < 8; tries++) {
        fd = syscall(SYS_openat2, dirfd, path, &how, sizeof how);
        if (fd < 0 && errno != EINTR && errno != EAGAIN) /* EAGAIN: a concurrent rename */
            break;
    }
    return (int)fd;
}

bool publish_bytes(int dirfd, const char *name, struct str bytes, mode_t mode, struct err *err)
{
    char temp[256];

    if (snprintf(temp, sizeof temp, ".%s.tmp", name) >= (int)sizeof temp)
        return err_set(err, ERR_LIMIT, 0, "file name %s is too long", name);
    if (make_temp(dirfd, temp, bytes, mode, name, err) &&
        publish_file(dirfd, temp, name, true, err))
        return true;
    (void)unlinkat(dirfd, temp, 0); /* free the space */
    return false;
}

/* Syncs an existing folder too: the process that made it may have died before its sync. */
bool file_make_dir(int dirfd, const char *name, struct err *err)
{
    struct stat st;

    if (mkdirat(dirfd, name, 0700) < 0 && errno != EEXIST)
        return err_set(err, file_err_kind(errno), errno, "make folder %s: %s", name,
                       strerror(errno));
    if (fstatat(dirfd, name, &st, 0) < 0 || !S_ISDIR(st.st_mode))
        return err_set(err, ERR_PERMANENT, ENOTDIR, "%s is there and is no folder", name);
    file_sync_dir(dirfd, name);
    return true;
}

void file_sync_parent(int dirfd, const char *what)
{
    AUTO_FD fd = openat(dirfd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct err err = { 0 };

    if (fd >= 0 && !file_try_sync(fd, what, &err)) /* the parent may be unable to sync */
        file_fatal(what, err.sys);
}

bool file_free_bytes(int dirfd, int64_t *ret_bytes, struct err *err)
{
    struct statvfs v;

    if (fstatvfs(dirfd, &v) < 0)
        return err_set(err, ERR_TRANSIENT, errno, "statvfs: %s", strerror(errno));
    *ret_bytes = (int64_t)v.f_bavail * (int64_t)v.f_frsize;
    return true;
}
