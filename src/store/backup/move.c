#include "store/backup/move.h"
#include "store/road/done.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/fault.h"
#include "base/file.h"
#include "core/timeline.h"
#include "store/backup/move_payloads.h"
#include "store/backup/move_stream.h"
#include "store/backup/restore_files.h"
#include "store/db/migrate.h"
#include "store/db/pg_connect.h"
#include "store/job/job_log.h"
#include "store/kernel/store_state.h"

#define DB_NAME  "waybill.db"
#define DB_MOVED "waybill.db.moved"

/* Tables not copied: state of a process, an index, or names of files; payloads are copied below. */
static const char *const left_behind[] = { "schema_version", "node",        "node_writer",
                                           "task_lease",     "hold_seen",   "poll_turn",
                                           "aloft",          "allot",       "large",
                                           "facet",          "payload_0",   "payload_piece_0",
                                           "payload_upload", "payload_gone" };

/* ---- opening ---- */

static bool move_open_folder(struct mover *k, struct err *err)
{
    struct stat st;

    k->data_fd = open(k->m->data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (k->data_fd < 0)
        return err_set(err, ERR_PERMANENT, errno, "open %s: %s", k->m->data, strerror(errno));
    k->lock_fd = openat(k->data_fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (k->lock_fd < 0 || flock(k->lock_fd, LOCK_EX | LOCK_NB) < 0)
        return err_set(err, ERR_PERMANENT, errno, "data folder %s is in use: stop its node first",
                       k->m->data);
    if (fstatat(k->data_fd, DB_NAME, &st, 0) < 0)
        return err_set(err, ERR_PERMANENT, errno, "there is no SQLite store in %s", k->m->data);
    if (fstatat(k->data_fd, RESTORE_UNFINISHED, &st, 0) == 0)
        return err_set(err, ERR_PERMANENT, 0, "a restore into %s was not finished", k->m->data);
    k->payload_fd = openat(k->data_fd, "payload", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    k->large_fd = openat(k->data_fd, "large", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return (k->payload_fd >= 0 && k->large_fd >= 0) ||
           err_set(err, ERR_PERMANENT, errno, "open the payloads: %s", strerror(errno));
}

static int move_by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static void add_segment(struct mover *k, int64_t seg)
{
    if (seg == 0)
        return;
    k->segs = xrealloc(k->segs, (k->seg_count + 1) * sizeof *k->segs);
    k->segs[k->seg_count++] = seg;
}

static bool list_files(struct mover *k, struct err *err)
{
    int fd = openat(k->payload_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (dir == NULL) {
        if (fd >= 0)
            (void)close(fd);
        return err_set(err, ERR_TRANSIENT, errno, "list payloads: %s", strerror(errno));
    }
    for (struct dirent *e; (e = readdir(dir)) != NULL;)
        add_segment(k, segment_of_name(str_of(e->d_name)));
    (void)closedir(dir);
    return true;
}

static bool add_named_segment(struct mover *k, sqlite3_stmt *stmt, const void *arg, struct err *err)
{
    (void)arg;
    (void)err;
    add_segment(k, sqlite3_column_int64(stmt, 0));
    return true;
}

/* All segments that a place may name.  A duplicate is harmless: lookups find the first. */
static bool move_list_segments(struct mover *k, struct err *err)
{
    /* Segments that retention emptied and removed are named by what was in them. */
    if (!list_files(k, err) ||
        !move_each(k, "SELECT DISTINCT seg FROM moved", add_named_segment, NULL, err))
        return false;
    if (k->seg_count > 0) /* qsort() must not get a null pointer */
        qsort(k->segs, k->seg_count, sizeof *k->segs, move_by_number);
    return true;
}

static bool open_old(struct mover *k, struct err *err)
{
    AUTO(buf_done) struct buf path = BUF_INIT(8192);
    struct db_sqlite_options o = { 0 };

    if (!buf_append(&path, str_of(k->m->data), err) || !buf_append(&path, STR("/" DB_NAME), err))
        return false;
    o.path = path.ptr;
    return db_open_sqlite(&o, &k->from, err) && migrate(k->from, sql_migrations, err) &&
           db_begin(k->from, err);
}

static void no_notice(void *arg, const PGresult *result)
{
    (void)arg;
    (void)result;
}

static bool take_connection(void *mover, PGconn *conn, struct err *err)
{
    struct mover *k = mover;

    (void)err;
    k->conn = conn;
    (void)PQsetNoticeReceiver(conn, no_notice, NULL); /* libpq would print them */
    (void)PQsetnonblocking(conn, 0);
    return true;
}

static bool open_new(struct mover *k, struct err *err)
{
    struct err passed_over = { 0 };

    if (!db_open_postgres(k->m->url, false, NULL, &k->to, err) ||
        !migrate(k->to, sql_migrations, err) ||
        !pg_connect(k->m->url, take_connection, k, &passed_over, err))
        return false;
    return true;
}

/* Every start of a node takes a new epoch.  If the epoch is still that of the move, the old store
 * has nothing that the new one lacks. */
static bool see_unchanged(struct mover *k, struct err *err)
{
    int64_t now, moved;

    if (!db_one_int(k->from, SQL_MARK_GET, DB_ARGS(db_text(STR("epoch"))), 0, &now, err) ||
        !move_number(k,
                     "SELECT coalesce((SELECT value FROM mark WHERE name = 'moved_epoch'), (SELECT "
                     "value FROM mark WHERE name = 'epoch'))",
                     &moved, err))
        return false;
    return now == moved ||
           err_set(err, ERR_PERMANENT, 0,
                   "the database has this store as it was moved before, and its node was started "
                   "on %s/" DB_NAME " since: what came in there is nowhere else; move it into an "
                   "empty database",
                   k->m->data);
}

/* The database must hold nothing but the schema.  If it holds this store, by its id, the move was
 * committed and only its last step is missing. */
static bool move_see_empty(struct mover *k, struct err *err)
{
    int64_t used, old, new;

    if (!move_number(k,
                     "SELECT (SELECT count(*) FROM doc) + (SELECT count(*) FROM config) + (SELECT "
                     "count(*) FROM part) + (SELECT count(*) FROM node)",
                     &used, err))
        return false;
    if (used == 0)
        return true;
    if (!db_one_int(k->from, SQL_MARK_GET, DB_ARGS(db_text(STR("store"))), 0, &old, err) ||
        !move_number(k, "SELECT value FROM mark WHERE name = 'store'", &new, err))
        return false;
    if (old != new)
        return err_set(err, ERR_PERMANENT, 0,
                       "the database has a store already: give an empty one");
    k->m->was_done = see_unchanged(k, err);
    return k->m->was_done;
}

/* ---- tables ---- */

struct column {
    char name[MOVE_NAME];
    enum { COLUMN_PLAIN, COLUMN_SEG, COLUMN_POS, COLUMN_NUM, COLUMN_TRAIL } is;
};

struct table {
    char name[MOVE_NAME];
    struct column columns[MOVE_COLUMNS_MOST];
    size_t count;
};

static bool move_is_name(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];

        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'))
            return false;
    }
    return s.len > 0 && s.len < MOVE_NAME;
}

/* Whether the new store has this table, or this column of it. */
static bool there(struct mover *k, const char *table, const char *column, bool *ret,
                  struct err *err)
{
    AUTO(buf_done) struct buf text = BUF_INIT(4096);
    int64_t n;

    buf_puts(&text, "SELECT count(*) FROM information_schema.columns WHERE table_schema = "
                    "current_schema() AND table_name = '");
    buf_printf(&text, "%s'", table);
    if (column != NULL)
        buf_printf(&text, " AND column_name = '%s'", column);
    if (!move_number(k, text.ptr, &n, err))
        return false;
    *ret = n > 0;
    return true;
}

static void classify(const struct table *t, struct column *c)
{
    bool document = str_is(str_of(t->name), "doc") || str_starts(str_of(t->name), STR("done_"));
    struct str name = str_of(c->name);

    c->is = COLUMN_PLAIN;
    if (str_is(name, document ? "seg" : "b_seg"))
        c->is = COLUMN_SEG;
    else if (str_is(name, document ? "pos" : "b_pos"))
        c->is = COLUMN_POS;
    else if (!document && str_is(name, "b_num"))
        c->is = COLUMN_NUM;
    else if (document && str_is(name, "trail"))
        c->is = COLUMN_TRAIL;
}

/* Reads the columns that both databases have. */
static bool read_columns(struct mover *k, struct table *t, struct err *err)
{
    AUTO(buf_done) struct buf text = BUF_INIT(4096);
    bool row;

    buf_printf(&text, "SELECT name FROM pragma_table_info('%s')", t->name);
    AUTO(move_stmt_done) sqlite3_stmt *stmt = move_prepare(k, text.ptr, err);

    if (stmt == NULL)
        return false;
    while (t->count < MOVE_COLUMNS_MOST) {
        bool both;

        if (!move_next(k, stmt, &row, err))
            return false;
        if (!row)
            break;
        struct str name = move_column(stmt, 0);
        struct column *c = &t->columns[t->count];

        if (!move_is_name(name))
            continue;
        (void)snprintf(c->name, sizeof c->name, "%.*s", STR_ARG(name));
        if (!there(k, t->name, c->name, &both, err))
            return false;
        classify(t, c);
        t->count += both;
    }
    return true;
}

static void list_columns(const struct table *t, struct buf *to)
{
    for (size_t i = 0; i < t->count; i++)
        buf_printf(to, "%s%s", i == 0 ? "" : ", ", t->columns[i].name);
}

/* The payload place of a row, in the new store. */
struct row_places {
    int64_t seg, pos, num;
    bool has;
};

static struct row_places places_of(const struct mover *k, const struct table *t, sqlite3_stmt *stmt)
{
    struct row_places p = { 0 };

    for (size_t i = 0; i < t->count; i++) {
        int64_t v = sqlite3_column_int64(stmt, (int)i);

        if (t->columns[i].is == COLUMN_SEG) {
            p.seg = v;
            p.has = sqlite3_column_type(stmt, (int)i) != SQLITE_NULL;
        } else if (t->columns[i].is == COLUMN_POS) {
            p.pos = v;
        } else if (t->columns[i].is == COLUMN_NUM) {
            p.num = v;
        }
    }
    if (p.has)
        move_place(k, &p.seg, &p.pos, &p.num);
    return p;
}

static void put_plain(struct mover *k, sqlite3_stmt *stmt, int i)
{
    switch (sqlite3_column_type(stmt, i)) {
    case SQLITE_INTEGER:
        move_put_int(k, sqlite3_column_int64(stmt, i));
        break;
    case SQLITE_TEXT:
        move_put_text(k, move_column(stmt, i));
        break;
    case SQLITE_BLOB:
        move_put_bytes(k, move_column(stmt, i));
        break;
    default:
        move_put_null(k);
    }
}

static void put_cell(struct mover *k, const struct column *c, const struct row_places *p,
                     sqlite3_stmt *stmt, int i)
{
    if (sqlite3_column_type(stmt, i) == SQLITE_NULL || c->is == COLUMN_PLAIN) {
        put_plain(k, stmt, i);
    } else if (c->is == COLUMN_TRAIL) {
        AUTO(buf_done) struct buf timeline = BUF_INIT(2 * TIMELINE_MOST);

        move_timeline(k, move_column(stmt, i), &timeline);
        move_put_bytes(k, buf_view(&timeline));
    } else {
        move_put_int(k, c->is == COLUMN_SEG ? p->seg : c->is == COLUMN_POS ? p->pos : p->num);
    }
}

static bool copy_row(struct mover *k, sqlite3_stmt *stmt, const void *arg, struct err *err)
{
    const struct table *t = arg;
    struct row_places p = places_of(k, t, stmt);

    for (size_t i = 0; i < t->count; i++) {
        move_cell(k, i == 0);
        put_cell(k, &t->columns[i], &p, stmt, (int)i);
    }
    return move_row_end(k, err);
}

static bool copy_rows(struct mover *k, const struct table *t, struct err *err)
{
    AUTO(buf_done) struct buf text = BUF_INIT(16384);

    buf_puts(&text, "SELECT ");
    list_columns(t, &text);
    buf_printf(&text, " FROM %s", t->name);
    return move_each(k, text.ptr, copy_row, t, err);
}

static bool see_count(struct mover *k, const struct table *t, int64_t rows, struct err *err)
{
    AUTO(buf_done) struct buf text = BUF_INIT(256);
    int64_t n;

    buf_printf(&text, "SELECT count(*) FROM %s", t->name);
    if (!move_number(k, text.ptr, &n, err))
        return false;
    return n == rows || err_set(err, ERR_PERMANENT, 0, "%s has %lld rows, not %lld", t->name,
                                (long long)n, (long long)rows);
}

/* Idempotency keys are unique in PostgreSQL; of two rows with the same key the newer is kept. */
static bool copy_keys(struct mover *k, const struct table *t, struct err *err)
{
    AUTO(buf_done) struct buf text = BUF_INIT(1024);

    buf_printf(&text, "CREATE TEMPORARY TABLE moved_keys(at BIGSERIAL, LIKE %s) ON COMMIT DROP",
               t->name);
    if (!move_sql(k, text.ptr, err))
        return false;
    buf_clear(&text);
    buf_puts(&text, "moved_keys(");
    list_columns(t, &text);
    buf_puts(&text, ")");
    if (!move_copy_begin(k, text.ptr, err) || !copy_rows(k, t, err) || !move_copy_end(k, err))
        return false;
    buf_clear(&text);
    buf_printf(&text, "INSERT INTO %s(", t->name);
    list_columns(t, &text);
    buf_puts(&text, ") SELECT DISTINCT ON (key) ");
    list_columns(t, &text);
    buf_puts(&text, " FROM moved_keys ORDER BY key, at DESC; DROP TABLE moved_keys");
    return move_sql(k, text.ptr, err);
}

static bool copy_table(struct mover *k, const struct table *t, struct err *err)
{
    AUTO(buf_done) struct buf text = BUF_INIT(16384);

    buf_printf(&text, "TRUNCATE %s", t->name);
    if (!move_sql(k, text.ptr, err))
        return false;
    if (str_starts(str_of(t->name), STR("idem_")))
        return copy_keys(k, t, err);
    buf_clear(&text);
    buf_printf(&text, "%s(", t->name);
    list_columns(t, &text);
    buf_puts(&text, ")");
    return move_copy_begin(k, text.ptr, err) && copy_rows(k, t, err) && move_copy_end(k, err) &&
           see_count(k, t, k->streamed, err);
}

static bool move_table(struct mover *k, struct str name, struct err *err)
{
    struct table t = { 0 };
    bool both;

    (void)snprintf(t.name, sizeof t.name, "%.*s", STR_ARG(name));
    for (size_t i = 0; i < sizeof left_behind / sizeof left_behind[0]; i++)
        if (str_is(name, left_behind[i]))
            return true;
    if (!there(k, t.name, NULL, &both, err))
        return false;
    if (!both)
        return true;
    if (!read_columns(k, &t, err) || !copy_table(k, &t, err))
        return err_context(err, "table %s", t.name);
    k->m->tables++;
    k->m->rows += k->streamed;
    fault_point(MOVE_TABLE);
    if (k->m->step != NULL)
        k->m->step(t.name, k->streamed);
    return true;
}

enum { TABLES_MOST = 2048 };

static bool move_named_table(struct mover *k, sqlite3_stmt *stmt, const void *arg, struct err *err)
{
    struct str name = move_column(stmt, 0);

    (void)arg;
    if (++k->tables > TABLES_MOST)
        return err_set(err, ERR_LIMIT, 0, "more than %d tables", TABLES_MOST);
    return !move_is_name(name) || move_table(k, name, err);
}

static bool move_tables(struct mover *k, struct err *err)
{
    return move_each(k, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name",
                     move_named_table, NULL, err);
}

static bool make_slot(struct mover *k, sqlite3_stmt *stmt, const void *arg, struct err *err)
{
    int64_t slot = sqlite3_column_int64(stmt, 0);

    switch (*(const enum table_family *)arg) {
    case TABLES_IDEMPOTENCY:
        return db_run_slot(k->to, SQL_IDEM_MAKE, slot, DB_NO_ARGS, NULL, err);
    case TABLES_JOB_LOG:
        return job_log_make(k->to, slot, err);
    default:
        return done_make(k->to, slot, err);
    }
}

/* Creates the tables of days, of keys and of logs that the old store has. */
static bool make_slots(struct mover *k, enum table_family family, struct err *err)
{
    AUTO(buf_done) struct buf text = BUF_INIT(256);

    buf_printf(&text, "SELECT slot FROM part WHERE family = %d", (int)family);
    return move_each(k, text.ptr, make_slot, &family, err);
}

/* Numbering continues where the old store stopped. */
static bool move_numbers(struct mover *k, struct err *err)
{
    return move_sql(k,
                    "SELECT setval('num_block', GREATEST(128, ((value + 127) / 128) * 128)) FROM "
                    "mark WHERE name = 'num'",
                    err) &&
           move_sql(k, "UPDATE order_seq SET value = (SELECT value FROM mark WHERE name = 'num')",
                    err);
}

/* For a repeated move after the answer to the commit was lost (see_unchanged). */
static bool note_epoch(struct mover *k, struct err *err)
{
    return move_sql(k,
                    "INSERT INTO mark(name, value) SELECT 'moved_epoch', value FROM mark WHERE "
                    "name = 'epoch'",
                    err);
}

/* ---- the move ---- */

static bool move_all(struct mover *k, struct err *err)
{
    /* Also the closed tables: retain_drop() reads each table before it drops it. */
    if (!make_slots(k, TABLES_DONE, err) || !make_slots(k, TABLES_EMPTY, err) ||
        !make_slots(k, TABLES_IDEMPOTENCY, err) || !make_slots(k, TABLES_JOB_LOG, err) ||
        !move_sql(k, "BEGIN", err))
        return false;
    if (!move_payloads(k, err) || !move_tables(k, err) || !move_numbers(k, err) ||
        !note_epoch(k, err) || !move_check(k, err))
        return false;
    k->m->may_be_there = true;
    return move_sql(k, "COMMIT", err);
}

static bool rename_old(struct mover *k, struct err *err)
{
    db_rollback(k->from);
    db_close(k->from);
    k->from = NULL;
    return file_rename_over(k->data_fd, DB_NAME, DB_MOVED, err) &&
           file_try_sync(k->data_fd, k->m->data, err);
}

static bool backup_move_run(struct mover *k, struct err *err)
{
    if (!move_open_folder(k, err) || !open_old(k, err) || !move_list_segments(k, err) ||
        !open_new(k, err) || !move_see_empty(k, err))
        return false;
    if (!k->m->was_done && !move_all(k, err))
        return false;
    k->m->may_be_there = true;
    fault_point(MOVE_COMMITTED);
    if (!rename_old(k, err))
        return false;
    struct err ignored = { 0 };

    (void)move_sql(k, "ANALYZE", &ignored); /* else autovacuum does it later */
    return true;
}

bool move_run(struct move *m, struct err *err)
{
    struct mover k = { .m = m,
                       .data_fd = -1,
                       .payload_fd = -1,
                       .large_fd = -1,
                       .lock_fd = -1,
                       .stream = BUF_INIT(MOVE_STREAM_MOST) };
    bool ok = backup_move_run(&k, err);
    const int fds[] = { k.payload_fd, k.large_fd, k.lock_fd, k.data_fd };

    if (k.from != NULL)
        db_rollback(k.from);
    db_close(k.from);
    db_close(k.to);
    PQfinish(k.conn);
    free(k.segs);
    free(k.large);
    buf_done(&k.stream);
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        if (fds[i] >= 0)
            (void)close(fds[i]);
    return ok;
}
