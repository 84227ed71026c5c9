/* settle.c - commit 2: the result of a task, in one transaction.
 *
 * The problem.  A node has run a document through extract, route and steps, or has made one
 * attempt of a delivery.  The result touches many tables: the claim, the document, its
 * deliveries, the tasks that follow, payloads, batches, lanes, counts.  It must take effect
 * completely or not at all, and at most once: the node may die at any moment, another node may
 * have taken the task over, and deliveries of one document may end on two nodes at a time.
 *
 * The method.  settle_run() gets all settlements of the writer's group; most steps are one
 * statement for the whole group.
 *   1. start_over() resets what an earlier try of the same group left in the operations;
 *      write_records() writes records (set_record.h), and leaves out who was overtaken.
 *   2. take_ready() or take_leases() deletes the claimed tasks.  An operation whose task is gone
 *      has lost its claim: `ours` stays false and nothing more is done for it.
 *   3. sort_out() divides the rest: runs that end their document, runs whose document stays
 *      live, attempts of deliveries.
 *   4. write_the_rest() checks transitions, finds the documents whose last delivery ends here,
 *      and writes documents, deliveries and the tasks that follow.
 *   5. write_endings() moves ended documents to the table of their day and deletes their
 *      delivery rows.  A document that is delivered in its first run never had any.
 *   6. Counts and batch members follow; lanes come last, because the head of a lane depends on
 *      every row that was written before.
 *
 * Invariants
 *   (1) A task is settled at most once: the DELETE of its row decides, and a pair of id and
 *       claim is never given twice.
 *   (2) A task disappears in the transaction that writes what follows.  So a document or
 *       delivery that has not ended has a task (ready, lease, later, dead), waits in a lane, or
 *       is a member of a batch.
 *   (3) A settlement moves a stored delivery only from the state in its row along core/state.h, and
 * never after it has ended (check_moves()). (4) A document ends by its deliveries when none of them
 * is open.  The open ones are counted before this group writes deliveries; look_at_end() subtracts
 * what the group ends. (5) Bytes are durable before a row names them: segments are synced before
 * the commit (writer.h), large payloads are uploaded before the operation is queued.
 *
 * Crashes.  Before the commit the database has nothing of the group and the task still exists:
 * on SQLite its row never left task_ready, on PostgreSQL its lease stands until the node is
 * declared dead (rescue.h).  The run or the attempt is repeated; a repeated send has the same id
 * or follows the policy of its system (intent.c).  Bytes in a segment that no row names are
 * dead space.  After the commit the result is durable; what settle_committed() changes in memory
 * (claims, known tables of days) is rebuilt at the next start.  When the answer to COMMIT is
 * lost the writer asks the store (node.h); if it cannot find out, done() gets ERR_UNCERTAIN.
 *
 * Races, all on PostgreSQL, for SQLite has one writer.  A node that was declared dead fails at
 * the fence of its group (node.h).  A lease that another node took over does not match (1).  When
 * two transactions end deliveries of one document, check_moves() locks the documents that have
 * several deliveries, in the order of their numbers, before end_by_deliveries() counts: the
 * second transaction counts after the first one's commit and sees its delivery ended.
 */
#include <stdlib.h>

#include "base/arena.h"
#include "base/auto.h"
#include "base/container_of.h"
#include "base/fault.h"
#include "base/require.h"
#include "store/kernel/store_state.h"
#include "store/road/accept.h"
#include "store/road/aloft.h"
#include "store/road/awaited.h"
#include "store/road/claims.h"
#include "store/road/done.h"
#include "store/road/retain_days.h"
#include "store/road/set_record.h"
#include "store/road/settle_batch.h"
#include "store/road/settle_bytes.h"
#include "store/road/settle_order.h"
#include "store/road/settle_rows.h"
#include "store/road/settle_trim.h"
#include "store/road/term.h"

enum { FOUND = 9, OVER = 10 };

/* ---- claims ---- */

static bool settle_found_lease(void *arg, int64_t slot, size_t at, struct db_rows *row,
                               struct err *err)
{
    struct settle_op **ops = arg;

    (void)slot;
    (void)row;
    (void)err;
    ops[at]->ours = true;
    return true;
}

static bool take_leases(struct writer *w, struct settle_op **ops, size_t count, struct err *err)
{
    struct db_value *keys = ARENA_ARRAY(w->arena, struct db_value, count * 2);

    for (size_t i = 0; i < count; i++) {
        keys[i * 2] = db_int(ops[i]->task.id);
        keys[i * 2 + 1] = db_int(ops[i]->task.claim);
    }
    return db_find(w->db, SQL_SETTLE_LEASE_DROP, DB_NO_SLOT, 1, keys, 2, count, settle_found_lease,
                   ops, err);
}

static bool take_ready(struct writer *w, struct settle_op **ops, size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        const struct task *t = &ops[i]->task;
        int64_t gone;

        if (!claims_have(w->store->claims, t))
            continue;
        if (!db_run(w->db, SQL_SETTLE_READY_DROP,
                    DB_ARGS(db_int(t->queue), db_int(t->prio), db_int(t->rank), db_int(t->id)),
                    &gone, err))
            return false;
        ops[i]->ours = gone == 1;
    }
    return true;
}

/* ---- records ---- */

bool settle_records(struct writer *w, struct settle_op *o, bool *ret_done, struct err *err)
{
    if (!set_records_write(w, o, ret_done, err))
        return false;
    o->recorded = *ret_done;
    o->overtaken = !*ret_done;
    return true;
}

/* Writes the records of settlements whose claims hold, and gathers in `ret` those that are not
 * overtaken; the claims of the others are not touched.  Most have no records. */
static bool write_records(struct writer *w, struct settle_op **ops, size_t count,
                          struct settle_op **ret, size_t *ret_count, struct err *err)
{
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        struct settle_op *o = ops[i];
        bool held = true, done = true;

        if (o->record_count > 0 && !o->recorded &&
            (!task_is_held(w, &o->task, &held, err) || (held && !settle_records(w, o, &done, err))))
            return false;
        o->recorded = false; /* for the next try */
        if (done)
            ret[n++] = o;
    }
    *ret_count = n;
    return true;
}

/* ---- what may move ---- */

/* The state `sending` is never stored: the claim of the task stands for it. */
static bool may_move(enum delivery_state from, enum delivery_state to)
{
    return from == to || delivery_may_move(from, to) ||
           (delivery_may_move(from, DELIVERY_SENDING) && delivery_may_move(DELIVERY_SENDING, to));
}

struct states {
    struct settle_delivery **parts;
    size_t found;
};

static bool found_state(void *arg, int64_t slot, size_t at, struct db_rows *row, struct err *err)
{
    struct states *l = arg;
    int64_t from = db_get_int(row, SETTLE_STATES_STATE);
    enum delivery_state to = l->parts[at]->state;

    (void)slot;
    l->found++;
    l->parts[at]->is_alone = db_get_int(row, SETTLE_STATES_IS_ALONE) != 0;
    if (from < 0 || from >= DELIVERY_STATES)
        return err_set(err, ERR_PERMANENT, 0, "delivery %lld is in no state (%lld)",
                       (long long)l->parts[at]->num, (long long)from);
    return (!delivery_is_over((enum delivery_state)from) &&
            may_move((enum delivery_state)from, to)) ||
           err_set(err, ERR_PERMANENT, 0, "delivery %lld may not move from %s to %s",
                   (long long)l->parts[at]->num, delivery_states[from], delivery_states[to]);
}

/* Check that each stored delivery may make its transition.  On PostgreSQL this also locks the
 * documents that have several deliveries. */
static bool check_moves(struct group *g, struct err *err)
{
    struct db_value *keys = ARENA_ARRAY(g->w->arena, struct db_value, g->part_count * 2);
    struct states l = { .parts =
                            ARENA_ARRAY(g->w->arena, struct settle_delivery *, g->part_count) };
    size_t n = 0;

    for (size_t i = 0; i < g->our_count; i++) {
        const struct settle_op *o = g->ours[i];

        for (size_t k = 0; o->end == SETTLE_DELIVERIES && k < o->part_count; k++) {
            if (o->parts[k].num == 0)
                continue;
            keys[n * 2] = db_int(o->parts[k].num);
            keys[n * 2 + 1] = db_int(o->doc);
            l.parts[n++] = &o->parts[k];
        }
    }
    if (!db_find(g->w->db, SQL_SETTLE_STATES, DB_NO_SLOT, 1, keys, 2, n, found_state, &l, err))
        return false;
    return l.found == n || err_set(err, ERR_PERMANENT, 0, "a delivery has no row, or no document");
}

/* ---- documents that stay ---- */

static struct str whole_timeline(struct writer *w, struct str lines, struct str timeline)
{
    if (lines.len == 0 || timeline.len == 0)
        return lines.len == 0 ? timeline : lines;
    char *both = ARENA_ARRAY(w->arena, char, lines.len + timeline.len);

    memcpy(both, lines.ptr, lines.len);
    memcpy(both + lines.len, timeline.ptr, timeline.len);
    return (struct str){ both, lines.len + timeline.len };
}

static void found_row(struct db_value *v, const struct settle_op *o, struct str timeline)
{
    v[0] = db_int(o->doc);
    v[1] = db_int(o->has_facts);
    v[2] = db_int(o->sender);
    v[3] = db_int(o->receiver);
    v[4] = db_int(o->type);
    v[5] = db_int(o->route);
    v[6] = db_bytes_or_null(o->facts);
    v[7] = db_int(o->config);
    v[8] = db_bytes_or_null(timeline);
}

/* The index watermark has already passed this document: add its facets directly. */
static bool note_facets(struct writer *w, const struct settle_op *o, struct err *err)
{
    if (w->db->kind != DB_SQLITE || !o->has_facts || o->doc > w->store->indexed)
        return true;
    return db_send(w->db, SQL_FACET_FOUND,
                   DB_ARGS(db_int(o->doc), db_int(o->sender), db_int(o->receiver), db_int(o->type)),
                   err);
}

bool settle_facts(struct writer *w, struct settle_op *o, struct err *err)
{
    struct rows found = rows_of(w, SQL_SETTLE_FOUND, FOUND, 1);

    found_row(row_of(&found), o, STR(""));
    return write_rows(w, &found, err) && note_facets(w, o, err) && terms_found(w, &o, 1, err);
}

static bool write_runs(struct group *g, struct err *err)
{
    struct rows found = rows_of(g->w, SQL_SETTLE_FOUND, FOUND, g->run_count);
    struct str *lines = ARENA_ARRAY(g->w->arena, struct str, g->run_count);

    if (!settle_place_bytes(g->w, g->runs, g->run_count, lines, err))
        return false;
    for (size_t i = 0; i < g->run_count; i++) {
        struct settle_op *o = g->runs[i];

        found_row(row_of(&found), o,
                  timeline_fit(whole_timeline(g->w, lines[i], o->told), g->w->arena));
        if (!put_parts(g, o, err) || !put_task(g, o, err) || !note_facets(g->w, o, err))
            return false;
    }
    return write_rows(g->w, &found, err);
}

/* The deliveries of a document that ends in this group are only counted: their rows are deleted. */
static bool write_delivers(struct group *g, struct err *err)
{
    struct rows timelines = rows_of(g->w, SQL_SETTLE_TRAIL, 2, g->deliver_count);

    for (size_t i = 0; i < g->deliver_count; i++) {
        struct settle_op *o = g->delivers[i];

        if (o->goes) {
            if (!tally_part(g, &o->parts[0], err))
                return false;
            continue;
        }
        struct db_value *v = row_of(&timelines);

        v[0] = db_int(o->doc);
        v[1] = db_bytes_or_null(timeline_fit(o->told, g->w->arena));
        if (!put_parts(g, o, err) || !put_task(g, o, err))
            return false;
    }
    return write_rows(g->w, &timelines, err) && write_rows(g->w, &g->move, err);
}

/* ---- documents that are over ---- */

/* The settlements of one document's deliveries in this group. */
struct mates {
    struct settle_op **ops;
    size_t count;
};

struct open_docs {
    struct group *g;
    struct mates *docs;
};

static struct str settle_timeline_of(struct writer *w, const struct mates *m)
{
    struct str all = STR("");

    for (size_t i = 0; i < m->count; i++)
        all = whole_timeline(w, all, m->ops[i]->told);
    return all;
}

/* open, delivered: how many deliveries of the document were so before this group. */
static void look_at_end(struct group *g, const struct mates *m, int64_t open, int64_t delivered)
{
    for (size_t i = 0; i < m->count; i++) {
        enum delivery_state state =
            m->ops[i]->end == SETTLE_DELIVERIES ? m->ops[i]->parts[0].state : DELIVERY_READY;

        open -= delivery_is_over(state);
        delivered += state == DELIVERY_DELIVERED;
    }
    if (open > 0)
        return;
    for (size_t i = 0; i < m->count; i++)
        m->ops[i]->goes = true;
    m->ops[0]->over = true;
    if (delivered == 0 && m->ops[0]->keep_cancelled != 0)
        m->ops[0]->day = done_day(m->ops[0]->keep_cancelled);
    g->endings[g->ending_count++] =
        (struct ending){ .doc = m->ops[0]->doc,
                         .day = m->ops[0]->day,
                         .state = delivered > 0 ? DOCUMENT_DELIVERED : DOCUMENT_CANCELLED,
                         .timeline = settle_timeline_of(g->w, m),
                         .had_deliveries = true };
}

static bool found_open(void *arg, int64_t slot, size_t at, struct db_rows *row, struct err *err)
{
    struct open_docs *l = arg;

    (void)slot;
    (void)err;
    look_at_end(l->g, &l->docs[at], db_get_int(row, SETTLE_OPEN_OPEN),
                db_get_int(row, SETTLE_OPEN_DELIVERED));
    return true;
}

static bool is_alone(const struct settle_op *o)
{
    return o->end == SETTLE_DELIVERIES && o->parts[0].is_alone;
}

static int by_doc(const void *a, const void *b)
{
    const struct settle_op *const *x = a, *const *y = b;

    if ((*x)->doc != (*y)->doc)
        return (*x)->doc < (*y)->doc ? -1 : 1;
    return (*x)->task.id < (*y)->task.id ? -1 : (*x)->task.id > (*y)->task.id;
}

static int settle_by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* The documents that have a run in this group, sorted for bsearch(). */
static int64_t *run_docs(const struct group *g)
{
    int64_t *docs = ARENA_ARRAY(g->w->arena, int64_t, g->run_count);

    for (size_t i = 0; i < g->run_count; i++)
        docs[i] = g->runs[i]->doc;
    qsort(docs, g->run_count, sizeof *docs, settle_by_number);
    return docs;
}

/* Find the documents whose last open delivery ends in this group.  This precedes the writes, so
 * that no row is written only to be deleted.  A document that also has a run in this group stays
 * live: the run may add deliveries. */
static bool end_by_deliveries(struct group *g, struct err *err)
{
    struct open_docs l = { .g = g,
                           .docs = ARENA_ARRAY(g->w->arena, struct mates, g->deliver_count) };
    struct db_value *docs = ARENA_ARRAY(g->w->arena, struct db_value, g->deliver_count);
    int64_t *running = run_docs(g);
    size_t n = 0;

    qsort(g->delivers, g->deliver_count, sizeof(struct settle_op *), by_doc);
    for (size_t from = 0, to; from < g->deliver_count; from = to) {
        int64_t doc = g->delivers[from]->doc;

        for (to = from; to < g->deliver_count && g->delivers[to]->doc == doc;)
            to++;
        if (g->run_count > 0 &&
            bsearch(&doc, running, g->run_count, sizeof *running, settle_by_number) != NULL)
            continue;
        docs[n] = db_int(doc);
        l.docs[n] = (struct mates){ g->delivers + from, to - from };
        if (is_alone(g->delivers[from]))
            look_at_end(g, &l.docs[n], 1, 0);
        else
            n++;
    }
    return db_find(g->w->db, SQL_SETTLE_OPEN, DB_NO_SLOT, 1, docs, 1, n, found_open, &l, err);
}

static void over_row(struct writer *w, struct db_value *v, const struct ending *e)
{
    static const struct settle_op nothing = { 0 };
    const struct settle_op *o = e->by != NULL ? e->by : &nothing;

    v[0] = db_int(e->doc);
    v[1] = db_int(e->state);
    v[2] = db_int(o->has_facts);
    v[3] = db_int(o->sender);
    v[4] = db_int(o->receiver);
    v[5] = db_int(o->type);
    v[6] = db_int(o->route);
    v[7] = db_bytes_or_null(o->facts);
    v[8] = db_int(o->config);
    v[9] =
        db_bytes_or_null(timeline_fit(e->timeline.ptr != NULL ? e->timeline : o->told, w->arena));
}

static bool settle_end_one(struct writer *w, const struct ending *e, struct err *err)
{
    struct db_value v[OVER];
    int64_t moved;

    over_row(w, v, e);
    if (!db_run_slot(w->db, SQL_SETTLE_OVER, e->day, (struct db_args){ v, OVER }, &moved, err))
        return false;
    if (moved != 1)
        return err_set(err, ERR_PERMANENT, 0, "document %lld is not live", (long long)e->doc);
    return db_run(w->db, SQL_DOC_DROP, DB_ARGS(db_int(e->doc)), NULL, err) &&
           (e->by == NULL || note_facets(w, e->by, err));
}

bool settle_end(struct writer *w, struct settle_end_order *order, struct err *err)
{
    struct settle_op by = { .told = order->timeline };
    struct ending e = { .doc = order->doc, .state = order->state, .by = &by };
    int64_t days = order->keep_days;
    struct db_value doc = db_int(order->doc), v[OVER];
    struct group g = { .w = w };
    int64_t moved;

    over_row(w, v, &e);
    if (days == RETAIN_BY_RULE && !retain_days_for(w, order->doc, order->state, &days, err))
        return false;
    order->day = e.day = done_day(days);
    if (!done_ready(w, e.day, err) ||
        !db_run(w->db, SQL_ORDER_CLOSE_DOC, DB_ARGS(doc), NULL, err) ||
        !db_run_slot(w->db, SQL_SETTLE_OVER, e.day, (struct db_args){ v, OVER }, &moved, err))
        return false;
    if (moved != 1)
        return err_set(err, ERR_PERMANENT, 0, "document %lld is not live", (long long)e.doc);
    return (w->db->kind != DB_SQLITE || db_run(w->db, SQL_DOC_DROP, DB_ARGS(doc), NULL, err)) &&
           db_batch(w->db, SQL_DELIVERY_DROP, DB_NO_SLOT, &doc, 1, 1, err) &&
           tally(&g, TALLY_ENDED, e.state, err) && write_tallies(&g, err);
}

static bool end_at_once(struct writer *w, const struct ending *e, size_t count, struct err *err)
{
    struct db_value *rows = ARENA_ARRAY(w->arena, struct db_value, count * OVER);

    for (size_t i = 0; i < count; i++)
        over_row(w, rows + i * OVER, &e[i]);
    return db_batch(w->db, SQL_SETTLE_OVER, e->day, rows, OVER, count, err);
}

static int by_day(const void *a, const void *b)
{
    const struct ending *x = a, *y = b;

    if (x->day != y->day)
        return x->day < y->day ? -1 : 1;
    return x->doc < y->doc ? -1 : x->doc > y->doc;
}

static bool write_endings(struct group *g, struct err *err)
{
    struct rows drop = rows_of(g->w, SQL_DELIVERY_DROP, 1, g->ending_count);

    qsort(g->endings, g->ending_count, sizeof *g->endings, by_day); /* then by number: appends */
    for (size_t from = 0, to; from < g->ending_count; from = to) {
        const struct ending *e = &g->endings[from];

        for (to = from; to < g->ending_count && g->endings[to].day == e->day; to++) {
            if (g->endings[to].had_deliveries)
                *row_of(&drop) = db_int(g->endings[to].doc);
            if (!tally(g, TALLY_ENDED, g->endings[to].state, err))
                return false;
        }
        if (!done_ready(g->w, e->day, err))
            return false;
        if (g->w->db->kind == DB_POSTGRESQL && !end_at_once(g->w, e, to - from, err))
            return false;
        for (size_t i = from; g->w->db->kind == DB_SQLITE && i < to; i++)
            if (!settle_end_one(g->w, &g->endings[i], err))
                return false;
    }
    return write_rows(g->w, &drop, err);
}

bool settle_end_all(struct writer *w, struct settle_end_order *orders, size_t count,
                    struct err *err)
{
    struct group *g = ARENA_NEW(w->arena, struct group);

    *g = (struct group){ .w = w, .endings = ARENA_ARRAY(w->arena, struct ending, count) };
    for (size_t i = 0; i < count; i++) {
        orders[i].day = done_day(orders[i].keep_days);
        g->endings[g->ending_count++] = (struct ending){ .doc = orders[i].doc,
                                                         .day = orders[i].day,
                                                         .state = orders[i].state,
                                                         .timeline = orders[i].timeline };
    }
    return write_endings(g, err) && write_tallies(g, err);
}

/* ---- the verb ---- */

/* An earlier try of the group, rolled back, may have numbered the new deliveries. */
static void start_over(struct settle_op *o)
{
    bool run = o->task.kind == TASK_RUN;

    require(run || o->end == SETTLE_DELIVERIES || o->end == SETTLE_AGAIN);
    require(o->part_count <= SETTLE_DELIVERIES_MOST &&
            (o->end != SETTLE_DELIVERIES || o->part_count > 0));
    require(run || o->end != SETTLE_DELIVERIES ||
            (o->part_count == 1 && o->parts[0].num == o->task.id));
    o->ours = o->over = o->goes = o->overtaken = false;
    o->told = o->timeline;
    o->going = (struct order_batch){ 0 };
    o->went.id = 0;
    o->day = done_day(o->keep_days);
    for (size_t i = 0; i < o->part_count; i++) {
        if (o->parts[i].is_new)
            o->parts[i].num = 0;
        o->parts[i].is_new = false;
    }
}

/* True when the document ends with this run.  New deliveries that have all ended get no rows. */
static bool settle_is_over(const struct settle_op *o, enum document_state *ret_state)
{
    enum delivery_state states[SETTLE_DELIVERIES_MOST];

    *ret_state = o->state;
    if (o->end != SETTLE_DELIVERIES)
        return o->end == SETTLE_OVER;
    for (size_t i = 0; i < o->part_count; i++) {
        if (!delivery_is_over(o->parts[i].state) || o->parts[i].num != 0)
            return false;
        states[i] = o->parts[i].state;
    }
    *ret_state = document_derive(states, o->part_count);
    return true;
}

static bool sort_out(struct group *g, struct settle_op **ops, size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        struct settle_op *o = ops[i];
        enum document_state state;

        if (!o->ours)
            continue;
        g->ours[g->our_count++] = o;
        g->part_count += o->part_count;
        if (o->task.kind != TASK_RUN) {
            g->delivers[g->deliver_count++] = o;
        } else if (settle_is_over(o, &state)) {
            o->over = true;
            g->endings[g->ending_count++] = (struct ending){ .doc = o->doc,
                                                             .day = o->day,
                                                             .state = state,
                                                             .by = o,
                                                             .had_deliveries = !o->is_first };
            for (size_t k = 0; k < o->part_count; k++)
                if (!tally_part(g, &o->parts[k], err))
                    return false;
        } else {
            g->runs[g->run_count++] = o;
        }
    }
    return true;
}

static bool has_bytes(const struct settle_op *o)
{
    for (size_t i = 0; i < o->part_count; i++)
        if (o->parts[i].bytes != NULL)
            return true;
    return o->stage_count > 0;
}

/* Store the bytes that steps made also for documents that end: the timeline names them. */
static bool place_ended(struct group *g, struct err *err)
{
    struct settle_op **ops = ARENA_ARRAY(g->w->arena, struct settle_op *, g->ending_count);
    struct ending **of = ARENA_ARRAY(g->w->arena, struct ending *, g->ending_count);
    struct str *lines = ARENA_ARRAY(g->w->arena, struct str, g->ending_count);
    size_t n = 0;

    for (size_t i = 0; i < g->ending_count; i++)
        if (g->endings[i].by != NULL && has_bytes(g->endings[i].by)) {
            of[n] = &g->endings[i];
            ops[n++] = g->endings[i].by;
        }
    if (n > 0 && !settle_place_bytes(g->w, ops, n, lines, err))
        return false;
    for (size_t i = 0; i < n; i++)
        of[i]->timeline = whole_timeline(g->w, lines[i], ops[i]->told);
    return true;
}

static struct group settle_group_of(struct writer *w, size_t count)
{
    return (struct group){ .w = w,
                           .ours = ARENA_ARRAY(w->arena, struct settle_op *, count),
                           .runs = ARENA_ARRAY(w->arena, struct settle_op *, count),
                           .delivers = ARENA_ARRAY(w->arena, struct settle_op *, count),
                           .endings = ARENA_ARRAY(w->arena, struct ending, count) };
}

/* Everything but the endings of documents that end in their run. */
static bool write_the_rest(struct group *g, struct err *err)
{
    make_room(g);
    return check_moves(g, err) && settle_trim(g->w, g->ours, g->our_count, err) &&
           end_by_deliveries(g, err) && write_runs(g, err) && write_delivers(g, err) &&
           write_rows(g->w, &g->add, err) && write_rows(g->w, &g->ready, err) &&
           write_rows(g->w, &g->later, err) && write_rows(g->w, &g->dead, err);
}

static bool settle_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct settle_op **all = ARENA_ARRAY(w->arena, struct settle_op *, count);
    struct settle_op **current = ARENA_ARRAY(w->arena, struct settle_op *, count);
    struct group *g = ARENA_NEW(w->arena, struct group);
    size_t n;

    for (size_t i = 0; i < count; i++) {
        all[i] = container_of(ops[i], struct settle_op, op);
        start_over(all[i]);
    }
    if (!write_records(w, all, count, current, &n, err) ||
        (w->db->kind == DB_SQLITE ? !take_ready(w, current, n, err)
                                  : !take_leases(w, current, n, err)))
        return false;
    *g = settle_group_of(w, count);
    if (!sort_out(g, all, count, err) || !settle_place_answers(w, g->ours, g->our_count, err) ||
        !place_ended(g, err) || !aloft_settled(w, g->ours, g->our_count, err) ||
        !terms_found(w, g->ours, g->our_count, err) ||
        !awaited_settled(w, g->ours, g->our_count, err) ||
        (g->run_count + g->deliver_count > 0 && !write_the_rest(g, err)) || !write_endings(g, err))
        return false;
    fault_point(SETTLE_WRITTEN);
    return write_tallies(g, err) && settle_batch(w, g->ours, g->our_count, err) &&
           settle_order(w, g->ours, g->our_count, &all[0]->going, err);
}

/* ---- after the commit ---- */

static void free_claim(struct claims *c, const struct settle_op *o)
{
    const struct task *t = &o->task;

    claims_drop(c, t);
    if (o->end == SETTLE_AGAIN && o->due_us == 0)
        claims_put_at(c, t->queue, (struct claim_place){ t->prio, t->rank, t->id });
    for (size_t i = 0; o->end == SETTLE_DELIVERIES && !o->over && i < o->part_count; i++)
        if (o->parts[i].state == DELIVERY_READY && !(o->parts[i].is_new && o->parts[i].lane != 0))
            claims_put_at(
                c, o->parts[i].queue,
                (struct claim_place){ prio_of(o, &o->parts[i]), t->rank, o->parts[i].num });
}

static void settle_committed(struct writer *w, struct store_op **ops, size_t count)
{
    int64_t day = -1;

    for (size_t i = 0; i < count; i++) {
        const struct settle_op *o = container_of(ops[i], struct settle_op, op);

        if (o->over && o->day != day)
            done_used(w->store, day = o->day);
        if (o->ours && w->db->kind == DB_SQLITE)
            free_claim(w->store->claims, o);
        if (o->going.count > 0) {
            order_tell(w, &o->going);
            settle_order_went(ops, count, &o->going);
        }
    }
}

const struct store_verb settle_verb = { .name = "settle",
                                        .run = settle_run,
                                        .committed = settle_committed };
