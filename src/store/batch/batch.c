#include "store/batch/batch.h"
#include "base/container_of.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/require.h"
#include "store/audit/audit.h"
#include "store/kernel/store_state.h"
#include "store/road/accept.h"

enum { FORGET_MOST = 500, LEASE_S = 3600 };

const char *const batch_states[BATCH_STATES] = { "open", "closing", "closed", "ended" };
const char *const batch_whys[BATCH_WHYS] = { "", "count", "bytes", "age", "time", "hand", "again" };

/* ---- closing ----------------------------------------------------------------------------------
 */

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

static bool close_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
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
        audit_note(w, ops[0], store_word_name(w->store, c->name), STR("open"), (struct str){ 0 });
    fault_point(BATCH_FROZEN);
    if (c->closed > 0 || !c->empty)
        return true;
    c->closed = 1;
    return add_empty(w, c, err);
}

static const struct store_verb close_verb = { .name = "close batches",
                                              .run = close_run,
                                              .notes = true };

bool batch_close(struct store *s, struct batch_close *c, struct err *err)
{
    struct close_op o = { .order = c };

    return writers_call(s->writers, &close_verb, &o.op, err);
}

/* One statement that changes something. */
struct change_op {
    struct store_op op;
    enum sql_id sql;
    struct db_args args;
    int64_t changed;
};

static bool change_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct change_op *o = container_of(ops[0], struct change_op, op);

    require(count == 1);
    return db_run(w->db, o->sql, o->args, &o->changed, err);
}

static const struct store_verb change_verb = { .name = "change batch", .run = change_run };

static bool change(struct store *s, enum sql_id sql, struct db_args args, int64_t *ret_changed,
                   struct err *err)
{
    struct change_op o = { .sql = sql, .args = args };

    if (!writers_call(s->writers, &change_verb, &o.op, err))
        return false;
    if (ret_changed != NULL)
        *ret_changed = o.changed;
    return true;
}

static bool read_int(struct store *s, enum sql_id sql, struct db_args args, int64_t otherwise,
                     int64_t *ret, struct err *err)
{
    struct db *db = store_reader(s, err);

    if (db == NULL)
        return false;
    bool ok = db_one_int(db, sql, args, otherwise, ret, err);

    store_reader_back(s, db);
    return ok;
}

bool batch_slot(struct store *s, int64_t name, int64_t start_us, int64_t *ret_us, struct err *err)
{
    struct db_args args = DB_ARGS(db_int(name));

    if (!read_int(s, SQL_BATCH_CLOCK_GET, args, -1, ret_us, err))
        return false;
    if (*ret_us >= 0)
        return true;
    return change(s, SQL_BATCH_CLOCK_START, DB_ARGS(db_int(name), db_int(start_us)), NULL, err) &&
           read_int(s, SQL_BATCH_CLOCK_GET, args, start_us, ret_us, err);
}

bool batch_slot_reset(struct store *s, int64_t name, int64_t from_us, int64_t to_us,
                      struct err *err)
{
    return change(s, SQL_BATCH_CLOCK_MOVE, DB_ARGS(db_int(name), db_int(from_us), db_int(to_us)),
                  NULL, err);
}

/* ---- reading ----------------------------------------------------------------------------------
 */

bool batch_read_id(struct str bytes, struct id *ret)
{
    if (bytes.len != sizeof ret->bytes)
        return false;
    memcpy(ret->bytes, bytes.ptr, bytes.len);
    return true;
}

static struct batch batch_row(struct db_rows *rows, struct arena *a)
{
    struct batch b = { .num = db_get_int(rows, 0),
                       .name = db_get_int(rows, 1),
                       .route = db_get_int(rows, 2),
                       .receiver = db_get_int(rows, 3),
                       .part = arena_copy(a, db_get_str(rows, 4)),
                       .state = (enum batch_state)db_get_int(rows, 5),
                       .config = db_get_int(rows, 6),
                       .members = db_get_int(rows, 7),
                       .bytes = db_get_int(rows, 8),
                       .opened_us = db_get_int(rows, 9),
                       .closed_us = db_get_int(rows, 10),
                       .ended_us = db_get_int(rows, 11),
                       .why = (enum batch_why)db_get_int(rows, 12),
                       .closed_by = arena_copy(a, db_get_str(rows, 13)),
                       .slot_us = db_get_int(rows, 14),
                       .doc = db_get_int(rows, 15),
                       .claim = db_get_int(rows, 17),
                       .tries = db_get_int(rows, 18),
                       .code = arena_copy(a, db_get_str(rows, 19)),
                       .message = arena_copy(a, db_get_str(rows, 20)) };

    (void)batch_read_id(db_get_str(rows, 16), &b.doc_id);
    require(b.state < BATCH_STATES && b.why < BATCH_WHYS);
    return b;
}

bool batch_list(struct store *s, const struct batch_filter *f, int64_t below, struct arena *a,
                struct batch *ret, size_t most, size_t *ret_count, struct err *err)
{
    struct db *db = store_reader(s, err);
    struct db_rows rows = { 0 };
    bool row = true;

    if (db == NULL)
        return false;
    *ret_count = 0;
    bool ok = db_query(db, SQL_BATCH_PAGE,
                       DB_ARGS(db_int(below > 0 ? below : INT64_MAX), db_int(most), db_int(f->name),
                               db_int(f->ended)),
                       &rows, err);

    while (ok && *ret_count < most && (ok = db_next(&rows, &row, err)) && row)
        ret[(*ret_count)++] = batch_row(&rows, a);
    db_rows_done(&rows);
    store_reader_back(s, db);
    return ok;
}

bool batch_any(struct store *s, bool *ret, struct err *err)
{
    int64_t n;

    if (!read_int(s, SQL_BATCH_ANY, DB_NO_ARGS, 0, &n, err))
        return false;
    *ret = n > 0;
    return true;
}

bool batch_waits(struct store *s, bool *ret, struct err *err)
{
    int64_t n;

    if (!read_int(s, SQL_BATCH_WAITS, DB_ARGS(db_int(s->node)), 0, &n, err))
        return false;
    *ret = n > 0;
    return true;
}

bool batch_names_open(struct store *s, struct batch_name *ret, size_t most, size_t *ret_count,
                      struct err *err)
{
    struct db *db = store_reader(s, err);
    struct db_rows rows = { 0 };
    bool row = true;

    if (db == NULL)
        return false;
    *ret_count = 0;
    bool ok = db_query(db, SQL_BATCH_NAMES_OPEN, DB_ARGS(db_int(most)), &rows, err);

    while (ok && *ret_count < most && (ok = db_next(&rows, &row, err)) && row)
        ret[(*ret_count)++] =
            (struct batch_name){ .name = db_get_int(&rows, 0), .opened_us = db_get_int(&rows, 1) };
    db_rows_done(&rows);
    store_reader_back(s, db);
    return ok;
}

/* ---- building ---------------------------------------------------------------------------------
 */

bool batch_start(struct store *s, struct err *err)
{
    return change(s, SQL_BATCH_UNCLAIM, DB_ARGS(db_int(s->node)), NULL, err);
}

struct claim_op {
    struct store_op op;
    struct arena *arena;
    struct batch *ret;
    bool found;
};

static bool claim_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct claim_op *o = container_of(ops[0], struct claim_op, op);
    AUTO(db_rows_done) struct db_rows rows = { 0 };

    require(count == 1);
    if (!db_query(w->db, SQL_BATCH_CLAIM,
                  DB_ARGS(db_int(w->store->node), db_int((int64_t)LEASE_S * CLOCK_S)), &rows,
                  err) ||
        !db_next(&rows, &o->found, err))
        return false;
    if (o->found)
        *o->ret = batch_row(&rows, o->arena);
    return true;
}

static const struct store_verb claim_verb = { .name = "claim batch", .run = claim_run };

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
    return change(s, SQL_BATCH_BACK,
                  DB_ARGS(db_int(b->num), db_int(s->node), db_int(b->claim), db_int(due_us),
                          code.len > 0 ? db_text(code) : db_null(),
                          message.len > 0 ? db_text(message) : db_null()),
                  NULL, err);
}

static struct batch_member member_row(struct db_rows *rows, struct arena *a)
{
    struct batch_member m = { .doc = db_get_int(rows, 0),
                              .received_us = db_get_int(rows, 2),
                              .name = arena_copy(a, db_get_str(rows, 8)),
                              .sender = db_get_int(rows, 9),
                              .type = db_get_int(rows, 10),
                              .gateway = db_get_int(rows, 11),
                              .facts = arena_copy(a, db_get_str(rows, 12)) };
    struct str sha256 = db_get_str(rows, 7);

    m.source = (struct payload_source){ .num = db_get_int(rows, 5),
                                        .size = db_get_int(rows, 6),
                                        .place = { db_get_int(rows, 3), db_get_int(rows, 4) } };
    require(batch_read_id(db_get_str(rows, 1), &m.source.id) && sha256.len == SHA256_SIZE);
    memcpy(m.source.sha256.bytes, sha256.ptr, SHA256_SIZE);
    return m;
}

bool batch_members(struct store *s, int64_t batch, int64_t after, struct arena *a,
                   struct batch_member *ret, size_t most, size_t *ret_count, struct err *err)
{
    struct db *db = store_reader(s, err);
    struct db_rows rows = { 0 };
    bool row = true;

    if (db == NULL)
        return false;
    *ret_count = 0;
    bool ok = db_query(db, SQL_BATCH_MEMBERS, DB_ARGS(db_int(batch), db_int(after), db_int(most)),
                       &rows, err);

    while (ok && *ret_count < most && (ok = db_next(&rows, &row, err)) && row)
        ret[(*ret_count)++] = member_row(&rows, a);
    db_rows_done(&rows);
    store_reader_back(s, db);
    return ok;
}

bool batch_common(struct store *s, int64_t batch, struct batch_common *ret, struct err *err)
{
    struct db *db = store_reader(s, err);
    struct db_rows rows = { 0 };
    bool row = false;

    if (db == NULL)
        return false;
    *ret = (struct batch_common){ 0 };
    bool ok = db_query(db, SQL_BATCH_COMMON, DB_ARGS(db_int(batch)), &rows, err) &&
              db_next(&rows, &row, err);

    if (ok && row) {
        ret->members = db_get_int(&rows, 0);
        ret->sender = db_get_int(&rows, 1) == db_get_int(&rows, 2) ? db_get_int(&rows, 1) : 0;
        ret->type = db_get_int(&rows, 3) == db_get_int(&rows, 4) ? db_get_int(&rows, 3) : 0;
    }
    db_rows_done(&rows);
    store_reader_back(s, db);
    return ok;
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
                          d->trail.len > 0 ? db_bytes(d->trail) : db_null()),
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
    return change(s, SQL_BATCH_FORGET, DB_ARGS(db_int(before_us), db_int(FORGET_MOST)), NULL, err);
}
