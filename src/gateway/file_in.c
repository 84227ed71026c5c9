/* file_in.c - polls a folder of this machine; each file becomes a document.
 *
 * What is taken, when, and what becomes of it is decided by core/pickup/pickup.h; this is its
 * source of local files.  The folder is opened anew for each poll, and everything in it is reached
 * through that descriptor, by names that cannot lead out of it and never through a symbolic link:
 * whoever may write to the folder must not reach other files with our rights. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "base/known_folder.h"
#include "core/connector.h"
#include "core/deposit.h"
#include "core/grammar.h"
#include "core/pickup/pickup.h"
#include "core/probing/probing_folder.h"

struct file_in {
    struct known_folder folder, moved;
    struct pickup pickup;
};

/* The folders of one poll. */
struct local {
    int dir, moved;
    bool claims;
    struct stat dir_stat, moved_stat; /* moved_stat: when `moved` is open */
};

static void local_done(struct local *o)
{
    if (o->dir >= 0)
        (void)close(o->dir);
    if (o->moved >= 0)
        (void)close(o->moved);
}

static bool file_in_fail(struct err *err, const char *what, const char *name)
{
    return err_set(err, file_err_kind(errno), errno, "%s %.100s: %s", what, name, strerror(errno));
}

static bool is_same_folder(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* ---- paths ---- */

/* A name in a folder that is open. */
struct spot {
    int fd;
    bool own; /* fd is to be closed */
    const char *name;
};

static void spot_done(struct spot *p)
{
    if (p->own && p->fd >= 0)
        (void)close(p->fd);
}

/* fd -1 and errno: the folder of the path cannot be opened. */
static struct spot spot_of(const struct local *o, const char *path)
{
    const char *slash = strrchr(path, '/');
    char folder[PICKUP_PATH];

    if (slash == NULL)
        return (struct spot){ .fd = o->dir, .name = path };
    (void)snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
    return (struct spot){ .fd = file_open_beneath(o->dir, folder, O_PATH | O_DIRECTORY, 0),
                          .own = true,
                          .name = slash + 1 };
}

/* ---- what is there ---- */

struct local_list {
    const struct local *local;
    DIR *dir;
    char name[SAFE_NAME_MOST + 1]; /* of the folder, for errors */
};

/* A sub folder that is closed to us, or is a symbolic link by now, concerns only what is in it. */
static bool fail_to_list(const char *folder, struct err *err)
{
    int sys = errno;

    (void)file_in_fail(err, "read", folder[0] != '\0' ? folder : "the folder");
    if (folder[0] != '\0' && (sys == EACCES || sys == EPERM || sys == ELOOP || sys == ENOTDIR))
        err->kind = ERR_PERMANENT;
    return false;
}

static bool list(void *arg, const char *folder, void **ret_list, struct err *err)
{
    const struct local *o = arg;
    int fd = file_open_beneath(o->dir, folder[0] != '\0' ? folder : ".", O_RDONLY | O_DIRECTORY, 0);
    struct stat st;

    if (fd < 0)
        return fail_to_list(folder, err);
    if (o->claims && (fstat(fd, &st) < 0 || st.st_dev != o->dir_stat.st_dev)) {
        (void)close(fd);
        return err_set(err, ERR_PERMANENT, EXDEV,
                       "it is on another file system, from which nothing can be renamed");
    }
    DIR *dir = fdopendir(fd);

    if (dir == NULL) {
        (void)close(fd);
        return fail_to_list(folder, err);
    }
    struct local_list *l = NEW(struct local_list);

    l->local = o;
    l->dir = dir;
    (void)snprintf(l->name, sizeof l->name, "%s", folder[0] != '\0' ? folder : "the folder");
    *ret_list = l;
    return true;
}

static void end(void *list)
{
    struct local_list *l = list;

    (void)closedir(l->dir);
    free(l);
}

/* Files that were moved on are not taken again, when their folder lies in the one we look in. */
static bool is_moved_folder(const struct local_list *l, const char *name)
{
    struct stat st;

    return l->local->moved >= 0 && fstatat(dirfd(l->dir), name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           is_same_folder(&st, &l->local->moved_stat);
}

static bool is_folder(const struct local_list *l, const struct dirent *e)
{
    struct stat st;

    if (e->d_type != DT_UNKNOWN)
        return e->d_type == DT_DIR;
    return fstatat(dirfd(l->dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

static bool next(void *list, struct pickup_entry *ret, bool *ret_end, struct err *err)
{
    const struct local_list *l = list;

    for (;;) {
        errno = 0;
        const struct dirent *e = readdir(l->dir);

        *ret_end = e == NULL;
        if (e == NULL) /* an error must not look like the end: hidden files have not vanished */
            return errno == 0 || file_in_fail(err, "read", l->name);
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        bool folder = is_folder(l, e);

        if (folder && is_moved_folder(l, e->d_name))
            continue;
        *ret = (struct pickup_entry){ .name = str_of(e->d_name),
                                      .kind = folder ? PICKUP_FOLDER : PICKUP_FILE,
                                      .bare = !folder };
        return true;
    }
}

static void put_version(const struct stat *st, struct pickup_entry *ret)
{
    ret->size = st->st_size;
    ret->time_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
    (void)snprintf(ret->version, sizeof ret->version, "%llu %lld %lld",
                   (unsigned long long)st->st_ino, (long long)st->st_size, (long long)ret->time_ns);
}

static void fill_entry(const struct stat *st, struct pickup_entry *ret)
{
    ret->bare = false;
    ret->kind = S_ISREG(st->st_mode)   ? PICKUP_FILE
                : S_ISDIR(st->st_mode) ? PICKUP_FOLDER
                                       : PICKUP_OTHER;
    ret->refused = NULL;
    if (ret->kind != PICKUP_FILE) {
        ret->refused = S_ISLNK(st->st_mode) ? "it is a symbolic link" : "it is no plain file";
        ret->hint = "Only plain files are taken. Remove it, or put a copy in its place.";
    } else if (st->st_nlink != 1) {
        ret->refused = "it has a second name (a hard link)";
        ret->hint = "Only files with one name are taken. Remove it, or put a copy in its place.";
    }
    put_version(st, ret);
}

static void say_unreadable(struct pickup_entry *e)
{
    e->refused = "it cannot be read";
    e->hint = "Give the node the right to read it.";
}

static bool local_stat(void *arg, const char *path, struct pickup_entry *ret, struct err *err)
{
    AUTO(spot_done) struct spot at = spot_of(arg, path);
    struct stat st;

    if (at.fd < 0 || fstatat(at.fd, at.name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return file_in_fail(err, "look at", path);
    fill_entry(&st, ret);
    if (ret->refused == NULL && faccessat(at.fd, at.name, R_OK, AT_EACCESS) < 0 && errno == EACCES)
        say_unreadable(ret);
    return true;
}

/* ---- what is in it ---- */

struct local_file {
    int fd;
};

static bool local_open_file(void *arg, const char *path, struct pickup_entry *ret, void **ret_file,
                            struct err *err)
{
    const struct local *o = arg;
    int fd = file_open_beneath(o->dir, path, O_RDONLY | O_NONBLOCK, 0);
    struct stat st;

    *ret_file = NULL;
    if (fd < 0) {
        if (!local_stat(arg, path, ret, err))
            return false;
        if (ret->refused == NULL)
            say_unreadable(ret);
        return true;
    }
    if (fstat(fd, &st) < 0) {
        (void)file_in_fail(err, "open", path);
        (void)close(fd);
        return false;
    }
    struct local_file *f = NEW(struct local_file);

    fill_entry(&st, ret);
    f->fd = fd;
    *ret_file = f;
    return true;
}

static bool local_read(void *file, char *to, size_t room, size_t *ret_len, struct err *err)
{
    const struct local_file *f = file;
    ssize_t n;

    do
        n = read(f->fd, to, room);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return err_set(err, ERR_PERMANENT, EIO, "read: %s", strerror(errno));
    *ret_len = (size_t)n;
    return true;
}

static bool same(void *file, const char *version, bool *ret, struct err *err)
{
    const struct local_file *f = file;
    struct pickup_entry now = { 0 };
    struct stat st;

    if (fstat(f->fd, &st) < 0)
        return file_in_fail(err, "look at", "an open file");
    put_version(&st, &now);
    *ret = strcmp(now.version, version) == 0;
    return true;
}

static void local_close(void *file)
{
    struct local_file *f = file;

    (void)close(f->fd);
    free(f);
}

/* ---- away ---- */

static bool local_remove(void *arg, const char *path, struct err *err)
{
    AUTO(spot_done) struct spot at = spot_of(arg, path);

    return (at.fd >= 0 && unlinkat(at.fd, at.name, 0) == 0) || file_in_fail(err, "remove", path);
}

static bool move(void *arg, const char *path, const char *name, struct err *err)
{
    AUTO(spot_done) struct spot at = spot_of(arg, path);

    if (at.fd < 0)
        return file_in_fail(err, "move", path);
    return file_rename_new(at.fd, at.name, ((const struct local *)arg)->moved, name, err);
}

static bool local_rename(void *arg, const char *from, const char *to, struct err *err)
{
    AUTO(spot_done) struct spot a = spot_of(arg, from);
    AUTO(spot_done) struct spot b = spot_of(arg, to);

    if (a.fd < 0 || b.fd < 0)
        return file_in_fail(err, "rename", from);
    return file_rename_new(a.fd, a.name, b.fd, b.name, err);
}

static bool make_folder(void *arg, const char *path, struct err *err)
{
    AUTO(spot_done) struct spot at = spot_of(arg, path);

    return (at.fd >= 0 && (mkdirat(at.fd, at.name, 0700) == 0 || errno == EEXIST)) ||
           file_in_fail(err, "make", path);
}

static void remove_folder(void *arg, const char *path)
{
    AUTO(spot_done) struct spot at = spot_of(arg, path);

    if (at.fd >= 0)
        (void)unlinkat(at.fd, at.name, AT_REMOVEDIR); /* fails while files are left in it */
}

static bool local_sync(void *arg, const char *folder, struct err *err)
{
    const struct local *o = arg;
    AUTO_FD fd =
        file_open_beneath(o->dir, folder[0] != '\0' ? folder : ".", O_RDONLY | O_DIRECTORY, 0);

    if (fd < 0)
        return errno == ENOENT || file_in_fail(err, "open", folder);
    return file_try_sync(fd, folder[0] != '\0' ? folder : "folder", err);
}

static const struct pickup_source local_files = {
    .claims = true,
    .list = list,
    .next = next,
    .end = end,
    .stat = local_stat,
    .open = local_open_file,
    .read = local_read,
    .same = same,
    .close = local_close,
    .remove = local_remove,
    .move = move,
    .rename = local_rename,
    .make_folder = make_folder,
    .remove_folder = remove_folder,
    .sync = local_sync,
};

/* ---- the poll ---- */

static bool open_work(int dir, int *ret_fd, struct err *err)
{
    struct stat here, there;

    if (mkdirat(dir, FOLDER_WORK, 0700) < 0 && errno != EEXIST)
        return file_in_fail(err, "make", FOLDER_WORK);
    int fd = file_open_beneath(dir, FOLDER_WORK, O_RDONLY | O_DIRECTORY, 0);

    if (fd < 0)
        return err_set(err, ERR_CONFIG, errno, "the work folder " FOLDER_WORK ": %s",
                       strerror(errno));
    if (fstat(dir, &here) < 0 || fstat(fd, &there) < 0 || here.st_dev != there.st_dev) {
        (void)close(fd);
        return err_set(err, ERR_CONFIG, EXDEV,
                       "the work folder " FOLDER_WORK " is on another file system than its folder");
    }
    *ret_fd = fd;
    return true;
}

/* False: another poll holds the lock, so nothing is to be done. */
static bool lock_work(int work, int *ret_fd)
{
    int fd = file_open_beneath(work, "lock", O_RDWR | O_CREAT, 0600);

    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
        (void)close(fd);
        return false;
    }
    *ret_fd = fd; /* without locks the claims are enough */
    return true;
}

static bool open_local(struct file_in *self, struct local *o, struct err *err)
{
    if (!known_folder_open(&self->folder, &o->dir, err) ||
        (self->pickup.after == PICKUP_MOVE && !known_folder_open(&self->moved, &o->moved, err)))
        return false;
    if (fstat(o->dir, &o->dir_stat) < 0 || (o->moved >= 0 && fstat(o->moved, &o->moved_stat) < 0))
        return file_in_fail(err, "look at", self->folder.path);
    return true;
}

static bool look(void *arg, const struct deposit_port *port, void *deposit, int64_t *ret_taken,
                 struct err *err)
{
    struct file_in *self = arg;
    bool claims = self->pickup.after != PICKUP_KEEP;
    AUTO(local_done) struct local o = { .dir = -1, .moved = -1, .claims = claims };
    AUTO_FD work = -1;
    AUTO_FD lock = -1;

    *ret_taken = 0;
    if (!open_local(self, &o, err))
        return false;
    if (claims) {
        if (!open_work(o.dir, &work, err))
            return false;
        if (!lock_work(work, &lock))
            return true;
    }
    return pickup_look(&self->pickup, &local_files, &o, port, deposit, ret_taken, err);
}

/* ---- options ---- */

static const struct option options[] = {
    OPTION("path", OPT_PATH,
           "the folder to look in; names that begin with a dot or end in .part or .tmp are never "
           "taken, so that senders can write and then rename",
           .flags = OPT_REQUIRED | OPT_FOLDER),
    OPTIONS(grammar_mounted),
    OPTIONS(grammar_every),
    OPTIONS(grammar_silence),
    OPTIONS(grammar_files),
    { 0 },
};

static bool meet_moved(struct file_in *self, const struct settings *s, struct err *err)
{
    struct settings below = settings_below(s, "after");

    return self->pickup.after != PICKUP_MOVE ||
           (settings_folder(&below, "move", &self->moved, err) &&
            known_folder_meet(&self->moved, err));
}

static bool on_one_file_system(struct file_in *self, struct err *err)
{
    AUTO(local_done) struct local o = { .dir = -1, .moved = -1 };
    AUTO_FD work = -1;

    if (self->pickup.after == PICKUP_KEEP)
        return true;
    if (!open_local(self, &o, err) || !open_work(o.dir, &work, err))
        return false;
    if (self->pickup.after != PICKUP_MOVE)
        return true;
    if (o.dir_stat.st_dev != o.moved_stat.st_dev)
        return err_set(err, ERR_CONFIG, EXDEV,
                       "the folder of `after: move` is on another file system");
    if (is_same_folder(&o.dir_stat, &o.moved_stat))
        return err_set(err, ERR_CONFIG, 0, "the folder of `after: move` is the one to look in");
    return true;
}

static void unmake(void *arg)
{
    struct file_in *self = arg;

    pickup_done(&self->pickup);
}

static bool make(const struct settings *s, void **ret_self, struct err *err)
{
    struct file_in *self = ARENA_NEW(s->arena, struct file_in);

    if (!settings_folder(s, "path", &self->folder, err) || !pickup_init(&self->pickup, s, err) ||
        !known_folder_meet(&self->folder, err) || !meet_moved(self, s, err) ||
        !on_one_file_system(self, err))
        return false;
    self->pickup.title = self->folder.path;
    *ret_self = self;
    return true;
}

static void file_in_probe(void *arg, struct call *c, struct probing *p)
{
    struct file_in *self = arg;

    (void)c;
    if (probing_folder(&self->folder, self->pickup.after != PICKUP_KEEP, p) &&
        self->pickup.after == PICKUP_MOVE)
        (void)probing_folder(&self->moved, true, p);
}

const struct gateway_type gateway_file = {
    .kind = { .name = "file", .help = "files in a folder", .keys = options },
    .make = make,
    .look = look,
    .unmake = unmake,
    .probe = file_in_probe,
};
