/* retain.c - purges ended documents in slices (retain.h).
 *
 * Problem.  Documents that were kept long enough must be deleted, millions of them in a day, while
 * the store works.  One large delete would block the single writer of SQLite and flood the log of
 * PostgreSQL.  Payload bytes lie in files that no transaction covers.  And a wrong clock must not
 * cost documents, nor may a document under legal hold be lost.
 *
 * Method.  Retention works by tables: a document that ends moves to the table of the day on which
 * it may be purged (done.h).  When that day is over, its table is emptied in slices of ascending
 * numbers.  A slice is one transaction, in a group of its own:
 *
 *   1. take the turn: on PostgreSQL an advisory lock, so that one node purges at a time;
 *   2. ask the guard, which limits what goes in an hour (core/retain_rule.h);
 *   3. measure: the last number of the slice, by rows and bytes;
 *   4. move the kept documents of the slice to the table RETAIN_KEPT_DAY;
 *   5. delete the other rows, their payload rows (PostgreSQL), links and list entries (SQLite);
 *   6. note in payload_gone each payload in a file or in pieces, and each segment once;
 *   7. add to the counter TALLY_PURGED, and write the guard.
 *
 * Bytes follow later, by the notes (retain_bytes.c):  note -> file or pieces -> note deleted.
 * A segment is shared: its entries are looked up, those still needed are copied to the open
 * segment (`moved` leads readers there), and the file is removed.
 *
 * An empty table is closed first (it leaves the list of tables) and dropped some time later.
 *
 * Invariants
 *   (1) These tables hold ended documents only: nothing that waits can be purged.
 *   (2) A slice deletes no kept document that it finds in its table: kept_put() takes the lock of
 *       step 1, and step 4 comes before step 5.
 *   (3) A row is deleted in the commit that notes its bytes, and bytes are removed behind a note
 *       only.  So there may be bytes without a row, but never a row without its bytes.
 *   (4) A segment is removed only when it is written to no more and each of its entries was looked
 *       up, all tables in one snapshot, and is purged or copied.
 *   (5) Guard and counter change with the rows, so that the limit of an hour holds over crashes.
 *   (6) With an archive, only documents go that ended no later than the latest archived one.
 *   (7) A table is dropped only if it is empty while it is locked.
 *
 * Crashes.  In a slice: it is rolled back.  Behind its commit: the notes are there, and
 * retain_bytes() or, on SQLite, retain_recover() at the next start continues.  Between unlinking a
 * file and deleting its note: unlinking again finds no file, which is no error.  While entries are
 * copied: the note of the segment is still there and they are copied once more; the first copy is
 * valid too and merely costs room.  Between close and drop: the table is listed as empty, and the
 * next retain_drop() takes it.
 *
 * Races.  A retry revives a document of the slice: both delete the same row, and one of them finds
 * none.  On PostgreSQL a node whose clock is behind by more than RETAIN_GRACE_US adds a document to
 * a table that is due: a slice takes it, or retain_close_run() finds the table not empty.  A kept
 * document that arrives so between steps 4 and 5 is left in the table: step 5 asks again which are
 * kept.  A reader has found the row but not the
 * bytes: its read fails, as it would for a purged document.  A node uses a table between close and
 * drop: retain_drop_run() finds it not empty and lists it again.  A backup needs the files:
 * it closes the gate (retain_gate.h) and waits for those inside.
 */
#include "store/retention/retain.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/auto.h"
#include "base/container_of.h"
#include "base/fault.h"
#include "base/require.h"
#include "core/timeline.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"
#include "store/payload/payload.h"
#include "store/retention/retain_gate.h"
#include "store/road/accept.h"
#include "store/road/done.h"
#include "store/road/link.h"
#include "store/search/index_forget.h"

/* ---- which days ---- */

bool retain_due(struct store *s, int64_t before, int64_t *ret_days, size_t most, size_t *ret_count,
                struct err *err)
{
    return store_ints(s, SQL_RETAIN_DAYS, DB_ARGS(db_int(before), db_int(most)), ret_days, most,
                      ret_count, err);
}

bool retain_present(struct store *s, int64_t *ret, struct err *err)
{
    AUTO(reader_back) struct reader r = reader_take(s, err);
    int64_t accepted, purged;

    if (r.db == NULL ||
        !db_one_int(r.db, SQL_TALLY_SUM, DB_ARGS(db_int(TALLY_ACCEPTED)), 0, &accepted, err) ||
        !db_one_int(r.db, SQL_TALLY_SUM, DB_ARGS(db_int(TALLY_PURGED)), 0, &purged, err))
        return false;
    *ret = accepted - purged;
    return true;
}

/* ---- the first document of a day ---- */

/* Numbers per query: passing over half a million dead rows takes PostgreSQL 0.2 s. */
enum { FIRST_PORTION = 1 << 20 };

static bool first_of(struct db *db, int64_t day, int64_t *ret, struct err *err)
{
    int64_t portion = db->kind == DB_POSTGRESQL ? FIRST_PORTION : INT64_MAX, top;

    *ret = 0;
    if (!db_one_int(db, SQL_NUM_LAST, DB_NO_ARGS, 0, &top, err))
        return false;
    for (int64_t above = 0; *ret == 0 && above < top; above += portion) {
        int64_t upto = top - above <= portion ? top : above + portion;

        if (!db_one_int_slot(db, SQL_RETAIN_FIRST, day, DB_ARGS(db_int(above), db_int(upto)), 0,
                             ret, err))
            return false;
    }
    return true;
}

bool retain_first(struct store *s, int64_t day, int64_t *ret, struct err *err)
{
    AUTO(reader_back) struct reader r = reader_take(s, err);

    return r.db != NULL && first_of(r.db, day, ret, err);
}

/* ---- a slice ---- */

struct slice_op {
    struct store_op op;
    const struct retain_order *order;
    struct retain_slice *answer;
};

/* What a slice deletes, gathered before any other statement runs. */
struct taken {
    struct gone docs[RETAIN_SLICE_MOST];
    size_t count;
    struct payload_ref *places; /* of payloads, in the arena */
    int64_t *nums;
    size_t place_count, place_room;
};

/* Each statement with an answer is a round trip to PostgreSQL, during which a writer and the turn
 * are held.  Therefore one statement reads all that the guard needs. */
static bool guard_read(struct writer *w, struct retain_guard *g, int64_t *ret_present,
                       struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    bool row;

    if (!db_query(w->db, SQL_RETAIN_GUARD, DB_ARGS(db_int(TALLY_ACCEPTED), db_int(TALLY_PURGED)),
                  &rows, err) ||
        !db_next(&rows, &row, err))
        return false;
    require(row);
    *g = (struct retain_guard){ .since_us = db_get_int(&rows, RETAIN_GUARD_SINCE),
                                .day = db_get_int(&rows, RETAIN_GUARD_DAY),
                                .count = db_get_int(&rows, RETAIN_GUARD_COUNT),
                                .present = db_get_int(&rows, RETAIN_GUARD_PRESENT) };
    *ret_present = db_get_int(&rows, RETAIN_GUARD_PRESENT_NOW);
    return true;
}

static bool guard_write(struct writer *w, const struct retain_guard *g, struct err *err)
{
    return db_send(
        w->db, SQL_RETAIN_GUARD_SET,
        DB_ARGS(db_int(g->since_us), db_int(g->day), db_int(g->count), db_int(g->present)), err);
}

static void add_place(struct writer *w, struct taken *t, int64_t seg, int64_t pos, int64_t num)
{
    if (t->place_count == t->place_room) {
        size_t room = t->place_room * 2 + RETAIN_SLICE_MOST;
        struct payload_ref *places = ARENA_ARRAY(w->arena, struct payload_ref, room);
        int64_t *nums = ARENA_ARRAY(w->arena, int64_t, room);

        if (t->place_count > 0) {
            memcpy(places, t->places, t->place_count * sizeof *places);
            memcpy(nums, t->nums, t->place_count * sizeof *nums);
        }
        t->places = places;
        t->nums = nums;
        t->place_room = room;
    }
    t->places[t->place_count] = (struct payload_ref){ seg, pos };
    t->nums[t->place_count++] = num;
}

/* The timeline names the payloads that steps made. */
static void add_places_of_timeline(struct writer *w, struct taken *t, struct str timeline)
{
    struct timeline_reader r = timeline_read(timeline);
    struct timeline_line line;
    bool damaged;

    while (timeline_next(&r, &line, &damaged))
        if (line.has_bytes)
            add_place(w, t, line.seg, line.pos, line.num);
}

struct taking {
    struct writer *w;
    struct taken *taken;
    struct retain_slice *slice;
};

static bool add_gone(void *arg, struct db_rows *row, struct err *err)
{
    struct taking *k = arg;
    struct taken *t = k->taken;
    int64_t num = db_get_int(row, RETAIN_TAKE_NUM), size = db_get_int(row, RETAIN_TAKE_SIZE);

    (void)err;
    require(t->count < RETAIN_SLICE_MOST);
    t->docs[t->count++] = (struct gone){ .num = num,
                                         .size = size,
                                         .gateway = db_get_int(row, RETAIN_TAKE_GATEWAY),
                                         .sender = db_get_int(row, RETAIN_TAKE_SENDER),
                                         .receiver = db_get_int(row, RETAIN_TAKE_RECEIVER),
                                         .type = db_get_int(row, RETAIN_TAKE_DTYPE) };
    k->slice->bytes += size;
    add_place(k->w, t, db_get_int(row, RETAIN_TAKE_SEG), db_get_int(row, RETAIN_TAKE_POS), num);
    add_places_of_timeline(k->w, t, db_get_str(row, RETAIN_TAKE_TRAIL));
    return true;
}

static bool retain_take(struct writer *w, const struct retain_order *o, int64_t upto,
                        int64_t ended_upto, struct taken *t, struct retain_slice *a,
                        struct err *err)
{
    struct taking k = { .w = w, .taken = t, .slice = a };

    if (!rows_each(w->db, SQL_RETAIN_TAKE, o->day,
                   DB_ARGS(db_int(o->above), db_int(upto), db_int(ended_upto)), add_gone, &k, err))
        return false;
    a->documents = (int64_t)t->count;
    return true;
}

static int retain_by_place(const void *a, const void *b)
{
    const struct payload_ref *x = a, *y = b;

    if (x->seg != y->seg)
        return x->seg < y->seg ? -1 : 1;
    return x->pos < y->pos ? -1 : x->pos > y->pos;
}

/* A table of payloads that was dropped has none of them, whatever a damaged row says. */
static bool drop_rows_of_day(struct writer *w, int64_t day, const struct db_value *nums,
                             size_t count, struct err *err)
{
    int64_t there = 1;

    return (day == 0 || db_one_int(w->db, SQL_PART_HAS,
                                   DB_ARGS(db_int(TABLES_PAYLOAD), db_int(day)), 0, &there, err)) &&
           (there == 0 || db_batch(w->db, SQL_RETAIN_PAYLOAD, day, nums, 1, count, err));
}

/* PostgreSQL: payload rows are deleted with their documents, table by table. */
static bool drop_payload_rows(struct writer *w, const struct taken *t, struct err *err)
{
    struct db_value *v = ARENA_ARRAY(w->arena, struct db_value, t->place_count + 1);
    bool *gone = ARENA_ARRAY(w->arena, bool, t->place_count + 1);

    memset(gone, 0, t->place_count + 1);
    for (size_t i = 0; i < t->place_count; i++) {
        size_t n = 0;

        for (size_t k = i; k < t->place_count; k++)
            if (!gone[k] && t->places[k].seg == PAYLOAD_IN_TABLE &&
                t->places[i].seg == PAYLOAD_IN_TABLE && t->places[k].pos == t->places[i].pos) {
                v[n++] = db_int(t->nums[k]);
                gone[k] = true;
            }
        if (n > 0 && !drop_rows_of_day(w, t->places[i].pos, v, n, err))
            return false;
    }
    return true;
}

/* Notes each payload in a file or in pieces, and each segment once. */
static bool note_places(struct writer *w, struct taken *t, struct err *err)
{
    struct db_value *v = ARENA_ARRAY(w->arena, struct db_value, t->place_count * 3 + 1);
    size_t n = 0;

    if (w->db->kind == DB_POSTGRESQL && !drop_payload_rows(w, t, err))
        return false;
    if (t->place_count > 0) /* qsort() must not get a null pointer */
        qsort(t->places, t->place_count, sizeof *t->places, retain_by_place);
    for (size_t i = 0; i < t->place_count; i++) {
        const struct payload_ref *p = &t->places[i];
        bool segment = p->seg > 0;

        if (p->seg == PAYLOAD_IN_TABLE ||
            (i > 0 && p[-1].seg == p->seg && (segment || p[-1].pos == p->pos)))
            continue;
        if (p->seg == PAYLOAD_IN_FILE &&
            !db_run(w->db, SQL_RETAIN_LARGE, DB_ARGS(db_int(p->pos)), NULL, err))
            return false;
        v[n * 3] = db_int(p->seg);
        v[n * 3 + 1] = db_int(segment ? 0 : p->pos);
        v[n++ * 3 + 2] = db_int(segment ? 0 : 1);
    }
    return db_batch(w->db, SQL_RETAIN_GONE, DB_NO_SLOT, v, 3, n, err);
}

/* Moves the kept documents of the slice to the table RETAIN_KEPT_DAY. */
static bool spare(struct writer *w, const struct retain_order *o, struct retain_slice *a,
                  struct err *err)
{
    struct db_args range = DB_ARGS(db_int(o->above), db_int(a->upto));

    return done_ready(w, RETAIN_KEPT_DAY, err) &&
           db_run_slot(w->db, SQL_RETAIN_SPARE, o->day, range, &a->spared, err) &&
           (w->store->kind == DB_POSTGRESQL ||
            db_run_slot(w->db, SQL_RETAIN_SPARED, o->day, range, NULL, err));
}

/* The last number of the slice (0: the table is empty), and whether a document of it is kept. */
static bool measure(struct writer *w, const struct retain_order *o, int64_t *ret_upto,
                    bool *ret_kept, struct err *err)
{
    int64_t most = w->db->kind == DB_POSTGRESQL ? RETAIN_SLICE_POSTGRESQL : RETAIN_SLICE;
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    bool row;

    if (!db_query_slot(w->db, SQL_RETAIN_UPTO, o->day,
                       DB_ARGS(db_int(o->above), db_int(most), db_int(RETAIN_SLICE_BYTES)), &rows,
                       err) ||
        !db_next(&rows, &row, err))
        return false;
    *ret_upto = row ? db_get_int(&rows, RETAIN_UPTO_UPTO) : 0;
    *ret_kept = row && db_get_int(&rows, RETAIN_UPTO_KEPT) != 0;
    return true;
}

/* The parents of the parts among the purged documents, and how many parts of each: those of one
 * parent follow each other, mostly. */
struct bereaved {
    struct db_value *rows; /* of offspring_purged */
    size_t count, most;
};

static bool note_bereaved(void *arg, int64_t slot, size_t at, struct db_rows *row, struct err *err)
{
    struct bereaved *b = arg;
    int64_t parent = db_get_int(row, RETAIN_PARENTS_PARENT);

    (void)slot;
    (void)at;
    (void)err;
    if (db_get_int(row, RETAIN_PARENTS_KIND) != LINK_SPLIT)
        return true;
    for (size_t i = b->count; i > 0; i--)
        if (b->rows[(i - 1) * 2].i == parent) {
            b->rows[(i - 1) * 2 + 1].i++;
            return true;
        }
    require(b->count < b->most); /* a document is a part of one other */
    b->rows[b->count * 2] = db_int(parent);
    b->rows[b->count++ * 2 + 1] = db_int(1);
    return true;
}

/* Deletes the links to their parents and to their children, what is known of their parts, and the
 * answers that they await. */
static bool drop_links(struct writer *w, const struct taken *t, struct err *err)
{
    struct db_value *v = ARENA_ARRAY(w->arena, struct db_value, t->count + 1);
    struct bereaved b = { .rows = ARENA_ARRAY(w->arena, struct db_value, t->count * 2 + 1),
                          .most = t->count };

    for (size_t i = 0; i < t->count; i++)
        v[i] = db_int(t->docs[i].num);
    return db_batch(w->db, SQL_RETAIN_CHILDREN, DB_NO_SLOT, v, 1, t->count, err) &&
           db_batch(w->db, SQL_OFFSPRING_DROP, DB_NO_SLOT, v, 1, t->count, err) &&
           db_batch(w->db, SQL_AWAITED_DROP, DB_NO_SLOT, v, 1, t->count, err) &&
           db_find(w->db, SQL_RETAIN_PARENTS, DB_NO_SLOT, 1, v, 1, t->count, note_bereaved, &b,
                   err) &&
           db_batch(w->db, SQL_OFFSPRING_PURGED, DB_NO_SLOT, b.rows, 2, b.count, err);
}

static bool retain_let_go(struct writer *w, const struct retain_order *o, int64_t ended_upto,
                          struct retain_guard *g, struct retain_slice *a, struct err *err)
{
    struct taken *t = ARENA_NEW(w->arena, struct taken);
    bool kept;

    *t = (struct taken){ 0 };
    if (!measure(w, o, &a->upto, &kept, err))
        return false;
    if (a->upto == 0)
        return true;
    if ((kept && !spare(w, o, a, err)) || !retain_take(w, o, a->upto, ended_upto, t, a, err) ||
        !note_places(w, t, err) || !drop_links(w, t, err) ||
        (w->db->kind == DB_SQLITE && !index_forget(w, t->docs, t->count, err)))
        return false;
    struct db_value tally[] = { db_int(store_node(w->store)), db_int(w->number),
                                db_int(TALLY_PURGED), db_int(0), db_int(a->documents) };

    g->count += a->documents;
    fault_point(RETAIN_SLICE);
    return db_batch(w->db, SQL_TALLY_ADD, DB_NO_SLOT, tally, 5, 1, err) && guard_write(w, g, err);
}

/* *ret: documents that ended until then are archived.  0: none is, or the clock is behind
 * archived_us, so that a document ending now would seem to be archived. */
static bool archived_upto(struct writer *w, const struct retain_order *o, int64_t *ret,
                          struct err *err)
{
    int64_t now_us;

    if (!db_one_int(w->db, SQL_ARCHIVE_UPTO, DB_ARGS(db_int(o->day)), 0, ret, err) ||
        !db_one_int(w->db, SQL_RATE_NOW, DB_NO_ARGS, 0, &now_us, err))
        return false;
    *ret = now_us < o->archived_us ? 0 : *ret < o->archived_us ? *ret : o->archived_us;
    return true;
}

static bool slice_one(struct writer *w, struct slice_op *o, struct err *err)
{
    struct retain_guard g;
    struct retain_slice *a = o->answer;
    int64_t since_us, turn, present, ended_upto = INT64_MAX;

    *a = (struct retain_slice){ 0 };
    if (!db_one_int(w->db, SQL_RETAIN_TURN, DB_NO_ARGS, 0, &turn, err))
        return false;
    a->busy = turn == 0;
    if (a->busy)
        return true;
    if (!guard_read(w, &g, &present, err))
        return false;
    since_us = g.since_us;
    a->guarded =
        !retain_guard_lets(&g, o->order->now_us, o->order->day, present) && !o->order->unguarded;
    if (a->guarded)
        return g.since_us == since_us || guard_write(w, &g, err);
    if (o->order->archived_us != 0 && !archived_upto(w, o->order, &ended_upto, err))
        return false;
    a->unarchived = ended_upto == 0;
    return a->unarchived || retain_let_go(w, o->order, ended_upto, &g, a, err);
}

static bool slice_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++)
        if (!slice_one(w, container_of(ops[i], struct slice_op, op), err))
            return false;
    return true;
}

static void slice_committed(struct writer *w, struct store_op **ops, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if ((container_of(ops[i], struct slice_op, op))->answer->spared > 0)
            done_used(w->store, RETAIN_KEPT_DAY);
}

static const struct store_verb slice_verb = {
    .name = "let go of documents", .run = slice_run, .apart = true, .committed = slice_committed
};

bool retain_slice(struct store *s, const struct retain_order *order, struct retain_slice *ret,
                  struct err *err)
{
    struct slice_op o = { .order = order, .answer = ret };

    *ret = (struct retain_slice){ .busy = true };
    require(order->day != RETAIN_KEPT_DAY);
    if (!retain_enter(s))
        return true;
    bool ok = writers_call(s->writers, &slice_verb, &o.op, err);

    retain_leave(s);
    return ok;
}

/* ---- tables ---- */

struct table_op {
    struct store_op op;
    int64_t day;
    bool done; /* the table was closed, or dropped */
};

static bool retain_is_empty(struct writer *w, int64_t day, bool *ret, struct err *err)
{
    int64_t first;

    if (!db_one_int_slot(w->db, SQL_RETAIN_FIRST, day, DB_ARGS(db_int(0), db_int(INT64_MAX)), 0,
                         &first, err))
        return false;
    *ret = first == 0;
    return true;
}

static bool retain_close_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        struct table_op *o = container_of(ops[i], struct table_op, op);

        if (!retain_is_empty(w, o->day, &o->done, err))
            return false;
        if (o->done && (!db_run(w->db, SQL_PART_DROP, DB_ARGS(db_int(TABLES_DONE), db_int(o->day)),
                                NULL, err) ||
                        !db_run(w->db, SQL_RETAIN_EMPTY, DB_ARGS(db_int(o->day)), NULL, err)))
            return false;
    }
    return true;
}

static void close_committed(struct writer *w, struct store_op **ops, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if ((container_of(ops[i], struct table_op, op))->done)
            done_gone(w->store, (container_of(ops[i], struct table_op, op))->day);
}

static const struct store_verb close_verb = { .name = "close the table of a day",
                                              .run = retain_close_run,
                                              .apart = true,
                                              .committed = close_committed };

bool retain_close(struct store *s, int64_t day, bool *ret_closed, struct err *err)
{
    struct table_op o = { .day = day };
    int64_t first;

    *ret_closed = false;
    if (!retain_enter(s))
        return true;
    bool ok = retain_first(s, day, &first, err) &&
              (first != 0 || writers_call(s->writers, &close_verb, &o.op, err));

    retain_leave(s);
    *ret_closed = ok && o.done;
    return ok;
}

/* A node whose clock went back may have used the table since: then it is listed again. */
static bool retain_drop_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        struct table_op *o = container_of(ops[i], struct table_op, op);
        struct db_value day = db_int(o->day);

        if (!db_run_slot(w->db, SQL_RETAIN_LOCK, o->day, DB_NO_ARGS, NULL, err) ||
            !retain_is_empty(w, o->day, &o->done, err))
            return false;
        if (o->done ? !db_run(w->db, SQL_PART_DROP, DB_ARGS(db_int(TABLES_DONE), day), NULL, err) ||
                          !db_run_slot(w->db, SQL_RETAIN_DROP, o->day, DB_NO_ARGS, NULL, err)
                    : !db_run(w->db, SQL_PART_ADD, DB_ARGS(db_int(TABLES_DONE), day), NULL, err))
            return false;
        fault_point(RETAIN_DROP);
        if (!db_run(w->db, SQL_PART_DROP, DB_ARGS(db_int(TABLES_EMPTY), day), NULL, err))
            return false;
    }
    return true;
}

static const struct store_verb drop_verb = { .name = "drop the table of a day",
                                             .run = retain_drop_run,
                                             .apart = true,
                                             .committed = close_committed };

bool retain_drop(struct store *s, int64_t age_us, int64_t *ret_dropped, struct err *err)
{
    int64_t days[16];
    size_t n = 0;

    *ret_dropped = 0;
    bool ok = store_ints(s, SQL_RETAIN_EMPTIES, DB_ARGS(db_int(age_us)), days, 16, &n, err);

    for (size_t i = 0; ok && i < n && retain_enter(s); i++) {
        struct table_op o = { .day = days[i] };
        int64_t first; /* unused: retain_first() passes over dead rows for the writer */

        ok = retain_first(s, days[i], &first, err) &&
             writers_call(s->writers, &drop_verb, &o.op, err);
        *ret_dropped += ok && o.done;
        retain_leave(s);
    }
    return ok;
}

/* ---- the believed day ---- */

struct believe_op {
    struct store_op op;
    int64_t today;
    bool anew;      /* also an earlier day */
    int64_t marked; /* the day in force: another node may have seen a later one */
};

static bool believe_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        struct believe_op *o = container_of(ops[i], struct believe_op, op);

        if (!db_run(w->db, o->anew ? SQL_MARK_SET : SQL_MARK_RAISE,
                    DB_ARGS(db_text(STR("retain_today")), db_int(o->today)), NULL, err) ||
            !db_one_int(w->db, SQL_MARK_GET, DB_ARGS(db_text(STR("retain_today"))), 0, &o->marked,
                        err))
            return false;
    }
    return true;
}

static const struct store_verb believe_verb = { .name = "believe a day", .run = believe_run };

static bool retention_retain_believe(struct store *s, struct believe_op *o, struct err *err)
{
    if (!writers_call(s->writers, &believe_verb, &o->op, err))
        return false;
    done_set_floor(o->marked);
    return true;
}

bool retain_believe(struct store *s, int64_t today, struct err *err)
{
    struct believe_op o = { .today = today };

    return done_floor() >= today || retention_retain_believe(s, &o, err);
}

bool retain_believe_anew(struct store *s, int64_t today, struct err *err)
{
    struct believe_op o = { .today = today, .anew = true };

    return retention_retain_believe(s, &o, err);
}

/* ---- dead letters that are announced ---- */

#define VOID_US (INT64_C(7) * RETAIN_DAY_US)

struct announce_op {
    struct store_op op;
    int64_t now_us, until_us;
    struct retain_announced is;
};

enum { SINCE, UNTIL, TOLD, MARKS }; /* when, whom, and who was announced a day before */

static const char *const announce_marks[MARKS] = { "dead_announced", "dead_until", "dead_told" };

/* A rule that is new, or shorter by more than a day, announces at once: its letters wait for a day
 * from then on. */
static bool announce(struct db *db, struct announce_op *o, struct err *err)
{
    int64_t is[MARKS];

    for (int i = 0; i < MARKS; i++)
        if (!db_one_int(db, SQL_MARK_GET, DB_ARGS(db_text(str_of(announce_marks[i]))), 0, &is[i],
                        err))
            return false;
    int64_t ago_us = o->now_us - is[SINCE]; /* below 0: another node's clock, or it went back */
    bool is_void = ago_us < -RETAIN_DAY_US || ago_us > VOID_US;

    if (is_void)
        is[TOLD] = 0;
    else if (ago_us >= RETAIN_DAY_US && is[UNTIL] > is[TOLD])
        is[TOLD] = is[UNTIL];
    o->is.told_us = is[TOLD];
    o->is.fresh = is_void || ago_us >= RETAIN_DAY_US || o->until_us - is[UNTIL] > RETAIN_DAY_US;
    is[SINCE] = o->now_us;
    is[UNTIL] = o->until_us;
    for (int i = 0; o->is.fresh && i < MARKS; i++)
        if (!db_run(db, SQL_MARK_PUT, DB_ARGS(db_text(str_of(announce_marks[i])), db_int(is[i])),
                    NULL, err))
            return false;
    return true;
}

static bool announce_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++)
        if (!announce(w->db, container_of(ops[i], struct announce_op, op), err))
            return false;
    return true;
}

static const struct store_verb announce_verb = { .name = "announce dead letters",
                                                 .run = announce_run };

bool retain_announce(struct store *s, int64_t now_us, int64_t until_us,
                     struct retain_announced *ret, struct err *err)
{
    struct announce_op o = { .now_us = now_us, .until_us = until_us };

    if (!writers_call(s->writers, &announce_verb, &o.op, err))
        return false;
    *ret = o.is;
    return true;
}
