#include "store/manual/operate.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/require.h"
#include "core/state.h"
#include "core/timeline.h"
#include "store/audit/audit.h"
#include "store/batch/batch_members.h"
#include "store/db/rows.h"
#include "store/kernel/store_state.h"
#include "store/manual/live_deliveries.h"
#include "store/manual/place.h"
#include "store/road/accept.h"
#include "store/road/claims.h"
#include "store/road/done.h"
#include "store/road/link.h"
#include "store/road/order.h"
#include "store/road/retain_days.h"
#include "store/road/settle.h"
#include "store/search/document.h"

enum { PARTS_MOST = SETTLE_DELIVERIES_MOST, TIMELINE_LINE = TIMELINE_MOST };

const char *const operate_results[] = {
    [OPERATE_DONE] = "done",
    [OPERATE_NONE] = "unknown",
    [OPERATE_BUSY] = "busy",
    [OPERATE_NOTHING] = "nothing",
};

/* Where a task was put, for the claims of SQLite (after the commit). */
struct put {
    int64_t queue;
    struct claim_place place;
};

struct operate_op {
    struct store_op op;
    enum operate_action action;
    const struct operate_target *targets;
    size_t count;
    const struct operate_order *order;
    struct operate_answer *answers;

    int64_t now_us;
    struct put *puts;
    size_t put_count, put_room;
    size_t ended; /* ended documents, and the days of their tables */
    int64_t *days;
};

/* The state of one target while it runs. */
struct work {
    struct writer *w;
    struct operate_op *op;
    const struct operate_order *order;
    const struct operate_target *target;
    struct operate_answer *answer;
    int64_t doc, received_us, again, now_us;
    bool has_facts; /* a run that starts again begins at the router */
    struct live_deliveries parts;
};

static bool operate_say(struct work *k, enum operate_result result, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns true: a refusal is an answer, not an error. */
static bool operate_say(struct work *k, enum operate_result result, const char *fmt, ...)
{
    va_list ap;

    k->answer->result = result;
    va_start(ap, fmt);
    (void)vsnprintf(k->answer->text, sizeof k->answer->text, fmt, ap);
    va_end(ap);
    return true;
}

static bool say_busy(struct work *k)
{
    return operate_say(k, OPERATE_BUSY, "it is being worked on or being sent right now; try again");
}

static bool say_sending(struct work *k, const struct live_delivery *p)
{
    return operate_say(k, OPERATE_BUSY, "%.*s: being sent right now; what comes of it is recorded",
                       STR_ARG(name_text(k->w->store, p->endpoint)));
}

/* ---- tasks ---- */

static void note_put(struct work *k, int64_t queue, struct claim_place place)
{
    struct operate_op *o = k->op;

    for (size_t i = 0; i < o->put_count; i++) /* the claimer finds what is behind the lowest */
        if (o->puts[i].queue == queue) {
            if (place.id < o->puts[i].place.id)
                o->puts[i].place.id = place.id;
            return;
        }
    require(o->put_count < o->put_room);
    o->puts[o->put_count++] = (struct put){ queue, place };
}

static bool operate_put_ready(struct work *k, int64_t queue, int64_t task, int64_t kind,
                              struct err *err)
{
    int64_t prio = k->order->bulk ? PRIO_BULK : PRIO_NORMAL;
    struct db_value row[] = { db_int(queue), db_int(prio), db_int(k->now_us), db_int(task),
                              db_int(kind) };

    note_put(k, queue, (struct claim_place){ prio, k->now_us, task });
    return db_batch(k->w->db, SQL_TASK_READY_ADD, DB_NO_SLOT, row, 5, 1, err);
}

/* ---- the document ---- */

/* The timeline line has the text of the answer. */
static struct str operate_line_of(struct work *k, enum timeline_outcome outcome, int64_t config)
{
    AUTO(buf_done) struct buf line = BUF_INIT(TIMELINE_LINE);

    timeline_add(&line, &(struct timeline_line){ .at_us = k->now_us,
                                                 .node = store_node(k->w->store),
                                                 .stage = TIMELINE_OPERATOR,
                                                 .outcome = outcome,
                                                 .took_us = -1,
                                                 .config = config,
                                                 .what = k->order->who,
                                                 .message = str_of(k->answer->text) });
    return arena_copy(k->w->arena, buf_view(&line));
}

static bool operate_add_line(struct work *k, enum timeline_outcome outcome, int64_t config,
                             struct err *err)
{
    struct db_value row[] = { db_int(k->doc), db_bytes(operate_line_of(k, outcome, config)) };

    return db_batch(k->w->db, SQL_SETTLE_TRAIL, DB_NO_SLOT, row, 2, 1, err);
}

/* Unless all was cancelled a receiver may have the document: then its retention rule decides. */
static bool end_document(struct work *k, enum document_state state, struct err *err)
{
    int64_t keep_days = state == DOCUMENT_CANCELLED ? k->order->keep_days : RETAIN_BY_RULE;
    struct settle_end_order order = { .doc = k->doc,
                                      .keep_days = keep_days,
                                      .state = state,
                                      .timeline = operate_line_of(k, TIMELINE_CANCELLED, 0) };

    if (!settle_end(k->w, &order, err))
        return false;
    k->op->days[k->op->ended++] = order.day;
    return true;
}

/* Adds a run task; the row says where the run begins (operate.h). */
static bool start_run(struct work *k, int64_t config, struct err *err)
{
    bool forget = k->order->from == RETRY_EXTRACT;
    struct db_value doc = db_int(k->doc);
    const char *where = forget || !k->has_facts ? "extraction" : "the router";

    if (config != 0)
        (void)operate_say(k, OPERATE_DONE, "it starts again at %s with version %lld", where,
                          (long long)config);
    else
        (void)operate_say(k, OPERATE_DONE, "it is sent again as it was, with the version that ran");
    return (!forget || db_run(k->w->db, SQL_OPERATE_FORGET, DB_ARGS(doc), NULL, err)) &&
           (!k->order->again || db_run(k->w->db, SQL_OFFSPRING_ANEW, DB_ARGS(doc), NULL, err)) &&
           db_run(k->w->db, SQL_OPERATE_VERSION,
                  DB_ARGS(db_int(k->doc), db_int(config), db_int(k->order->again)), NULL, err) &&
           db_batch(k->w->db, SQL_ORDER_REOPEN, DB_NO_SLOT, &doc, 1, 1, err) &&
           operate_put_ready(k, QUEUE_INTAKE, k->doc, TASK_RUN, err) &&
           operate_add_line(k, TIMELINE_AGAIN, config, err);
}

/* ---- deliveries ---- */

static size_t operate_choose(struct work *k, unsigned states)
{
    size_t n = 0;

    for (size_t i = 0; i < k->parts.count; i++) {
        struct live_delivery *p = &k->parts.list[i];

        p->chosen = (states >> p->state & 1) != 0 &&
                    (k->target->delivery == 0 || k->target->delivery == p->num);
        n += p->chosen;
    }
    return n;
}

static bool has_state(const struct work *k, unsigned states)
{
    for (size_t i = 0; i < k->parts.count; i++)
        if ((states >> k->parts.list[i].state & 1) != 0)
            return true;
    return false;
}

static bool was_sent(const struct work *k)
{
    for (size_t i = 0; i < k->parts.count; i++)
        if (k->parts.list[i].sent)
            return true;
    return false;
}

/* Finds the tasks of the chosen deliveries before anything is changed.  False with ERR_NONE: one is
 * claimed, and the answer says so. */
static bool find_parts(struct work *k, struct err *err)
{
    for (size_t i = 0; i < k->parts.count; i++) {
        struct live_delivery *p = &k->parts.list[i];

        if (!p->chosen || delivery_is_over(p->state) || p->waits)
            continue;
        if (!place_find(k->w, &(struct place_ask){ p->num, p->queue, k->received_us, p->due_us },
                        &p->place, err))
            return false;
        if (p->place.at == PLACE_NONE) {
            (void)say_sending(k, p);
            return false;
        }
    }
    return true;
}

static bool drop_parts(struct work *k, struct err *err)
{
    for (size_t i = 0; i < k->parts.count; i++)
        if (k->parts.list[i].chosen &&
            !place_drop(k->w, k->parts.list[i].num, &k->parts.list[i].place, err))
            return false;
    return true;
}

/* "2 deliveries WHAT: api, archive" */
static void say_parts(struct work *k, const char *one, const char *many)
{
    AUTO(buf_done) struct buf names = BUF_INIT(64 << 10);
    size_t n = 0;

    for (size_t i = 0; i < k->parts.count; i++)
        if (k->parts.list[i].chosen) {
            buf_puts(&names, n++ == 0 ? "" : ", ");
            buf_put(&names, name_text(k->w->store, k->parts.list[i].endpoint));
        }
    (void)operate_say(k, OPERATE_DONE, "%zu %s: %s", n, n == 1 ? one : many, names.ptr);
}

/* Replaces the suffix of an earlier restart, if any, by that of this one. */
static struct str new_id(struct work *k, struct str id)
{
    static const struct str word = { ".again", 6 };
    size_t len = id.len;

    while (len > 0 && id.ptr[len - 1] >= '0' && id.ptr[len - 1] <= '9')
        len--;
    if (len < id.len && len > word.len && str_eq(str_mem(id.ptr + len - word.len, word.len), word))
        id.len = len - word.len;
    return str_of(
        arena_printf(k->w->arena, "%.*s.again%lld", STR_ARG(id), (long long)k->again + 1));
}

static bool send_part(struct work *k, const struct live_delivery *p, bool anew, struct err *err)
{
    return place_drop(k->w, p->num, &p->place, err) &&
           db_run(k->w->db, SQL_DELIVERY_AGAIN,
                  DB_ARGS(db_int(p->num), db_text(anew ? new_id(k, p->id) : p->id),
                          db_int(k->now_us), db_int(anew)),
                  NULL, err) &&
           (p->left || operate_put_ready(k, p->queue, p->num, TASK_DELIVER, err));
}

static bool send_parts(struct work *k, struct err *err)
{
    bool any_anew = false;

    for (size_t i = 0; i < k->parts.count; i++) {
        const struct live_delivery *p = &k->parts.list[i];
        bool anew = k->order->again && p->state != DELIVERY_RETRYING;

        if (p->chosen && !send_part(k, p, anew, err))
            return false;
        any_anew = any_anew || (p->chosen && anew);
    }
    return !any_anew || db_run(k->w->db, SQL_OPERATE_VERSION,
                               DB_ARGS(db_int(k->doc), db_int(0), db_int(1)), NULL, err);
}

/* ---- retry ---- */

#define BIT(state) (1u << (state))

static bool say_nothing_to_send(struct work *k)
{
    if (has_state(k, BIT(DELIVERY_READY) | BIT(DELIVERY_RETRYING)))
        return operate_say(k, OPERATE_NOTHING, "it is waiting for its turn already");
    if (has_state(k, BIT(DELIVERY_IN_DOUBT)))
        return operate_say(
            k, OPERATE_NOTHING,
            "it is in doubt whether its receiver has it; `docs resolve` settles that");
    return operate_say(k, OPERATE_NOTHING,
                       "nothing of it is dead; --again sends what was delivered again");
}

static bool retry_parts(struct work *k, struct err *err)
{
    unsigned states = BIT(DELIVERY_DEAD) | BIT(DELIVERY_RETRYING) |
                      (k->order->again ? BIT(DELIVERY_DELIVERED) : 0);
    size_t n = operate_choose(k, states);

    if (n > 0 && !find_parts(k, err))
        return err->kind == ERR_NONE;
    for (size_t i = 0; i < k->parts.count; i++)
        if (k->parts.list[i].chosen && k->parts.list[i].place.at == PLACE_READY) {
            k->parts.list[i].chosen = false; /* already due */
            n--;
        }
    if (n == 0)
        return say_nothing_to_send(k);
    say_parts(k, "delivery is ready again", "deliveries are ready again");
    return send_parts(k, err) && operate_add_line(k, TIMELINE_AGAIN, 0, err);
}

/* Copies are made by the run that made its deliveries, and a new run would make them once more. */
static bool has_copies(struct work *k, bool *ret, struct err *err)
{
    struct db_args args =
        DB_ARGS(db_int(k->doc), db_int(LINK_COPY), db_int(0), db_int(LINK_COPY), db_int(1));
    int64_t first;
    size_t count;

    if (!rows_ints(k->w->db, SQL_LINK_CHILDREN, args, &first, 1, &count, err))
        return false;
    *ret = count > 0;
    return true;
}

/* A new run: deliveries that are not delivered are dropped, the run creates them anew. */
static bool restart(struct work *k, struct err *err)
{
    struct db_value doc = db_int(k->doc);
    bool copied;

    if (!k->order->again &&
        (has_state(k, BIT(DELIVERY_DELIVERED) | BIT(DELIVERY_IN_DOUBT)) || was_sent(k)))
        return operate_say(k, OPERATE_NOTHING,
                           "a receiver has it, or may have it; --again sends it there again too");
    if (!has_copies(k, &copied, err))
        return false;
    if (copied && !k->order->again)
        return operate_say(k, OPERATE_NOTHING,
                           "its subscribers have copies of it; --again makes new ones too");
    for (size_t i = 0; i < k->parts.count; i++)
        k->parts.list[i].chosen = true;
    if (!find_parts(k, err))
        return err->kind == ERR_NONE;
    return drop_parts(k, err) &&
           db_batch(k->w->db, SQL_DELIVERY_DROP, DB_NO_SLOT, &doc, 1, 1, err) &&
           start_run(k, k->order->config, err);
}

static bool retry_run(struct work *k, struct err *err)
{
    struct task_place place;

    if (!place_find(k->w, &(struct place_ask){ k->doc, QUEUE_INTAKE, k->received_us, 0 }, &place,
                    err))
        return false;
    if (place.at == PLACE_NONE)
        return say_busy(k);
    if (place.at == PLACE_READY)
        return operate_say(k, OPERATE_NOTHING, "it is waiting for its turn already");
    if (k->order->from == RETRY_DELIVERY)
        return operate_say(k, OPERATE_NOTHING, "it has no deliveries yet");
    return place_drop(k->w, k->doc, &place, err) && start_run(k, k->order->config, err);
}

static bool retry_live(struct work *k, struct err *err)
{
    if (k->parts.count == 0)
        return retry_run(k, err);
    return k->order->from == RETRY_AUTO || k->order->from == RETRY_DELIVERY ? retry_parts(k, err)
                                                                            : restart(k, err);
}

/* ---- cancel and discard ---- */

static bool end_parts(struct work *k, struct err *err)
{
    enum delivery_state states[PARTS_MOST];
    bool over = true;

    if (!drop_parts(k, err))
        return false;
    for (size_t i = 0; i < k->parts.count; i++) {
        const struct live_delivery *p = &k->parts.list[i];

        states[i] = p->chosen ? DELIVERY_CANCELLED : p->state;
        over = over && delivery_is_over(states[i]);
        if (p->chosen && !db_run(k->w->db, SQL_DELIVERY_CANCEL, DB_ARGS(db_int(p->num)), NULL, err))
            return false;
    }
    return over ? end_document(k, document_derive(states, k->parts.count), err)
                : operate_add_line(k, TIMELINE_CANCELLED, 0, err);
}

static bool cancel_parts(struct work *k, unsigned states, const char *nothing, struct err *err)
{
    if (operate_choose(k, states) == 0)
        return operate_say(k, OPERATE_NOTHING, "%s", nothing);
    if (!find_parts(k, err))
        return err->kind == ERR_NONE;
    say_parts(k, "delivery is cancelled", "deliveries are cancelled");
    return end_parts(k, err);
}

static bool cancel_live(struct work *k, struct err *err)
{
    struct task_place place;

    if (k->parts.count > 0)
        return cancel_parts(k,
                            BIT(DELIVERY_READY) | BIT(DELIVERY_RETRYING) | BIT(DELIVERY_IN_DOUBT) |
                                BIT(DELIVERY_DEAD),
                            "nothing of it waits", err);
    if (!place_find(k->w, &(struct place_ask){ k->doc, QUEUE_INTAKE, k->received_us, 0 }, &place,
                    err))
        return false;
    if (place.at == PLACE_NONE)
        return say_busy(k);
    (void)operate_say(k, OPERATE_DONE, "it is cancelled");
    return place_drop(k->w, k->doc, &place, err) && end_document(k, DOCUMENT_CANCELLED, err);
}

static bool discard_live(struct work *k, struct err *err)
{
    struct task_place place = { .at = PLACE_NONE };

    if (k->parts.count > 0)
        return cancel_parts(k, BIT(DELIVERY_DEAD), "nothing of it is dead", err);
    if (!place_find_dead(k->w, k->doc, &place, err))
        return false;
    if (place.at != PLACE_DEAD)
        return operate_say(k, OPERATE_NOTHING, "it is not dead");
    (void)operate_say(k, OPERATE_DONE, "it is discarded");
    return place_drop(k->w, k->doc, &place, err) && end_document(k, DOCUMENT_CANCELLED, err);
}

/* ---- after a restore ---- */

static bool doubt_part(struct work *k, const struct live_delivery *p, struct err *err)
{
    struct str why = STR("it came out of a backup: it may have been sent since");
    struct db_value row[] = { db_int(p->num),
                              db_int(p->queue),
                              db_int(PRIO_NORMAL),
                              db_int(TASK_DELIVER),
                              db_text(STR("in_doubt")),
                              db_text(why),
                              db_int(0),
                              db_int(0),
                              db_int(0) };

    return db_run(k->w->db, SQL_DELIVERY_DOUBT, DB_ARGS(db_int(p->num), db_text(why)), NULL, err) &&
           db_batch(k->w->db, SQL_TASK_DEAD_PUT, DB_NO_SLOT, row, 9, 1, err);
}

static bool doubt_live(struct work *k, struct err *err)
{
    if (operate_choose(k, BIT(DELIVERY_READY) | BIT(DELIVERY_RETRYING)) == 0)
        return operate_say(k, OPERATE_NOTHING, "nothing of it waits");
    if (!find_parts(k, err))
        return err->kind == ERR_NONE;
    say_parts(k, "delivery is in doubt", "deliveries are in doubt");
    if (!drop_parts(k, err))
        return false;
    for (size_t i = 0; i < k->parts.count; i++)
        if (k->parts.list[i].chosen && !doubt_part(k, &k->parts.list[i], err))
            return false;
    return operate_add_line(k, TIMELINE_DOUBT, 0, err);
}

/* The batch may have been sent since the backup.  The member leaves it as a dead letter; a retry
 * lets it join the current batch. */
static bool doubt_member(struct work *k, struct err *err)
{
    struct str why = STR("it came out of a backup: its batch may have been sent since");
    struct db_value dead[] = { db_int(k->doc),
                               db_int(QUEUE_INTAKE),
                               db_int(PRIO_NORMAL),
                               db_int(TASK_RUN),
                               db_text(str_of(dead_codes[DEAD_RESTORED])),
                               db_text(why),
                               db_int(1),
                               db_int(0),
                               db_int(0) };
    struct db_value tally[] = { db_int(store_node(k->w->store)), db_int(k->w->number),
                                db_int(TALLY_DEAD), db_int(0), db_int(1) };

    return db_batch(k->w->db, SQL_TASK_DEAD_PUT, DB_NO_SLOT, dead, 9, 1, err) &&
           db_batch(k->w->db, SQL_TALLY_ADD, DB_NO_SLOT, tally, 5, 1, err) &&
           operate_add_line(k, TIMELINE_DOUBT, 0, err);
}

/* ---- ended documents ---- */

static bool operate_revive(struct work *k, int64_t slot, struct err *err)
{
    struct db *db = k->w->db;
    struct db_args num = DB_ARGS(db_int(k->doc));
    int64_t moved;

    if (!db_run_slot(db, SQL_OPERATE_REVIVE, slot, num, &moved, err))
        return false;
    if (moved != 1)
        return say_busy(k); /* another operation revived it, or it was purged */
    return (db->kind != DB_SQLITE || db_run_slot(db, SQL_OPERATE_REVIVED, slot, num, NULL, err)) &&
           start_run(k, k->order->from == RETRY_DELIVERY ? 0 : k->order->config, err);
}

static bool operate_on_ended(struct work *k, int64_t slot, enum document_state state,
                             struct err *err)
{
    const char *word = document_states[state];

    if (k->op->action != OPERATE_RETRY)
        return operate_say(k, OPERATE_NOTHING, "it is over: %s", word);
    if (state == DOCUMENT_SUPERSEDED)
        return operate_say(k, OPERATE_NOTHING, "an edited copy took its place");
    if (!k->order->again)
        return operate_say(k, OPERATE_NOTHING, "it is %s; --again starts it again", word);
    return operate_revive(k, slot, err);
}

/* False with ERR_NONE: it is not in this table. */
static bool operate_find_ended(struct work *k, int64_t slot, enum document_state *ret,
                               struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    bool row;

    if (!db_query_slot(k->w->db, SQL_OPERATE_DONE, slot, DB_ARGS(db_int(k->doc)), &rows, err) ||
        !db_next(&rows, &row, err) || !row)
        return false;
    *ret = (enum document_state)db_get_int(&rows, OPERATE_DONE_STATE);
    k->has_facts = db_get_int(&rows, OPERATE_DONE_HAS_FACTS) == 1 &&
                   !facts_are_partial(db_get_str(&rows, OPERATE_DONE_FACTS));
    return row_is_id(&rows, OPERATE_DONE_ID, &k->target->id) && *ret < DOCUMENT_STATES;
}

static bool operate_ended(struct work *k, struct err *err)
{
    struct slots *slots = ARENA_NEW(k->w->arena, struct slots);

    if (!document_slots(k->w->db, slots, err))
        return false;
    for (size_t i = 0; i < slots->count; i++) {
        enum document_state state;

        if (operate_find_ended(k, slots->days[i], &state, err))
            return operate_on_ended(k, slots->days[i], state, err);
        if (err->kind != ERR_NONE)
            return false;
    }
    return operate_say(k, OPERATE_NONE, "there is no such document");
}

/* ---- the verb ---- */

/* False with ERR_NONE: there is no such live document. */
static bool operate_read_live(struct work *k, struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    bool row;

    if (!db_query(k->w->db, SQL_OPERATE_DOC, DB_ARGS(db_int(k->doc)), &rows, err) ||
        !db_next(&rows, &row, err) || !row)
        return false;
    k->received_us = db_get_int(&rows, OPERATE_DOC_RECEIVED_US);
    k->again = db_get_int(&rows, OPERATE_DOC_AGAIN);
    k->has_facts = db_get_int(&rows, OPERATE_DOC_HAS_FACTS) == 1 &&
                   !facts_are_partial(db_get_str(&rows, OPERATE_DOC_FACTS));
    return row_is_id(&rows, OPERATE_DOC_ID, &k->target->id);
}

static bool operate_on_member(struct work *k, const struct batch_at *at, struct err *err)
{
    struct str name = name_text(k->w->store, at->name);
    char id[ID_TEXT];

    if (at->has_doc)
        return operate_say(k, OPERATE_NOTHING, "it goes with batch %.60s, which is document %s",
                           arena_text(k->w->arena, name), id_text(&at->doc_id, id));
    if (k->op->action == OPERATE_RETRY || !(batch_lets_go(at) || k->order->restored))
        return operate_say(k, OPERATE_NOTHING, "it waits in batch %.60s, which is %s",
                           arena_text(k->w->arena, name), batch_states[at->state]);
    if (k->op->action == OPERATE_DISCARD && at->code.len == 0 && !k->order->restored)
        return operate_say(k, OPERATE_NOTHING,
                           "it is not dead: it waits in batch %.60s, which is %s",
                           arena_text(k->w->arena, name), batch_states[at->state]);
    (void)operate_say(
        k, OPERATE_DONE, "it has left batch %.60s and is %s", arena_text(k->w->arena, name),
        k->op->action == OPERATE_DOUBT ? "a dead letter: it may have been sent" : "cancelled");
    if (!batch_leave(k->w, k->doc, at, err) ||
        (k->order->restored &&
         !db_run(k->w->db, SQL_RESTORE_BATCH_END, DB_ARGS(db_int(at->num)), NULL, err)))
        return false;
    return k->op->action == OPERATE_DOUBT ? doubt_member(k, err)
                                          : end_document(k, DOCUMENT_CANCELLED, err);
}

static bool operate_one(struct work *k, struct err *err)
{
    struct batch_at at = { 0 };

    if (!operate_read_live(k, err))
        return err->kind == ERR_NONE && operate_ended(k, err);
    if (!live_deliveries_read(k->w, k->doc, &k->parts, err) ||
        (k->parts.count == 0 && !batch_of(k->w->db, k->doc, true, k->w->arena, &at, err)))
        return false;
    if (at.num != 0)
        return operate_on_member(k, &at, err);
    switch (k->op->action) {
    case OPERATE_RETRY:
        return retry_live(k, err);
    case OPERATE_CANCEL:
        return cancel_live(k, err);
    case OPERATE_DISCARD:
        return discard_live(k, err);
    case OPERATE_DOUBT:
        break;
    }
    return doubt_live(k, err);
}

/* ---- the audit log ---- */

/* Notes one document: the former states of its deliveries, and the answer. */
static void note_one(struct work *k)
{
    AUTO(buf_done) struct buf was = BUF_INIT(1000);
    unsigned told = 0;
    char id[ID_TEXT];

    if (k->op->op.audit == NULL)
        return;
    for (size_t i = 0; i < k->parts.count; i++) {
        enum delivery_state state = k->parts.list[i].state;

        if ((told >> state & 1) == 0)
            buf_printf(&was, "%s%s", was.len > 0 ? ", " : "", delivery_states[state]);
        told |= 1u << state;
    }
    audit_note_result(k->w, &k->op->op, str_of(id_text(&k->target->id, id)), buf_view(&was),
                      str_of(k->answer->text));
}

/* Notes a bulk action: only the number, because each document has a timeline line. */
static void note_bulk(struct writer *w, struct operate_op *o)
{
    char text[80];
    size_t done = 0;

    for (size_t i = 0; i < o->count; i++)
        done += o->answers[i].result == OPERATE_DONE;
    (void)snprintf(text, sizeof text, "%zu documents of %zu", done, o->count);
    if (done > 0)
        audit_note_result(w, &o->op, (struct str){ 0 }, (struct str){ 0 }, str_of(text));
}

/* ---- the verb ---- */

static bool operate_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct operate_op *o = container_of(ops[0], struct operate_op, op);
    struct work *k = ARENA_NEW(w->arena, struct work);

    require(count == 1);
    o->put_count = 0;
    o->put_room = o->count * PARTS_MOST;
    o->puts = ARENA_ARRAY(w->arena, struct put, o->put_room);
    o->ended = 0;
    o->days = ARENA_ARRAY(w->arena, int64_t, o->count);
    o->now_us = clock_wall_us();
    for (size_t i = 0; i < o->count; i++) {
        *k = (struct work){ .w = w,
                            .op = o,
                            .order = o->order,
                            .target = &o->targets[i],
                            .answer = &o->answers[i],
                            .doc = id_row(&o->targets[i].id),
                            .now_us = o->now_us };
        if (!operate_one(k, err))
            return false;
        if (!o->order->bulk && k->answer->result == OPERATE_DONE)
            note_one(k);
    }
    if (o->order->bulk)
        note_bulk(w, o);
    return true;
}

static void operate_committed(struct writer *w, struct store_op **ops, size_t count)
{
    const struct operate_op *o = container_of(ops[0], struct operate_op, op);

    require(count == 1);
    for (size_t i = 0; i < o->ended; i++)
        if (i == 0 || o->days[i] != o->days[i - 1])
            done_used(w->store, o->days[i]);
    for (size_t i = 0; w->store->claims != NULL && i < o->put_count; i++)
        claims_put_at(w->store->claims, o->puts[i].queue, o->puts[i].place);
    order_tell(w, &(struct order_batch){ 0 });
}

static const struct store_verb operate_verb = {
    .name = "operate", .run = operate_run, .notes = true, .committed = operate_committed
};

bool operate(struct store *s, enum operate_action action, const struct operate_target *targets,
             size_t count, const struct operate_order *order, struct operate_answer *ret_answers,
             struct err *err)
{
    struct operate_op o = {
        .action = action, .targets = targets, .count = count, .order = order, .answers = ret_answers
    };

    require(count <= OPERATE_MOST);
    return count == 0 || writers_call(s->writers, &operate_verb, &o.op, err);
}
