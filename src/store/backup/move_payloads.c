#include "store/backup/move_payloads.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "core/timeline.h"
#include "store/backup/move_stream.h"
#include "store/segment/forward.h"
#include "store/segment/segment.h"

/* Payloads that steps made get a row of their own in the new store.  Its number is computed from
 * the old place: above every document number, the same for each reference, and unique per place. */
#define STEP_NUMBER (INT64_C(1) << 60)

enum { PLACES_MOST = 4096 };

/* ---- the old store ---- */

sqlite3_stmt *move_prepare(struct mover *k, const char *text, struct err *err)
{
    sqlite3 *handle = db_sqlite_handle(k->from);
    sqlite3_stmt *stmt = NULL;

    if (sqlite3_prepare_v2(handle, text, -1, &stmt, NULL) != SQLITE_OK)
        (void)err_set(err, ERR_PERMANENT, 0, "%.60s: %s", text, sqlite3_errmsg(handle));
    return stmt;
}

bool move_next(struct mover *k, sqlite3_stmt *stmt, bool *ret_row, struct err *err)
{
    int rc = sqlite3_step(stmt);

    *ret_row = rc == SQLITE_ROW;
    return rc == SQLITE_ROW || rc == SQLITE_DONE ||
           err_set(err, ERR_PERMANENT, rc, "read the old store: %s",
                   sqlite3_errmsg(db_sqlite_handle(k->from)));
}

struct str move_column(sqlite3_stmt *stmt, int column)
{
    const char *p = sqlite3_column_blob(stmt, column);

    return str_mem(p != NULL ? p : "", (size_t)sqlite3_column_bytes(stmt, column));
}

void move_stmt_done(sqlite3_stmt **stmt)
{
    (void)sqlite3_finalize(*stmt);
}

bool move_each(struct mover *k, const char *text, move_row *row, const void *arg, struct err *err)
{
    AUTO(move_stmt_done) sqlite3_stmt *stmt = move_prepare(k, text, err);
    bool another = true, ok = stmt != NULL;

    while (ok && (ok = move_next(k, stmt, &another, err)) && another)
        ok = row(k, stmt, arg, err);
    return ok;
}

/* ---- places ---- */

static int64_t segment_index(const struct mover *k, int64_t seg)
{
    size_t from = 0, to = k->seg_count;

    while (from < to) {
        size_t at = from + (to - from) / 2;

        if (k->segs[at] < seg)
            from = at + 1;
        else
            to = at;
    }
    return from < k->seg_count && k->segs[from] == seg ? (int64_t)from : (int64_t)k->seg_count;
}

void move_place(const struct mover *k, int64_t *io_seg, int64_t *io_pos, int64_t *io_num)
{
    if (*io_seg > 0) {
        *io_num = STEP_NUMBER + (segment_index(k, *io_seg) << 32) + *io_pos / 8;
        *io_seg = PAYLOAD_IN_TABLE;
        *io_pos = 0;
    } else if (*io_seg == PAYLOAD_IN_FILE) {
        *io_seg = PAYLOAD_IN_PIECES;
    }
}

void move_timeline(const struct mover *k, struct str timeline, struct buf *ret)
{
    struct timeline_reader r = timeline_read(timeline);
    struct timeline_line line;
    bool bad;

    while (timeline_next(&r, &line, &bad)) {
        if (line.has_bytes)
            move_place(k, &line.seg, &line.pos, &line.num);
        timeline_add(ret, &line);
    }
}

/* ---- payloads in segments ---- */

static void note_damage(struct mover *k, const struct id *id, const struct err *why)
{
    char text[ID_TEXT];

    if (k->m->damaged++ == 0)
        (void)snprintf(k->m->damage, sizeof k->m->damage, "document %s: %.200s", id_text(id, text),
                       why->text);
}

static bool put_payload(struct mover *k, const struct id *id, struct payload_ref place, int64_t num,
                        struct buf *room, struct err *err)
{
    struct err why = { 0 };

    if (!segment_read(k->payload_fd, place, id, room, &why) &&
        !(forward_find(k->from, &place) && segment_read(k->payload_fd, place, id, room, &why))) {
        if (why.kind != ERR_PERMANENT) {
            *err = why;
            return false;
        }
        note_damage(k, id, &why);
        return true;
    }
    move_cell(k, true);
    move_put_int(k, num);
    move_cell(k, false);
    move_put_bytes(k, buf_view(room));
    k->m->payloads++;
    k->m->bytes += (int64_t)room->len;
    return move_row_end(k, err);
}

/* The places of one document that are copied already. */
struct places {
    struct payload_ref all[PLACES_MOST];
    size_t count;
};

static bool is_new(struct places *p, struct payload_ref place)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->all[i].seg == place.seg && p->all[i].pos == place.pos)
            return false;
    if (p->count < PLACES_MOST)
        p->all[p->count++] = place;
    return true;
}

static bool put_step(struct mover *k, const struct id *id, struct payload_ref place,
                     struct places *known, struct buf *room, struct err *err)
{
    int64_t seg = place.seg, pos = place.pos, num = 0;

    if (place.seg <= 0 || !is_new(known, place))
        return true;
    move_place(k, &seg, &pos, &num);
    return put_payload(k, id, place, num, room, err);
}

static bool put_steps(struct mover *k, const struct id *id, struct str timeline,
                      struct places *known, struct buf *room, struct err *err)
{
    struct timeline_reader r = timeline_read(timeline);
    struct timeline_line line;
    bool bad;

    while (timeline_next(&r, &line, &bad))
        if (line.has_bytes &&
            !put_step(k, id, (struct payload_ref){ line.seg, line.pos }, known, room, err))
            return false;
    return true;
}

static void move_payloads_read_id(sqlite3_stmt *stmt, int column, struct id *ret)
{
    struct str id = move_column(stmt, column);

    *ret = (struct id){ 0 };
    if (id.len == sizeof ret->bytes)
        memcpy(ret->bytes, id.ptr, id.len);
}

/* Copies the payloads of deliveries: the timeline names them too, unless it was full. */
static bool move_payloads_put_parts(struct mover *k, sqlite3_stmt *parts, int64_t doc,
                                    const struct id *id, struct places *known, struct buf *room,
                                    struct err *err)
{
    bool row;

    (void)sqlite3_reset(parts);
    (void)sqlite3_bind_int64(parts, 1, doc);
    for (;;) {
        if (!move_next(k, parts, &row, err))
            return false;
        if (!row)
            return true;
        if (!put_step(k, id,
                      (struct payload_ref){ sqlite3_column_int64(parts, 0),
                                            sqlite3_column_int64(parts, 1) },
                      known, room, err))
            return false;
    }
}

/* Selects the payload places of a document from every table that has columns for them. */
static sqlite3_stmt *prepare_parts(struct mover *k, struct err *err)
{
    AUTO(buf_done) struct buf text = BUF_INIT(8192);
    AUTO(move_stmt_done)
    sqlite3_stmt *tables = move_prepare(
        k,
        "SELECT m.name FROM sqlite_master m WHERE m.type = 'table' AND (SELECT count(*) FROM "
        "pragma_table_info(m.name) c WHERE c.name IN ('doc', 'b_seg', 'b_pos')) = 3",
        err);
    bool row = true;

    while (tables != NULL && row) {
        if (!move_next(k, tables, &row, err))
            return NULL;
        if (row)
            buf_printf(&text,
                       "%sSELECT b_seg, b_pos FROM %.*s WHERE doc = ?1 AND b_seg IS NOT NULL",
                       text.len > 0 ? " UNION ALL " : "", STR_ARG(move_column(tables, 0)));
    }
    return tables != NULL ? move_prepare(k, text.ptr, err) : NULL;
}

static bool put_table(struct mover *k, const char *table, struct err *err)
{
    AUTO(buf_done) struct buf text = BUF_INIT(4096), room = BUF_INIT(SEGMENT_PAYLOAD_MOST + 1);
    AUTO(move_stmt_done) sqlite3_stmt *parts = prepare_parts(k, err);
    bool row, ok = parts != NULL;

    buf_printf(&text, "SELECT num, id, seg, pos, trail FROM %s ORDER BY num", table);
    AUTO(move_stmt_done) sqlite3_stmt *stmt = ok ? move_prepare(k, text.ptr, err) : NULL;
    struct places *known = NEW(struct places);

    for (ok = stmt != NULL; ok;) {
        struct id id;

        ok = move_next(k, stmt, &row, err);
        if (!ok || !row)
            break;
        int64_t num = sqlite3_column_int64(stmt, 0);
        struct payload_ref place = { sqlite3_column_int64(stmt, 2), sqlite3_column_int64(stmt, 3) };

        move_payloads_read_id(stmt, 1, &id);
        known->count = 0;
        ok = (place.seg <= 0 || put_payload(k, &id, place, num, &room, err)) &&
             put_steps(k, &id, move_column(stmt, 4), known, &room, err) &&
             move_payloads_put_parts(k, parts, num, &id, known, &room, err);
    }
    free(known);
    return ok;
}

/* ---- large payloads ---- */

static bool put_pieces(struct mover *k, int64_t pos, struct err *err)
{
    AUTO(digest_drop) struct digest digest = digest_start();
    AUTO_TEXT block = xmalloc(PAYLOAD_PIECE);
    char name[32];

    (void)snprintf(name, sizeof name, "%016llx", (unsigned long long)pos);
    AUTO_FD fd = openat(k->large_fd, name, O_RDONLY | O_CLOEXEC);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0) /* a missing file is reported by the check of its document */
        return errno == ENOENT ||
               err_set(err, ERR_TRANSIENT, errno, "open large/%s: %s", name, strerror(errno));
    for (int64_t at = 0, piece = 0; at < st.st_size; piece++) {
        int64_t left = st.st_size - at;
        size_t n = left < PAYLOAD_PIECE ? (size_t)left : PAYLOAD_PIECE;

        if (!file_read_at(fd, block, n, at, err))
            return err_context(err, "large/%s", name);
        move_cell(k, true);
        move_put_int(k, pos);
        move_cell(k, false);
        move_put_int(k, piece);
        move_cell(k, false);
        move_put_bytes(k, str_mem(block, n));
        if (!move_row_end(k, err))
            return false;
        digest_add(&digest, str_mem(block, n));
        at += (int64_t)n;
    }
    k->large = xrealloc(k->large, (k->large_count + 1) * sizeof *k->large);
    k->large[k->large_count++] = (struct move_large){ pos, digest_end(&digest) };
    k->m->payloads++;
    k->m->bytes += st.st_size;
    return true;
}

/* For the check: the digests of the large payloads as they were read. */
static bool put_digests(struct mover *k, struct err *err)
{
    if (!move_sql(k,
                  "CREATE TEMPORARY TABLE moved_large(pos BIGINT PRIMARY KEY, sha256 BYTEA) ON "
                  "COMMIT DROP",
                  err) ||
        !move_copy_begin(k, "moved_large(pos, sha256)", err))
        return false;
    for (size_t i = 0; i < k->large_count; i++) {
        move_cell(k, true);
        move_put_int(k, k->large[i].pos);
        move_cell(k, false);
        move_put_bytes(k, str_mem(k->large[i].sha256.bytes, SHA256_SIZE));
        if (!move_row_end(k, err))
            return false;
    }
    return move_copy_end(k, err);
}

static bool put_large_one(struct mover *k, sqlite3_stmt *stmt, const void *arg, struct err *err)
{
    (void)arg;
    return put_pieces(k, sqlite3_column_int64(stmt, 0), err);
}

static bool put_large(struct mover *k, struct err *err)
{
    return move_copy_begin(k, "payload_piece_0(upload, piece, bytes)", err) &&
           move_each(k, "SELECT pos FROM large ORDER BY pos", put_large_one, NULL, err) &&
           move_copy_end(k, err);
}

/* ---- all payloads ---- */

struct each_table {
    bool (*fn)(struct mover *k, const char *table, struct err *err);
};

static bool call_for_table(struct mover *k, sqlite3_stmt *stmt, const void *arg, struct err *err)
{
    char name[MOVE_NAME];

    (void)snprintf(name, sizeof name, "%.*s", STR_ARG(move_column(stmt, 0)));
    return ((const struct each_table *)arg)->fn(k, name, err);
}

/* For each table of documents: doc, and those of days. */
static bool each_table(struct mover *k, bool (*fn)(struct mover *, const char *, struct err *),
                       struct err *err)
{
    return move_each(k, "SELECT 'doc' UNION ALL SELECT 'done_' || slot FROM part WHERE family = 2",
                     call_for_table, &(struct each_table){ fn }, err);
}

bool move_payloads(struct mover *k, struct err *err)
{
    if (!move_copy_begin(k, "payload_0(num, bytes)", err) || !each_table(k, put_table, err) ||
        !move_copy_end(k, err))
        return false;
    return put_large(k, err) && put_digests(k, err);
}

/* Digests of the rows as the server stores them.  A payload damaged in the old store has no row. */
static bool move_payloads_check_table(struct mover *k, const char *table, struct err *err)
{
    AUTO(buf_done) struct buf text = BUF_INIT(4096);
    int64_t wrong, large;

    buf_printf(&text,
               "SELECT count(*) FROM %s d JOIN payload_0 p ON p.num = d.num WHERE d.seg = -1 AND "
               "(sha256(p.bytes) <> d.sha256 OR length(p.bytes) <> d.size)",
               table);
    if (!move_number(k, text.ptr, &wrong, err))
        return false;
    buf_clear(&text);
    buf_printf(
        &text,
        "SELECT count(*) FROM %s d LEFT JOIN moved_large l ON l.pos = d.pos WHERE d.seg = -2 "
        "AND (l.sha256 IS NULL OR l.sha256 <> d.sha256 OR d.size <> (SELECT "
        "sum(length(p.bytes)) FROM payload_piece_0 p WHERE p.upload = d.pos))",
        table);
    if (!move_number(k, text.ptr, &large, err))
        return false;
    if (wrong > 0)
        return err_set(err, ERR_PERMANENT, 0, "%lld payloads of %s came out differently",
                       (long long)wrong, table);
    k->m->damaged += large;
    if (large > 0 && k->m->damage[0] == '\0')
        (void)snprintf(k->m->damage, sizeof k->m->damage,
                       "%lld large payloads are missing or damaged", (long long)large);
    return true;
}

bool move_check(struct mover *k, struct err *err)
{
    return each_table(k, move_payloads_check_table, err);
}
