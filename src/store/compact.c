#include "store/compact.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/fault.h"
#include "base/file.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"
#include "store/open.h"

static const char database[] = "waybill.db", fresh[] = "waybill.db.compact",
                  wal[] = "waybill.db-wal";

static bool size_of(int dirfd, const char *name, int64_t *ret, struct err *err)
{
    struct stat st;

    if (fstatat(dirfd, name, &st, 0) < 0)
        return err_set(err, ERR_CONFIG, errno, "%s: %s", name, strerror(errno));
    *ret = st.st_size;
    return true;
}

/* On a read connection: nothing in the old file changes. */
static bool write_fresh(struct store *s, const char *data, struct err *err)
{
    size_t room = strlen(data) + sizeof fresh + 1;
    AUTO_TEXT path = xmalloc(room);
    AUTO(reader_back) struct reader r = reader_take(s, err);

    (void)snprintf(path, room, "%s/%s", data, fresh);
    return r.db != NULL && db_run(r.db, SQL_COMPACT, DB_ARGS(db_text(str_of(path))), NULL, err);
}

static bool is_sound(struct db *db, struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    bool row;

    if (!db_query(db, SQL_DATABASE_CHECK, DB_NO_ARGS, &rows, err) || !db_next(&rows, &row, err))
        return false;
    return (row && str_is(db_get_str(&rows, 0), "ok")) ||
           err_set(err, ERR_PERMANENT, 0, "the database is damaged: restore a backup");
}

static bool count_rows(struct db *db, int64_t *ret, struct err *err)
{
    return db_one_int(db, SQL_COMPACT_ROWS, DB_NO_ARGS, 0, ret, err);
}

/* Checks that the new file is sound and has as many rows as the old one. */
static bool check_fresh(struct store *s, const char *data, struct err *err)
{
    size_t room = strlen(data) + sizeof fresh + 1;
    AUTO_TEXT path = xmalloc(room);
    struct db_sqlite_options o = { .path = path, .reader = true };
    AUTO(reader_back) struct reader old = reader_take(s, err);
    struct db *db = NULL;
    int64_t want = 0, got = 0;

    (void)snprintf(path, room, "%s/%s", data, fresh);
    bool ok = old.db != NULL && count_rows(old.db, &want, err) && db_open_sqlite(&o, &db, err) &&
              is_sound(db, err) && count_rows(db, &got, err);

    db_close(db);
    return ok && (want == got || err_set(err, ERR_PERMANENT, 0, "the new database differs"));
}

/* The old database is closed, so its log must be empty: the rename would separate the two. */
static bool swap(int dirfd, struct err *err)
{
    struct stat st;
    AUTO_FD fd = openat(dirfd, fresh, O_RDWR | O_CLOEXEC);

    if (fd < 0)
        return err_set(err, ERR_TRANSIENT, errno, "%s: %s", fresh, strerror(errno));
    if (fstatat(dirfd, wal, &st, 0) == 0 && st.st_size > 0)
        return err_set(err, ERR_TRANSIENT, 0, "%s is not empty", wal);
    file_sync(fd, "database");
    fault_point(COMPACT_WRITTEN);
    return publish_file(dirfd, fresh, database, true, err);
}

void compact_clean(int data_fd)
{
    static const char *const names[] = { "waybill.db.compact", "waybill.db.compact-journal",
                                         "waybill.db.compact-wal", "waybill.db.compact-shm" };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        (void)unlinkat(data_fd, names[i], 0);
}

bool store_compact(const char *data, struct compact_result *ret, struct err *err)
{
    struct store_options o = { .data = data, .area = "internal", .queue_most = 16 };
    AUTO_FD dirfd = open(data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct store *s;

    *ret = (struct compact_result){ 0 };
    if (dirfd < 0)
        return err_set(err, ERR_CONFIG, errno, "data folder %s: %s", data, strerror(errno));
    if (!size_of(dirfd, database, &ret->before_bytes, err) || !store_open(&o, &s, err))
        return false;
    AUTO_FD lock = dup(s->lock_fd); /* a copy keeps the folder locked after store_close() */

    bool ok = lock >= 0 && write_fresh(s, data, err) && check_fresh(s, data, err);

    store_close(s);
    ok = ok && swap(dirfd, err);
    if (!ok)
        (void)unlinkat(dirfd, fresh, 0);
    return ok && size_of(dirfd, database, &ret->after_bytes, err);
}
