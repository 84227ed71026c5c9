#include "store/open.h"

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
#include "store/audit/audit.h"
#include "store/backup/backup_copy.h"
#include "store/backup/restore.h"
#include "store/backup/restore_files.h"
#include "store/compact.h"
#include "store/db/migrate.h"
#include "store/db/pg_lineage.h"
#include "store/kernel/damage.h"
#include "store/kernel/health_look.h"
#include "store/kernel/node.h"
#include "store/kernel/reserve.h"
#include "store/kernel/store_state.h"
#include "store/kernel/told.h"
#include "store/recover.h"
#include "store/retention/retain_gate.h"
#include "store/road/aloft.h"
#include "store/road/claims.h"
#include "store/road/done.h"
#include "store/road/key_clock.h"
#include "store/road/key_log.h"
#include "store/road/lease_rows.h"
#include "store/road/order.h"
#include "store/road/recorder.h"
#include "store/road/retain_days.h"
#include "store/road/task.h"
#include "store/search/index.h"

/* On PostgreSQL a group holds row locks that other nodes wait for, so groups are small; the second
 * writer takes what is left in the queue. */
enum { POSTGRES_WRITERS = 2, POSTGRES_GROUP_MOST = 512 };

/* ---- what the writers call ---- */

static bool index_and_keys(struct writer *w, bool *io_waiting, struct err *err)
{
    bool keys_wait = false;
    bool ok =
        index_slice(w, io_waiting, err) && key_log_slice(w->store->key_log, w->db, &keys_wait, err);

    *io_waiting |= keys_wait;
    return ok;
}

static bool copy_of_backup(struct writer *w)
{
    return w->store->copy != NULL && backup_copy_slice(w);
}

/* Adds the row that holds every delivery, in an open transaction; not if one that still waits was
 * added since this node last looked, by another node or by `waybill restore`.  One that was
 * released covers nothing that is lost later. */
static bool note_gap(struct store *s, struct db *db, const struct told_gap *gap, struct err *err)
{
    char source[120] = "the store is older than this node's folder";
    bool sqlite = s->kind == DB_SQLITE;
    int64_t restores;

    /* First, so that the row covers the documents that are taken in again. */
    if (sqlite && told_is_behind(gap) && !recover_note(s, db, gap, err))
        return false;
    if (told_is_behind(gap))
        (void)snprintf(source, sizeof source,
                       "the store is older than this node's folder: it lacks %lld commits with "
                       "%lld documents",
                       (long long)gap->commits, (long long)gap->documents);
    if (!db_one_int(db, SQL_RESTORE_WAITING, DB_NO_ARGS, 0, &restores, err))
        return false;
    return (!sqlite && restores > told_node(s->told).restores) ||
           restore_add(db, 0, str_of(source), err);
}

static bool report_gap(struct store *s, struct db *db, struct told_gap *ret, struct err *err)
{
    if (!told_compare(s, db, ret, err) || !told_is_behind(ret))
        return err->kind == ERR_NONE; /* another writer has reported it */
    if (!db_begin(db, err))
        return false;
    if (!note_gap(s, db, ret, err) || !db_commit(db, err)) {
        db_rollback(db);
        return err_context(err, "note that the store went back");
    }
    told_notice(s->told);
    return told_lower(s, db, err);
}

static bool went_back(struct writer *w, struct err *err)
{
    struct told_gap gap;
    struct err what = { 0 };

    told_lock(w->store->told);
    bool ok = report_gap(w->store, w->db, &gap, err);

    told_unlock(w->store->told);
    if (ok && told_is_behind(&gap)) {
        (void)err_set(&what, ERR_PERMANENT, 0,
                      "the database lacks %lld commits with %lld documents that this node "
                      "acknowledged; nothing is sent until `waybill node release`",
                      (long long)gap.commits, (long long)gap.documents);
        store_trouble(w->store, "the store went back in time", &what);
    }
    return ok;
}

static const struct writer_hooks writer_hooks = { .audit_scope = audit_scope,
                                                  .audit_note = audit_note_begun,
                                                  .audit_write = audit_write,
                                                  .audit_carried = audit_carried,
                                                  .went_back = went_back,
                                                  .leases_unsure = lease_unsure,
                                                  .slices = index_and_keys,
                                                  .copy_slice = copy_of_backup,
                                                  .slice_every_us = INDEX_EVERY_US };

/* ---- opening ---- */

static void store_open_step(const struct store *s, const char *what)
{
    if (s->options.step != NULL)
        s->options.step(what);
}

static void lineage_report(void *store, const char *what, const struct err *err)
{
    store_trouble(store, what, err);
}

static bool store_open_folder(struct store *s, struct err *err)
{
    if (mkdir(s->options.data, 0700) < 0 && errno != EEXIST)
        return err_set(err, ERR_CONFIG, errno, "make data folder %s: %s", s->options.data,
                       strerror(errno));
    s->data_fd = open(s->options.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->data_fd < 0)
        return err_set(err, ERR_CONFIG, errno, "open data folder %s: %s", s->options.data,
                       strerror(errno));
    reserve_before_start(s->data_fd);
    if (!node_lock(s, err))
        return false;
    file_sync_parent(s->data_fd, "the data folder's parent");
    compact_clean(s->data_fd);
    store_open_step(s, "the folder is locked");
    fault_point(START_LOCKED);
    if (!file_make_dir(s->data_fd, "payload", err) || !file_make_dir(s->data_fd, "large", err))
        return err_context(err, "data folder %s", s->options.data);
    s->payload_fd = openat(s->data_fd, "payload", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    s->large_fd = openat(s->data_fd, "large", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->payload_fd < 0 || s->large_fd < 0)
        return err_set(err, ERR_CONFIG, errno, "open payload folder in %s: %s", s->options.data,
                       strerror(errno));
    return recorder_open(s->data_fd, &s->recorder, err) && told_open(s->data_fd, &s->told, err) &&
           (s->kind == DB_SQLITE ||
            pg_lineage_open(s->data_fd, lineage_report, s, &s->lineage, err));
}

static void close_fd(int fd)
{
    if (fd >= 0)
        (void)close(fd);
}

static bool open_has_files(int dirfd, const char *suffix, bool *ret, struct err *err)
{
    int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (dir == NULL) {
        close_fd(fd);
        return err_set(err, ERR_CONFIG, errno, "list payloads: %s", strerror(errno));
    }
    for (struct dirent *e; !*ret && (e = readdir(dir)) != NULL;) {
        struct str name = str_of(e->d_name), tail = str_of(suffix);

        *ret = name.ptr[0] != '.' && name.len >= tail.len &&
               str_eq(str_from(name, name.len - tail.len), tail);
    }
    (void)closedir(dir);
    return true;
}

/* Refuses to create a new database beside the payloads of another one. */
static bool refuse_payloads(struct store *s, const char *how, struct err *err)
{
    bool payloads = false;

    if (!open_has_files(s->payload_fd, ".seg", &payloads, err) ||
        !open_has_files(s->large_fd, "", &payloads, err))
        return false;
    return !payloads || err_set(err, ERR_CONFIG, 0,
                                "%s is %s, and there are payloads of its documents: "
                                "restore a backup",
                                s->sqlite_path, how);
}

static bool check_whole(struct store *s, struct err *err)
{
    struct stat st;

    if (!s->options.damaged && !damage_none(s, err))
        return false;
    if (s->kind != DB_SQLITE)
        return true;
    if (fstatat(s->data_fd, RESTORE_UNFINISHED, &st, 0) == 0)
        return err_set(err, ERR_CONFIG, 0,
                       "a restore into %s was not finished: run `waybill restore` again",
                       s->options.data);
    if (stat(s->sqlite_path, &st) == 0 && st.st_size > 0)
        return true;
    return refuse_payloads(s, "missing", err);
}

/* The tables of a young database are in its log alone: without the log it is empty. */
static bool check_tables(struct store *s, struct db *db, struct err *err)
{
    int64_t tables;

    if (s->kind != DB_SQLITE)
        return true;
    return db_one_int(db, SQL_TABLE_COUNT, DB_NO_ARGS, 0, &tables, err) &&
           (tables > 0 || refuse_payloads(s, "empty", err));
}

/* What the page of this folder and, on SQLite, the segment entries know and the database lacks. The
 * entries of a commit are synced before it, so of the newest one only the commit before is sure. */
static bool find_gap(struct store *s, struct db *db, struct told_gap *ret, struct err *err)
{
    int64_t store = told_node(s->told).store, identity, commit;

    if (!told_compare(s, db, ret, err))
        return false;
    if (s->kind == DB_POSTGRESQL)
        return true;
    if (!db_one_int(db, SQL_MARK_GET, DB_ARGS(db_text(STR("store"))), 0, &identity, err) ||
        !db_one_int(db, SQL_COMMIT_LAST, DB_NO_ARGS, 0, &commit, err))
        return false;
    int64_t sure = segments_last_commit(s->segments) - 1;

    if ((store == 0 || store == identity) && sure > commit && sure - commit > ret->commits)
        ret->commits = sure - commit;
    return true;
}

/* One transaction registers this node, declares its predecessor dead and takes over its tasks. */
static bool register_node(struct store *s, struct db *db, struct err *err)
{
    struct node_past past = { 0 };
    struct told_gap gap;
    int64_t restores, commit = 0;

    if (!find_gap(s, db, &gap, err) || !db_begin(db, err))
        return false;
    if (!node_register(s, db, &past, err) ||
        (s->kind == DB_POSTGRESQL && past.node != 0 && !task_take_over(db, past.node, err)) ||
        !aloft_forget(db, err) || !node_forget(db, err) ||
        ((past.went_back || told_is_behind(&gap)) && !note_gap(s, db, &gap, err)) ||
        !db_one_int(db, SQL_RESTORE_LAST, DB_NO_ARGS, 0, &restores, err) ||
        (s->kind == DB_SQLITE && !db_one_int(db, SQL_COMMIT_LAST, DB_NO_ARGS, 0, &commit, err)) ||
        !db_commit(db, err)) {
        db_rollback(db);
        return err_context(err, "register this node");
    }
    s->identity = past.store;
    told_begin(s->told,
               &(struct told_node){ .store = past.store, .node = s->node, .restores = restores },
               commit);
    return node_note_folder(s, &past, err);
}

static bool open_segments(struct store *s, struct db *db, struct err *err)
{
    int64_t used;

    if (s->kind == DB_POSTGRESQL)
        return true;
    return db_one_int(db, SQL_MARK_GET, DB_ARGS(db_text(STR("segment"))), 0, &used, err) &&
           segments_open(s->payload_fd, s->options.segment_bytes, used, &s->segments, err) &&
           told_cut_refused(s->told, segments_end(s->segments), err);
}

/* The order of recovery: storage, schema, payloads, this node and its predecessor. */
static bool open_recover(struct store *s, struct err *err)
{
    if (!check_whole(s, err))
        return false;
    s->writer_count = s->kind == DB_SQLITE ? 1 : POSTGRES_WRITERS;
    for (size_t i = 0; i < s->writer_count; i++) {
        if (!store_connect(s, false, &s->writer_dbs[i], err))
            return false;
        if (i == 0 && (!check_tables(s, s->writer_dbs[0], err) ||
                       !migrate(s->writer_dbs[0], sql_migrations, err)))
            return false;
    }
    store_open_step(s, "the schema is up to date");
    fault_point(START_MIGRATED);
    if (!open_segments(s, s->writer_dbs[0], err) || !register_node(s, s->writer_dbs[0], err))
        return false;
    s->order = order_new();
    s->leases = leases_new();
    if (s->kind == DB_SQLITE) {
        s->claims = claims_new(s->epoch);
        s->key_log = key_log_new();
        if (!key_log_load(s->key_log, s->writer_dbs[0], err) ||
            !db_one_int(s->writer_dbs[0], SQL_MARK_GET, DB_ARGS(db_text(STR("indexed"))), 0,
                        &s->indexed, err))
            return false;
    }
    int64_t today;

    if (!done_days_load(s->done_days, s->writer_dbs[0], s->indexed, err) ||
        !db_one_int(s->writer_dbs[0], SQL_MARK_GET, DB_ARGS(db_text(STR("retain_today"))), 0,
                    &today, err))
        return false;
    done_set_floor(today);
    store_open_step(s, "what an earlier process left is taken over");
    fault_point(START_RECOVERED);
    return true;
}

/* Counts a crash for each task that ran alone; of several that ran, any may be the cause. */
static bool count_crashes(struct store *s, struct err *err)
{
    struct suspect suspects[RECORDER_SLOTS];
    size_t n = recorder_suspects(s->recorder, suspects);
    bool poison;

    for (size_t i = 0; i < n; i++) {
        if (!suspects[i].alone)
            continue;
        if (!task_crashed(s, &suspects[i].task, &poison, err))
            return false;
        if (poison)
            recorder_drop_suspect(s->recorder, suspects[i].task.id);
    }
    return true;
}

static bool take_in_lost(struct store *s, struct err *err)
{
    struct recover_result r;
    char text[RECOVER_TEXT];
    struct err what = { 0 };
    bool waits;

    if (s->options.leave_lost) {
        if (!recover_waits(s, &waits, err))
            return false;
        atomic_store(&s->recovering, waits);
        return true;
    }
    if (!recover_documents(s, &r, err))
        return false;
    if (r.taken_in == 0 && r.unread == 0 && r.left_out == 0)
        return true;
    recover_text(&r, text);
    (void)err_set(&what, ERR_PERMANENT, 0, "%s; nothing is sent until `waybill node release`",
                  text);
    store_trouble(s, "the store went back in time", &what);
    return true;
}

bool store_open(const struct store_options *options, struct store **ret, struct err *err)
{
    struct store *s = NEW(struct store);
    struct writers_options w = { .queue_most = options->queue_most, .hooks = writer_hooks };

    s->options = *options;
    s->kind = options->url != NULL ? DB_POSTGRESQL : DB_SQLITE;
    s->data_fd = s->payload_fd = s->large_fd = s->lock_fd = -1;
    s->names.arena = (struct arena)ARENA_INIT(256 << 20);
    (void)pthread_mutex_init(&s->reader_mutex, NULL);
    (void)pthread_cond_init(&s->reader_free, NULL);
    (void)pthread_rwlock_init(&s->name_lock, NULL);
    s->health = health_new();
    s->health_look = health_look_new();
    s->key_clock = key_clock_new();
    s->done_days = done_days_new();
    s->retain_rules = retain_rules_new();
    s->retain_gate = retain_gate_new();
    size_t room = strlen(options->data) + sizeof "/waybill.db";

    s->sqlite_path = xmalloc(room);
    (void)snprintf(s->sqlite_path, room, "%s/waybill.db", options->data);
    if (!store_open_folder(s, err) || !open_recover(s, err)) {
        store_close(s);
        return false;
    }
    w.count = s->writer_count;
    if (s->kind == DB_POSTGRESQL)
        w.group_most = POSTGRES_GROUP_MOST;
    s->writers = writers_new(s, &w, s->writer_dbs, s->segments);
    if (!names_load(s, err) || !take_in_lost(s, err) || !count_crashes(s, err)) {
        store_close(s);
        return false;
    }
    *ret = s;
    return true;
}

void store_leave(struct store *s)
{
    writers_free(s->writers);
    while (s->reader_idle > 0)
        db_close(s->readers[--s->reader_idle]);
    for (size_t i = 0; i < s->writer_count;
         i++) /* after the readers: the last close removes the log */
        db_close(s->writer_dbs[i]);
    segments_close(s->segments);
    claims_free(s->claims);
    order_free(s->order);
    leases_free(s->leases);
    key_log_free(s->key_log);
    key_clock_free(s->key_clock);
    health_look_free(s->health_look);
    health_free(s->health);
    done_days_free(s->done_days);
    retain_rules_free(s->retain_rules);
    retain_gate_free(s->retain_gate);
    recorder_close(s->recorder);
    pg_lineage_free(s->lineage);
    told_close(s->told);
    names_done(s);
    close_fd(s->large_fd);
    close_fd(s->payload_fd);
    close_fd(s->lock_fd);
    close_fd(s->data_fd);
}

void store_close(struct store *s)
{
    if (s == NULL)
        return;
    store_leave(s);
    free(s->sqlite_path);
    free(s);
}
