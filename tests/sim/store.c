/* store.c - the store of the model: one transaction per request, all of it or nothing.
 *
 * What a transaction changes is noted in a journal before: a transaction that fails is undone
 * from it, and the checks see in it what was before.  See sim.h. */
#include <string.h>

#include "base/require.h"
#include "sim.h"

/* ---- transactions ---- */

void store_touch(struct world *w, void *at, size_t size)
{
    struct undo *u = &w->journal[w->journal_count++];

    require(w->journal_count <= JOURNAL_MOST && size <= sizeof u->was);
    u->at = at;
    u->size = size;
    memcpy(u->was, at, size);
}

#define TOUCH(w, thing) store_touch(w, &(thing), sizeof(thing))

static bool is_before(const struct world *w, int a, int b)
{
    int64_t x = w->store.docs[a / CHILDREN].seq, y = w->store.docs[b / CHILDREN].seq;

    return x != y ? x < y : a % CHILDREN < b % CHILDREN;
}

void store_enter(struct world *w, int delivery)
{
    struct store *s = &w->store;
    int at = s->order_count++;

    for (; at > 0 && is_before(w, delivery, s->order[at - 1]); at--)
        s->order[at] = s->order[at - 1];
    s->order[at] = delivery;
}

void store_leave(struct world *w, int delivery)
{
    struct store *s = &w->store;
    int at = 0;

    while (at < s->order_count && s->order[at] != delivery)
        at++;
    if (at == s->order_count)
        return;
    s->order_count--;
    memmove(&s->order[at], &s->order[at + 1], (size_t)(s->order_count - at) * sizeof s->order[0]);
}

void store_rollback(struct world *w)
{
    struct store *s = &w->store;

    while (w->journal_count > 0) {
        const struct undo *u = &w->journal[--w->journal_count];

        memcpy(u->at, u->was, u->size);
    }
    s->order_count = 0;
    for (int d = 0; d < w->papers * CHILDREN; d++)
        if (s->deliveries[d].exists && !delivery_is_over(s->deliveries[d].state))
            store_enter(w, d);
}

void store_commit(struct world *w, const struct op *op)
{
    if (w->journal_count > 0)
        check_commit(w, op);
    w->journal_count = 0;
}

/* ---- who may ask ---- */

/* The fence: node_enter of sql/node.sql. */
bool store_has_node(const struct world *w, int node, int64_t epoch)
{
    const struct member *n = &w->store.nodes[node];

    return w->bug == BUG_FENCE ||
           (n->epoch == epoch && !n->dead && n->alive_until_us > world_store_us(w));
}

bool store_has_epoch(const struct world *w, int64_t epoch)
{
    for (int i = 0; i < w->node_count; i++)
        if (w->store.nodes[i].epoch == epoch && !w->store.nodes[i].dead)
            return true;
    return false;
}

/* A change finds its row by its claim. */
static bool is_ours(const struct world *w, const struct op *op, const struct claim *row)
{
    return w->bug == BUG_FENCE || (op->claim.token != 0 && op->claim.token == row->token);
}

/* node_silent of sql/node.sql. */
static bool is_silent(const struct member *n, int64_t now_us)
{
    return n->node != 0 && !n->dead && n->alive_until_us < now_us - LEASE_GRACE_US;
}

static void free_claims(struct world *w, int node)
{
    for (int i = 0; i < w->papers; i++)
        if (w->store.docs[i].claim.node == node + 1) {
            TOUCH(w, w->store.docs[i]);
            w->store.docs[i].claim = (struct claim){ 0 };
        }
    for (int i = 0; i < w->store.order_count; i++) {
        struct delivery *d = &w->store.deliveries[w->store.order[i]];

        if (d->claim.node == node + 1) {
            TOUCH(w, *d);
            d->claim = (struct claim){ 0 };
        }
    }
    jobs_rescue(w, node);
}

/* ---- nodes ---- */

static void read_govern(struct world *w, struct op *op)
{
    op->clock_us = world_store_us(w);
    op->mark = w->store.mark;
    op->paused = w->store.paused[op->node];
    op->hold_count = 0;
    for (int i = 0; i < w->store.hold_count; i++)
        if (w->store.holds[i].ended_mark == 0)
            op->holds[op->hold_count++] = w->store.holds[i];
}

/* The predecessor in the same folder is certainly gone. */
static void apply_register(struct world *w, struct op *op)
{
    struct member *n = &w->store.nodes[op->node];

    TOUCH(w, *n);
    TOUCH(w, w->store.epochs);
    *n = (struct member){ .node = op->node + 1,
                          .epoch = ++w->store.epochs,
                          .alive_until_us = world_store_us(w) + LEASE_TTL_US };
    op->epoch = n->epoch;
    w->store.seen_mark[op->node] = w->store.mark; /* nothing begins before it knows them */
    w->store.seen_sending[op->node] = (struct bits){ 0 };
    free_claims(w, op->node);
    read_govern(w, op);
}

static void apply_beat(struct world *w, struct op *op)
{
    int64_t now = world_store_us(w);
    struct member *n = &w->store.nodes[op->node];

    op->ok = n->epoch == op->epoch && !n->dead;
    if (!op->ok)
        return;
    TOUCH(w, *n);
    n->alive_until_us = now + LEASE_TTL_US;
    for (int i = 0; i < w->node_count; i++) {
        struct member *other = &w->store.nodes[i];

        if (i == op->node || !is_silent(other, now))
            continue;
        TRACE(w, "store: node %d is declared dead by node %d", i, op->node);
        TOUCH(w, *other);
        other->dead = true;
        free_claims(w, i);
    }
    read_govern(w, op);
}

static void apply_seen(struct world *w, struct op *op)
{
    TOUCH(w, w->store.seen_mark[op->node]);
    TOUCH(w, w->store.seen_sending[op->node]);
    w->store.seen_mark[op->node] = op->mark;
    w->store.seen_sending[op->node] = op->sending;
}

/* ---- documents ---- */

static void apply_accept(struct world *w, struct op *op)
{
    struct document *d = &w->store.docs[op->doc];

    if (d->seq != 0)
        return; /* it was sent twice */
    TOUCH(w, *d);
    TOUCH(w, w->store.seqs);
    d->seq = ++w->store.seqs;
}

static void apply_route(struct world *w, struct op *op)
{
    struct document *doc = &w->store.docs[op->doc];

    if (!is_ours(w, op, &doc->claim)) {
        op->result = OP_LOST;
        return;
    }
    TOUCH(w, *doc);
    doc->routed = true;
    doc->claim = (struct claim){ 0 };
    for (int c = 0; c < w->paper[op->doc].children; c++) {
        int d = op->doc * CHILDREN + c;

        if (w->store.deliveries[d].exists)
            continue;
        TOUCH(w, w->store.deliveries[d]);
        w->store.deliveries[d] = (struct delivery){
            .exists = true,
            .state = DELIVERY_READY,
            .turn = delivery_system(w, d)->ordered ? TURN_WAITS : TURN_NONE,
        };
        store_enter(w, d);
    }
}

/* ---- claims ---- */

/* Heads of lanes get their turn, as order_head and order_go of sql/order.sql give it: nothing else
 * of the lane goes, and no document of its gateway with a lower seq is still to be routed. */
static void let_heads_go(struct world *w)
{
    int64_t open_seq[GATEWAYS] = { 0 };
    bool decided[LANES] = { 0 };

    for (int i = 0; i < w->papers; i++) {
        int64_t *open = &open_seq[w->paper[i].gateway];
        const struct document *d = &w->store.docs[i];

        if (w->bug != BUG_HEAD && d->seq != 0 && !d->routed && (*open == 0 || d->seq < *open))
            *open = d->seq;
    }
    for (int i = 0; i < w->store.order_count; i++)
        if (w->store.deliveries[w->store.order[i]].turn == TURN_GOES)
            decided[delivery_lane(w, w->store.order[i])] = true;
    for (int i = 0; i < w->store.order_count; i++) {
        int d = w->store.order[i], lane = delivery_lane(w, d);
        struct delivery *row = &w->store.deliveries[d];
        int64_t open = open_seq[w->paper[d / CHILDREN].gateway];

        if (row->turn != TURN_WAITS || decided[lane])
            continue;
        decided[lane] = true;
        if (open != 0 && open < w->store.docs[d / CHILDREN].seq)
            continue;
        TOUCH(w, *row);
        row->turn = TURN_GOES;
    }
}

/* Whoever waits in a lane has no task. */
static bool may_go(const struct delivery *row, int64_t now_us)
{
    return row->turn != TURN_WAITS && row->claim.token == 0 &&
           (row->state == DELIVERY_READY ||
            (row->state == DELIVERY_RETRYING && row->due_us <= now_us));
}

static struct task *claim(struct world *w, struct op *op, struct claim *row)
{
    struct task *j = &op->claimed[op->claimed_count++];

    TOUCH(w, w->store.tokens);
    *row = (struct claim){ .token = ++w->store.tokens, .node = op->node + 1, .epoch = op->epoch };
    *j = (struct task){ .claim = *row, .doc = -1, .delivery = -1, .send = -1 };
    return j;
}

static void claim_documents(struct world *w, struct op *op)
{
    for (int i = 0; i < w->papers && op->routes > 0 && op->claimed_count < CLAIMS_MOST; i++) {
        struct document *d = &w->store.docs[i];

        if (d->seq == 0 || d->routed || d->claim.token != 0)
            continue;
        TOUCH(w, *d);
        claim(w, op, &d->claim)->doc = i;
        op->routes--;
    }
}

static void apply_claim(struct world *w, struct op *op)
{
    int64_t now = world_store_us(w);

    op->claimed_count = 0;
    let_heads_go(w);
    for (int i = 0; i < w->store.order_count && op->claimed_count < CLAIMS_MOST; i++) {
        int d = w->store.order[i], system = delivery_target(w, d)->system;
        struct delivery *row = &w->store.deliveries[d];

        if (!may_go(row, now) || (op->systems >> system & 1) == 0 || op->slots[system] == 0)
            continue;
        TOUCH(w, *row);
        struct task *j = claim(w, op, &row->claim);

        j->delivery = d;
        j->row = *row;
        op->slots[system]--;
    }
    claim_documents(w, op);
}

/* ---- deliveries ---- */

static void apply_intent(struct world *w, struct op *op)
{
    struct delivery *d = &w->store.deliveries[op->delivery];

    if (!is_ours(w, op, &d->claim)) {
        op->result = OP_LOST;
        return;
    }
    TOUCH(w, *d);
    d->intent = true;
    d->attempts = op->row.attempts;
    d->first_us = op->row.first_us;
}

static void apply_settle(struct world *w, struct op *op)
{
    struct delivery *d = &w->store.deliveries[op->delivery];

    if (!is_ours(w, op, &d->claim)) {
        op->result = OP_LOST;
        return;
    }
    TOUCH(w, *d);
    *d = op->row;
    d->claim = (struct claim){ 0 };
    if (d->state == DELIVERY_DEAD && delivery_system(w, op->delivery)->skips)
        d->turn = TURN_NONE; /* it steps aside */
    if (delivery_is_over(d->state))
        store_leave(w, op->delivery);
}

/* One node alone has a clock that may be put forward and back: it counts from its start. */
static void apply_reserve(struct world *w, struct op *op)
{
    const struct rate_rule *rule = &w->systems[op->system].rate;
    struct rate_row *row = &w->store.rate[op->system], next = *row;

    op->clock_us = w->node_count == 1 ? w->now_us + w->nodes[0].boot_off_us : w->now_us;
    op->ok = rate_reserve(&next, rule, op->clock_us * 1000, &op->piece, &op->wait_until_ns);
    if (w->bug == BUG_TOKEN && world_luck(w, 30))
        return;
    TOUCH(w, *row);
    *row = next;
}

/* ---- all of them ---- */

static void apply(struct world *w, struct op *op)
{
    static void (*const verbs[])(struct world * w, struct op * op) = {
        [OP_REGISTER] = apply_register, [OP_BEAT] = apply_beat,     [OP_SEEN] = apply_seen,
        [OP_ACCEPT] = apply_accept,     [OP_CLAIM] = apply_claim,   [OP_ROUTE] = apply_route,
        [OP_INTENT] = apply_intent,     [OP_SETTLE] = apply_settle, [OP_RESERVE] = apply_reserve,
    };

    op->result = OP_DONE;
    if (op->kind != OP_REGISTER && op->kind != OP_BEAT && !store_has_node(w, op->node, op->epoch)) {
        op->result = OP_FAILED;
        return;
    }
    verbs[op->kind](w, op);
}

void store_apply(struct world *w, int index)
{
    struct op *op = &w->ops[index];
    bool fails = world_luck(w, 2) || w->nodes[op->node].cut_until_us > w->now_us;

    apply(w, op);
    if (fails) {
        store_rollback(w);
        op->result = OP_FAILED;
    }
    store_commit(w, op);
    if ((op->task >= 0 || op->kind == OP_ACCEPT) && world_luck(w, 1))
        op->result = OP_FAILED; /* it was done, and its answer is lost: it comes again */
    people_strike(w, op->node, op->kind);
    struct event e = { .at_us = w->now_us + world_between(w, 200, 10 * MS),
                       .order = ++w->event_order,
                       .kind = EV_ANSWER,
                       .node = op->node,
                       .life = op->life,
                       .a = index };

    queue_push(w, &e);
}
