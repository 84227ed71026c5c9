#include "base/known_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/clock.h"

#define ALLOWED_FOR_US (INT64_C(10) * CLOCK_S)

_Static_assert(KNOWN_FOLDER_STRANGE == ENOMEDIUM, "an errno that no folder gives");

/* ---- file systems ---- */

struct fs_kind {
    uint64_t type;
    const char *name;
    bool keeps_id;    /* f_fsid is the same after each mount */
    bool loses_nodes; /* inode numbers are given anew with each mount */
    bool is_memory;   /* inode numbers end with the machine */
};

static const struct fs_kind kinds[] = {
    { .type = 0xef53, .name = "ext", .keeps_id = true },
    { .type = 0x9123683e, .name = "btrfs", .keeps_id = true },
    { .type = 0x2fc12fc1, .name = "zfs", .keeps_id = true },
    { .type = 0xff534d42, .name = "cifs", .keeps_id = true, .loses_nodes = true },
    { .type = 0xfe534d42, .name = "smb", .keeps_id = true, .loses_nodes = true },
    { .type = 0x65735546, .name = "fuse", .loses_nodes = true },
    { .type = 0x01021994, .name = "tmpfs", .is_memory = true },
    { .type = 0x858458f6, .name = "ramfs", .is_memory = true },
    { .type = 0x58465342, .name = "xfs" },
    { .type = 0x6969, .name = "nfs" },
    { .type = 0x794c7630, .name = "overlay" },
    { .type = 0x01021997, .name = "9p" },
};

static const struct fs_kind *fs_kind_of(uint64_t fs)
{
    static const struct fs_kind usual = { 0 };

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (kinds[i].type == fs)
            return &kinds[i];
    return &usual;
}

const char *folder_fs_name(uint64_t fs, char text[static 24])
{
    const struct fs_kind *k = fs_kind_of(fs);

    if (k->name == NULL)
        (void)snprintf(text, 24, "0x%llx", (unsigned long long)fs);
    else
        (void)snprintf(text, 24, "%s", k->name);
    return text;
}

bool folder_same(const struct folder_id *a, const struct folder_id *b, bool restarted)
{
    const struct fs_kind *k = fs_kind_of(a->fs);

    if (a->fs != b->fs || (k->keeps_id && a->fsid != b->fsid))
        return false;
    return k->loses_nodes || (k->is_memory && restarted) || a->ino == b->ino;
}

/* ---- one look ---- */

static bool folder_fail(struct err *err, const char *path)
{
    return err_set(err, errno == ENOTDIR ? ERR_CONFIG : ERR_TRANSIENT, errno, "folder %.120s: %s",
                   path, strerror(errno));
}

static bool identify(int fd, const char *path, struct folder_id *ret, struct err *err)
{
    struct statfs fs;
    struct stat st;

    if (fstat(fd, &st) < 0 || fstatfs(fd, &fs) < 0)
        return folder_fail(err, path);
    *ret = (struct folder_id){ .fs = (uint32_t)fs.f_type,
                               .ino = st.st_ino,
                               .dev = (uint64_t)st.st_dev };
    memcpy(&ret->fsid, &fs.f_fsid, sizeof ret->fsid);
    return true;
}

static bool known_folder_try(const char *path, int *ret_fd, struct folder_id *ret, struct err *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return folder_fail(err, path);
    if (!identify(fd, path, ret, err)) {
        (void)close(fd);
        return false;
    }
    *ret_fd = fd;
    return true;
}

static bool is_mount(int fd)
{
    struct statx sx;

    return statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &sx) == 0 &&
           (sx.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

bool known_folder_look(const char *path, struct folder_id *ret, bool *ret_mount, struct err *err)
{
    int fd;

    if (!known_folder_try(path, &fd, ret, err))
        return false;
    *ret_mount = is_mount(fd);
    (void)close(fd);
    return true;
}

/* ---- a known folder ---- */

void known_folder_init(struct known_folder *f, const char *path, const char *part,
                       const char *proof, const struct folder_port *port)
{
    *f = (struct known_folder){
        .path = path, .part = part, .proof = proof, .port = port, .mutex = PTHREAD_MUTEX_INITIALIZER
    };
}

static bool recall(const struct known_folder *f, struct folder_id *ret, bool *ret_known,
                   struct err *err)
{
    *ret_known = false;
    return f->port == NULL || f->port->recall(f->port->arg, f->part, f->path, ret, ret_known, err);
}

static bool say_strange(const struct known_folder *f, const struct folder_id *known,
                        const struct folder_id *found, struct err *err)
{
    char was[24], is[24];

    return err_set(err, ERR_TRANSIENT, KNOWN_FOLDER_STRANGE,
                   "folder %.100s is not the known one (%s, inode %llu; now %s, inode %llu): is it "
                   "mounted?",
                   f->path, folder_fs_name(known->fs, was), (unsigned long long)known->ino,
                   folder_fs_name(found->fs, is), (unsigned long long)found->ino);
}

/* With the mutex held, and the folder open: compares it with what is kept, or keeps it. */
static bool greet(struct known_folder *f, int fd, const struct folder_id *found, struct err *err)
{
    struct folder_id kept;
    bool known;

    if (!recall(f, &kept, &known, err))
        return false;
    /* A folder that this process has seen may only be replaced by the very one that a person has
     * accepted since. */
    if (known ? !folder_same(&kept, found, !f->met) : f->met)
        return say_strange(f, known ? &kept : &f->id, found, err);
    if (!known && f->port != NULL &&
        !f->port->learn(f->port->arg, f->part, f->path, found, is_mount(fd), err))
        return false;
    f->met = true;
    f->id = *found;
    return true;
}

static bool has_met(struct known_folder *f)
{
    (void)pthread_mutex_lock(&f->mutex);
    bool met = f->met;

    (void)pthread_mutex_unlock(&f->mutex);
    return met;
}

static bool was_allowed(struct known_folder *f, const struct folder_id *found)
{
    (void)pthread_mutex_lock(&f->mutex);
    bool was = f->allowed_us != 0 && f->allowed.dev == found->dev && f->allowed.ino == found->ino &&
               clock_mono_us() - f->allowed_us < ALLOWED_FOR_US;

    (void)pthread_mutex_unlock(&f->mutex);
    return was;
}

static bool is_allowed(struct known_folder *f, int fd, const struct folder_id *found,
                       struct err *err)
{
    if (f->port == NULL || f->port->allow == NULL || was_allowed(f, found))
        return true;
    if (!f->port->allow(f->port->arg, f->part, f->path, fd, err))
        return false;
    (void)pthread_mutex_lock(&f->mutex);
    f->allowed = *found;
    f->allowed_us = clock_mono_us();
    (void)pthread_mutex_unlock(&f->mutex);
    return true;
}

/* A folder that is known must not be created in the place of a share. */
static bool make_unknown(struct known_folder *f, struct err *err)
{
    struct folder_id kept;
    bool known;

    if (has_met(f) || access(f->path, F_OK) == 0)
        return true;
    if (!recall(f, &kept, &known, err))
        return false;
    if (known)
        return true;
    if (f->port != NULL && f->port->allow != NULL &&
        !f->port->allow(f->port->arg, f->part, f->path, -1, err))
        return false;
    if (mkdir(f->path, 0777) == 0 || errno == EEXIST)
        return true;
    return err_set(err, ERR_TRANSIENT, errno, "make folder %.120s: %s", f->path, strerror(errno));
}

static bool is_known_folder(struct known_folder *f, int fd, const struct folder_id *found,
                            struct err *err)
{
    (void)pthread_mutex_lock(&f->mutex);
    bool ok = (f->met && folder_same(&f->id, found, false)) || greet(f, fd, found, err);

    (void)pthread_mutex_unlock(&f->mutex);
    return ok;
}

static bool has_proof(const struct known_folder *f, int fd, struct err *err)
{
    if (f->proof == NULL || faccessat(fd, f->proof, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return true;
    return err_set(err, ERR_TRANSIENT, KNOWN_FOLDER_STRANGE,
                   "folder %.100s lacks the file %.60s that `mounted` names: is it mounted?",
                   f->path, f->proof);
}

/* What the kernel refuses a node on behalf of its rule is explained by the rule. */
static void say_forbidden(const struct known_folder *f, struct err *err)
{
    struct err why = { 0 };

    if (err->sys == EACCES && f->port != NULL && f->port->allow != NULL &&
        !f->port->allow(f->port->arg, f->part, f->path, -1, &why))
        *err = why;
}

bool known_folder_open(struct known_folder *f, int *ret_fd, struct err *err)
{
    struct folder_id found;
    int fd;

    if (!make_unknown(f, err))
        return false;
    if (!known_folder_try(f->path, &fd, &found, err)) {
        say_forbidden(f, err);
        return false;
    }
    /* A folder that must not be used, or that lacks its proof, is not noted as the known one. */
    if (!is_allowed(f, fd, &found, err) || !has_proof(f, fd, err) ||
        !is_known_folder(f, fd, &found, err)) {
        (void)close(fd);
        return false;
    }
    *ret_fd = fd;
    return true;
}

bool known_folder_meet(struct known_folder *f, struct err *err)
{
    int fd;

    if (!known_folder_open(f, &fd, err))
        return false;
    (void)close(fd);
    return true;
}
