#include "store/backup/backup_old.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/file.h"
#include "store/backup/backup.h"
#include "store/backup/manifest.h"
#include "store/kernel/reader.h"

enum { TIME_TEXT = 16, PREFIX_MOST = BACKUP_OLD_NAME - TIME_TEXT - 2 };

/* What stands in the folder of a backup. */
static const char *const backup_files[] = {
    MANIFEST_NAME,        MANIFEST_NAME ".part", "waybill.db", "waybill.db-wal", "waybill.db-shm",
    "waybill.db-journal", "config.yaml",         "secrets",    "secret.key",     BACKUP_DAMAGE
};
static const char *const backup_folders[] = { "payload", "large" };

/* ---- names ---- */

void backup_old_name(struct str prefix, int64_t at_us, char ret[static BACKUP_OLD_NAME])
{
    enum { SECONDS = sizeof "2026-11-18T02:00:00" - 1 };
    struct str name = str_first(prefix, PREFIX_MOST);
    char text[CLOCK_TEXT];

    (void)clock_utc_text(at_us, text);
    memcpy(ret, name.ptr, name.len);
    ret += name.len;
    *ret++ = '-';
    for (size_t i = 0; i < SECONDS; i++)
        if (text[i] != '-' && text[i] != ':')
            *ret++ = text[i];
    memcpy(ret, "Z", 2);
}

static bool backup_old_is_time(struct str text)
{
    static const char form[] = "dddddddd"
                               "Tdddddd"
                               "Z";

    if (text.len != TIME_TEXT)
        return false;
    for (size_t i = 0; i < TIME_TEXT; i++) {
        bool digit = text.ptr[i] >= '0' && text.ptr[i] <= '9';

        if (form[i] == 'd' ? !digit : text.ptr[i] != form[i])
            return false;
    }
    return true;
}

static bool backup_old_is_name(struct str prefix, struct str name)
{
    prefix = str_first(prefix, PREFIX_MOST);
    return name.len == prefix.len + 1 + TIME_TEXT && str_starts(name, prefix) &&
           name.ptr[prefix.len] == '-' && backup_old_is_time(str_from(name, prefix.len + 1));
}

/* ---- folders ---- */

static void close_folder(DIR **dir)
{
    if (*dir != NULL)
        (void)closedir(*dir);
}

/* The entries of a folder; NULL with *err. */
static DIR *list_folder(int dirfd, const char *name, struct err *err)
{
    int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (dir != NULL)
        return dir;
    (void)err_set(err, ERR_TRANSIENT, errno, "list %s: %s", name, strerror(errno));
    if (fd >= 0)
        (void)close(fd);
    return NULL;
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static bool backup_old_is_one_of(const char *name, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, list[i]) == 0)
            return true;
    return false;
}

#define IS_ONE_OF(name, list) backup_old_is_one_of(name, list, sizeof(list) / sizeof(list)[0])

/* Whether everything in it is a file or folder of a backup. */
static bool backup_old_is_pure(int dirfd, const char *name, bool *ret, struct err *err)
{
    AUTO(close_folder) DIR *dir = list_folder(dirfd, name, err);

    if (dir == NULL)
        return false;
    *ret = true;
    for (struct dirent *e; *ret && (e = readdir(dir)) != NULL;)
        *ret = is_dots(e->d_name) || IS_ONE_OF(e->d_name, backup_files) ||
               IS_ONE_OF(e->d_name, backup_folders);
    return true;
}

bool backup_old_look(struct store *s, int dirfd, const char *name, enum backup_old_state *ret,
                     struct err *err)
{
    AUTO_FD fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct manifest m;
    struct err why = { 0 };
    int64_t store_id;

    *ret = BACKUP_OLD_NONE;
    if (fd < 0 && errno == ENOENT)
        return true;
    *ret = BACKUP_OLD_STRANGE;
    if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
        return true;
    if (fd < 0)
        return err_set(err, ERR_TRANSIENT, errno, "open %s: %s", name, strerror(errno));
    if (!store_mark(s, "store", &store_id, err))
        return false;
    if (manifest_read(fd, &m, &why))
        *ret = m.store_id == store_id ? BACKUP_OLD_WHOLE : BACKUP_OLD_STRANGE;
    else if (why.kind == ERR_TRANSIENT)
        *err = why;
    else if (why.sys == ENOENT)
        *ret = BACKUP_OLD_UNFINISHED;
    return err->kind == ERR_NONE;
}

/* ---- removal ---- */

static bool remove_entry(int dirfd, const char *name, int flags, struct err *err)
{
    return unlinkat(dirfd, name, flags) == 0 || errno == ENOENT ||
           err_set(err, ERR_TRANSIENT, errno, "remove %s: %s", name, strerror(errno));
}

/* Its files, and then the folder itself. */
static bool remove_folder(int in, const char *name, struct err *err)
{
    struct stat st;

    if (fstatat(in, name, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
        return true;
    AUTO(close_folder) DIR *dir = list_folder(in, name, err);

    if (dir == NULL)
        return false;
    for (struct dirent *e; (e = readdir(dir)) != NULL;)
        if (!is_dots(e->d_name) && !remove_entry(dirfd(dir), e->d_name, 0, err))
            return false;
    return remove_entry(in, name, AT_REMOVEDIR, err);
}

static bool backup_old_remove(int dirfd, const char *name, struct err *err)
{
    AUTO_FD fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return err_set(err, ERR_TRANSIENT, errno, "open %s: %s", name, strerror(errno));
    if (!remove_entry(fd, MANIFEST_NAME, 0, err) || !file_try_sync(fd, name, err))
        return false;
    for (size_t i = 0; i < sizeof backup_folders / sizeof backup_folders[0]; i++)
        if (!remove_folder(fd, backup_folders[i], err))
            return false;
    for (size_t i = 0; i < sizeof backup_files / sizeof backup_files[0]; i++)
        if (!remove_entry(fd, backup_files[i], 0, err))
            return false;
    return remove_entry(dirfd, name, AT_REMOVEDIR, err);
}

/* ---- all of them ---- */

struct old_names {
    char (*names)[BACKUP_OLD_NAME];
    size_t count;
};

static void old_names_done(struct old_names *n)
{
    free(n->names);
}

static int newest_first(const void *a, const void *b)
{
    return strcmp(b, a);
}

static bool backup_old_list(int dirfd, struct str prefix, struct old_names *ret, struct err *err)
{
    AUTO(close_folder) DIR *dir = list_folder(dirfd, ".", err);

    if (dir == NULL)
        return false;
    ret->names = xcalloc(BACKUP_OLD_MOST, sizeof *ret->names);
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        if (!backup_old_is_name(prefix, str_of(e->d_name)))
            continue;
        if (ret->count == BACKUP_OLD_MOST)
            return err_set(err, ERR_LIMIT, 0,
                           "there are more than %d backups in the folder: remove some by hand",
                           BACKUP_OLD_MOST);
        (void)snprintf(ret->names[ret->count++], BACKUP_OLD_NAME, "%.*s", BACKUP_OLD_NAME - 1,
                       e->d_name);
    }
    qsort(ret->names, ret->count, sizeof *ret->names, newest_first);
    return true;
}

/* One that is to go.  What is no backup and holds other files is not ours. */
static bool backup_old_drop(int dirfd, const char *name, bool whole, struct backup_old_result *r,
                            struct err *err)
{
    bool pure;

    if (!backup_old_is_pure(dirfd, name, &pure, err))
        return false;
    if (!pure && whole)
        (void)snprintf(r->strange, sizeof r->strange, "%s", name);
    if (!pure)
        return true;
    r->removed++;
    return backup_old_remove(dirfd, name, err);
}

bool backup_old_prune(struct store *s, int dirfd, struct str prefix, size_t keep,
                      struct backup_old_result *ret, struct err *err)
{
    AUTO(old_names_done) struct old_names all = { 0 };

    *ret = (struct backup_old_result){ 0 };
    if (!backup_old_list(dirfd, prefix, &all, err))
        return false;
    for (size_t i = 0; i < all.count; i++) {
        enum backup_old_state state;

        if (!backup_old_look(s, dirfd, all.names[i], &state, err))
            return false;
        bool goes =
            state == BACKUP_OLD_UNFINISHED || (state == BACKUP_OLD_WHOLE && ++ret->whole > keep);

        if (goes && !backup_old_drop(dirfd, all.names[i], state == BACKUP_OLD_WHOLE, ret, err))
            return false;
    }
    return true;
}
