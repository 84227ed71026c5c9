#include "store/backup/backup_payloads.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/fault.h"
#include "base/file.h"
#include "core/timeline.h"
#include "store/backup/file_copy.h"
#include "store/db/rows.h"
#include "store/kernel/store_state.h"
#include "store/road/done.h"
#include "store/segment/forward.h"

enum { PAGE = 500, NAME = 64, SEGMENTS_MOST = 1 << 20 };

/* ---- segments ---- */

struct segment_list {
    int64_t *segs;
    size_t count, room;
    int64_t bytes;
};

static void backup_payloads_list_done(struct segment_list *l)
{
    free(l->segs);
}

static int backup_payloads_by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static void backup_payloads_list_add(struct segment_list *l, int dirfd, const char *name,
                                     int64_t seg)
{
    struct stat st;

    if (l->count == l->room) {
        l->room = l->room == 0 ? 64 : l->room * 2;
        l->segs = xrealloc(l->segs, l->room * sizeof *l->segs);
    }
    l->segs[l->count++] = seg;
    if (fstatat(dirfd, name, &st, 0) == 0)
        l->bytes += st.st_size;
}

static bool backup_payloads_list_segments(int dirfd, int64_t upto, struct segment_list *l,
                                          struct err *err)
{
    int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (dir == NULL) {
        if (fd >= 0)
            (void)close(fd);
        return err_set(err, ERR_TRANSIENT, errno, "list payloads: %s", strerror(errno));
    }
    for (struct dirent *e; l->count < SEGMENTS_MOST && (e = readdir(dir)) != NULL;) {
        int64_t seg = segment_of_name(str_of(e->d_name));

        if (seg > 0 && seg <= upto)
            backup_payloads_list_add(l, dirfd, e->d_name, seg);
    }
    (void)closedir(dir);
    if (l->count > 0) /* qsort() must not get a null pointer */
        qsort(l->segs, l->count, sizeof *l->segs, backup_payloads_by_number);
    return true;
}

static bool large_bytes(int dirfd, int64_t *ret, struct err *err)
{
    int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct stat st;

    if (dir == NULL) {
        if (fd >= 0)
            (void)close(fd);
        return err_set(err, ERR_TRANSIENT, errno, "list large payloads: %s", strerror(errno));
    }
    for (struct dirent *e; (e = readdir(dir)) != NULL;)
        if (e->d_name[0] != '.' && fstatat(dirfd, e->d_name, &st, 0) == 0)
            *ret += st.st_size;
    (void)closedir(dir);
    return true;
}

bool backup_payloads_size(struct store *s, int64_t *ret, struct err *err)
{
    AUTO(backup_payloads_list_done) struct segment_list l = { 0 };
    int64_t large = 0;

    if (!backup_payloads_list_segments(s->payload_fd, INT64_MAX, &l, err) ||
        !large_bytes(s->large_fd, &large, err))
        return false;
    *ret = l.bytes + large;
    return true;
}

static bool copy_one(struct backup_job *j, const char *name, int64_t most, struct err *err)
{
    struct file_copy c = { .from_dirfd = j->store->data_fd,
                           .to_dirfd = j->dirfd,
                           .most = most,
                           .stop = &j->progress->stop,
                           .copied = &j->progress->done };
    struct manifest_file f;

    if (!file_copy(&c, name, &f, err))
        return false;
    fault_point(BACKUP_FILE);
    return manifest_add(j->manifest, &f, err);
}

/* The last segment is cut at the mark: later payloads have no row in this backup. */
static bool copy_segments(struct backup_job *j, struct err *err)
{
    AUTO(backup_payloads_list_done) struct segment_list l = { 0 };
    char name[NAME];

    if (!backup_payloads_list_segments(j->store->payload_fd, j->mark.end.seg, &l, err))
        return false;
    for (size_t i = 0; i < l.count; i++) {
        (void)snprintf(name, sizeof name, "payload/%lld.seg", (long long)l.segs[i]);
        if (!copy_one(j, name, l.segs[i] == j->mark.end.seg ? j->mark.end.pos : -1, err))
            return false;
    }
    return true;
}

/* ---- large payloads ---- */

/* A missing file is no error here: the check of its row reports it. */
static bool copy_large(struct backup_job *j, struct db *db, struct err *err)
{
    int64_t list[PAGE], above = -1;
    size_t n = PAGE;
    char name[NAME];

    while (n == PAGE) {
        if (!rows_ints(db, SQL_BACKUP_LARGE, DB_ARGS(db_int(above), db_int(PAGE)), list, PAGE, &n,
                       err))
            return false;
        for (size_t i = 0; i < n; i++) {
            struct err why = { 0 };

            (void)snprintf(name, sizeof name, "large/%016llx", (unsigned long long)list[i]);
            if (!copy_one(j, name, -1, &why) && why.sys != ENOENT) {
                *err = why;
                return false;
            }
            above = list[i];
        }
    }
    return true;
}

static bool open_copy(struct backup_job *j, struct db **ret, struct err *err)
{
    struct db_sqlite_options o = { .path = j->db_path, .reader = true };

    return db_open_sqlite(&o, ret, err);
}

bool backup_payloads_copy(struct backup_job *j, struct err *err)
{
    struct db *db;
    int64_t total;

    if (!backup_payloads_size(j->store, &total, err))
        return false;
    j->progress->stage = BACKUP_PAYLOADS;
    j->progress->done = 0;
    j->progress->total = total;
    if (!open_copy(j, &db, err))
        return false;
    bool ok = copy_segments(j, err) && copy_large(j, db, err);

    db_close(db);
    return ok;
}

/* ---- the check ---- */

static bool check_large(int dirfd, const struct payload_source *src, struct err *err)
{
    struct file_copy c = { .from_dirfd = dirfd, .to_dirfd = -1, .most = -1 };
    struct manifest_file f;
    char name[NAME];

    (void)snprintf(name, sizeof name, "large/%016llx", (unsigned long long)src->place.pos);
    if (!file_copy(&c, name, &f, err))
        return false;
    return (f.size == src->size && digest_same(&f.sha256, &src->sha256)) ||
           err_set(err, ERR_PERMANENT, 0, "%s is damaged: its digest differs", name);
}

static bool check_entry(int payload_fd, struct db *db, const struct payload_source *src,
                        struct buf *room, struct err *err)
{
    struct payload_ref place = src->place;

    if (!segment_read(payload_fd, place, &src->id, room, err)) {
        if (!forward_find(db, &place))
            return false;
        *err = (struct err){ 0 };
        if (!segment_read(payload_fd, place, &src->id, room, err))
            return false;
    }
    struct sha256 got = digest_of(buf_view(room));

    return ((int64_t)room->len == src->size && digest_same(&got, &src->sha256)) ||
           err_set(err, ERR_PERMANENT, 0, "its bytes are not those that were received");
}

struct check {
    struct backup_job *j;
    struct db *db;
    int payload_fd;
    struct buf room;
};

static void check_row(struct check *k, const struct payload_source *src, const char *stage)
{
    struct backup_result *r = k->j->result;
    struct err why = { 0 };
    char id[ID_TEXT];

    bool ok = src->place.seg > 0    ? check_entry(k->payload_fd, k->db, src, &k->room, &why)
              : src->place.seg == 0 ? check_large(k->j->dirfd, src, &why)
                                    : true;

    if (ok)
        return;
    if (r->damaged++ == 0)
        (void)snprintf(r->damage, sizeof r->damage, "document %s: %s%.200s", id_text(&src->id, id),
                       stage, why.text);
    if (k->j->damage->len < BACKUP_DAMAGE_MOST) /* what does not fit is counted */
        buf_printf(k->j->damage, "document %s: %s%s\n", id_text(&src->id, id), stage, why.text);
}

/* The bytes that steps made, and answers that were kept. */
static void check_lines(struct check *k, const struct id *id, struct str timeline)
{
    struct timeline_reader lines = timeline_read(timeline);
    struct timeline_line line;
    bool damaged = false;

    while (timeline_next(&lines, &line, &damaged))
        if (line.has_bytes)
            check_row(k,
                      &(struct payload_source){ .id = *id,
                                                .num = line.num,
                                                .size = line.size,
                                                .sha256 = line.sha256,
                                                .place = { line.seg, line.pos } },
                      line.is_answer ? "an answer of a receiver: "
                                     : "bytes that a step changed or that were sent: ");
}

struct check_walk {
    struct check *check;
    int64_t above, count;
};

static bool check_stored(void *arg, struct db_rows *row, struct err *err)
{
    struct check_walk *k = arg;
    struct str id = db_get_str(row, STORED_ID), sha = db_get_str(row, STORED_SHA256);
    struct payload_source src = { .num = db_get_int(row, STORED_NUM),
                                  .size = db_get_int(row, STORED_SIZE),
                                  .place = { db_get_int(row, STORED_SEG),
                                             db_get_int(row, STORED_POS) } };

    if (id.len == sizeof src.id.bytes)
        memcpy(src.id.bytes, id.ptr, id.len);
    if (sha.len == sizeof src.sha256.bytes)
        memcpy(src.sha256.bytes, sha.ptr, sha.len);
    k->check->j->result->documents++;
    k->check->j->progress->done++;
    check_row(k->check, &src, "");
    check_lines(k->check, &src.id, db_get_str(row, STORED_TRAIL));
    k->above = src.num;
    k->count++;
    return !k->check->j->progress->stop || err_set(err, ERR_TRANSIENT, 0, "it was stopped");
}

static bool check_page(struct check *k, enum sql_id list, int64_t slot, int64_t *io_above,
                       int64_t *ret_count, struct err *err)
{
    struct check_walk walk = { .check = k, .above = *io_above };
    bool ok = rows_each(k->db, list, slot, DB_ARGS(db_int(*io_above), db_int(PAGE)), check_stored,
                        &walk, err);

    *io_above = walk.above;
    *ret_count = walk.count;
    return ok;
}

static bool backup_payloads_check_table(struct check *k, enum sql_id list, int64_t slot,
                                        struct err *err)
{
    int64_t above = -1, n = PAGE;

    while (n == PAGE)
        if (!check_page(k, list, slot, &above, &n, err))
            return false;
    return true;
}

/* Checks the copied database itself before its rows are used. */
static bool backup_payloads_check_database(struct check *k, struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    bool row = false;

    if (!db_query(k->db, SQL_DATABASE_CHECK, DB_NO_ARGS, &rows, err) || !db_next(&rows, &row, err))
        return false;
    return (row && str_is(db_get_str(&rows, 0), "ok")) ||
           err_set(err, ERR_PERMANENT, 0,
                   "the copy of the database is damaged: look at the store (`waybill doctor`)");
}

static bool check_days(struct check *k, struct err *err)
{
    for (int64_t slot = INT64_MAX;;) {
        if (!db_one_int(k->db, SQL_PART_BELOW, DB_ARGS(db_int(TABLES_DONE), db_int(slot)), 0, &slot,
                        err))
            return false;
        if (slot == 0)
            return true;
        if (!backup_payloads_check_table(k, SQL_BACKUP_DONE, slot, err))
            return false;
    }
}

bool backup_payloads_check(struct backup_job *j, struct err *err)
{
    AUTO_FD payload_fd = openat(j->dirfd, "payload", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct check k = { .j = j,
                       .payload_fd = payload_fd,
                       .room = BUF_INIT(SEGMENT_PAYLOAD_MOST + 1) };

    j->progress->stage = BACKUP_CHECK;
    j->progress->done = j->progress->total = 0;
    if (!open_copy(j, &k.db, err))
        return false;
    bool ok = backup_payloads_check_database(&k, err) &&
              backup_payloads_check_table(&k, SQL_BACKUP_DOCS, DB_NO_SLOT, err) &&
              backup_payloads_check_table(&k, SQL_BACKUP_PARTS, DB_NO_SLOT, err) &&
              check_days(&k, err);

    db_close(k.db);
    buf_done(&k.room);
    return ok;
}
