#include "core/probing/probing_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/known_folder.h"

#define MADE_LATER "%s is not there yet: it is made with the first file"

const char *probing_folder_remedy(const struct err *err)
{
    switch (err->sys) {
    case KNOWN_FOLDER_STRANGE:
        return err->kind == ERR_CONFIG
                   ? "configure another folder, or allow this one as the message says"
                   : "mount the share; if what is there now is right, `waybill probe NAME "
                     "--accept`";
    case ENOENT:
        return "create the folder, mount the share, or correct `path`";
    case ENOTDIR:
        return "a file is in its place: remove it, or correct `path`";
    case EACCES:
    case EPERM:
        return "give the user that the node runs as the rights to read, write and enter it";
    case EROFS:
        return "it is mounted read-only: mount it for writing";
    case ENOSPC:
    case EDQUOT:
        return "make room on the disk, or raise the quota";
    default:
        return "look after the share or the server behind it";
    }
}

/* A folder that nobody has met yet is made by the first who uses it: its parent must be there. */
static bool probing_missing(const struct known_folder *f, struct probing *p)
{
    struct err err = { .sys = ENOENT };
    struct folder_id kept;
    char parent[PATH_MAX];
    bool known = false;

    if (f->port != NULL && !f->port->recall(f->port->arg, f->part, f->path, &kept, &known, &err))
        return probing_fail(p, "folder", "look after the store", "%s", err.text);
    (void)snprintf(parent, sizeof parent, "%s", f->path);
    char *slash = strrchr(parent, '/');

    if (slash != NULL)
        slash[slash == parent ? 1 : 0] = '\0';
    if (known || (slash != NULL && access(parent, W_OK | X_OK) != 0))
        return probing_fail(p, "folder", probing_folder_remedy(&err), "folder %s: %s", f->path,
                            known ? "it was there and is gone"
                                  : "neither it nor its parent is "
                                    "there, or the parent is closed "
                                    "to us");
    probing_leave(p, "folder", MADE_LATER, f->path);
    return false;
}

static bool probing_list(int dir, const char *path, struct probing *p)
{
    struct err err = { .sys = EACCES };
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;

    errno = 0;
    bool ok = d != NULL && (readdir(d) != NULL || errno == 0);

    if (!ok)
        err.sys = errno;
    if (d != NULL)
        (void)closedir(d);
    else if (fd >= 0)
        (void)close(fd);
    return ok || probing_fail(p, "rights", probing_folder_remedy(&err), "%s cannot be read: %s",
                              path, strerror(err.sys));
}

/* What an endpoint or a gateway does with files, on one of our own. */
static bool probing_write(int dir, struct probing *p)
{
    char name[PROBING_NAME], other[PROBING_NAME];
    struct err err = { 0 };
    const char *what = "create a file";
    int fd =
        openat(dir, probing_name(".part", name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool ok = fd >= 0, named = false;

    if (!ok)
        err.sys = errno;
    if (ok) {
        what = "write";
        ok = file_write_all(fd, STR("probe\n"), &err) && file_try_sync(fd, name, &err);
        (void)close(fd);
    }
    if (ok) {
        what = "rename";
        named = file_rename_new(dir, name, dir, probing_name(".part", other), &err);
        ok = named;
    }
    if (fd >= 0 && unlinkat(dir, named ? other : name, 0) < 0 && ok) {
        what = "remove";
        err.sys = errno;
        ok = false;
    }
    return ok || probing_fail(p, "rights", probing_folder_remedy(&err), "may not %s there: %s",
                              what, strerror(err.sys));
}

bool probing_folder(struct known_folder *f, bool writes, struct probing *p)
{
    struct err err = { 0 };
    AUTO_FD dir = -1;
    struct stat st;

    probing_begin(p, "folder");
    if (stat(f->path, &st) < 0 && errno == ENOENT)
        return probing_missing(f, p);
    if (!known_folder_open(f, &dir, &err))
        return probing_fail(p, "folder", probing_folder_remedy(&err), "%s", err.text);
    (void)probing_pass(p, "folder", "%s is there", f->path);
    probing_begin(p, "rights");
    if (!probing_list(dir, f->path, p) || (writes && !probing_write(dir, p)))
        return false;
    return probing_pass(p, "rights",
                        writes ? "files can be made, renamed and removed there" : "it can be read");
}
