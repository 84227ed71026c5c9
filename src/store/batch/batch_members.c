#include "store/batch/batch_members.h"

#include <stdio.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/fault.h"
#include "base/require.h"
#include "core/timeline.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"
#include "store/road/accept.h"
#include "store/road/claims.h"
#include "store/road/done.h"
#include "store/road/retain_days.h"
#include "store/road/settle.h"

/* ---- a member that cannot be joined ---- */

struct aside_op {
    struct store_op op;
    const struct batch *batch;
    const struct batch_member *member;
    struct str code, message;
    bool ours;
};

static struct str batch_members_line_of(struct writer *w, enum timeline_stage stage,
                                        enum timeline_outcome outcome, struct str what,
                                        struct str message)
{
    AUTO(buf_done) struct buf line = BUF_INIT(TIMELINE_MOST);

    timeline_add(&line, &(struct timeline_line){ .at_us = clock_wall_us(),
                                                 .node = store_node(w->store),
                                                 .stage = stage,
                                                 .outcome = outcome,
                                                 .took_us = -1,
                                                 .what = what,
                                                 .message = message });
    return arena_copy(w->arena, buf_view(&line));
}

static bool drop_member(struct writer *w, int64_t batch, int64_t doc, int64_t size, struct err *err)
{
    struct db_value row[] = { db_int(batch), db_int(doc) };

    return db_batch(w->db, SQL_BATCH_MEMBER_DROP, DB_NO_SLOT, row, 2, 1, err) &&
           db_run(w->db, SQL_BATCH_SHRINK, DB_ARGS(db_int(batch), db_int(size)), NULL, err);
}

static bool aside_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct aside_op *o = container_of(ops[0], struct aside_op, op);
    int64_t doc = o->member->doc;

    require(count == 1);
    if (!batch_is_ours(w, o->batch, &o->ours, err) || !o->ours)
        return err->kind == ERR_NONE;
    struct str line =
        batch_members_line_of(w, TIMELINE_STEP, TIMELINE_DEAD, STR("batch"), o->message);
    struct db_value timeline[] = { db_int(doc), db_bytes(line) };
    struct db_value dead[] = {
        db_int(doc),      db_int(QUEUE_INTAKE), db_int(PRIO_NORMAL), db_int(TASK_RUN),
        db_text(o->code), db_text(o->message),  db_int(1),           db_int(0),
        db_int(0)
    };
    struct db_value tally[] = { db_int(store_node(w->store)), db_int(w->number), db_int(TALLY_DEAD),
                                db_int(0), db_int(1) };

    return drop_member(w, o->batch->num, doc, o->member->source.size, err) &&
           db_batch(w->db, SQL_TASK_DEAD_PUT, DB_NO_SLOT, dead, 9, 1, err) &&
           db_batch(w->db, SQL_TALLY_ADD, DB_NO_SLOT, tally, 5, 1, err) &&
           db_batch(w->db, SQL_SETTLE_TRAIL, DB_NO_SLOT, timeline, 2, 1, err);
}

static const struct store_verb aside_verb = { .name = "set member aside", .run = aside_run };

bool batch_aside(struct store *s, const struct batch *b, const struct batch_member *m,
                 struct str code, struct str message, bool *ret_ours, struct err *err)
{
    struct aside_op o = { .batch = b, .member = m, .code = code, .message = message };

    if (!writers_call(s->writers, &aside_verb, &o.op, err))
        return false;
    *ret_ours = o.ours;
    return true;
}

/* ---- some members at a time ---- */

/* Removes members; with the last ones the batch ends. */
static bool drop_some(struct writer *w, int64_t batch, const int64_t *docs, size_t count, bool last,
                      struct err *err)
{
    struct db_value *rows = ARENA_ARRAY(w->arena, struct db_value, count * 2);

    for (size_t i = 0; i < count; i++) {
        rows[i * 2] = db_int(batch);
        rows[i * 2 + 1] = db_int(docs[i]);
    }
    return db_batch(w->db, SQL_BATCH_MEMBER_DROP, DB_NO_SLOT, rows, 2, count, err) &&
           (!last || db_run(w->db, SQL_BATCH_ENDED, DB_ARGS(db_int(batch)), NULL, err));
}

struct goers {
    struct arena *arena;
    int64_t *docs;
    size_t count;
};

static bool add_goer(void *arg, struct db_rows *row, struct err *err)
{
    struct goers *to = arg;

    (void)err;
    if (to->docs == NULL)
        to->docs = ARENA_ARRAY(to->arena, int64_t, (size_t)db_get_int(row, BATCH_IN_ORDER_MEMBERS));
    to->docs[to->count++] = db_get_int(row, BATCH_IN_ORDER_DOC);
    return true;
}

bool batch_who_goes(struct store *s, struct arena *a, struct batch_going *g, struct err *err)
{
    AUTO(reader_back) struct reader r = reader_take(s, err);
    struct goers to = { .arena = a };

    if (r.db == NULL || !rows_each(r.db, SQL_BATCH_IN_ORDER, DB_NO_SLOT,
                                   DB_ARGS(db_int(g->batch->num)), add_goer, &to, err))
        return false;
    g->docs = to.docs;
    g->count = to.count;
    g->gone = 0;
    return true;
}

struct go_op {
    struct store_op op;
    const struct batch *batch;
    int64_t config, now_us;
    const int64_t *docs;
    size_t count;
    bool last, ours;
};

/* A member that leaves invalidates the claim (batch_anew): while it holds, the list is right. */
static bool go_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    enum { READY = 5, GO = 3 };
    struct go_op *o = container_of(ops[0], struct go_op, op);

    require(count == 1);
    if (!batch_is_ours(w, o->batch, &o->ours, err) || !o->ours)
        return err->kind == ERR_NONE;
    struct db_value *docs = ARENA_ARRAY(w->arena, struct db_value, o->count);
    struct db_value *ready = ARENA_ARRAY(w->arena, struct db_value, o->count * READY);
    struct db_value *go = ARENA_ARRAY(w->arena, struct db_value, o->count * GO);

    o->now_us = clock_wall_us();
    for (size_t i = 0; i < o->count; i++) {
        struct db_value *v = ready + i * READY, *g = go + i * GO;

        v[0] = db_int(QUEUE_INTAKE);
        v[1] = db_int(PRIO_NORMAL);
        v[2] = db_int(o->now_us);
        v[3] = g[0] = docs[i] = db_int(o->docs[i]);
        v[4] = db_int(TASK_RUN);
        g[1] = db_int(o->batch->name);
        g[2] = db_int(o->config);
    }
    fault_point(BATCH_STORED);
    return db_batch(w->db, SQL_BATCH_GO, DB_NO_SLOT, go, GO, o->count, err) &&
           db_batch(w->db, SQL_ORDER_REOPEN, DB_NO_SLOT, docs, 1, o->count, err) &&
           db_batch(w->db, SQL_TASK_READY_ADD, DB_NO_SLOT, ready, READY, o->count, err) &&
           drop_some(w, o->batch->num, o->docs, o->count, o->last, err);
}

static void go_committed(struct writer *w, struct store_op **ops, size_t count)
{
    const struct go_op *o = container_of(ops[0], struct go_op, op);
    int64_t least = INT64_MAX;

    require(count == 1);
    if (w->store->claims == NULL || !o->ours || o->count == 0)
        return;
    for (size_t i = 0; i < o->count; i++) /* the claimer finds what is behind the lowest */
        least = o->docs[i] < least ? o->docs[i] : least;
    claims_put_at(w->store->claims, QUEUE_INTAKE,
                  (struct claim_place){ PRIO_NORMAL, o->now_us, least });
}

static const struct store_verb go_verb = { .name = "let members go",
                                           .run = go_run,
                                           .committed = go_committed };

bool batch_let_go(struct store *s, struct batch_going *g, struct err *err)
{
    size_t left = g->count - g->gone;
    bool last = left <= BATCH_PAGE_MOST;
    struct go_op o = { .batch = g->batch,
                       .config = g->config,
                       .docs = left > 0 ? g->docs + g->gone : NULL,
                       .count = last ? left : BATCH_PAGE_MOST,
                       .last = last };

    if (!writers_call(s->writers, &go_verb, &o.op, err))
        return false;
    g->ours = o.ours;
    g->gone += o.ours ? o.count : 0;
    return true;
}

/* ---- ending ---- */

static void read_over(struct db_rows *row, struct arena *a, void *to)
{
    struct batch_over *b = to;

    (void)a;
    *b = (struct batch_over){ .num = db_get_int(row, BATCH_OVER_NUM),
                              .doc = db_get_int(row, BATCH_OVER_DOC) };
    (void)batch_read_id(db_get_str(row, BATCH_OVER_DOC_ID), &b->doc_id);
}

bool batch_over(struct store *s, int64_t after, struct batch_over *ret, size_t most,
                size_t *ret_count, struct err *err)
{
    return store_collect(s, SQL_BATCH_OVER, DB_ARGS(db_int(after), db_int(most)),
                         ROWS_INTO(ret, most, NULL, read_over), ret_count, err);
}

struct some {
    int64_t docs[BATCH_PAGE_MOST], types[BATCH_PAGE_MOST];
    size_t count;
};

static bool add_some(void *arg, struct db_rows *row, struct err *err)
{
    struct some *to = arg;

    (void)err;
    to->docs[to->count] = db_get_int(row, BATCH_TAKE_DOC);
    to->types[to->count++] = db_get_int(row, BATCH_TAKE_DTYPE);
    return to->count < BATCH_PAGE_MOST;
}

struct end_op {
    struct store_op op;
    const struct batch_over *batch;
    enum document_state state;
    int64_t keep_days;
    struct some some;
    int64_t days[BATCH_PAGE_MOST]; /* the days of their tables */
};

/* Members may have types with different retention rules. */
static int64_t keep_days_of(struct writer *w, const struct end_op *o, size_t at)
{
    return o->keep_days != RETAIN_BY_RULE ? o->keep_days
                                          : retain_days(w->store, o->some.types[at], o->state);
}

static bool end_members(struct writer *w, struct end_op *o, struct err *err)
{
    struct settle_end_order *orders = ARENA_ARRAY(w->arena, struct settle_end_order, o->some.count);
    char id[ID_TEXT], text[120];

    (void)snprintf(text, sizeof text, "batched: the document of its batch is %s",
                   id_text(&o->batch->doc_id, id));
    struct str line = batch_members_line_of(
        w, TIMELINE_DOCUMENT, o->state == DOCUMENT_DONE ? TIMELINE_DONE : TIMELINE_CANCELLED,
        STR("batch"), str_of(text));

    for (size_t i = 0; i < o->some.count; i++)
        orders[i] = (struct settle_end_order){ .doc = o->some.docs[i],
                                               .keep_days = keep_days_of(w, o, i),
                                               .state = o->state,
                                               .timeline = line };
    if (o->some.count > 0 && !settle_end_all(w, orders, o->some.count, err))
        return false;
    for (size_t i = 0; i < o->some.count; i++)
        o->days[i] = orders[i].day;
    return true;
}

static bool batch_members_end_run(struct writer *w, struct store_op **ops, size_t count,
                                  struct err *err)
{
    struct end_op *o = container_of(ops[0], struct end_op, op);
    int64_t there;

    require(count == 1);
    o->some.count = 0;
    if (!db_one_int(w->db, SQL_BATCH_END_LOCK, DB_ARGS(db_int(o->batch->num), db_int(BATCH_CLOSED)),
                    0, &there, err))
        return false;
    if (there == 0)
        return true; /* another node has ended them */
    if (!rows_each(w->db, SQL_BATCH_TAKE, DB_NO_SLOT,
                   DB_ARGS(db_int(o->batch->num), db_int(BATCH_PAGE_MOST)), add_some, &o->some,
                   err) ||
        !end_members(w, o, err))
        return false;
    fault_point(BATCH_ENDING);
    return drop_some(w, o->batch->num, o->some.docs, o->some.count, o->some.count < BATCH_PAGE_MOST,
                     err);
}

static void end_committed(struct writer *w, struct store_op **ops, size_t count)
{
    const struct end_op *o = container_of(ops[0], struct end_op, op);

    require(count == 1);
    for (size_t i = 0; i < o->some.count; i++)
        if (i == 0 || o->days[i] != o->days[i - 1])
            done_used(w->store, o->days[i]);
}

static const struct store_verb end_verb = { .name = "end batch",
                                            .run = batch_members_end_run,
                                            .committed = end_committed };

bool batch_end(struct store *s, const struct batch_over *b, enum document_state state,
               int64_t keep_days, bool *ret_left, struct err *err)
{
    struct end_op o = { .batch = b, .state = state, .keep_days = keep_days };

    if (!writers_call(s->writers, &end_verb, &o.op, err))
        return false;
    *ret_left = o.some.count == BATCH_PAGE_MOST;
    return true;
}

/* ---- for the store itself ---- */

static void read_membership(struct db_rows *row, struct arena *a, void *to)
{
    struct batch_at *at = to;

    *at = (struct batch_at){ .num = db_get_int(row, MEMBERSHIP_NUM),
                             .name = db_get_int(row, MEMBERSHIP_NAME),
                             .state = (enum batch_state)db_get_int(row, MEMBERSHIP_STATE),
                             .code = row_text(row, MEMBERSHIP_CODE, a),
                             .message = row_text(row, MEMBERSHIP_MESSAGE, a),
                             .size = db_get_int(row, MEMBERSHIP_SIZE) };
    at->has_doc = batch_read_id(db_get_str(row, MEMBERSHIP_DOC_ID), &at->doc_id);
}

bool batch_of(struct db *db, int64_t doc, bool lock, struct arena *a, struct batch_at *ret,
              struct err *err)
{
    bool there;

    *ret = (struct batch_at){ 0 };
    return rows_one(db, lock ? SQL_BATCH_OF_MEMBER_LOCKED : SQL_BATCH_OF_MEMBER, DB_NO_SLOT,
                    DB_ARGS(db_int(doc)), read_membership, a, ret, &there, err);
}

bool batch_leave(struct writer *w, int64_t doc, const struct batch_at *at, struct err *err)
{
    return drop_member(w, at->num, doc, at->size, err) &&
           db_run(w->db, SQL_BATCH_ANEW, DB_ARGS(db_int(at->num)), NULL, err) &&
           db_run(w->db, SQL_BATCH_FORGET_EMPTY, DB_ARGS(db_int(at->num)), NULL, err);
}
