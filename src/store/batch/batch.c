#include "store/batch/batch.h"

#include "base/clock.h"
#include "base/container_of.h"
#include "base/fault.h"
#include "base/require.h"
#include "store/audit/audit.h"
#include "store/kernel/change.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"
#include "store/road/accept.h"

enum { FORGET_MOST = 500, LEASE_S = 3600 };

const char *const batch_states[BATCH_STATES] = { "open", "closing", "closed", "ended" };
const char *const batch_whys[BATCH_WHYS] = { "", "count", "bytes", "age", "time", "hand", "again" };

/* ---- closing ---- */

struct close_op {
    struct store_op op;
    struct batch_close *order;
};

static bool add_empty(struct writer *w, const struct batch_close *c, struct err *err)
{
    int64_t num;

    return writer_number(w, &num, err) &&
           db_run(w->db, SQL_BATCH_ADD_CLOSING,
                  DB_ARGS(db_int(num), db_int(c->name), db_int(0),
                          db_int(c->receiver == BATCH_ANY_RECEIVER ? 0 : c->receiver),
                          db_text(STR("")), db_int(c->config), db_int(c->why), db_int(c->slot_us),
                          db_text(c->by)),
                  NULL, err);
}

static bool batch_close_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct batch_close *c = (container_of(ops[0], struct close_op, op))->order;
    int64_t receiver = c->why == BATCH_TIME ? BATCH_ANY_RECEIVER : c->receiver, moved = 1,
            again = 0;

    require(count == 1);
    c->closed = 0;
    if (c->why == BATCH_TIME &&
        !db_run(w->db, SQL_BATCH_CLOCK_MOVE,
                DB_ARGS(db_int(c->name), db_int(c->slot_from_us), db_int(c->slot_us)), &moved, err))
        return false;
    c->ours = moved == 1;
    if (!c->ours)
        return true;
    if (!db_run(w->db, SQL_BATCH_FREEZE,
                DB_ARGS(db_int(c->name), db_int(receiver), db_int(c->opened_until_us),
                        db_int(c->why), db_text(c->by), db_int(c->slot_us)),
                &c->closed, err))
        return false;
    if (c->why == BATCH_HAND &&
        !db_run(w->db, SQL_BATCH_AGAIN, DB_ARGS(db_int(c->name), db_int(receiver)), &again, err))
        return false;
    if (c->closed + again > 0)
        audit_note(w, ops[0], name_text(w->store, c->name), STR("open"), (struct str){ 0 });
    fault_point(BATCH_FROZEN);
    if (c->closed > 0 || !c->empty)
        return true;
    c->closed = 1;
    return add_empty(w, c, err);
}

static const struct store_verb close_verb = { .name = "close batches",
                                              .run = batch_close_run,
                                              .notes = true };

bool batch_close(struct store *s, struct batch_close *c, struct err *err)
{
    struct close_op o = { .order = c };

    return writers_call(s->writers, &close_verb, &o.op, err);
}

static bool batch_change(struct store *s, enum sql_id sql, struct db_args args, struct err *err)
{
    return store_change(s, &(struct store_change){ .sql = sql, .args = args }, NULL, err);
}

bool batch_slot(struct store *s, int64_t name, int64_t start_us, int64_t *ret_us, struct err *err)
{
    struct db_args args = DB_ARGS(db_int(name));

    if (!store_one_int(s, SQL_BATCH_CLOCK_GET, args, -1, ret_us, err))
        return false;
    if (*ret_us >= 0)
        return true;
    return batch_change(s, SQL_BATCH_CLOCK_START, DB_ARGS(db_int(name), db_int(start_us)), err) &&
           store_one_int(s, SQL_BATCH_CLOCK_GET, args, start_us, ret_us, err);
}

bool batch_slot_reset(struct store *s, int64_t name, int64_t from_us, int64_t to_us,
                      struct err *err)
{
    return batch_change(s, SQL_BATCH_CLOCK_MOVE,
                        DB_ARGS(db_int(name), db_int(from_us), db_int(to_us)), err);
}

/* ---- reading ---- */

bool batch_read_id(struct str bytes, struct id *ret)
{
    if (bytes.len != sizeof ret->bytes)
        return false;
    memcpy(ret->bytes, bytes.ptr, bytes.len);
    return true;
}

static void read_batch(struct db_rows *row, struct arena *a, void *to)
{
    struct batch *b = to;

    *b = (struct batch){ .num = db_get_int(row, BATCHES_NUM),
                         .name = db_get_int(row, BATCHES_NAME),
                         .route = db_get_int(row, BATCHES_ROUTE),
                         .receiver = db_get_int(row, BATCHES_RECEIVER),
                         .part = row_text(row, BATCHES_PART, a),
                         .state = (enum batch_state)db_get_int(row, BATCHES_STATE),
                         .config = db_get_int(row, BATCHES_CONFIG),
                         .members = db_get_int(row, BATCHES_MEMBERS),
                         .bytes = db_get_int(row, BATCHES_BYTES),
                         .opened_us = db_get_int(row, BATCHES_OPENED_US),
                         .closed_us = db_get_int(row, BATCHES_CLOSED_US),
                         .ended_us = db_get_int(row, BATCHES_ENDED_US),
                         .why = (enum batch_why)db_get_int(row, BATCHES_WHY),
                         .closed_by = row_text(row, BATCHES_CLOSED_BY, a),
                         .slot_us = db_get_int(row, BATCHES_SLOT_US),
                         .doc = db_get_int(row, BATCHES_DOC),
                         .claim = db_get_int(row, BATCHES_CLAIM),
                         .tries = db_get_int(row, BATCHES_TRIES),
                         .code = row_text(row, BATCHES_CODE, a),
                         .message = row_text(row, BATCHES_MESSAGE, a) };
    (void)batch_read_id(db_get_str(row, BATCHES_DOC_ID), &b->doc_id);
    require(b->state < BATCH_STATES && b->why < BATCH_WHYS);
}

bool batch_list(struct store *s, const struct batch_filter *f, int64_t below, struct arena *a,
                struct batch *ret, size_t most, size_t *ret_count, struct err *err)
{
    return store_collect(s, SQL_BATCH_PAGE,
                         DB_ARGS(db_int(below > 0 ? below : INT64_MAX), db_int(most),
                                 db_int(f->name), db_int(f->ended)),
                         ROWS_INTO(ret, most, a, read_batch), ret_count, err);
}

bool batch_any(struct store *s, bool *ret, struct err *err)
{
    int64_t n;

    if (!store_one_int(s, SQL_BATCH_ANY, DB_NO_ARGS, 0, &n, err))
        return false;
    *ret = n > 0;
    return true;
}

bool batch_waits(struct store *s, bool *ret, struct err *err)
{
    int64_t n;

    if (!store_one_int(s, SQL_BATCH_WAITS, DB_ARGS(db_int(s->node)), 0, &n, err))
        return false;
    *ret = n > 0;
    return true;
}

static void read_name_open(struct db_rows *row, struct arena *a, void *to)
{
    (void)a;
    *(struct batch_name *)to =
        (struct batch_name){ .name = db_get_int(row, BATCH_NAMES_OPEN_NAME),
                             .opened_us = db_get_int(row, BATCH_NAMES_OPEN_OPENED_US) };
}

bool batch_names_open(struct store *s, struct batch_name *ret, size_t most, size_t *ret_count,
                      struct err *err)
{
    return store_collect(s, SQL_BATCH_NAMES_OPEN, DB_ARGS(db_int(most)),
                         ROWS_INTO(ret, most, NULL, read_name_open), ret_count, err);
}

/* ---- building ---- */

bool batch_start(struct store *s, struct err *err)
{
    return batch_change(s, SQL_BATCH_UNCLAIM, DB_ARGS(db_int(s->node)), err);
}

struct claim_op {
    struct store_op op;
    struct arena *arena;
    struct batch *ret;
    bool found;
};

static bool batch_claim_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct claim_op *o = container_of(ops[0], struct claim_op, op);

    require(count == 1);
    return rows_one(w->db, SQL_BATCH_CLAIM, DB_NO_SLOT,
                    DB_ARGS(db_int(w->store->node), db_int((int64_t)LEASE_S * CLOCK_S)), read_batch,
                    o->arena, o->ret, &o->found, err);
}

static const struct store_verb claim_verb = { .name = "claim batch", .run = batch_claim_run };

bool batch_claim(struct store *s, struct arena *a, struct batch *ret, bool *ret_found,
                 struct err *err)
{
    struct claim_op o = { .arena = a, .ret = ret };

    if (!writers_call(s->writers, &claim_verb, &o.op, err))
        return false;
    *ret_found = o.found;
    return true;
}

bool batch_back(struct store *s, const struct batch *b, int64_t due_us, struct str code,
                struct str message, struct err *err)
{
    return batch_change(s, SQL_BATCH_BACK,
                        DB_ARGS(db_int(b->num), db_int(s->node), db_int(b->claim), db_int(due_us),
                                code.len > 0 ? db_text(code) : db_null(),
                                message.len > 0 ? db_text(message) : db_null()),
                        err);
}

static void batch_read_member(struct db_rows *row, struct arena *a, void *to)
{
    *(struct batch_member *)to =
        (struct batch_member){ .doc = db_get_int(row, BATCH_MEMBERS_DOC),
                               .received_us = db_get_int(row, BATCH_MEMBERS_RECEIVED_US),
                               .source = { .num = db_get_int(row, BATCH_MEMBERS_NUM),
                                           .id = row_id(row, BATCH_MEMBERS_ID),
                                           .size = db_get_int(row, BATCH_MEMBERS_SIZE),
                                           .sha256 = row_sha256(row, BATCH_MEMBERS_SHA256),
                                           .place = { db_get_int(row, BATCH_MEMBERS_SEG),
                                                      db_get_int(row, BATCH_MEMBERS_POS) } },
                               .name = row_text(row, BATCH_MEMBERS_NAME, a),
                               .sender = db_get_int(row, BATCH_MEMBERS_SENDER),
                               .type = db_get_int(row, BATCH_MEMBERS_DTYPE),
                               .gateway = db_get_int(row, BATCH_MEMBERS_GATEWAY),
                               .facts = row_text(row, BATCH_MEMBERS_FACTS, a) };
}

bool batch_members(struct store *s, int64_t batch, int64_t after, struct arena *a,
                   struct batch_member *ret, size_t most, size_t *ret_count, struct err *err)
{
    return store_collect(s, SQL_BATCH_MEMBERS, DB_ARGS(db_int(batch), db_int(after), db_int(most)),
                         ROWS_INTO(ret, most, a, batch_read_member), ret_count, err);
}

static int64_t same_of(struct db_rows *row, int first, int last)
{
    return db_get_int(row, first) == db_get_int(row, last) ? db_get_int(row, first) : 0;
}

static void read_common(struct db_rows *row, struct arena *a, void *to)
{
    (void)a;
    *(struct batch_common *)to = (struct batch_common){
        .members = db_get_int(row, BATCH_COMMON_MEMBERS),
        .sender = same_of(row, BATCH_COMMON_SENDER_FIRST, BATCH_COMMON_SENDER_LAST),
        .type = same_of(row, BATCH_COMMON_DTYPE_FIRST, BATCH_COMMON_DTYPE_LAST)
    };
}

bool batch_common(struct store *s, int64_t batch, struct batch_common *ret, struct err *err)
{
    bool there;

    *ret = (struct batch_common){ 0 };
    return store_one(s, SQL_BATCH_COMMON, DB_ARGS(db_int(batch)), read_common, NULL, ret, &there,
                     err);
}

bool batch_is_ours(struct writer *w, const struct batch *b, bool *ret, struct err *err)
{
    int64_t ours;

    if (!db_one_int(w->db, SQL_BATCH_LOCK,
                    DB_ARGS(db_int(b->num), db_int(w->store->node), db_int(b->claim)), 0, &ours,
                    err))
        return false;
    *ret = ours == 1;
    return true;
}

struct built_op {
    struct store_op op;
    const struct batch *batch;
    const struct batch_document *document;
    bool ours;
};

static bool write_document(struct writer *w, const struct batch *b, const struct batch_document *d,
                           struct err *err)
{
    struct accept_op *a = d->accept;

    if (!accept_one(w, a, err))
        return false;
    struct db_value doc = db_int(a->num), batch = db_int(b->num);

    return db_run(w->db, SQL_BATCH_DOC,
                  DB_ARGS(doc, db_int(d->sender), db_int(d->receiver), db_int(d->type),
                          db_int(b->name), d->facts.len > 0 ? db_bytes(d->facts) : db_null(),
                          d->timeline.len > 0 ? db_bytes(d->timeline) : db_null()),
                  NULL, err) &&
           (b->why != BATCH_AGAIN ||
            db_run(w->db, SQL_BATCH_LINK_EARLIER, DB_ARGS(doc, batch), NULL, err)) &&
           db_run(w->db, SQL_BATCH_LINK, DB_ARGS(doc, batch), NULL, err) &&
           db_run(w->db, SQL_BATCH_BUILT,
                  DB_ARGS(batch, doc, db_bytes(str_mem(a->id.bytes, sizeof a->id.bytes))), NULL,
                  err);
}

static bool built_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct built_op *o = container_of(ops[0], struct built_op, op);

    require(count == 1);
    if (!batch_is_ours(w, o->batch, &o->ours, err))
        return false;
    if (o->ours && !write_document(w, o->batch, o->document, err))
        return false;
    fault_point(BATCH_STORED);
    return true;
}

static const struct store_verb built_verb = { .name = "build batch",
                                              .run = built_run,
                                              .last = true };

bool batch_built(struct store *s, const struct batch *b, const struct batch_document *d,
                 bool *ret_ours, struct err *err)
{
    struct built_op o = { .batch = b, .document = d };

    if (!writers_call(s->writers, &built_verb, &o.op, err))
        return false;
    *ret_ours = o.ours;
    return true;
}

bool batch_forget(struct store *s, int64_t before_us, struct err *err)
{
    return batch_change(s, SQL_BATCH_FORGET, DB_ARGS(db_int(before_us), db_int(FORGET_MOST)), err);
}
