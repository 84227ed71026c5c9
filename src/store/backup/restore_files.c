#include "store/backup/restore_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/folder_rule.h"
#include "store/backup/backup.h"
#include "store/backup/file_copy.h"
#include "store/backup/restore.h"
#include "store/db/db.h"
#include "store/db/migrate.h"
#include "store/db/pg_lineage.h"
#include "store/kernel/damage.h"
#include "store/people/secret.h"

#define DB_NAME  "waybill.db"
#define DB_PART  "waybill.db.part"
#define KEY_NAME "secret.key"

struct job {
    struct restore_files *r;
    int from_fd, to_fd, lock_fd;
    bool has_key; /* in the backup */
};

static void restore_files_step(const struct job *j, const char *what)
{
    if (j->r->step != NULL)
        j->r->step(what);
}

static void restore_files_job_done(struct job *j)
{
    const int fds[] = { j->from_fd, j->to_fd, j->lock_fd };

    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        if (fds[i] >= 0)
            (void)close(fds[i]);
}

/* ---- checking ---- */

static bool copy_checked(struct job *j, const struct file_copy *c, const struct manifest_file *want,
                         struct err *err)
{
    struct manifest_file got;

    (void)j;
    if (!file_copy(c, want->name, &got, err))
        return err->sys == ENOENT ? err_set(err, ERR_PERMANENT, ENOENT,
                                            "the file %.200s of the backup is missing", want->name)
                                  : false;
    if (got.size == want->size && digest_same(&got.sha256, &want->sha256))
        return true;
    return err_set(err, ERR_PERMANENT, 0,
                   "the file %.100s of the backup is damaged: %s; nothing can be restored from it",
                   want->name,
                   got.size != want->size ? "its length differs from the manifest"
                                          : "its digest differs from the manifest");
}

static bool restore_files_look_at(void *arg, const struct manifest_file *f, struct err *err)
{
    struct job *j = arg;
    struct file_copy c = { .from_dirfd = j->from_fd, .to_dirfd = -1, .most = -1 };

    j->has_key = j->has_key || str_is(str_of(f->name), KEY_NAME);
    if (!copy_checked(j, &c, f, err))
        return false;
    return !str_is(str_of(f->name), BACKUP_DAMAGE) ||
           file_read_whole(j->from_fd, BACKUP_DAMAGE, &j->r->damage, err);
}

static bool restore_files_look(struct job *j, struct err *err)
{
    j->from_fd = open(j->r->backup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (j->from_fd < 0)
        return err_set(err, ERR_PERMANENT, errno, "open %s: %s", j->r->backup, strerror(errno));
    if (!manifest_read(j->from_fd, &j->r->manifest, err) ||
        !manifest_each(j->from_fd, restore_files_look_at, j, err))
        return err_context(err, "backup %s", j->r->backup);
    if (j->r->manifest.schema > migrate_newest())
        return err_set(err, ERR_PERMANENT, 0,
                       "the backup has schema version %lld, this program knows up to %d: use the "
                       "waybill that took it (%s)",
                       (long long)j->r->manifest.schema, migrate_newest(), j->r->manifest.program);
    restore_files_step(j, "every file of the backup is as it was written");
    return true;
}

bool restore_files_check(struct restore_files *r, struct err *err)
{
    struct job j = { .r = r, .from_fd = -1, .to_fd = -1, .lock_fd = -1 };
    bool ok = restore_files_look(&j, err);

    restore_files_job_done(&j);
    return ok;
}

/* ---- the new folder ---- */

static bool restore_files_has_files(int dirfd, const char *folder)
{
    int fd = openat(dirfd, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    bool any = false;

    if (dir == NULL) {
        if (fd >= 0)
            (void)close(fd);
        return false;
    }
    for (struct dirent *e; !any && (e = readdir(dir)) != NULL;)
        any = e->d_name[0] != '.';
    (void)closedir(dir);
    return any;
}

static bool restore_files_is_there(int dirfd, const char *name)
{
    struct stat st;

    return fstatat(dirfd, name, &st, 0) == 0;
}

/* The backup must not lie in what is written, nor the other way.  Whoever restores has the machine:
 * where both are is theirs to choose. */
static bool is_apart_from_backup(const struct job *j, struct err *err)
{
    struct folder_rule rule = { .data = j->r->data, .mutex = PTHREAD_MUTEX_INITIALIZER };
    struct folder_use use = {
        .purpose = FOLDER_BACKUP, .owner = "", .part = "", .path = j->r->backup
    };

    return folder_may_use(&rule, &use, j->from_fd, err);
}

static bool open_data(struct job *j, struct err *err)
{
    const char *data = j->r->data;

    if (!is_apart_from_backup(j, err))
        return false;
    if (mkdir(data, 0700) < 0 && errno != EEXIST)
        return err_set(err, ERR_PERMANENT, errno, "make folder %s: %s", data, strerror(errno));
    j->to_fd = open(data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (j->to_fd < 0)
        return err_set(err, ERR_PERMANENT, errno, "open folder %s: %s", data, strerror(errno));
    file_sync_parent(j->to_fd, "the data folder's parent");
    j->lock_fd = openat(j->to_fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (j->lock_fd < 0 || flock(j->lock_fd, LOCK_EX | LOCK_NB) < 0)
        return err_set(err, ERR_PERMANENT, errno,
                       "data folder %s is in use by another process: stop it first", data);
    return true;
}

/* SQLite would replay the WAL of another database into the restored one.  No restore leaves these
 * files under this name, however far it came. */
static bool see_no_log(struct job *j, struct err *err)
{
    static const char *const names[] = { DB_NAME "-wal", DB_NAME "-shm", DB_NAME "-journal" };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (restore_files_is_there(j->to_fd, names[i]))
            return err_set(err, ERR_PERMANENT, ENOTEMPTY,
                           "the folder %s has the file %s of another store: move it away, to the "
                           "database that it belongs to",
                           j->r->data, names[i]);
    return true;
}

static bool restore_files_see_empty(struct job *j, struct err *err)
{
    if (restore_files_is_there(j->to_fd, RESTORE_UNFINISHED) ||
        (!restore_files_is_there(j->to_fd, DB_NAME) &&
         !restore_files_has_files(j->to_fd, "payload") &&
         !restore_files_has_files(j->to_fd, "large")))
        return see_no_log(j, err);
    return err_set(err, ERR_PERMANENT, ENOTEMPTY,
                   "the folder %s has a store already: restore into another one, or move it away",
                   j->r->data);
}

static bool sync_folder(struct job *j, const char *name, struct err *err)
{
    AUTO_FD fd = openat(j->to_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return fd >= 0 ? file_try_sync(fd, name, err)
                   : err_set(err, ERR_TRANSIENT, errno, "open %s: %s", name, strerror(errno));
}

static bool restore_files_begin(struct job *j, struct err *err)
{
    AUTO_FD fd = openat(j->to_fd, RESTORE_UNFINISHED, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    if (fd < 0)
        return err_set(err, file_err_kind(errno), errno, "create %s: %s", RESTORE_UNFINISHED,
                       strerror(errno));
    if (!file_try_sync(fd, RESTORE_UNFINISHED, err) || !sync_folder(j, ".", err))
        return false;
    (void)unlinkat(j->to_fd, DB_NAME, 0); /* left by an unfinished restore */
    (void)unlinkat(j->to_fd, DB_PART "-wal", 0);
    (void)unlinkat(j->to_fd, DB_PART "-shm", 0);
    return file_make_dir(j->to_fd, "payload", err) && file_make_dir(j->to_fd, "large", err);
}

/* ---- files ---- */

static bool copy_in(void *arg, const struct manifest_file *f, struct err *err)
{
    struct job *j = arg;
    struct str name = str_of(f->name);
    struct file_copy c = { .from_dirfd = j->from_fd, .to_dirfd = j->to_fd, .most = -1 };

    if (str_is(name, DB_NAME))
        c.as = DB_PART;
    else if (!str_starts(name, STR("payload/")) && !str_starts(name, STR("large/")))
        return true; /* files for people; the key is copied below */
    if (!copy_checked(j, &c, f, err))
        return false;
    fault_point(RESTORE_FILE);
    return true;
}

static bool path_in(const struct job *j, const char *name, struct buf *ret, struct err *err)
{
    return buf_append(ret, str_of(j->r->data), err) && buf_append(ret, STR("/"), err) &&
           buf_append(ret, str_of(name), err);
}

/* Adds the row that holds every delivery.  Afterwards the database sends nothing, whatever its
 * name. */
static bool note_in_database(struct job *j, struct err *err)
{
    AUTO(buf_done) struct buf path = BUF_INIT(8192);
    struct db_sqlite_options o = { 0 };
    struct db *db;

    if (!restore_files_is_there(j->to_fd, DB_PART))
        return err_set(err, ERR_PERMANENT, 0, "the backup has no database");
    if (!path_in(j, DB_PART, &path, err))
        return false;
    o.path = path.ptr;
    if (!db_open_sqlite(&o, &db, err))
        return false;
    bool ok = migrate(db, sql_migrations, err) &&
              restore_note(db, j->r->manifest.taken_us, str_of(j->r->backup), err);

    db_close(db); /* checkpoints the WAL into the file */
    if (ok && restore_files_is_there(j->to_fd, DB_PART "-wal"))
        ok = err_set(err, ERR_TRANSIENT, 0, "the database could not be closed as one file");
    fault_point(RESTORE_NOTED);
    return ok;
}

static bool use_key(struct job *j, int dirfd, const char *path, struct err *err)
{
    struct file_copy c = { .from_dirfd = dirfd, .to_dirfd = j->to_fd, .as = KEY_NAME, .most = -1 };
    char id[SECRET_KEY_ID];
    struct manifest_file f;

    if (!secret_key_id_of(dirfd, path, id, err))
        return false;
    if (!str_is(str_of(id), j->r->manifest.key))
        return err_set(err, ERR_PERMANENT, 0,
                       "the key file %s is not the one that the secrets were sealed under", path);
    return file_copy(&c, path, &f, err);
}

/* The key may be in the backup, or already in the folder. */
static bool place_key(struct job *j, struct err *err)
{
    char id[SECRET_KEY_ID];
    struct err why = { 0 };

    if (j->r->manifest.key[0] == '\0')
        return true;
    if (j->has_key)
        return use_key(j, j->from_fd, KEY_NAME, err);
    if (secret_key_id_of(j->to_fd, KEY_NAME, id, &why) && str_is(str_of(id), j->r->manifest.key))
        return true;
    j->r->key_missing = true;
    return true;
}

/* Checks the given key file before anything is written. */
static bool see_key(struct job *j, struct err *err)
{
    char id[SECRET_KEY_ID];

    if (j->r->key == NULL)
        return true;
    if (!secret_key_id_of(AT_FDCWD, j->r->key, id, err))
        return false;
    return str_is(str_of(id), j->r->manifest.key) ||
           err_set(err, ERR_PERMANENT, 0,
                   "the key file %s is not the one that the secrets were sealed under", j->r->key);
}

static bool give_key(struct job *j, struct err *err)
{
    AUTO(buf_done) struct buf text = BUF_INIT(1024);

    if (j->r->key == NULL)
        return place_key(j, err);
    return file_read_whole(AT_FDCWD, j->r->key, &text, err) &&
           publish_bytes(j->to_fd, KEY_NAME, buf_view(&text), 0600, err);
}

static bool restore_files_end(struct job *j, struct err *err)
{
    if (!sync_folder(j, "payload", err) || !sync_folder(j, "large", err) ||
        !publish_file(j->to_fd, DB_PART, DB_NAME, false, err))
        return false;
    if (unlinkat(j->to_fd, DAMAGE_MARK, 0) < 0 && errno != ENOENT) /* of the store before */
        return err_set(err, ERR_TRANSIENT, errno, "remove %s: %s", DAMAGE_MARK, strerror(errno));
    if (unlinkat(j->to_fd, RESTORE_UNFINISHED, 0) < 0)
        return err_set(err, ERR_TRANSIENT, errno, "remove %s: %s", RESTORE_UNFINISHED,
                       strerror(errno));
    return sync_folder(j, ".", err);
}

static bool run_sqlite(struct job *j, struct err *err)
{
    if (!open_data(j, err) || !restore_files_see_empty(j, err) || !see_key(j, err) ||
        !restore_files_begin(j, err) || !manifest_each(j->from_fd, copy_in, j, err))
        return false;
    restore_files_step(j, "its files are copied");
    return note_in_database(j, err) && give_key(j, err) && restore_files_end(j, err);
}

/* ---- PostgreSQL ---- */

static bool see_database(struct job *j, struct db *db, struct err *err)
{
    const struct manifest *m = &j->r->manifest;
    int64_t id, upto, alive;

    if (!db_one_int(db, SQL_MARK_GET, DB_ARGS(db_text(STR("store"))), 0, &id, err) ||
        !db_one_int(db, SQL_NUM_LAST, DB_NO_ARGS, 0, &upto, err) ||
        !db_one_int(db, SQL_RESTORE_ALIVE, DB_NO_ARGS, 0, &alive, err))
        return false;
    if (id != m->store_id)
        return err_set(err, ERR_PERMANENT, 0,
                       "the database is another store than the one of this backup");
    if (upto < m->num)
        return err_set(err, ERR_PERMANENT, 0,
                       "the database ends before this backup was taken: bring it to %s or later",
                       m->point);
    return alive == 0 ||
           err_set(err, ERR_PERMANENT, 0, "%lld nodes run on this database: stop them first",
                   (long long)alive);
}

static bool run_postgresql(struct job *j, struct err *err)
{
    struct db *db;

    if ((j->r->data != NULL && !open_data(j, err)) || !see_key(j, err) ||
        !db_open_postgres(j->r->url, false, NULL, &db, err))
        return false;
    bool ok = migrate(db, sql_migrations, err) && see_database(j, db, err) &&
              restore_note(db, j->r->manifest.taken_us, str_of(j->r->backup), err);

    db_close(db);
    if (ok && j->to_fd >= 0) /* the restored server may be on an earlier timeline */
        (void)unlinkat(j->to_fd, PG_LINEAGE_FILE, 0);
    return ok && (j->to_fd < 0 || give_key(j, err));
}

/* ---- a restore ---- */

static bool backup_restore_files_run(struct job *j, struct err *err)
{
    bool postgresql = j->r->url != NULL;

    if (!restore_files_look(j, err))
        return false;
    if (!str_is(str_of(j->r->manifest.store), postgresql ? "postgresql" : "sqlite"))
        return err_set(err, ERR_PERMANENT, 0, "this is the backup of a store on %s: %s",
                       j->r->manifest.store,
                       postgresql ? "give --data and no --store" : "give --store URL");
    return postgresql ? run_postgresql(j, err) : run_sqlite(j, err);
}

bool restore_files_run(struct restore_files *r, struct err *err)
{
    struct job j = { .r = r, .from_fd = -1, .to_fd = -1, .lock_fd = -1 };
    bool ok = backup_restore_files_run(&j, err);

    restore_files_job_done(&j);
    return ok;
}
