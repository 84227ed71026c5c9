#include "store/payload/payload.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/chance.h"
#include "base/container_of.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/require.h"
#include "store/kernel/change.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"
#include "store/payload/archive_read.h"
#include "store/payload/payload_days.h"

/* The sender of an upload that is this old and was not adopted is long gone. */
#define UPLOAD_OVER_US (INT64_C(86400) * 1000000)

enum {
    NAME = 32,
    SEGMENT_READ_MOST = SEGMENT_PAYLOAD_MOST + 1,
    MOVES_MOST = 3,
    DROPS_MOST = 64,
    UPLOAD_BITS = 44 /* of the number of an upload below its day, as SQL_UPLOAD_START has it */
};

static void large_name(int64_t number, const char *suffix, char name[static NAME])
{
    (void)snprintf(name, NAME, "%016llx%s", (unsigned long long)number, suffix);
}

/* PostgreSQL: the table of an upload's pieces. */
static int64_t pieces_day(int64_t upload)
{
    return upload >= 0 ? 0 : ~upload >> UPLOAD_BITS;
}

/* ---- reading ---- */

struct payload_reader {
    struct store *store;
    struct payload_source source;
    struct buf piece;
    struct digest digest;
    int fd;       /* the file of a large payload, or an archive ... */
    int64_t from; /* ... and the offset of the payload in it */
    int64_t at;   /* bytes returned */
    int64_t piece_number;
};

static bool open_archived(struct payload_reader *r, struct err *err)
{
    struct archive_place place;
    bool found;

    if (!archive_find(r->store, &r->source.id, &place, NULL, &found, err))
        return false;
    if (!found)
        return err_set(err, ERR_PERMANENT, ENOENT, "no archive has it");
    r->fd = place.fd;
    r->from = place.offset + r->source.place.pos;
    return true;
}

bool payload_open(struct store *s, const struct payload_source *source, struct payload_reader **ret,
                  struct err *err)
{
    struct payload_reader *r = NEW(struct payload_reader);
    char name[NAME];

    r->store = s;
    r->source = *source;
    r->piece = (struct buf)BUF_INIT(SEGMENT_READ_MOST);
    r->fd = -1;
    if (source->place.seg == PAYLOAD_IN_FILE) {
        large_name(source->place.pos, "", name);
        r->fd = openat(s->large_fd, name, O_RDONLY | O_CLOEXEC);
        if (r->fd < 0) {
            (void)err_set(err, errno == ENOENT ? ERR_PERMANENT : ERR_TRANSIENT, errno,
                          "payload file %s: %s", name, strerror(errno));
            payload_close(r);
            return false;
        }
    }
    if (source->place.seg == PAYLOAD_IN_ARCHIVE && !open_archived(r, err)) {
        payload_close(r);
        return false;
    }
    r->digest = digest_start();
    *ret = r;
    return true;
}

void payload_close(struct payload_reader *r)
{
    if (r == NULL)
        return;
    if (r->fd >= 0)
        (void)close(r->fd);
    digest_drop(&r->digest);
    buf_done(&r->piece);
    free(r);
}

/* Takes a connection for one piece only, so that a slow receiver does not occupy one. */
static bool payload_read_row(struct payload_reader *p, enum sql_id id, int64_t slot,
                             struct db_args args, struct err *err)
{
    AUTO(reader_back) struct reader r = reader_take(p->store, err);
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    bool row;

    if (r.db == NULL || !db_query_slot(r.db, id, slot, args, &rows, err) ||
        !db_next(&rows, &row, err))
        return false;
    if (!row)
        return err_set(err, ERR_PERMANENT, ENOENT, "the payload is not in the store");
    return buf_append(&p->piece, db_get_str(&rows, 0), err);
}

static void read_moved(struct db_rows *row, struct arena *a, void *to)
{
    (void)a;
    *(struct payload_ref *)to = (struct payload_ref){ db_get_int(row, MOVED_GET_TO_SEG),
                                                      db_get_int(row, MOVED_GET_TO_POS) };
}

/* The new place of an entry that was copied before its segment was deleted. */
static bool find_moved(struct store *s, struct payload_ref *place, bool *ret_found, struct err *err)
{
    return store_one(s, SQL_MOVED_GET, DB_ARGS(db_int(place->seg), db_int(place->pos)), read_moved,
                     NULL, place, ret_found, err);
}

/* The entry may be copied again between the lookup and the read, so a few attempts are made. */
static bool payload_read_entry(struct payload_reader *r, struct err *err)
{
    const struct payload_source *src = &r->source;
    struct payload_ref place = src->place;

    for (int look = 0; !segment_read(r->store->payload_fd, place, &src->id, &r->piece, err);
         look++) {
        struct err missing = *err;
        bool found = false;

        if (err->kind != ERR_PERMANENT || err->sys != ENOENT || look == MOVES_MOST)
            return false;
        *err = (struct err){ 0 };
        place = src->place;
        if (!find_moved(r->store, &place, &found, err))
            return false;
        if (!found) {
            *err = missing;
            return false;
        }
    }
    return true;
}

static bool payload_read_piece(struct payload_reader *r, struct err *err)
{
    const struct payload_source *src = &r->source;
    int64_t left = src->size - r->at;
    size_t n = left < PAYLOAD_PIECE ? (size_t)left : PAYLOAD_PIECE;

    buf_clear(&r->piece);
    if (src->place.seg > 0)
        return payload_read_entry(r, err);
    if (src->place.seg == PAYLOAD_IN_TABLE)
        return payload_read_row(r, SQL_PAYLOAD_GET, src->place.pos, DB_ARGS(db_int(src->num)), err);
    if (src->place.seg == PAYLOAD_IN_PIECES)
        return payload_read_row(r, SQL_PAYLOAD_PIECE_GET, pieces_day(src->place.pos),
                                DB_ARGS(db_int(src->place.pos), db_int(r->piece_number++)), err);
    if (!buf_reserve(&r->piece, n, err) ||
        !file_read_at(r->fd, r->piece.ptr, n, r->from + r->at, err))
        return err_context(err, "payload file");
    r->piece.len = n;
    return true;
}

bool payload_next(struct payload_reader *r, struct str *ret, struct err *err)
{
    if (r->at == r->source.size) {
        *ret = STR("");
        return true;
    }
    if (!payload_read_piece(r, err))
        return false;
    r->at += (int64_t)r->piece.len;
    digest_add(&r->digest, buf_view(&r->piece));
    if (r->piece.len == 0 || r->at > r->source.size)
        return err_set(err, ERR_PERMANENT, 0, "the payload is damaged: its length differs");
    if (r->at == r->source.size) {
        struct sha256 got = digest_end(&r->digest);

        if (!digest_same(&got, &r->source.sha256))
            return err_set(err, ERR_PERMANENT, 0, "the payload is damaged: its digest differs");
    }
    *ret = buf_view(&r->piece);
    return true;
}

/* ---- uploads ---- */

struct upload {
    struct store *store;
    int64_t number;
    int fd;
    bool finished;
    /* PostgreSQL */
    struct db *db;
    struct buf piece;
    int64_t piece_number;
};

bool upload_open(struct store *s, struct upload **ret, struct err *err)
{
    struct upload *u = NEW(struct upload);
    char name[NAME];

    u->store = s;
    u->fd = -1;
    u->piece = (struct buf)BUF_INIT(PAYLOAD_PIECE);
    if (s->kind == DB_POSTGRESQL) {
        if (!store_connect(s, false, &u->db, err) ||
            !db_one_int(u->db, SQL_UPLOAD_START, DB_ARGS(db_int(payload_day(s)), db_int(s->node)),
                        0, &u->number, err)) {
            upload_close(u);
            return false;
        }
        *ret = u;
        return true;
    }
    u->number = (int64_t)(chance_u64() >> 1);
    large_name(u->number, ".part", name);
    u->fd = openat(s->large_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (u->fd < 0) {
        (void)err_set(err, file_err_kind(errno), errno, "create large/%s: %s", name,
                      strerror(errno));
        upload_close(u);
        return false;
    }
    *ret = u;
    return true;
}

static bool payload_send_piece(struct upload *u, struct err *err)
{
    if (u->piece.len == 0)
        return true;
    if (!db_run_slot(
            u->db, SQL_UPLOAD_PIECE, pieces_day(u->number),
            DB_ARGS(db_int(u->number), db_int(u->piece_number++), db_bytes(buf_view(&u->piece))),
            NULL, err))
        return false;
    buf_clear(&u->piece);
    return true;
}

bool upload_add(struct upload *u, struct str bytes, struct err *err)
{
    if (fault_error(SPOOL_WRITE))
        return err_set(err, ERR_LIMIT, ENOSPC, "write payload: no space left (injected)");
    if (u->db == NULL)
        return file_write_all(u->fd, bytes, err);
    while (bytes.len > 0) {
        size_t room = PAYLOAD_PIECE - u->piece.len, n = bytes.len < room ? bytes.len : room;

        buf_put(&u->piece, (struct str){ bytes.ptr, n });
        bytes = str_from(bytes, n);
        if (u->piece.len == PAYLOAD_PIECE && !payload_send_piece(u, err))
            return false;
    }
    return true;
}

bool upload_finish(struct upload *u, struct payload_ref *ret, struct err *err)
{
    char part[NAME], name[NAME];

    if (u->db != NULL) {
        if (!payload_send_piece(u, err))
            return false;
        u->finished = true;
        *ret = (struct payload_ref){ .seg = PAYLOAD_IN_PIECES, .pos = u->number };
        return true;
    }
    if (fault_error(SPOOL_SYNC))
        file_fatal("large payload (injected)", EIO);
    file_sync(u->fd, "large payload");
    large_name(u->number, ".part", part);
    large_name(u->number, "", name);
    if (!publish_file(u->store->large_fd, part, name, false, err))
        return false;
    fault_point(SPOOL_PUBLISHED);
    u->finished = true;
    *ret = (struct payload_ref){ .seg = PAYLOAD_IN_FILE, .pos = u->number };
    return true;
}

/* SQL_UPLOAD_DROP lists the upload as gone first, so that retention deletes whatever pieces a
 * failure or the limit leaves. */
static void drop_pieces_now(struct upload *u)
{
    int64_t count = PAYLOAD_PIECES_AT_ONCE;
    struct db_args upload = DB_ARGS(db_int(u->number));
    struct err err = { 0 };

    bool ok = db_run(u->db, SQL_UPLOAD_DROP, upload, NULL, &err);

    for (int i = 0; ok && count == PAYLOAD_PIECES_AT_ONCE && i < DROPS_MOST; i++)
        ok = db_run_slot(u->db, SQL_RETAIN_PIECES, pieces_day(u->number),
                         DB_ARGS(db_int(u->number), db_int(PAYLOAD_PIECES_AT_ONCE)), &count, &err);
    if (ok && count < PAYLOAD_PIECES_AT_ONCE)
        (void)db_run(u->db, SQL_RETAIN_TODO_DONE,
                     DB_ARGS(db_int(PAYLOAD_IN_PIECES), db_int(u->number)), NULL, &err);
}

void upload_close(struct upload *u)
{
    char name[NAME];

    if (u == NULL)
        return;
    if (u->fd >= 0) {
        (void)close(u->fd);
        large_name(u->number, ".part", name);
        if (!u->finished)
            (void)unlinkat(u->store->large_fd, name,
                           0); /* after a failure the sweep at start deletes it */
    }
    if (u->db != NULL && !u->finished && db_alive(u->db))
        drop_pieces_now(u);
    db_close(u->db); /* the pieces of a lost connection are swept */
    buf_done(&u->piece);
    free(u);
}

struct pieces_op {
    struct store_op op;
    int64_t upload;
    int64_t count; /* pieces deleted */
};

static bool pieces_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct pieces_op *o = container_of(ops[0], struct pieces_op, op);
    struct db_value upload = db_int(o->upload);
    int64_t day = pieces_day(o->upload), there = 1;

    require(count == 1);
    o->count = 0;
    /* Without its last piece the table of a day may have been dropped. */
    if (day != 0 && !db_one_int(w->db, SQL_PART_HAS, DB_ARGS(db_int(TABLES_PIECE), db_int(day)), 0,
                                &there, err))
        return false;
    if (there != 0 && !db_run_slot(w->db, SQL_RETAIN_PIECES, day,
                                   DB_ARGS(upload, db_int(PAYLOAD_PIECES_AT_ONCE)), &o->count, err))
        return false;
    return o->count == PAYLOAD_PIECES_AT_ONCE ||
           db_run(w->db, SQL_RETAIN_TODO_DONE, DB_ARGS(db_int(PAYLOAD_IN_PIECES), upload), NULL,
                  err);
}

/* No audit line: this is cleanup, even if it runs during somebody's request. */
static const struct store_verb pieces_verb = { .name = "drop pieces",
                                               .run = pieces_run,
                                               .notes = true };

bool payload_drop_pieces(struct store *s, int64_t upload, int64_t *ret_count, struct err *err)
{
    struct pieces_op o = { .upload = upload };

    fault_point(RETAIN_NOTED);
    if (!writers_call(s->writers, &pieces_verb, &o.op, err))
        return false;
    *ret_count = o.count;
    return true;
}

static void payload_payload_drop_pieces(struct store *s, int64_t upload)
{
    struct store_change drop = { .sql = SQL_UPLOAD_DROP,
                                 .args = DB_ARGS(db_int(upload)),
                                 .silent = true };
    struct err err = { 0 };
    int64_t noted;
    bool more = store_change(s, &drop, &noted, &err) && noted > 0;

    /* In small steps, because other commits wait behind each; retention does what fails here. */
    for (int i = 0; more && i < DROPS_MOST; i++)
        more = payload_drop_pieces(s, upload, &noted, &err) && noted == PAYLOAD_PIECES_AT_ONCE;
}

void upload_drop(struct store *s, struct payload_ref place)
{
    char name[NAME];
    struct err err = { 0 };
    int64_t known = 1;

    if (place.seg == PAYLOAD_IN_PIECES)
        payload_payload_drop_pieces(s, place.pos);
    if (place.seg != PAYLOAD_IN_FILE)
        return;
    /* Check again in the store: a document may have adopted the file after all. */
    if (store_one_int(s, SQL_LARGE_KNOWN, DB_ARGS(db_int(place.pos)), 0, &known, &err) &&
        known == 0) {
        large_name(place.pos, "", name);
        (void)unlinkat(s->large_fd, name, 0);
    }
}

bool payload_unlink(struct store *s, int64_t pos, int64_t *ret_bytes, struct err *err)
{
    char name[NAME];
    struct stat st;

    *ret_bytes = 0;
    large_name(pos, "", name);
    if (fstatat(s->large_fd, name, &st, 0) == 0)
        *ret_bytes = (int64_t)st.st_blocks * 512;
    if (unlinkat(s->large_fd, name, 0) < 0 && errno != ENOENT)
        return err_set(err, ERR_TRANSIENT, errno, "unlink payload file %s: %s", name,
                       strerror(errno));
    file_sync_dir(s->large_fd, "folder of large payloads");
    return true;
}

/* ---- sweeping after a crash ---- */

bool payload_sweep_uploads(struct store *s, int64_t *ret_swept, struct err *err)
{
    *ret_swept = 0;
    return s->kind == DB_SQLITE ||
           store_change(s,
                        &(struct store_change){ .sql = SQL_UPLOAD_SWEEP,
                                                .args = DB_ARGS(db_int(UPLOAD_OVER_US)) },
                        ret_swept, err);
}

/* False: not the name of a file that large_name() makes. */
static bool number_of(struct str name, uint64_t *ret)
{
    uint64_t number = 0;

    if (name.len != 16)
        return false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];

        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return false;
        number = number << 4 | (uint64_t)(c >= 'a' ? c - 'a' + 10 : c - '0');
    }
    *ret = number;
    return true;
}

/* Deletes a half-written body.  A complete one without a document is moved aside and not deleted,
 * because the store may be too old (restored from a backup). */
static bool sweep_one(struct store *s, struct db *db, int orphans, const char *file,
                      int64_t *ret_swept, struct err *err)
{
    struct str name, suffix = str_cut(str_of(file), '.', &name);
    uint64_t number;
    int64_t known;

    if (!number_of(name, &number))
        return true; /* not one of our files */
    if (str_is(suffix, "part")) {
        *ret_swept += unlinkat(s->large_fd, file, 0) == 0;
        return true;
    }
    if (!db_one_int(db, SQL_LARGE_KNOWN, DB_ARGS(db_int((int64_t)number)), 0, &known, err))
        return false;
    if (known != 0 || suffix.len > 0)
        return true;
    ++*ret_swept;
    return file_move(s->large_fd, file, orphans, err);
}

static bool sweep_folder(struct store *s, struct db *db, int64_t *ret_swept, struct err *err)
{
    AUTO_FD orphans = openat(s->data_fd, "orphans", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = openat(s->large_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    bool ok = orphans >= 0 && dir != NULL;

    if (!ok) {
        (void)err_set(err, ERR_TRANSIENT, errno, "list large payloads: %s", strerror(errno));
        if (dir == NULL && fd >= 0)
            (void)close(fd);
    }
    for (struct dirent *e; ok && (e = readdir(dir)) != NULL;)
        ok = sweep_one(s, db, orphans, e->d_name, ret_swept, err);
    if (dir != NULL)
        (void)closedir(dir);
    return ok;
}

bool payload_sweep_files(struct store *s, int64_t *ret_swept, struct err *err)
{
    *ret_swept = 0;
    if (s->kind == DB_POSTGRESQL)
        return true;
    AUTO(reader_back) struct reader r = reader_take(s, err);

    return r.db != NULL && file_make_dir(s->data_fd, "orphans", err) &&
           sweep_folder(s, r.db, ret_swept, err);
}
