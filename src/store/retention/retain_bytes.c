#include "store/retention/retain_bytes.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/container_of.h"
#include "base/fault.h"
#include "base/require.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"
#include "store/payload/payload.h"
#include "store/retention/retain_gate.h"
#include "store/road/done.h"

enum {
    FILES_AT_ONCE = 16,
    RANGE = 4000, /* numbers looked up in one snapshot */
    MOVE_ENTRIES = 64,
    MOVE_BYTES = 1 << 20, /* copied in one commit */
};

/* ---- notes ---- */

struct note {
    int64_t seg, pos;
};

static void read_note(struct db_rows *row, struct arena *a, void *to)
{
    (void)a;
    *(struct note *)to =
        (struct note){ db_get_int(row, RETAIN_TODO_SEG), db_get_int(row, RETAIN_TODO_POS) };
}

static bool read_notes(struct store *s, int64_t state, struct note after, struct note *ret,
                       size_t most, size_t *ret_count, struct err *err)
{
    return store_collect(s, SQL_RETAIN_TODO,
                         DB_ARGS(db_int(state), db_int(after.seg), db_int(after.pos), db_int(most)),
                         ROWS_INTO(ret, most, NULL, read_note), ret_count, err);
}

enum note_change { NOTE_DONE, NOTE_GONE };

struct note_op {
    struct store_op op;
    enum note_change change;
    struct note note;
};

static bool change_note(struct writer *w, struct note_op *o, struct err *err)
{
    struct db_value seg = db_int(o->note.seg), pos = db_int(o->note.pos);

    if (o->change == NOTE_DONE)
        return db_run(w->db, SQL_RETAIN_TODO_DONE, DB_ARGS(seg, pos), NULL, err);
    /* Entries that were once copied into this segment are copied on, or their documents purged. */
    return db_run(w->db, SQL_MOVED_FORGET, DB_ARGS(seg), NULL, err) &&
           db_run(w->db, SQL_RETAIN_TODO_SET, DB_ARGS(seg, pos, db_int(1)), NULL, err);
}

static bool note_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++)
        if (!change_note(w, container_of(ops[i], struct note_op, op), err))
            return false;
    return true;
}

/* Writes nothing to the audit log, also when the calling request is an audited one. */
static const struct store_verb note_verb = { .name = "note bytes that went",
                                             .run = note_run,
                                             .notes = true };

static bool retain_bytes_note(struct store *s, enum note_change change, struct note n,
                              struct err *err)
{
    struct note_op o = { .change = change, .note = n };

    return writers_call(s->writers, &note_verb, &o.op, err);
}

/* ---- files and pieces ---- */

static bool drop_file(struct store *s, struct note n, struct retain_bytes *ret, struct err *err)
{
    int64_t bytes;

    fault_point(RETAIN_NOTED);
    if (n.seg > 0 ? !segment_unlink(s->payload_fd, n.seg, &bytes, err)
                  : !payload_unlink(s, n.pos, &bytes, err))
        return false;
    fault_point(RETAIN_UNLINKED);
    ret->bytes += bytes;
    ret->segments += n.seg > 0;
    ret->files += n.seg == PAYLOAD_IN_FILE;
    return retain_bytes_note(s, NOTE_DONE, n, err);
}

static bool retain_bytes_drop_pieces(struct store *s, struct note n, struct retain_bytes *ret,
                                     struct err *err)
{
    int64_t count;

    if (!payload_drop_pieces(s, n.pos, &count, err))
        return false;
    ret->pieces += count;
    ret->bytes += count * PAYLOAD_PIECE;
    ret->more |= count == PAYLOAD_PIECES_AT_ONCE;
    return true;
}

static bool drop_noted(struct store *s, struct retain_bytes *ret, struct err *err)
{
    struct note notes[FILES_AT_ONCE], first = { INT64_MIN, 0 };
    size_t n;

    if (!read_notes(s, 1, first, notes, FILES_AT_ONCE, &n, err))
        return false;
    ret->more |= n == FILES_AT_ONCE;
    for (size_t i = 0; i < n; i++)
        if (notes[i].seg == PAYLOAD_IN_PIECES ? !retain_bytes_drop_pieces(s, notes[i], ret, err)
                                              : !drop_file(s, notes[i], ret, err))
            return false;
    return true;
}

/* ---- which entries are needed ---- */

struct entry {
    struct segment_entry at;
    int64_t num;
    bool lives;
};

struct entries {
    struct entry *all;
    size_t count, room;
};

static void found_entry(void *arg, const struct segment_entry *e)
{
    struct entries *l = arg;

    if (l->count == l->room) {
        l->room = l->room * 2 + 1024;
        l->all = xrealloc(l->all, l->room * sizeof *l->all);
    }
    l->all[l->count++] = (struct entry){ .at = *e, .num = id_row(&e->id) };
}

static int by_num(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    if (x->num != y->num)
        return x->num < y->num ? -1 : 1;
    return x->at.pos < y->at.pos ? -1 : x->at.pos > y->at.pos;
}

static int by_pos(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    return x->at.pos < y->at.pos ? -1 : x->at.pos > y->at.pos;
}

struct marking {
    struct entry *entries;
    size_t count, at;
};

static bool mark_one(void *arg, struct db_rows *row, struct err *err)
{
    struct marking *m = arg;
    int64_t num = db_get_int(row, 0);

    (void)err;
    while (m->at < m->count && m->entries[m->at].num < num)
        m->at++;
    for (; m->at < m->count && m->entries[m->at].num == num; m->at++)
        m->entries[m->at].lives = true;
    return true;
}

/* Entries and rows are both in ascending order. */
static bool mark_in(struct db *db, enum sql_id id, int64_t slot, struct entry *e, size_t count,
                    struct err *err)
{
    struct marking m = { .entries = e, .count = count };

    return rows_each(db, id, slot, DB_ARGS(db_int(e[0].num), db_int(e[count - 1].num)), mark_one,
                     &m, err);
}

static bool retain_bytes_read_days(struct db *db, int64_t days[static DONE_DAYS_MOST + 1],
                                   size_t *ret_count, struct err *err)
{
    return rows_ints(db, SQL_PART_ALL, DB_ARGS(db_int(TABLES_DONE)), days, DONE_DAYS_MOST + 1,
                     ret_count, err) &&
           (*ret_count <= DONE_DAYS_MOST ||
            err_set(err, ERR_LIMIT, 0, "more than %d tables of ended documents", DONE_DAYS_MOST));
}

/* All tables in one snapshot: a document that moves from one to another is not missed. */
static bool mark_range(struct db *db, struct entry *e, size_t count, struct err *err)
{
    int64_t days[DONE_DAYS_MOST + 1];
    size_t n;

    if (!db_run(db, SQL_READ_BEGIN, DB_NO_ARGS, NULL, err))
        return false;
    bool ok = retain_bytes_read_days(db, days, &n, err) &&
              mark_in(db, SQL_RETAIN_LIVE, DB_NO_SLOT, e, count, err);

    for (size_t i = 0; ok && i < n; i++)
        ok = mark_in(db, SQL_RETAIN_ENDED, days[i], e, count, err);
    db_rollback(db); /* it has only read */
    return ok;
}

static bool mark_living(struct store *s, struct entries *l, struct err *err)
{
    bool ok = true;

    qsort(l->all, l->count, sizeof *l->all, by_num);
    for (size_t from = 0, to; ok && from < l->count; from = to) {
        for (to = from + 1; to < l->count && l->all[to].num - l->all[from].num < RANGE;)
            to++;
        AUTO(reader_back) struct reader r = reader_take(s, err);

        if (r.db == NULL)
            return false;
        ok = mark_range(r.db, l->all + from, to - from, err);
    }
    qsort(l->all, l->count, sizeof *l->all, by_pos);
    return ok;
}

/* ---- copying ---- */

struct moving {
    struct payload_ref from;
    struct segment_payload payload;
};

struct move_op {
    struct store_op op;
    struct moving *entries;
    size_t count;
};

static bool move_one(struct writer *w, const struct moving *m, struct err *err)
{
    struct payload_ref to;
    int64_t moved;

    if (!segments_add(w->segments, &m->payload, &to, err))
        return false;
    struct db_args args =
        DB_ARGS(db_int(m->from.seg), db_int(m->from.pos), db_int(to.seg), db_int(to.pos));

    if (!db_run(w->db, SQL_MOVED_ON, args, &moved, err))
        return false;
    return moved > 0 || db_run(w->db, SQL_MOVED_ADD, args, NULL, err);
}

static bool retain_bytes_move_run(struct writer *w, struct store_op **ops, size_t count,
                                  struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        const struct move_op *o = container_of(ops[i], struct move_op, op);

        for (size_t k = 0; k < o->count; k++)
            if (!move_one(w, &o->entries[k], err))
                return false;
    }
    fault_point(RETAIN_MOVED);
    return true;
}

static const struct store_verb move_verb = { .name = "copy payloads forward",
                                             .run = retain_bytes_move_run,
                                             .apart = true };

/* Copies some of the needed entries, from *at on; each is verified when it is read. */
static bool move_some(struct store *s, int64_t seg, const struct entries *l, size_t *at,
                      struct retain_bytes *ret, struct err *err)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(32 << 20);
    AUTO(buf_done) struct buf piece = BUF_INIT(SEGMENT_PAYLOAD_MOST + 1);
    AUTO(buf_done) struct buf record = BUF_INIT(SEGMENT_RECORD_MOST + 32);
    struct segment_about about = { .record = &record };
    struct moving entries[MOVE_ENTRIES];
    struct move_op o = { .entries = entries };
    size_t bytes = 0;

    for (; *at < l->count && o.count < MOVE_ENTRIES && bytes < MOVE_BYTES; ++*at) {
        const struct entry *e = &l->all[*at];

        if (!e->lives)
            continue;
        struct moving *m = &entries[o.count++];

        *m = (struct moving){ .from = { seg, e->at.pos } };
        if (!segment_read_entry(s->payload_fd, m->from, &e->at.id, &piece, &about, err))
            return false;
        m->payload =
            (struct segment_payload){ .id = e->at.id,
                                      .sha256 = about.sha256,
                                      .bytes = arena_copy(&arena, buf_view(&piece)),
                                      .record = arena_copy(&arena, buf_view(&record)),
                                      .elsewhere = about.elsewhere,
                                      .origin = about.origin.seg != 0 ? about.origin : m->from };
        bytes += piece.len + record.len;
    }
    if (o.count == 0)
        return true;
    ret->moved += (int64_t)o.count;
    return writers_call(s->writers, &move_verb, &o.op, err);
}

/* ---- a segment ---- */

/* Runs in the writer: when this operation is committed, so are all rows whose payloads are in older
 * segments. */
struct newest_op {
    struct store_op op;
    int64_t seg;
};

static bool newest_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    (void)err;
    for (size_t i = 0; i < count; i++)
        (container_of(ops[i], struct newest_op, op))->seg = segments_newest(w->segments);
    return true;
}

static const struct store_verb newest_verb = { .name = "look at segments", .run = newest_run };

static bool is_damage(const struct err *err)
{
    return err->kind == ERR_PERMANENT && err->sys != ENOENT;
}

static int64_t living_bytes(const struct entries *l)
{
    int64_t bytes = 0;

    for (size_t i = 0; i < l->count; i++)
        if (l->all[i].lives)
            bytes += l->all[i].at.bytes;
    return bytes;
}

static bool clean_segment(struct store *s, int64_t seg, struct entries *l, struct retain_bytes *ret,
                          struct err *err)
{
    struct note n = { .seg = seg };
    int64_t size;
    bool whole;

    if (!segment_scan(s->payload_fd, seg, found_entry, l, &size, &whole, err))
        return err->sys == ENOENT &&
               ((*err = (struct err){ 0 }), retain_bytes_note(s, NOTE_DONE, n, err));
    if (!whole) {
        ret->damaged++;
        return retain_bytes_note(s, NOTE_DONE, n, err);
    }
    if (!mark_living(s, l, err))
        return false;
    /* Not worth copying while three quarters are needed: the next purge notes the segment again. */
    if (living_bytes(l) > size / 4 * 3)
        return retain_bytes_note(s, NOTE_DONE, n, err);
    for (size_t at = 0; at < l->count;)
        if (!move_some(s, seg, l, &at, ret, err)) {
            if (!is_damage(err))
                return false;
            *err = (struct err){ 0 };
            ret->damaged++;
            return retain_bytes_note(s, NOTE_DONE, n, err);
        }
    return retain_bytes_note(s, NOTE_GONE, n, err) && drop_file(s, n, ret, err);
}

static bool clean_one(struct store *s, struct retain_bytes *ret, struct err *err)
{
    struct newest_op o = { 0 };
    struct note notes[2], first = { INT64_MIN, 0 };
    struct entries l = { 0 };
    size_t n;

    if (!read_notes(s, 0, first, notes, 2, &n, err) || n == 0 ||
        !writers_call(s->writers, &newest_verb, &o.op, err))
        return err->kind == ERR_NONE;
    if (notes[0].seg >= o.seg)
        return true; /* it is still written to */
    bool ok = clean_segment(s, notes[0].seg, &l, ret, err);

    free(l.all);
    ret->more |= n > 1 && notes[1].seg < o.seg;
    return ok;
}

bool retain_bytes(struct store *s, struct retain_bytes *ret, struct err *err)
{
    *ret = (struct retain_bytes){ 0 };
    if (!retain_enter(s))
        return true;
    bool ok = drop_noted(s, ret, err) && (s->kind == DB_POSTGRESQL || clean_one(s, ret, err));

    retain_leave(s);
    return ok;
}

bool retain_recover(struct store *s, struct err *err)
{
    struct retain_bytes done = { .more = s->kind == DB_SQLITE };

    while (done.more) {
        done = (struct retain_bytes){ 0 };
        if (!drop_noted(s, &done, err))
            return false;
    }
    return true;
}

bool retain_waiting(struct store *s, int64_t *ret, struct err *err)
{
    return store_one_int(s, SQL_RETAIN_TODO_COUNT, DB_NO_ARGS, 0, ret, err);
}
