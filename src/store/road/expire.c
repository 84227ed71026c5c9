#include "store/road/expire.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/require.h"
#include "core/state.h"
#include "core/timeline.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"
#include "store/road/accept.h"
#include "store/road/claims.h"
#include "store/road/order.h"
#include "store/road/settle.h"

struct late {
    int64_t num, expires_us, doc, endpoint, queue, attempts, due_us, received_us, turn;
    struct str message; /* of its last failure */
};

struct expire_op {
    struct store_op op;
    int64_t now_us;
    int64_t *endpoints;
    size_t count;
};

static void read_expired(struct db_rows *row, struct arena *a, void *to)
{
    *(struct late *)to = (struct late){ .num = db_get_int(row, EXPIRE_DUE_NUM),
                                        .expires_us = db_get_int(row, EXPIRE_DUE_EXPIRES_US),
                                        .doc = db_get_int(row, EXPIRE_DUE_DOC),
                                        .endpoint = db_get_int(row, EXPIRE_DUE_ENDPOINT),
                                        .queue = db_get_int(row, EXPIRE_DUE_QUEUE),
                                        .attempts = db_get_int(row, EXPIRE_DUE_ATTEMPTS),
                                        .due_us = db_get_int(row, EXPIRE_DUE_DUE_US),
                                        .received_us = db_get_int(row, EXPIRE_DUE_RECEIVED_US),
                                        .message = row_text(row, EXPIRE_DUE_MESSAGE, a),
                                        .turn = db_get_int(row, EXPIRE_DUE_TURN) };
}

static bool read_late(struct writer *w, const struct expire_op *o, const struct late *after,
                      struct late *ret, size_t *ret_count, struct err *err)
{
    return rows_collect(w->db, SQL_EXPIRE_DUE, DB_NO_SLOT,
                        DB_ARGS(db_int(o->now_us), db_int(after->expires_us), db_int(after->num),
                                db_int(EXPIRE_MOST)),
                        ROWS_INTO(ret, EXPIRE_MOST, w->arena, read_expired), ret_count, err);
}

/* Delete the task of the delivery; *ret_ours is false if it is claimed. */
static bool take_task(struct writer *w, const struct late *v, bool *ret_ours, struct err *err)
{
    int64_t n = 0;

    *ret_ours = v->turn == TURN_WAITS; /* waiting in its lane it has no task */
    if (*ret_ours)
        return true;
    if (w->db->kind == DB_SQLITE && claims_taken(w->store->claims, v->num))
        return true;
    if (w->db->kind == DB_POSTGRESQL) {
        if (!db_one_int(w->db, SQL_OPERATE_LEASE, DB_ARGS(db_int(v->num)), 0, &n, err))
            return false;
        if (n > 0)
            return true;
    }
    if (v->due_us != 0 &&
        !db_run(w->db, SQL_TASK_LATER_DROP, DB_ARGS(db_int(v->due_us), db_int(v->num)), &n, err))
        return false;
    if (n == 0 && !db_run(w->db, SQL_EXPIRE_READY,
                          DB_ARGS(db_int(v->queue), db_int(v->num), db_int(v->received_us),
                                  db_int(v->due_us)),
                          &n, err))
        return false;
    if (n == 0 &&
        !db_run(w->db, SQL_EXPIRE_SEARCH, DB_ARGS(db_int(v->queue), db_int(v->num)), &n, err))
        return false;
    *ret_ours = n > 0;
    return true;
}

static bool expire_add_line(struct writer *w, const struct late *v, struct str why, struct err *err)
{
    AUTO(buf_done) struct buf line = BUF_INIT(TIMELINE_MOST);

    timeline_add(&line, &(struct timeline_line){ .at_us = clock_wall_us(),
                                                 .node = store_node(w->store),
                                                 .stage = TIMELINE_DELIVERY,
                                                 .outcome = TIMELINE_DEAD,
                                                 .took_us = -1,
                                                 .attempt = v->attempts,
                                                 .what = name_text(w->store, v->endpoint),
                                                 .message = why });
    struct db_value row[] = { db_int(v->doc), db_bytes(arena_copy(w->arena, buf_view(&line))) };

    return db_batch(w->db, SQL_SETTLE_TRAIL, DB_NO_SLOT, row, 2, 1, err);
}

/* *ret_ended is false if its turn in the lane came meanwhile. */
static bool end_late(struct writer *w, const struct late *v, bool *ret_ended, struct err *err)
{
    char at[CLOCK_TEXT];
    struct str why = str_of(
        v->message.len > 0 ? arena_printf(w->arena, "expired at %s; the last attempt: %.*s",
                                          clock_utc_text(v->expires_us, at), STR_ARG(v->message))
                           : arena_printf(w->arena, "expired at %s, before it could be sent",
                                          clock_utc_text(v->expires_us, at)));
    struct str code = str_of(dead_codes[DEAD_EXPIRED]);
    struct db_value dead[] = { db_int(v->num),       db_int(v->queue), db_int(PRIO_NORMAL),
                               db_int(TASK_DELIVER), db_text(code),    db_text(why),
                               db_int(v->attempts),  db_int(0),        db_int(0) };
    struct db_value tally[] = { db_int(store_node(w->store)), db_int(w->number), db_int(TALLY_DEAD),
                                db_int(v->endpoint), db_int(1) };

    int64_t changed;

    if (!db_run(w->db, SQL_EXPIRE_PUT, DB_ARGS(db_int(v->num), db_text(why), db_int(v->turn)),
                &changed, err))
        return false;
    *ret_ended = changed > 0;
    if (!*ret_ended)
        return true;
    return db_batch(w->db, SQL_TASK_DEAD_PUT, DB_NO_SLOT, dead, 9, 1, err) &&
           db_batch(w->db, SQL_TALLY_ADD, DB_NO_SLOT, tally, 5, 1, err) &&
           expire_add_line(w, v, why, err);
}

/* Read page by page: a page full of claimed deliveries does not hide the others. */
static bool expire_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct expire_op *o = container_of(ops[0], struct expire_op, op);
    struct late *page = ARENA_ARRAY(w->arena, struct late, EXPIRE_MOST), after = { 0 };
    size_t n = EXPIRE_MOST;

    require(count == 1);
    o->count = 0;
    while (n == EXPIRE_MOST && o->count < EXPIRE_MOST) {
        if (!read_late(w, o, &after, page, &n, err))
            return false;
        for (size_t i = 0; i < n && o->count < EXPIRE_MOST; i++) {
            bool ours;

            if (!take_task(w, &page[i], &ours, err) || (ours && !end_late(w, &page[i], &ours, err)))
                return false;
            if (ours)
                o->endpoints[o->count++] = page[i].endpoint;
            after = page[i];
        }
    }
    return true;
}

static const struct store_verb expire_verb = { .name = "expire", .run = expire_run };

bool expire_due(struct store *s, int64_t now_us, int64_t ret_endpoints[static EXPIRE_MOST],
                size_t *ret_count, struct err *err)
{
    struct expire_op o = { .now_us = now_us, .endpoints = ret_endpoints };

    if (!writers_call(s->writers, &expire_verb, &o.op, err))
        return false;
    *ret_count = o.count;
    return true;
}

bool expire_next(struct store *s, int64_t *ret_us, struct err *err)
{
    return store_one_int(s, SQL_EXPIRE_NEXT, DB_NO_ARGS, 0, ret_us, err);
}
