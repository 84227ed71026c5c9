#include "store/manual/edit.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/fault.h"
#include "base/require.h"
#include "core/state.h"
#include "core/timeline.h"
#include "store/audit/audit.h"
#include "store/batch/batch_members.h"
#include "store/db/rows.h"
#include "store/kernel/store_state.h"
#include "store/manual/live_deliveries.h"
#include "store/manual/place.h"
#include "store/road/done.h"
#include "store/road/link.h"
#include "store/road/order.h"
#include "store/road/settle.h"
#include "store/search/document.h"

struct edit_op {
    struct store_op op;
    struct accept_op *doc;
    const struct edit_order *order;
    struct operate_answer *answer;

    int64_t now_us;
    bool made;  /* a new document was stored */
    bool ended; /* the original moved to the table of `day` */
    int64_t day;

    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool is_done;
};

/* The state of one edit while it runs. */
struct work {
    struct writer *w;
    struct edit_op *op;
    const struct edit_order *order;
    struct accept_op *doc;
    int64_t original, received_us, seq, child, span;
    struct live_deliveries parts;
};

/* ---- answers ---- */

static bool edit_say(struct work *k, enum operate_result result, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns true: a refusal is an answer, not an error. */
static bool edit_say(struct work *k, enum operate_result result, const char *fmt, ...)
{
    va_list ap;

    k->op->answer->result = result;
    va_start(ap, fmt);
    (void)vsnprintf(k->op->answer->text, sizeof k->op->answer->text, fmt, ap);
    va_end(ap);
    return true;
}

static bool is_refused(const struct work *k)
{
    return k->op->answer->result != OPERATE_DONE;
}

static struct str edit_line_of(struct work *k, enum timeline_outcome outcome, int64_t config,
                               struct str message)
{
    AUTO(buf_done) struct buf line = BUF_INIT(TIMELINE_MOST);

    timeline_add(&line, &(struct timeline_line){ .at_us = k->op->now_us,
                                                 .node = store_node(k->w->store),
                                                 .stage = TIMELINE_OPERATOR,
                                                 .outcome = outcome,
                                                 .took_us = -1,
                                                 .config = config,
                                                 .what = k->order->who,
                                                 .message = message });
    return arena_copy(k->w->arena, buf_view(&line));
}

/* The line for the timeline of the original. */
static struct str line_of_original(struct work *k)
{
    char id[ID_TEXT];
    bool supersede = k->order->supersede;

    (void)id_text(&k->doc->id, id);
    return edit_line_of(
        k, supersede ? TIMELINE_CANCELLED : TIMELINE_DONE, 0,
        str_of(arena_printf(k->w->arena,
                            supersede ? "superseded by its edit %s" : "edited: %s goes beside it",
                            id)));
}

/* ---- a live original ---- */

/* False with ERR_NONE: there is no such live document. */
static bool edit_read_live(struct work *k, struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    bool row;

    if (!db_query(k->w->db, SQL_EDIT_DOC, DB_ARGS(db_int(k->original)), &rows, err) ||
        !db_next(&rows, &row, err) || !row)
        return false;
    k->received_us = db_get_int(&rows, EDIT_DOC_RECEIVED_US);
    k->seq = db_get_int(&rows, EDIT_DOC_SEQ);
    k->child = db_get_int(&rows, EDIT_DOC_CHILD);
    k->span = db_get_int(&rows, EDIT_DOC_SPAN);
    return row_is_id(&rows, EDIT_DOC_ID, &k->order->original);
}

static struct str endpoint_of(const struct work *k, const struct live_delivery *p)
{
    return name_text(k->w->store, p->endpoint);
}

/* Refuses a delivery that is being sent, or whose receiver may have it (in doubt). */
static bool find_part(struct work *k, struct live_delivery *p, struct err *err)
{
    if (delivery_is_over(p->state))
        return true;
    if (p->state == DELIVERY_IN_DOUBT)
        return edit_say(
            k, OPERATE_NOTHING,
            "%.*s: it is in doubt whether its receiver has it; `docs resolve` first, or "
            "--beside",
            STR_ARG(endpoint_of(k, p)));
    if (p->waits)
        return true;
    if (!place_find(k->w, &(struct place_ask){ p->num, p->queue, k->received_us, p->due_us },
                    &p->place, err))
        return false;
    if (p->place.at == PLACE_NONE)
        return edit_say(k, OPERATE_BUSY, "%.*s: being sent right now; what comes of it is recorded",
                        STR_ARG(endpoint_of(k, p)));
    return !p->sent ||
           edit_say(k, OPERATE_BUSY, "%.*s: its receiver is being asked whether it has it",
                    STR_ARG(endpoint_of(k, p)));
}

/* "it supersedes ID; archive has the original" */
static void say_superseded(struct work *k)
{
    AUTO(buf_done) struct buf text = BUF_INIT(64 << 10);
    char id[ID_TEXT];
    bool any = false;

    buf_printf(&text, "it supersedes %s", id_text(&k->order->original, id));
    for (size_t i = 0; i < k->parts.count; i++)
        if (k->parts.list[i].state == DELIVERY_DELIVERED) {
            buf_puts(&text, any ? ", " : "; the original is at ");
            buf_put(&text, endpoint_of(k, &k->parts.list[i]));
            any = true;
        }
    (void)edit_say(k, OPERATE_DONE, "%s", text.ptr);
}

static bool end_original(struct work *k, struct err *err)
{
    struct settle_end_order order = { .doc = k->original,
                                      .keep_days = k->order->keep_days,
                                      .state = DOCUMENT_SUPERSEDED,
                                      .timeline = line_of_original(k) };

    for (size_t i = 0; i < k->parts.count; i++)
        if (!place_drop(k->w, k->parts.list[i].num, &k->parts.list[i].place, err))
            return false;
    if (!settle_end(k->w, &order, err))
        return false;
    k->op->ended = true;
    k->op->day = order.day;
    k->doc->keeps_seq = k->seq;
    k->doc->keeps_child = k->child;
    return true;
}

/* A document without a task waits in a batch or is being worked on.  A member leaves an open batch;
 * a closed batch refuses. */
static bool supersede_member(struct work *k, struct err *err)
{
    struct batch_at at;

    if (!batch_of(k->w->db, k->original, true, k->w->arena, &at, err))
        return false;
    if (at.num == 0)
        return edit_say(k, OPERATE_BUSY, "it is being worked on right now; try again");
    if (!batch_lets_go(&at))
        return edit_say(k, OPERATE_NOTHING,
                        "it goes with its batch, which is %s; --beside sends an edit as well",
                        batch_states[at.state]);
    say_superseded(k);
    return batch_leave(k->w, k->original, &at, err) && end_original(k, err);
}

/* Documents were made of it, and go on: those of an edit in its place would be the same again. */
static bool refuse_a_parent(struct work *k, struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    int64_t made;
    bool row;

    if (!db_query(k->w->db, SQL_OFFSPRING_GET, DB_ARGS(db_int(k->original)), &rows, err) ||
        !db_next(&rows, &row, err))
        return false;
    made =
        row ? db_get_int(&rows, OFFSPRING_GET_MADE) + db_get_int(&rows, OFFSPRING_GET_EARLIER) : 0;
    return made == 0 ||
           edit_say(k, OPERATE_NOTHING,
                    "%lld documents were made of it already; edit those, or --beside sends an edit "
                    "as well",
                    (long long)made);
}

static bool supersede_live(struct work *k, struct err *err)
{
    struct task_place place = { .at = PLACE_NONE };

    if (!live_deliveries_read(k->w, k->original, &k->parts, err))
        return false;
    for (size_t i = 0; i < k->parts.count; i++)
        if (!find_part(k, &k->parts.list[i], err))
            return false;
    if (!is_refused(k) && !refuse_a_parent(k, err))
        return false;
    if (is_refused(k))
        return true;
    if (k->parts.count == 0 &&
        !place_find(k->w, &(struct place_ask){ k->original, QUEUE_INTAKE, k->received_us, 0 },
                    &place, err))
        return false;
    if (k->parts.count == 0 && place.at == PLACE_NONE)
        return supersede_member(k, err);
    say_superseded(k);
    return place_drop(k->w, k->original, &place, err) && end_original(k, err);
}

static bool note_live(struct work *k, struct err *err)
{
    struct db_value row[] = { db_int(k->original), db_bytes(line_of_original(k)) };

    return db_batch(k->w->db, SQL_SETTLE_TRAIL, DB_NO_SLOT, row, 2, 1, err);
}

/* ---- an ended original ---- */

/* False with ERR_NONE: it is not in this table. */
static bool edit_find_ended(struct work *k, int64_t slot, enum document_state *ret, struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    bool row;

    if (!db_query_slot(k->w->db, SQL_EDIT_DONE, slot, DB_ARGS(db_int(k->original)), &rows, err) ||
        !db_next(&rows, &row, err) || !row)
        return false;
    *ret = (enum document_state)db_get_int(&rows, EDIT_DONE_STATE);
    return *ret < DOCUMENT_STATES && row_is_id(&rows, EDIT_DONE_ID, &k->order->original);
}

/* A cancelled document may be superseded: nothing of it is sent any more. */
static bool edit_ended(struct work *k, int64_t slot, enum document_state state, struct err *err)
{
    bool supersede = k->order->supersede;

    if (supersede && state == DOCUMENT_SUPERSEDED)
        return edit_say(k, OPERATE_NOTHING,
                        "another edit took its place; edit that one, or --beside");
    if (supersede && state != DOCUMENT_CANCELLED)
        return edit_say(k, OPERATE_NOTHING, "it is over: %s; --beside sends an edit as well",
                        document_states[state]);
    if (supersede) {
        state = DOCUMENT_SUPERSEDED;
        say_superseded(k);
    }
    return db_run_slot(k->w->db, SQL_EDIT_NOTE_DONE, slot,
                       DB_ARGS(db_int(k->original), db_int(state), db_bytes(line_of_original(k))),
                       NULL, err);
}

/* *ret_found: the original has ended, and the answer is given. */
static bool look_among_ended(struct work *k, bool *ret_found, struct err *err)
{
    struct slots *slots = ARENA_NEW(k->w->arena, struct slots);

    if (!document_slots(k->w->db, slots, err))
        return false;
    for (size_t i = 0; i < slots->count; i++) {
        enum document_state state;

        *ret_found = edit_find_ended(k, slots->days[i], &state, err);
        if (*ret_found)
            return edit_ended(k, slots->days[i], state, err);
        if (err->kind != ERR_NONE)
            return false;
    }
    return true;
}

/* Looks twice: the original may end, or be revived, between the two lookups. */
static bool settle_original(struct work *k, struct err *err)
{
    bool ended = false;

    for (int look = 0; look < 2; look++) {
        if (edit_read_live(k, err))
            return k->order->supersede ? supersede_live(k, err) : note_live(k, err);
        if (err->kind != ERR_NONE || !look_among_ended(k, &ended, err))
            return false;
        if (ended)
            return true;
    }
    return edit_say(k, OPERATE_NONE, "there is no such document");
}

/* ---- the new document ---- */

static struct str edit_first_line(struct work *k)
{
    AUTO(buf_done) struct buf text = BUF_INIT(8 << 10);
    char id[ID_TEXT];

    if (k->order->has_original)
        buf_printf(&text, "edit of %s, %s", id_text(&k->order->original, id),
                   k->order->supersede ? "which it supersedes" : "beside it");
    if (k->order->what.len > 0)
        buf_printf(&text, "%s%.*s", text.len > 0 ? "; " : "",
                   (int)str_first(k->order->what, TIMELINE_TEXT_MOST).len, k->order->what.ptr);
    return edit_line_of(k, TIMELINE_DONE, k->doc->config, buf_view(&text));
}

static bool begin_document(struct work *k, struct err *err)
{
    const struct edit_order *o = k->order;
    bool facts = o->has_facts && o->facts.len > 0, child = k->doc->keeps_child != 0;

    return db_run(
        k->w->db, SQL_EDIT_BEGIN,
        DB_ARGS(db_int(k->doc->num), db_int(o->has_facts ? o->sender : 0),
                db_int(o->has_facts ? o->receiver : 0), db_int(o->has_facts ? o->type : 0),
                facts ? db_bytes(o->facts) : db_null(), db_bytes(edit_first_line(k)),
                child ? db_int(k->child) : db_null(), child ? db_int(k->span) : db_null()),
        NULL, err);
}

static bool make_document(struct work *k, struct err *err)
{
    fault_point(EDIT_ENDED);
    if (!accept_store(k->w, k->doc, err) || !begin_document(k, err))
        return false;
    fault_point(EDIT_STORED);
    if (k->order->has_original && !link_add(k->w, k->original, LINK_EDIT, k->doc->num, err))
        return false;
    fault_point(EDIT_WRITTEN);
    k->op->made = true;
    return true;
}

/* ---- the verb ---- */

/* Two edits of a group with the same idempotency key: the second gets the answer of the first. */
static bool is_twin(struct edit_op *const *before, size_t count, struct accept_op *doc)
{
    for (size_t i = 0; doc->has_key && i < count; i++) {
        const struct accept_op *first = before[i]->doc;

        if (before[i]->made && first->has_key && digest_same(&first->key, &doc->key)) {
            doc->id = first->id;
            doc->result =
                digest_same(&first->sha256, &doc->sha256) ? ACCEPT_REPEATED : ACCEPT_KEY_DIFFERS;
            return true;
        }
    }
    return false;
}

static bool edit_one(struct work *k, struct edit_op *const *before, size_t count, struct err *err)
{
    struct accept_op *doc = k->doc;

    doc->keeps_seq = doc->keeps_child = 0;
    (void)edit_say(k, OPERATE_DONE, "%s",
                   k->order->has_original ? "it goes beside the original" : "");
    if (!accept_known(k->w, doc, err))
        return false;
    if (doc->result != ACCEPT_STORED || is_twin(before, count, doc))
        return true;
    if (!accept_name(k->w, doc, err) || (k->order->has_original && !settle_original(k, err)))
        return false;
    return is_refused(k) || make_document(k, err);
}

/* Notes the original and its edit, or the new document, in the audit log. */
static void note_made(struct work *k)
{
    char original[ID_TEXT], made[ID_TEXT], text[sizeof k->op->answer->text + ID_TEXT + 20];

    (void)id_text(&k->doc->id, made);
    (void)snprintf(text, sizeof text, "document %s%s%s", made,
                   k->op->answer->text[0] != '\0' ? ": " : "", k->op->answer->text);
    audit_note_result(
        k->w, &k->op->op,
        str_of(k->order->has_original ? id_text(&k->order->original, original) : made),
        (struct str){ 0 }, str_of(text));
}

static bool edit_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct edit_op **all = (struct edit_op **)ops;
    struct work *k = ARENA_NEW(w->arena, struct work);

    for (size_t i = 0; i < count; i++) {
        struct edit_op *o = all[i];

        o->made = o->ended = false;
        o->now_us = clock_wall_us();
        *k = (struct work){ .w = w,
                            .op = o,
                            .order = o->order,
                            .doc = o->doc,
                            .original = o->order->has_original ? id_row(&o->order->original) : 0 };
        o->op.audited = false;
        if (!edit_one(k, all, i, err))
            return false;
        if (o->made)
            note_made(k);
    }
    return true;
}

static void edit_committed(struct writer *w, struct store_op **ops, size_t count)
{
    bool ended = false;

    for (size_t i = 0; i < count; i++) {
        struct edit_op *o = container_of(ops[i], struct edit_op, op);

        if (o->made)
            accept_stored(w, o->doc);
        if (o->ended)
            done_used(w->store, o->day);
        ended = ended || o->ended;
    }
    if (ended)
        order_tell(w, &(struct order_batch){ 0 });
}

static const struct store_verb edit_verb = { .name = "edit",
                                             .run = edit_run,
                                             .last = true, /* locks the row of order_seq */
                                             .committed = edit_committed };

static void edit_on_done(struct store_op *op)
{
    struct edit_op *o = container_of(op, struct edit_op, op);

    (void)pthread_mutex_lock(&o->mutex);
    o->is_done = true;
    (void)pthread_cond_signal(&o->changed);
    (void)pthread_mutex_unlock(&o->mutex);
}

bool edit(struct store *s, struct accept_op *doc, const struct edit_order *order,
          struct operate_answer *ret, struct err *err)
{
    struct edit_op o = { .op = { .verb = &edit_verb, .done = edit_on_done, .audit = audit_scope() },
                         .doc = doc,
                         .order = order,
                         .answer = ret };

    doc->claim_wanted = false;
    (void)pthread_mutex_init(&o.mutex, NULL);
    (void)pthread_cond_init(&o.changed, NULL);
    writers_submit_always(s->writers, &o.op, &o.op, 1);
    (void)pthread_mutex_lock(&o.mutex);
    while (!o.is_done)
        (void)pthread_cond_wait(&o.changed, &o.mutex);
    (void)pthread_mutex_unlock(&o.mutex);
    (void)pthread_mutex_destroy(&o.mutex);
    (void)pthread_cond_destroy(&o.changed);
    if (o.op.ok)
        audit_carried(&o.op);
    else
        *err = o.op.err;
    return o.op.ok;
}
