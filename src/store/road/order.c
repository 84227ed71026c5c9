/* order.c - lanes.
 *
 * The problem.  Deliveries of one ordered system and key must arrive in the order in which their
 * documents were accepted by one gateway.  Documents are routed in any order, on several nodes,
 * and deliveries are retried.  Before a delivery may go, two questions need an answer that no
 * single node knows: is another delivery of the lane on its way, and is there a document,
 * accepted earlier and not yet routed, that may belong into the same lane?
 *
 * The method.  The order is in the store.  Commit 1 gives a document its number (seq) and adds
 * (gateway, seq) to order_open.  The commit that routes the document deletes that row and adds
 * its deliveries with TURN_WAITS and without a task.  Every settlement that changes a lane ends
 * with order_let_go(): in each lane the first waiting delivery by (seq, child) goes, if no
 * delivery of the lane has TURN_GOES and order_open has nothing before it of its gateway.  To go
 * is to get TURN_GOES and a task, in one commit.  The turn ends in the commit that delivers or
 * cancels the delivery, lets it expire, or lets it step aside when it is dead.
 *
 * Why at most one delivery of a lane is on its way (order.h, 1).  On SQLite one writer runs all
 * transactions.  On PostgreSQL lock_lanes() takes an advisory lock of each lane until the commit,
 * and the head is read by a later statement: its snapshot contains whatever earlier owners of the
 * lock committed.  A lane that another transaction has locked is skipped.  Locks are tried and
 * never waited for, so they cannot deadlock.
 *
 * Why no delivery overtakes (order.h, 2).  Numbers follow the order of commits: on SQLite there is
 * one writer, on PostgreSQL the row of order_seq stays locked until the commit that took a number.
 * So when a delivery is visible, each document with a smaller number is committed: it is still in
 * order_open, or the commit that removed it from there has added its deliveries, if any, to their
 * lanes.  One statement reads both.
 *
 * Children of a document (offspring.h) are committed while the number of their parent is open, each
 * with a row of its own in order_open, and the commit that closes the parent's has added the last
 * of them.  So at any time an open row stands for what may still come at that place.
 *
 * Races.  A transaction does not see what a concurrent one is about to commit, so a lane can
 * become free without anybody noticing.  Three cases are known when they happen, and go to the
 * list `asking`: the lane was locked by another transaction; its head waits for an unrouted
 * document; its head ended between order_head and order_go (PostgreSQL: it expired or was
 * cancelled).  The list is checked by commits that route documents here and by
 * order_ask_again().  It is only a shortcut: it is in memory, bounded and not part of the
 * transaction.  A rollback loses entries or leaves superfluous ones, and an entry that is checked
 * before the other transaction commits is dropped in vain.  order_scan() repairs all of that: it
 * reads every lane and calls order_let_go() for those with nothing on its way.  It also serves
 * the transactions that free lanes without order_let_go(): manual actions, after which the
 * listener is notified to scan at once, expiry, and poison.
 *
 * Crashes.  Before the commit the lane is as it was.  After it the delivery has a task and a
 * stored turn: it is claimed like any other, by whichever node, and still blocks its lane.  A
 * task that came claimed for a node that dies is a lease like others (rescue.h) or, on SQLite, a
 * row of task_ready.  The list `asking` is empty after a start; the scan finds its lanes.
 */
#include "store/road/order.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/id.h"
#include "base/require.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"
#include "store/road/accept.h"
#include "store/road/claims.h"
#include "store/road/lease_rows.h"
#include "store/road/settle.h"

/* A lane to check again: its head (seq, child) waits for unrouted documents of its gateway. gateway
 * 0: another transaction had locked the lane, or its head ended. */
struct asking {
    int64_t lane, gateway, seq, child;
};

struct order {
    _Atomic bool numbered;
    struct order_listener listener;
    pthread_mutex_t mutex;
    struct asking asking[ORDER_ASKING_MOST];
    _Atomic size_t count;
};

struct order *order_new(void)
{
    struct order *o = NEW(struct order);

    (void)pthread_mutex_init(&o->mutex, NULL);
    return o;
}

void order_free(struct order *o)
{
    free(o);
}

void order_number(struct store *s, bool numbered)
{
    atomic_store(&s->order->numbered, numbered);
}

bool order_is_numbered(struct store *s)
{
    return atomic_load_explicit(&s->order->numbered, memory_order_relaxed);
}

void order_listen(struct store *s, const struct order_listener *listener)
{
    (void)pthread_mutex_lock(&s->order->mutex);
    s->order->listener = listener != NULL ? *listener : (struct order_listener){ 0 };
    (void)pthread_mutex_unlock(&s->order->mutex);
}

bool order_is_asking(struct store *s)
{
    return atomic_load(&s->order->count) > 0;
}

/* ---- lanes to check again ---- */

static void ask_later(struct order *o, struct asking a)
{
    (void)pthread_mutex_lock(&o->mutex);
    if (o->count < ORDER_ASKING_MOST) /* else the scan finds it */
        o->asking[o->count++] = a;
    (void)pthread_mutex_unlock(&o->mutex);
}

static size_t take_asking(struct order *o, struct asking *ret)
{
    (void)pthread_mutex_lock(&o->mutex);
    size_t n = o->count;

    memcpy(ret, o->asking, n * sizeof *ret);
    o->count = 0;
    (void)pthread_mutex_unlock(&o->mutex);
    return n;
}

static void read_least(struct db_rows *row, struct arena *a, void *to)
{
    (void)a;
    *(struct asking *)to = (struct asking){ .seq = db_get_int(row, ORDER_OPEN_LEAST_SEQ),
                                            .child = db_get_int(row, ORDER_OPEN_LEAST_CHILD) };
}

/* Nothing that is open lies before the head of the lane. */
static bool nothing_before(const struct asking *least, const struct asking *head)
{
    return least->seq > head->seq || (least->seq == head->seq && least->child >= head->child);
}

/* Append to `lanes` those of the list that may be free now; put the others back on the list. */
static bool add_asking(struct writer *w, int64_t *lanes, size_t *count, struct err *err)
{
    struct asking *all = ARENA_ARRAY(w->arena, struct asking, ORDER_ASKING_MOST);
    size_t n = take_asking(w->store->order, all);
    struct asking least = { 0 };
    int64_t gateway = 0;
    bool any = false;

    for (size_t i = 0; i < n; i++) {
        if (all[i].gateway != gateway) {
            gateway = all[i].gateway;
            if (gateway != 0 &&
                !rows_one(w->db, SQL_ORDER_OPEN_LEAST, DB_NO_SLOT, DB_ARGS(db_int(gateway)),
                          read_least, NULL, &least, &any, err))
                return false;
        }
        if (gateway == 0 || !any || nothing_before(&least, &all[i]))
            lanes[(*count)++] = all[i].lane;
        else
            ask_later(w->store->order, all[i]);
    }
    return true;
}

/* ---- heads ---- */

struct heads {
    struct writer *w;
    const int64_t *lanes;
    bool *locked;
    struct order_batch *batch;
};

static bool found_lock(void *arg, int64_t slot, size_t at, struct db_rows *row, struct err *err)
{
    struct heads *h = arg;

    (void)slot;
    (void)row;
    (void)err;
    h->locked[at] = true;
    return true;
}

static bool found_head(void *arg, int64_t slot, size_t at, struct db_rows *row, struct err *err)
{
    struct heads *h = arg;

    (void)slot;
    (void)err;
    if (db_get_int(row, ORDER_HEAD_WAITS) != 0) {
        ask_later(h->w->store->order,
                  (struct asking){ .lane = h->lanes[at],
                                   .gateway = db_get_int(row, ORDER_HEAD_GATEWAY),
                                   .seq = db_get_int(row, ORDER_HEAD_SEQ),
                                   .child = db_get_int(row, ORDER_HEAD_CHILD) });
        return true;
    }
    h->batch->going[h->batch->count++] =
        (struct order_going){ .num = db_get_int(row, ORDER_HEAD_NUM),
                              .lane = h->lanes[at],
                              .queue = db_get_int(row, ORDER_HEAD_QUEUE),
                              .prio = db_get_int(row, ORDER_HEAD_PRIO),
                              .rank = db_get_int(row, ORDER_HEAD_RANK) };
    return true;
}

static int order_by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static size_t unique(int64_t *lanes, size_t count)
{
    size_t n = 0;

    qsort(lanes, count, sizeof *lanes, order_by_number);
    for (size_t i = 0; i < count; i++)
        if (n == 0 || lanes[n - 1] != lanes[i])
            lanes[n++] = lanes[i];
    return n;
}

static void order_values_of(struct db_value *v, const int64_t *lanes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        v[i] = db_int(lanes[i]);
}

/* Keep the lanes that this transaction could lock; check the others again later. */
static bool lock_lanes(struct heads *h, int64_t *lanes, size_t *count, struct db_value *v,
                       struct err *err)
{
    size_t n = 0;

    h->locked = ARENA_ARRAY(h->w->arena, bool, *count);
    if (!db_find(h->w->db, SQL_ORDER_LOCK, DB_NO_SLOT, 1, v, 1, *count, found_lock, h, err))
        return false;
    for (size_t i = 0; i < *count; i++)
        if (h->locked[i])
            lanes[n++] = lanes[i];
        else
            ask_later(h->w->store->order, (struct asking){ .lane = lanes[i] });
    *count = n;
    order_values_of(v, lanes, n);
    return true;
}

static struct order_listener listener_of(struct order *o)
{
    (void)pthread_mutex_lock(&o->mutex);
    struct order_listener l = o->listener;

    (void)pthread_mutex_unlock(&o->mutex);
    return l;
}

static bool order_is_wanted(const struct order_listener *l, struct order_going *g,
                            const struct order_lanes *which)
{
    for (size_t i = 0; i < which->own_count && !g->own; i++)
        g->own = which->own[i] == g->num;
    return g->own || (l->keeps != NULL && l->keeps(l->arg, g->num));
}

/* A delivery that this node keeps in memory gets its task claimed.  A delivery is kept only until
 * it goes for the first time, so its task is claimed at birth at most once (lease_rows.h). */
static bool claim_wanted(struct writer *w, struct order_batch *b, const struct order_lanes *which,
                         struct err *err)
{
    struct order_listener l = listener_of(w->store->order);
    struct lease_rows rows = lease_begin(w, b->count);

    for (size_t i = 0; i < b->count; i++) {
        struct order_going *g = &b->going[i];

        g->task = (struct task){ .id = g->num,
                                 .queue = g->queue,
                                 .prio = g->prio,
                                 .rank = g->rank,
                                 .kind = TASK_DELIVER,
                                 .attempts = 1 };
        g->claimed = order_is_wanted(&l, g, which);
        if (g->claimed && w->db->kind == DB_POSTGRESQL && /* SQLite: order_tell() marks it */
            !lease_put(w, &rows, &g->task, err))
            return false;
    }
    return lease_write(w, &rows, err);
}

static bool found_going(void *arg, int64_t slot, size_t at, struct db_rows *row, struct err *err)
{
    bool *goes = arg;

    (void)slot;
    (void)row;
    (void)err;
    goes[at] = true;
    return true;
}

/* A head that ended since order_head (PostgreSQL: it expired, or a person cancelled it) does not
 * go; its lane is checked again. */
static bool take_turns(struct writer *w, struct order_batch *b, struct err *err)
{
    struct db_value *nums = ARENA_ARRAY(w->arena, struct db_value, b->count);
    bool *goes = ARENA_ARRAY(w->arena, bool, b->count);
    size_t n = 0;

    for (size_t i = 0; i < b->count; i++)
        nums[i] = db_int(b->going[i].num);
    if (!db_find(w->db, SQL_ORDER_GO, DB_NO_SLOT, 1, nums, 1, b->count, found_going, goes, err))
        return false;
    for (size_t i = 0; i < b->count; i++)
        if (goes[i])
            b->going[n++] = b->going[i];
        else
            ask_later(w->store->order, (struct asking){ .lane = b->going[i].lane });
    b->count = n;
    return true;
}

static bool write_going(struct writer *w, struct order_batch *b, const struct order_lanes *which,
                        struct err *err)
{
    enum { READY = 5 };
    struct db_value *tasks = ARENA_ARRAY(w->arena, struct db_value, b->count * READY);
    size_t n = 0;

    if (!take_turns(w, b, err) || !claim_wanted(w, b, which, err))
        return false;
    for (size_t i = 0; i < b->count; i++) {
        struct db_value *v = tasks + n * READY;

        if (b->going[i].claimed && w->db->kind == DB_POSTGRESQL)
            continue;
        n++;
        v[3] = db_int(b->going[i].num);
        v[0] = db_int(b->going[i].queue);
        v[1] = db_int(b->going[i].prio);
        v[2] = db_int(b->going[i].rank);
        v[4] = db_int(TASK_DELIVER);
    }
    return db_batch(w->db, SQL_TASK_READY_ADD, DB_NO_SLOT, tasks, READY, n, err);
}

bool order_let_go(struct writer *w, const struct order_lanes *which, struct order_batch *ret,
                  struct err *err)
{
    size_t count = which->count, most = count + (which->closed ? ORDER_ASKING_MOST : 0);
    int64_t *all = ARENA_ARRAY(w->arena, int64_t, most);
    struct heads h = { .w = w, .lanes = all, .batch = ret };

    *ret = (struct order_batch){ 0 };
    for (size_t i = 0; i < count; i++)
        all[i] = which->lanes[i];
    if (which->closed && order_is_asking(w->store) && !add_asking(w, all, &count, err))
        return false;
    count = unique(all, count);
    if (count == 0)
        return true;
    struct db_value *v = ARENA_ARRAY(w->arena, struct db_value, count);

    order_values_of(v, all, count);
    ret->going = ARENA_ARRAY(w->arena, struct order_going, count);
    if (w->db->kind == DB_POSTGRESQL && !lock_lanes(&h, all, &count, v, err))
        return false;
    return db_find(w->db, SQL_ORDER_HEAD, DB_NO_SLOT, 1, v, 1, count, found_head, &h, err) &&
           (ret->count == 0 || write_going(w, ret, which, err));
}

void order_tell(struct writer *w, const struct order_batch *b)
{
    struct order *o = w->store->order;

    struct claims *claims = w->store->claims;

    for (size_t i = 0; claims != NULL && i < b->count; i++) {
        struct order_going *g = &b->going[i];

        g->claimed = g->claimed && claims_take(claims, &g->task, task_lease_us());
        if (!g->claimed)
            claims_put_at(claims, g->queue, (struct claim_place){ g->prio, g->rank, g->num });
    }
    struct order_listener l = listener_of(o);

    if (l.going != NULL)
        l.going(l.arg, b->going, b->count);
}

bool order_take_numbers(struct writer *w, size_t n, int64_t *ret_first, struct err *err)
{
    int64_t last;

    if (!db_one_int(w->db, SQL_ORDER_SEQ_TAKE, DB_ARGS(db_int((int64_t)n)), 0, &last, err))
        return false;
    *ret_first = last - (int64_t)n + 1;
    return true;
}

/* ---- verbs ---- */

struct order_op {
    struct store_op op;
    struct order_lanes which;
    int64_t aside; /* the delivery that steps aside; 0: none */
    struct order_batch batch;
};

static bool order_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct order_op *o = container_of(ops[0], struct order_op, op);
    int64_t lane = 0;

    require(count == 1);
    if (o->aside != 0) {
        if (!db_one_int(w->db, SQL_ORDER_ASIDE, DB_ARGS(db_int(o->aside)), 0, &lane, err))
            return false;
        o->which = (struct order_lanes){ .lanes = &lane, .count = lane != 0 };
    }
    return order_let_go(w, &o->which, &o->batch, err);
}

static void order_committed(struct writer *w, struct store_op **ops, size_t count)
{
    const struct order_op *o = container_of(ops[0], struct order_op, op);

    require(count == 1);
    if (o->batch.count > 0)
        order_tell(w, &o->batch);
}

static const struct store_verb order_verb = {
    .name = "order", .notes = true, .run = order_run, .committed = order_committed
};

bool order_ask_again(struct store *s, struct err *err)
{
    struct order_op o = { .which = { .closed = true } };

    return !order_is_asking(s) || writers_call(s->writers, &order_verb, &o.op, err);
}

bool order_step_aside(struct store *s, int64_t delivery, struct err *err)
{
    struct order_op o = { .aside = delivery };

    return writers_call(s->writers, &order_verb, &o.op, err);
}

/* ---- queries ---- */

static struct str order_id_of(struct db_rows *rows, int column, struct arena *a)
{
    struct str bytes = db_get_str(rows, column);
    struct id id;
    char text[ID_TEXT];

    if (bytes.len != sizeof id.bytes)
        return STR("");
    memcpy(id.bytes, bytes.ptr, bytes.len);
    return arena_copy(a, str_of(id_text(&id, text)));
}

struct lane_walk {
    struct arena *arena;
    struct order_scan *scan;
    int64_t *free_lanes;
    size_t free_count;
};

static bool see_lane(void *arg, struct db_rows *row, struct err *err)
{
    struct lane_walk *k = arg;
    struct order_scan *to = k->scan;
    int64_t state = db_is_null(row, ORDER_LANES_NUM) ? -1 : db_get_int(row, ORDER_LANES_STATE);

    (void)err;
    to->lane_count++;
    to->above = db_get_int(row, ORDER_LANES_LANE);
    if (state < 0)
        k->free_lanes[k->free_count++] = to->above;
    if (state == DELIVERY_DEAD || state == DELIVERY_IN_DOUBT)
        to->stops[to->stop_count++] =
            (struct order_stop){ .lane = to->above,
                                 .delivery = db_get_int(row, ORDER_LANES_NUM),
                                 .system = db_get_int(row, ORDER_LANES_SYSTEM),
                                 .state = (enum delivery_state)state,
                                 .blocks = db_get_int(row, ORDER_LANES_BLOCKS) != 0,
                                 .document = order_id_of(row, ORDER_LANES_DOC_ID, k->arena),
                                 .id = row_text(row, ORDER_LANES_ID, k->arena) };
    to->more = to->lane_count == ORDER_SCAN_MOST;
    return !to->more;
}

bool order_scan(struct store *s, int64_t above, struct arena *a, struct order_scan *ret,
                struct err *err)
{
    AUTO(reader_back) struct reader r = reader_take(s, err);
    int64_t lanes[ORDER_SCAN_MOST];
    struct lane_walk k = { .arena = a, .scan = ret, .free_lanes = lanes };

    *ret = (struct order_scan){ .above = above };
    if (r.db == NULL ||
        !rows_each(r.db, SQL_ORDER_LANES, DB_NO_SLOT,
                   DB_ARGS(db_int(above), db_int(ORDER_SCAN_MOST)), see_lane, &k, err))
        return false;
    reader_back(&r);
    struct order_op o = { .which = { .lanes = lanes, .count = k.free_count } };

    return k.free_count == 0 || writers_call(s->writers, &order_verb, &o.op, err);
}

struct order_first {
    struct str document;
    enum delivery_state state;
};

static void order_read_before(struct db_rows *row, struct arena *a, void *to)
{
    *(struct order_first *)to =
        (struct order_first){ .document = order_id_of(row, ORDER_BEFORE_ID, a),
                              .state = (enum delivery_state)db_get_int(row, ORDER_BEFORE_STATE) };
}

bool order_before(struct store *s, int64_t lane, int64_t delivery, struct arena *a,
                  struct str *ret_document, enum delivery_state *ret_state, struct err *err)
{
    struct order_first first = { STR(""), DELIVERY_READY };
    bool there;
    bool ok = store_one(s, SQL_ORDER_BEFORE, DB_ARGS(db_int(lane), db_int(delivery)),
                        order_read_before, a, &first, &there, err);

    *ret_document = first.document;
    *ret_state = first.state;
    return ok;
}
