#include "store/backup/backup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/folder_rule.h"
#include "store/backup/backup_payloads.h"
#include "store/backup/file_copy.h"
#include "store/backup/manifest.h"
#include "store/db/migrate.h"
#include "store/govern/version.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"
#include "store/people/secret.h"
#include "store/retention/retain_gate.h"

enum { CONFIG_MOST = 16 << 20, SPARE_BYTES = 16 << 20 };

const char *const backup_stages[BACKUP_STAGES] = {
    [BACKUP_DATABASE] = "database",
    [BACKUP_PAYLOADS] = "payloads",
    [BACKUP_CHECK] = "check",
    [BACKUP_MANIFEST] = "manifest",
};

/* ---- the folder ---- */

static bool backup_is_empty(int dirfd, bool *ret, struct err *err)
{
    int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (dir == NULL) {
        if (fd >= 0)
            (void)close(fd);
        return err_set(err, ERR_TRANSIENT, errno, "list the folder: %s", strerror(errno));
    }
    *ret = true;
    for (struct dirent *e; *ret && (e = readdir(dir)) != NULL;)
        *ret = str_is(str_of(e->d_name), ".") || str_is(str_of(e->d_name), "..");
    (void)closedir(dir);
    return true;
}

/* Asked of what was opened, whatever the path leads to by then. */
static bool backup_may_use(const struct backup_options *o, int fd, struct err *err)
{
    struct folder_use use = {
        .purpose = FOLDER_BACKUP, .owner = "", .part = "", .path = o->folder
    };

    return o->folders == NULL || folder_may_use(o->folders, &use, fd, err);
}

static bool backup_open_folder(const struct backup_options *o, int *ret, struct err *err)
{
    const char *path = o->folder;
    bool empty = false;

    if (path[0] != '/')
        return err_set(err, ERR_PERMANENT, 0, "the folder must be an absolute path");
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return err_set(err, ERR_PERMANENT, errno, "make the folder %s: %s", path, strerror(errno));
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return err_set(err, ERR_PERMANENT, errno, "open the folder %s: %s", path, strerror(errno));
    if (!backup_may_use(o, fd, err) || !backup_is_empty(fd, &empty, err) || !empty) {
        (void)close(fd);
        return err->kind != ERR_NONE ? false
                                     : err_set(err, ERR_PERMANENT, ENOTEMPTY,
                                               "the folder %s is not empty: a backup goes into a "
                                               "new one",
                                               path);
    }
    file_sync_parent(fd, "the parent of the backup's folder");
    *ret = fd;
    return true;
}

static void remove_files(int dirfd, const char *folder)
{
    int fd = openat(dirfd, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (dir == NULL) {
        if (fd >= 0)
            (void)close(fd);
        return;
    }
    for (struct dirent *e; (e = readdir(dir)) != NULL;)
        if (e->d_name[0] != '.')
            (void)unlinkat(fd, e->d_name, 0);
    (void)closedir(dir);
    (void)unlinkat(dirfd, folder, AT_REMOVEDIR);
}

/* The folder was empty before, so everything in it is of this backup. */
static void remove_all(int dirfd)
{
    remove_files(dirfd, "payload");
    remove_files(dirfd, "large");
    remove_files(dirfd, ".");
}

/* ---- for both databases ---- */

static bool list_file(struct backup_job *j, const char *name, struct err *err)
{
    struct file_copy c = {
        .from_dirfd = j->dirfd, .to_dirfd = -1, .most = -1, .stop = &j->progress->stop
    };
    struct manifest_file f;

    return file_copy(&c, name, &f, err) && manifest_add(j->manifest, &f, err);
}

static bool write_file(struct backup_job *j, const char *name, struct str bytes, struct err *err)
{
    AUTO_FD fd = openat(j->dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd < 0)
        return err_set(err, file_err_kind(errno), errno, "create %s: %s", name, strerror(errno));
    if (!file_write_all(fd, bytes, err) || !file_try_sync(fd, name, err))
        return err_context(err, "%s", name);
    return list_file(j, name, err);
}

static bool backup_write_config(struct backup_job *j, struct err *err)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(CONFIG_MOST);
    struct version v;
    int64_t newest;

    if (!version_newest(j->store, &newest, err))
        return false;
    if (newest == 0)
        return true;
    if (!version_get(j->store, newest, &a, &v, err))
        return err->kind == ERR_NONE;
    return write_file(j, "config.yaml", v.body, err);
}

static bool backup_find_key(struct backup_job *j, const struct backup_options *o,
                            struct manifest *head, struct err *err)
{
    if (!secret_key_id(j->store, head->key, err))
        return false;
    j->result->key_left = head->key[0] != '\0' && !o->with_key;
    return true;
}

static bool backup_add_key(struct backup_job *j, const struct backup_options *o,
                           const struct manifest *head, struct err *err)
{
    return head->key[0] == '\0' || !o->with_key ||
           (secret_key_copy(j->store, j->dirfd, err) && list_file(j, "secret.key", err));
}

/* Syncs the folders first: files are on stable storage before the manifest names them. */
static bool backup_finish(struct backup_job *j, struct err *err)
{
    static const char *const folders[] = { "payload", "large", "." };

    j->progress->stage = BACKUP_MANIFEST;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        AUTO_FD fd = openat(j->dirfd, folders[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (fd >= 0 && !file_try_sync(fd, folders[i], err))
            return false;
    }
    fault_point(BACKUP_LISTED);
    j->result->files = j->manifest->files;
    j->result->bytes = j->manifest->bytes;
    return manifest_publish(j->manifest, err);
}

/* ---- SQLite ---- */

static bool see_room(struct backup_job *j, struct err *err)
{
    int64_t payloads, free_bytes;
    struct stat st = { 0 };

    if (!backup_payloads_size(j->store, &payloads, err) ||
        !file_free_bytes(j->dirfd, &free_bytes, err))
        return false;
    (void)stat(j->store->sqlite_path, &st);
    int64_t need = payloads + st.st_size + SPARE_BYTES;

    return free_bytes >= need ||
           err_set(err, ERR_LIMIT, ENOSPC,
                   "no space for the backup: it needs %lld MiB, and %lld MiB are free",
                   (long long)(need >> 20), (long long)(free_bytes >> 20));
}

static bool make_folders(struct backup_job *j, struct err *err)
{
    return (mkdirat(j->dirfd, "payload", 0700) == 0 && mkdirat(j->dirfd, "large", 0700) == 0) ||
           err_set(err, file_err_kind(errno), errno, "make a folder in the backup: %s",
                   strerror(errno));
}

static bool sync_copy(struct backup_job *j, struct err *err)
{
    AUTO_FD fd = openat(j->dirfd, "waybill.db", O_RDWR | O_CLOEXEC);

    if (fd < 0 || fchmod(fd, 0600) < 0)
        return err_set(err, ERR_TRANSIENT, errno, "open waybill.db: %s", strerror(errno));
    return file_try_sync(fd, "waybill.db", err);
}

static bool take_sqlite(struct backup_job *j, const struct backup_options *o, struct manifest *head,
                        struct err *err)
{
    if (!see_room(j, err) || !make_folders(j, err) || !backup_find_key(j, o, head, err) ||
        !backup_copy_take(j->store, j->db_path, j->progress, &j->mark, err) || !sync_copy(j, err))
        return false;
    head->taken_us = j->mark.at_us;
    head->num = j->mark.num;
    return manifest_head(j->manifest, head, err) && list_file(j, "waybill.db", err) &&
           backup_write_config(j, err) && backup_add_key(j, o, head, err) &&
           backup_payloads_copy(j, err) && backup_payloads_check(j, err) &&
           (j->damage->len == 0 || write_file(j, BACKUP_DAMAGE, buf_view(j->damage), err));
}

/* ---- PostgreSQL ---- */

static bool read_point(struct db *db, struct manifest *head, struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    bool row = false;

    if (!db_query(db, SQL_BACKUP_POINT, DB_NO_ARGS, &rows, err) || !db_next(&rows, &row, err))
        return false;
    struct str lsn = row ? db_get_str(&rows, 0) : STR("");

    (void)snprintf(head->point, sizeof head->point, "%.*s", STR_ARG(lsn));
    return true;
}

static bool add_secret(void *arg, struct db_rows *row, struct err *err)
{
    (void)err;
    buf_printf(arg, "%.*s %.*s %.*s\n", STR_ARG(db_get_str(row, BACKUP_SECRETS_NAME)),
               STR_ARG(db_get_str(row, BACKUP_SECRETS_FINGERPRINT)),
               STR_ARG(db_get_str(row, BACKUP_SECRETS_SEALED_HEX)));
    return true;
}

static bool write_secrets(struct backup_job *j, struct db *db, struct err *err)
{
    AUTO(buf_done) struct buf text = BUF_INIT(SECRETS_MOST * (3 * SECRET_MOST + 1024));

    return rows_each(db, SQL_BACKUP_SECRETS, DB_NO_SLOT, DB_NO_ARGS, add_secret, &text, err) &&
           (text.len == 0 || write_file(j, "secrets", buf_view(&text), err));
}

/* taken_us is read first: what was acknowledged before it is committed before the point. */
static bool take_postgresql(struct backup_job *j, const struct backup_options *o,
                            struct manifest *head, struct err *err)
{
    head->taken_us = clock_wall_us();
    AUTO(reader_back) struct reader r = reader_take(j->store, err);
    bool ok = r.db != NULL && read_point(r.db, head, err) &&
              db_one_int(r.db, SQL_NUM_LAST, DB_NO_ARGS, 0, &head->num, err) &&
              backup_find_key(j, o, head, err) && manifest_head(j->manifest, head, err) &&
              write_secrets(j, r.db, err);

    reader_back(&r);
    (void)snprintf(j->result->point, sizeof j->result->point, "%s", head->point);
    return ok && backup_write_config(j, err) && backup_add_key(j, o, head, err);
}

/* ---- a backup ---- */

static bool backup_take(struct backup_job *j, const struct backup_options *o, struct err *err)
{
    bool sqlite = j->store->kind == DB_SQLITE;
    struct manifest head = { .program = WAYBILL_VERSION, .schema = migrate_newest() };

    (void)snprintf(head.store, sizeof head.store, "%s", sqlite ? "sqlite" : "postgresql");
    if (!store_mark(j->store, "store", &head.store_id, err) ||
        !(sqlite ? take_sqlite(j, o, &head, err) : take_postgresql(j, o, &head, err)))
        return false;
    j->result->taken_us = head.taken_us;
    j->result->num = head.num;
    return backup_finish(j, err);
}

static bool run_in(struct store *s, int dirfd, const struct backup_options *o,
                   struct backup_progress *p, struct backup_result *ret, struct err *err)
{
    struct manifest_out m;
    AUTO(buf_done) struct buf path = BUF_INIT(8192);
    AUTO(buf_done) struct buf damage = BUF_INIT(BACKUP_DAMAGE_MOST + 1024);
    struct backup_job j = {
        .store = s, .dirfd = dirfd, .progress = p, .manifest = &m, .result = ret, .damage = &damage
    };

    if (!buf_append(&path, str_of(o->folder), err) || !buf_append(&path, STR("/waybill.db"), err) ||
        !manifest_begin(&m, dirfd, err))
        return false;
    j.db_path = path.ptr;
    bool ok = backup_take(&j, o, err);

    manifest_done(&m);
    return ok;
}

bool backup_run(struct store *s, const struct backup_options *o, struct backup_progress *p,
                struct backup_result *ret, struct err *err)
{
    AUTO_FD dirfd = -1;

    *ret = (struct backup_result){ 0 };
    p->stage = BACKUP_DATABASE;
    p->done = p->total = 0;
    if (!backup_open_folder(o, &dirfd, err))
        return false;
    retain_pause(s); /* the purge must not remove files that are copied */
    bool ok = run_in(s, dirfd, o, p, ret, err);

    retain_release(s);
    if (!ok)
        remove_all(dirfd);
    return ok;
}
