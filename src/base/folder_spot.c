#include "base/folder_spot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mounts.h"

enum { PATH_MOST = 4096 };

static bool spot_fail(struct err *err, const char *what)
{
    return err_set(err, errno == ENOTDIR || errno == ELOOP ? ERR_CONFIG : ERR_TRANSIENT, errno,
                   "folder %.120s: %s", what, strerror(errno));
}

static int open_place(int dirfd, const char *path)
{
    return openat(dirfd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* ---- the folders above ---- */

static bool has_node(const struct folder_spot *s, size_t count, const struct folder_node *n)
{
    for (size_t i = 0; i < count; i++)
        if (s->above[i].dev == n->dev && s->above[i].ino == n->ino)
            return true;
    return false;
}

static bool node_of(int fd, struct folder_node *ret, struct err *err)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return spot_fail(err, "status");
    *ret = (struct folder_node){ .dev = (uint64_t)st.st_dev, .ino = st.st_ino };
    return true;
}

static bool add_node(struct folder_spot *s, const struct folder_node *n, struct err *err)
{
    if (has_node(s, s->count, n))
        return true;
    if (s->count == FOLDER_ABOVE_MOST)
        return err_set(err, ERR_CONFIG, 0, "folder %.100s lies too deep, or in too many places",
                       s->path);
    s->above[s->count++] = *n;
    return true;
}

/* Adds the folder and all above it.  The root is its own parent. */
static bool spot_climb(int fd, struct folder_spot *s, struct err *err)
{
    AUTO_FD at = open_place(fd, ".");
    struct folder_node here, up;

    if (at < 0)
        return spot_fail(err, s->path);
    if (!node_of(at, &here, err) || !add_node(s, &here, err))
        return false;
    for (;;) {
        int above = open_place(at, "..");

        if (above < 0)
            return spot_fail(err, "above it");
        (void)close(at);
        at = above;
        if (!node_of(at, &up, err) || !add_node(s, &up, err))
            return false;
        if (up.dev == here.dev && up.ino == here.ino)
            return true;
        here = up;
    }
}

/* ---- other places ---- */

struct spot_places {
    struct folder_spot *spot;
    struct err *err;
    bool ok;
};

/* Of something in the folder that is mounted elsewhere, what is above its mount point counts. */
static void cut_last_name(char *path)
{
    char *slash = strrchr(path, '/');

    if (slash != NULL)
        slash[slash == path ? 1 : 0] = '\0';
}

static void spot_add_place(void *arg, const char *path, bool part)
{
    struct spot_places *p = arg;
    char at[MOUNTS_PATH_MOST];
    struct folder_node n;

    if (!p->ok || snprintf(at, sizeof at, "%s", path) >= (int)sizeof at)
        return;
    if (part)
        cut_last_name(at);
    AUTO_FD fd = open_place(AT_FDCWD, at);

    if (fd < 0)
        return; /* hidden by another mount */
    p->ok = node_of(fd, &n, p->err);
    if (p->ok && (part || (n.dev == p->spot->above[0].dev && n.ino == p->spot->above[0].ino)))
        p->ok = spot_climb(fd, p->spot, p->err);
}

static bool spot_add_places(int fd, struct folder_spot *s, const char *path, struct err *err)
{
    AUTO(buf_done) struct buf table = BUF_INIT(MOUNTS_TEXT_MOST);
    struct spot_places places = { .spot = s, .err = err, .ok = true };
    struct statx sx;

    if (!mounts_read(&table, err))
        return false;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &sx) < 0)
        return spot_fail(err, s->path);
    mounts_other_paths(buf_view(&table), sx.stx_mnt_id, str_of(path), spot_add_place, &places);
    return places.ok;
}

/* ---- one folder ---- */

static bool spot_name(int fd, char path[static PATH_MOST], struct err *err)
{
    char link[40];

    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, PATH_MOST - 1);

    if (n < 0)
        return spot_fail(err, link);
    path[n] = '\0';
    return true;
}

static bool spot_fill(int fd, struct folder_spot *s, struct err *err)
{
    char path[PATH_MOST];

    if (!spot_name(fd, path, err))
        return false;
    if (snprintf(s->path, sizeof s->path, "%s%s%s", path,
                 s->missing[0] != '\0' && strcmp(path, "/") != 0 ? "/" : "",
                 s->missing) >= (int)sizeof s->path)
        memcpy(s->path + sizeof s->path - 4, "...", 4);
    s->count = 0;
    if (!spot_climb(fd, s, err))
        return false;
    s->own = s->count;
    return spot_add_places(fd, s, path, err);
}

bool folder_spot_of(int fd, struct folder_spot *ret, struct err *err)
{
    ret->missing[0] = '\0';
    return spot_fill(fd, ret, err);
}

/* Takes the last name off `path` and puts it before those that are missing. */
static bool take_missing(char *path, struct folder_spot *s, struct err *err)
{
    char names[FOLDER_NAMES_MOST];
    size_t n = strlen(path);

    while (n > 1 && path[n - 1] == '/')
        path[--n] = '\0';
    char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;

    if (strcmp(name, "..") == 0)
        return err_set(err, ERR_CONFIG, 0, "folder %.100s: a `..` behind what does not exist",
                       path);
    bool plain = strcmp(name, ".") != 0 && name[0] != '\0';

    if (plain) {
        if (snprintf(names, sizeof names, "%s%s%s", name, s->missing[0] != '\0' ? "/" : "",
                     s->missing) >= (int)sizeof names)
            return err_set(err, ERR_CONFIG, 0, "folder %.100s: its path is too long", path);
        memcpy(s->missing, names, sizeof names);
    }
    if (slash == NULL)
        (void)snprintf(path, 2, ".");
    else
        slash[slash == path ? 1 : 0] = '\0';
    return true;
}

static bool spot_find_at(int dirfd, const char *path, struct folder_spot *ret, struct err *err)
{
    char at[PATH_MOST];

    ret->missing[0] = '\0';
    if (path[0] == '\0' || snprintf(at, sizeof at, "%s", path) >= (int)sizeof at)
        return err_set(err, ERR_CONFIG, 0, "the path of a folder is empty or too long");
    for (;;) {
        AUTO_FD fd = open_place(dirfd, at);

        if (fd >= 0)
            return spot_fill(fd, ret, err);
        if (errno != ENOENT || strcmp(at, ".") == 0 || strcmp(at, "/") == 0)
            return spot_fail(err, path);
        if (!take_missing(at, ret, err))
            return false;
    }
}

bool folder_spot_find(const char *path, struct folder_spot *ret, struct err *err)
{
    return spot_find_at(AT_FDCWD, path, ret, err);
}

bool folder_spot_below(int fd, const char *name, struct folder_spot *ret, struct err *err)
{
    return spot_find_at(fd, name, ret, err);
}

/* ---- comparing ---- */

static bool missing_begins(const char *names, const char *with)
{
    size_t n = strlen(with);

    return strncmp(names, with, n) == 0 && (names[n] == '\0' || names[n] == '/');
}

static bool spot_lies(const struct folder_spot *inner, size_t count,
                      const struct folder_spot *outer)
{
    if (outer->missing[0] == '\0')
        return has_node(inner, count, &outer->above[0]);
    return inner->above[0].dev == outer->above[0].dev &&
           inner->above[0].ino == outer->above[0].ino &&
           missing_begins(inner->missing, outer->missing);
}

bool folder_spot_is_in(const struct folder_spot *inner, const struct folder_spot *outer)
{
    return spot_lies(inner, inner->count, outer);
}

bool folder_spot_was_in(const struct folder_spot *inner, const struct folder_spot *outer)
{
    return spot_lies(inner, inner->own, outer);
}
