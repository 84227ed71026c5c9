#include "store/manual/resolve.h"

#include <stdio.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/require.h"
#include "core/timeline.h"
#include "store/audit/audit.h"
#include "store/db/rows.h"
#include "store/kernel/store_state.h"
#include "store/manual/live_deliveries.h"
#include "store/road/accept.h"
#include "store/road/claims.h"
#include "store/road/done.h"
#include "store/road/order.h"
#include "store/road/settle.h"

struct put {
    int64_t queue;
    struct claim_place place;
};

struct resolve_op {
    struct store_op op;
    const struct id *ids;
    size_t count;
    const struct resolve_order *order;
    struct operate_answer *answers;

    int64_t now_us;
    struct put *puts; /* new tasks, for the claims of SQLite (after the commit) */
    size_t put_count;
    size_t ended; /* ended documents, and the days of their tables */
    int64_t *days;
};

/* The state of one document while it runs. */
struct work {
    struct writer *w;
    struct resolve_op *op;
    const struct resolve_order *order;
    struct operate_answer *answer;
    int64_t doc;
    struct live_deliveries parts;
};

/* Returns true: a refusal is an answer, not an error. */
static bool resolve_say(struct work *k, enum operate_result result, const char *text)
{
    k->answer->result = result;
    (void)snprintf(k->answer->text, sizeof k->answer->text, "%s", text);
    return true;
}

/* False with ERR_NONE: there is no such live document. */
static bool find_document(struct work *k, const struct id *id, struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    bool row;

    return db_query(k->w->db, SQL_OPERATE_DOC, DB_ARGS(db_int(k->doc)), &rows, err) &&
           db_next(&rows, &row, err) && row && row_is_id(&rows, OPERATE_DOC_ID, id);
}

/* Whoever decides by a filter has looked at what was in doubt then, not at what came later. */
static bool is_in_time(const struct work *k, const struct live_delivery *p, bool *ret,
                       struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    bool row;

    *ret = true;
    if (k->order->before_us == 0)
        return true;
    if (!db_query(k->w->db, SQL_RESOLVE_SINCE, DB_ARGS(db_int(p->num)), &rows, err) ||
        !db_next(&rows, &row, err))
        return false;
    *ret = row && db_get_int(&rows, RESOLVE_SINCE_DIED_US) < k->order->before_us;
    return true;
}

static bool resolve_choose(struct work *k, size_t *ret_count, struct err *err)
{
    *ret_count = 0;
    for (size_t i = 0; i < k->parts.count; i++) {
        struct live_delivery *p = &k->parts.list[i];

        p->chosen = p->state == DELIVERY_IN_DOUBT &&
                    (k->order->endpoint == 0 || k->order->endpoint == p->endpoint);
        if (p->chosen && !is_in_time(k, p, &p->chosen, err))
            return false;
        *ret_count += p->chosen;
    }
    return true;
}

/* ---- the timeline ---- */

/* One line for the decision, and one for each delivery with its new state. */
static struct str lines_of(struct work *k)
{
    bool delivered = k->order->as == RESOLVE_DELIVERED;
    AUTO(buf_done) struct buf lines = BUF_INIT(TIMELINE_MOST);
    struct str reason = k->order->reason;
    const char *said =
        reason.len == 0 ? k->answer->text
                        : arena_printf(k->w->arena, "%s; %.*s", k->answer->text, STR_ARG(reason));
    struct timeline_line line = { .at_us = k->op->now_us,
                                  .node = store_node(k->w->store),
                                  .stage = TIMELINE_OPERATOR,
                                  .outcome = delivered ? TIMELINE_DONE : TIMELINE_AGAIN,
                                  .took_us = -1,
                                  .what = k->order->who,
                                  .message = str_of(said) };

    timeline_add(&lines, &line);
    line.stage = TIMELINE_DELIVERY;
    line.outcome = delivered ? TIMELINE_DELIVERED : TIMELINE_WAITS;
    line.message = delivered ? STR("resolved: its receiver has it")
                             : STR("resolved: it is sent again under the same id");
    for (size_t i = 0; i < k->parts.count; i++)
        if (k->parts.list[i].chosen) {
            line.what = name_text(k->w->store, k->parts.list[i].endpoint);
            timeline_add(&lines, &line);
        }
    return arena_copy(k->w->arena, buf_view(&lines));
}

/* "resolved as delivered: api, archive" */
static void say_done(struct work *k)
{
    AUTO(buf_done) struct buf text = BUF_INIT(64 << 10);
    const char *between = ": ";

    buf_puts(&text, k->order->as == RESOLVE_DELIVERED ? "resolved as delivered"
                                                      : "resolved, to be sent again");
    for (size_t i = 0; i < k->parts.count; i++)
        if (k->parts.list[i].chosen) {
            buf_puts(&text, between);
            buf_put(&text, name_text(k->w->store, k->parts.list[i].endpoint));
            between = ", ";
        }
    (void)resolve_say(k, OPERATE_DONE, text.ptr);
}

/* ---- the decision ---- */

static bool deliver(struct work *k, struct live_delivery *p, struct err *err)
{
    struct db_value tally[] = { db_int(store_node(k->w->store)), db_int(k->w->number),
                                db_int(TALLY_DELIVERED), db_int(p->endpoint), db_int(1) };

    require(delivery_may_move(p->state, DELIVERY_DELIVERED));
    p->state = DELIVERY_DELIVERED;
    return db_run(k->w->db, SQL_RESOLVE_DELIVERED, DB_ARGS(db_int(p->num)), NULL, err) &&
           db_batch(k->w->db, SQL_TALLY_ADD, DB_NO_SLOT, tally, 5, 1, err);
}

static bool resend(struct work *k, struct live_delivery *p, struct err *err)
{
    int64_t now = k->op->now_us;
    struct db_value row[] = { db_int(p->queue), db_int(PRIO_NORMAL), db_int(now), db_int(p->num),
                              db_int(TASK_DELIVER) };

    require(delivery_may_move(p->state, DELIVERY_READY));
    p->state = DELIVERY_READY;
    if (p->ordered) /* others of its lane may be in doubt too (restore.h): wait in the lane */
        return db_run(k->w->db, SQL_DELIVERY_AGAIN,
                      DB_ARGS(db_int(p->num), db_text(p->id), db_int(now), db_int(0)), NULL, err) &&
               db_run(k->w->db, SQL_ORDER_WAIT, DB_ARGS(db_int(p->num)), NULL, err);
    k->op->puts[k->op->put_count++] = (struct put){ p->queue, { PRIO_NORMAL, now, p->num } };
    return db_run(k->w->db, SQL_DELIVERY_AGAIN,
                  DB_ARGS(db_int(p->num), db_text(p->id), db_int(now), db_int(0)), NULL, err) &&
           db_batch(k->w->db, SQL_TASK_READY_ADD, DB_NO_SLOT, row, 5, 1, err);
}

static bool settle_parts(struct work *k, struct err *err)
{
    for (size_t i = 0; i < k->parts.count; i++) {
        struct live_delivery *p = &k->parts.list[i];

        if (p->chosen &&
            (!db_run(k->w->db, SQL_OPERATE_DEAD_DROP, DB_ARGS(db_int(p->num)), NULL, err) ||
             !(k->order->as == RESOLVE_DELIVERED ? deliver(k, p, err) : resend(k, p, err))))
            return false;
    }
    return true;
}

/* Ends the document if all its deliveries have ended. */
static bool end_or_note(struct work *k, struct err *err)
{
    struct db_value row[] = { db_int(k->doc), db_bytes(lines_of(k)) };
    enum delivery_state states[SETTLE_DELIVERIES_MOST];
    bool over = true;

    for (size_t i = 0; i < k->parts.count; i++) {
        states[i] = k->parts.list[i].state;
        over = over && delivery_is_over(states[i]);
    }
    if (!over)
        return db_batch(k->w->db, SQL_SETTLE_TRAIL, DB_NO_SLOT, row, 2, 1, err);
    struct settle_end_order end = { .doc = k->doc,
                                    .keep_days = k->order->keep_days,
                                    .state = document_derive(states, k->parts.count),
                                    .timeline = row[1].s };

    if (!settle_end(k->w, &end, err))
        return false;
    k->op->days[k->op->ended++] = end.day;
    return true;
}

static bool resolve_one(struct work *k, const struct id *id, struct err *err)
{
    bool asked = false;
    size_t chosen;

    if (!find_document(k, id, err))
        return err->kind == ERR_NONE &&
               resolve_say(k, OPERATE_NONE, "no document of this id is on its way");
    if (!live_deliveries_read(k->w, k->doc, &k->parts, err))
        return false;
    for (size_t i = 0; i < k->parts.count; i++)
        asked = asked || k->parts.list[i].sent;
    if (!resolve_choose(k, &chosen, err))
        return false;
    if (chosen == 0)
        return resolve_say(k, OPERATE_NOTHING,
                           asked ? "its receiver is being asked whether it has it"
                                 : "nothing of it is in doubt");
    say_done(k);
    return settle_parts(k, err) && end_or_note(k, err);
}

/* ---- the verb ---- */

static bool resolve_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct resolve_op *o = container_of(ops[0], struct resolve_op, op);
    struct work *k = ARENA_NEW(w->arena, struct work);

    require(count == 1);
    o->put_count = 0;
    o->puts = ARENA_ARRAY(w->arena, struct put, o->count * SETTLE_DELIVERIES_MOST);
    o->ended = 0;
    o->days = ARENA_ARRAY(w->arena, int64_t, o->count);
    o->now_us = clock_wall_us();
    for (size_t i = 0; i < o->count; i++) {
        *k = (struct work){
            .w = w, .op = o, .order = o->order, .answer = &o->answers[i], .doc = id_row(&o->ids[i])
        };
        if (!resolve_one(k, &o->ids[i], err))
            return false;
        char id[ID_TEXT];

        if (k->answer->result == OPERATE_DONE)
            audit_note_result(w, &o->op, str_of(id_text(&o->ids[i], id)), STR("in doubt"),
                              str_of(k->answer->text));
    }
    return true;
}

static void resolve_committed(struct writer *w, struct store_op **ops, size_t count)
{
    const struct resolve_op *o = container_of(ops[0], struct resolve_op, op);

    require(count == 1);
    for (size_t i = 0; i < o->ended; i++)
        if (i == 0 || o->days[i] != o->days[i - 1])
            done_used(w->store, o->days[i]);
    order_tell(w, &(struct order_batch){ 0 });
    for (size_t i = 0; w->store->claims != NULL && i < o->put_count; i++)
        claims_put_at(w->store->claims, o->puts[i].queue, o->puts[i].place);
}

static const struct store_verb resolve_verb = {
    .name = "resolve", .run = resolve_run, .notes = true, .committed = resolve_committed
};

bool resolve(struct store *s, const struct id *ids, size_t count, const struct resolve_order *order,
             struct operate_answer *ret_answers, struct err *err)
{
    struct resolve_op o = { .ids = ids, .count = count, .order = order, .answers = ret_answers };

    require(count <= OPERATE_MOST);
    return count == 0 || writers_call(s->writers, &resolve_verb, &o.op, err);
}
