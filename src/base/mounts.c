#include "base/mounts.h"

#include <fcntl.h>
#include <stdio.h>

#include "base/file.h"

struct mount {
    uint64_t id;
    struct str device;
    char root[MOUNTS_PATH_MOST];  /* the part of the file system that is mounted */
    char point[MOUNTS_PATH_MOST]; /* where */
    bool faithful;                /* `root` is that part indeed */
};

bool mounts_read(struct buf *to, struct err *err)
{
    if (file_read_whole(AT_FDCWD, "/proc/self/mountinfo", to, err))
        return true;
    err->kind = ERR_TRANSIENT;
    return err_context(err, "the table of mounts");
}

static bool is_faithful(struct str fs)
{
    static const char *const names[] = { "ext2",  "ext3", "ext4",  "xfs",
                                         "btrfs", "f2fs", "tmpfs", "overlay" };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (str_is(fs, names[i]))
            return true;
    return false;
}

/* Blanks and other special bytes are written as three octal digits: \040. */
static bool unescape(struct str from, char to[static MOUNTS_PATH_MOST])
{
    size_t n = 0;

    for (size_t i = 0; i < from.len; i++) {
        if (n + 1 >= MOUNTS_PATH_MOST)
            return false;
        if (from.ptr[i] == '\\' && i + 3 < from.len) {
            to[n++] = (char)((from.ptr[i + 1] - '0') << 6 | (from.ptr[i + 2] - '0') << 3 |
                             (from.ptr[i + 3] - '0'));
            i += 3;
        } else {
            to[n++] = from.ptr[i];
        }
    }
    to[n] = '\0';
    return true;
}

/* "36 35 98:0 /part /where rw,noatime shared:1 - ext4 /dev/sda1 rw" */
static bool read_mount(struct str line, struct mount *ret)
{
    struct str field[5], word = { 0 };

    for (size_t i = 0; i < 5; i++)
        line = str_cut(line, ' ', &field[i]);
    while (line.len > 0 && !str_is(word, "-"))
        line = str_cut(line, ' ', &word);
    (void)str_cut(line, ' ', &word);
    ret->device = field[2];
    ret->faithful = is_faithful(word);
    return str_to_u64(field[0], &ret->id) && unescape(field[3], ret->root) &&
           unescape(field[4], ret->point);
}

/* Whether `path` is `top` or lies in it; *ret_rest is then "" or begins with a slash. */
static bool mounts_is_in(const char *path, const char *top, const char **ret_rest)
{
    size_t n = strcmp(top, "/") == 0 ? 0 : strlen(top);

    if (strncmp(path, top, n) != 0 || (path[n] != '\0' && path[n] != '/'))
        return false;
    *ret_rest = strcmp(path + n, "/") == 0 ? "" : path + n;
    return true;
}

static bool mounts_join(const char *top, const char *rest, char to[static MOUNTS_PATH_MOST])
{
    bool root = strcmp(top, "/") == 0 && rest[0] != '\0';

    return snprintf(to, MOUNTS_PATH_MOST, "%s%s", root ? "" : top, rest) < MOUNTS_PATH_MOST;
}

static bool find_mount(struct str table, uint64_t id, struct mount *ret)
{
    struct str line;

    while (table.len > 0) {
        table = str_cut(table, '\n', &line);
        if (read_mount(line, ret) && ret->id == id)
            return true;
    }
    return false;
}

void mounts_other_paths(struct str table, uint64_t id, struct str path, mounts_found *found,
                        void *arg)
{
    char whole[MOUNTS_PATH_MOST], place[MOUNTS_PATH_MOST], other[MOUNTS_PATH_MOST];
    struct mount own, m;
    const char *rest;
    struct str line;

    if (path.len >= sizeof whole || !find_mount(table, id, &own) || !own.faithful)
        return;
    memcpy(whole, path.ptr, path.len);
    whole[path.len] = '\0';
    /* Where it is in its file system. */
    if (!mounts_is_in(whole, own.point, &rest) || !mounts_join(own.root, rest, place))
        return;
    while (table.len > 0) {
        table = str_cut(table, '\n', &line);
        if (!read_mount(line, &m) || m.id == id || !str_eq(m.device, own.device))
            continue;
        if (mounts_is_in(place, m.root, &rest) && mounts_join(m.point, rest, other))
            found(arg, other, false);
        else if (mounts_is_in(m.root, place, &rest))
            found(arg, m.point, true);
    }
}
