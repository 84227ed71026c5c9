/* check.c - what must hold, whatever happens; it knows the world as it is, not as a node sees it.
 * See sim.h. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sim.h"

void check_fail(struct world *w, const char *invariant, const char *fmt, ...)
{
    va_list args;

    if (w->invariant != NULL)
        return;
    w->invariant = invariant;
    va_start(args, fmt);
    (void)vsnprintf(w->why, sizeof w->why, fmt, args);
    va_end(args);
    TRACE(w, "BROKEN: %s: %s", invariant, w->why);
}

#define NAME(d) (d) / CHILDREN, (d) % CHILDREN

/* ---- changes ---- */

static enum delivery_state state_of(const struct delivery *d)
{
    return d->claim.token != 0 ? DELIVERY_SENDING : d->state;
}

/* A node that is dead, or was born again, or whose lease is over changes nothing. */
void check_node(struct world *w, int node, int64_t epoch)
{
    const struct member *n = &w->store.nodes[node];

    if (n->dead || n->epoch != epoch)
        check_fail(w, "fenced nodes change nothing", "node %d of epoch %lld, epoch is %lld%s", node,
                   (long long)epoch, (long long)n->epoch, n->dead ? ", dead" : "");
    else if (n->alive_until_us <= world_store_us(w))
        check_fail(w, "fenced nodes change nothing", "node %d after its lease", node);
}

static void check_claim(struct world *w, const struct op *op, const struct claim *was)
{
    bool by_claim = op->kind == OP_ROUTE || op->kind == OP_INTENT || op->kind == OP_SETTLE;

    if (by_claim && was->token != op->claim.token)
        check_fail(w, "one node has a claim", "node %d uses claim %lld, the store has %lld",
                   op->node, (long long)op->claim.token, (long long)was->token);
    if (op->kind == OP_CLAIM && was->token != 0)
        check_fail(w, "one node has a claim", "node %d takes what node %lld has", op->node,
                   (long long)was->node - 1);
}

/* What the wait must be follows from the rule and the chance that was drawn. */
static void watch_retry(struct world *w, const struct op *op, int d)
{
    int64_t wait = retry_wait_us(&delivery_system(w, d)->retry, op->tries, op->chance);

    if (op->tries > 0)
        w->watch[d].not_before_us = op->failed_us + wait;
}

/* Of an ordered lane one goes at a time. */
static void check_lane(struct world *w, int d)
{
    for (int i = 0; i < w->store.order_count; i++) {
        int e = w->store.order[i];

        if (e != d && w->store.deliveries[e].claim.token != 0 &&
            delivery_lane(w, e) == delivery_lane(w, d))
            check_fail(w, "one of a lane at a time", "delivery %d.%d is claimed beside %d.%d",
                       NAME(d), NAME(e));
    }
}

static void check_delivery(struct world *w, const struct op *op, int d, const struct delivery *was)
{
    const struct delivery *is = &w->store.deliveries[d];
    enum delivery_state from = state_of(was), to = state_of(is);

    if (was->exists && !is->exists)
        check_fail(w, "nothing is lost", "delivery %d.%d is gone", NAME(d));
    if (was->exists && from != to && !delivery_may_move(from, to))
        check_fail(w, "states move along the table", "delivery %d.%d from %s to %s", NAME(d),
                   delivery_states[from], delivery_states[to]);
    if (to == DELIVERY_DEAD)
        w->watch[d].was_dead = true;
    if (op == NULL || !was->exists)
        return;
    check_claim(w, op, &was->claim);
    if (op->kind == OP_CLAIM && delivery_system(w, d)->ordered)
        check_lane(w, d);
    if (from != DELIVERY_DELIVERED && to == DELIVERY_DELIVERED && !is->unconfirmed &&
        w->watch[d].arrivals == 0)
        check_fail(w, "nothing is lost", "delivery %d.%d counts as delivered, nobody has it",
                   NAME(d));
    if (op->kind == OP_SETTLE && to == DELIVERY_RETRYING)
        watch_retry(w, op, d);
}

static void check_document(struct world *w, const struct op *op, int i, const struct document *was)
{
    const struct document *is = &w->store.docs[i];

    if (is->seq < was->seq || is->routed < was->routed)
        check_fail(w, "nothing is lost", "document %d goes back", i);
    for (int c = 0; is->routed && c < w->paper[i].children; c++)
        if (!w->store.deliveries[i * CHILDREN + c].exists)
            check_fail(w, "nothing is lost", "document %d was routed to nowhere", i);
    check_claim(w, op, &was->claim);
}

void check_commit(struct world *w, const struct op *op)
{
    struct store *s = &w->store;

    if (op != NULL && op->kind != OP_REGISTER)
        check_node(w, op->node, op->epoch);
    for (size_t i = 0; i < w->journal_count; i++) {
        const struct undo *u = &w->journal[i];
        const char *at = u->at;

        if (at >= (char *)s->deliveries && at < (char *)(s->deliveries + DELIVERIES_MOST)) {
            struct delivery was;

            memcpy(&was, u->was, sizeof was);
            check_delivery(w, op, (int)((const struct delivery *)u->at - s->deliveries), &was);
        } else if (at >= (char *)s->docs && at < (char *)(s->docs + DOCS)) {
            struct document was;

            memcpy(&was, u->was, sizeof was);
            check_document(w, op, (int)((const struct document *)u->at - s->docs), &was);
        } else if (at >= (char *)w->jobs.rows && at < (char *)(w->jobs.rows + JOBS)) {
            struct job_row was;

            memcpy(&was, u->was, sizeof was);
            jobs_check_row(w, NULL, (int)((const struct job_row *)u->at - w->jobs.rows), &was);
        }
    }
    if (op != NULL && (op->kind == OP_SEEN || op->kind == OP_BEAT || op->kind == OP_REGISTER))
        check_holds(w);
}

/* ---- holds ---- */

/* In effect for certain, whatever clocks say a moment apart. */
static bool is_in_effect(const struct world *w, const struct hold *h)
{
    if (w->stepped)
        return h->at_once && h->until_us == 0 && h->from_us <= world_store_us(w) - 301 * S;
    return h->from_us <= w->now_us - TOLERANCE_US &&
           (h->until_us == 0 || w->now_us < h->until_us - TOLERANCE_US);
}

/* Up to which change every node that lives goes by the holds: `hold add` has returned. */
void check_holds(struct world *w)
{
    int64_t mark = INT64_MAX;
    struct bits sending = { 0 };

    for (int i = 0; i < w->node_count; i++) {
        const struct store *s = &w->store;

        if (s->nodes[i].node == 0 || s->nodes[i].dead)
            continue;
        mark = s->seen_mark[i] < mark ? s->seen_mark[i] : mark;
        for (size_t k = 0; k < sizeof sending.word / sizeof sending.word[0]; k++)
            sending.word[k] |= s->seen_sending[i].word[k];
    }
    w->live_mark = mark;
    w->live_sending = sending;
}

static void check_held(struct world *w, int node, int d)
{
    const struct node *n = &w->nodes[node];

    for (int i = 0; i < w->store.hold_count; i++) {
        const struct hold *h = &w->store.holds[i];
        bool known = h->mark <= n->mark && (h->ended_mark == 0 || h->ended_mark > n->mark);

        if (h->system == delivery_target(w, d)->system && known && is_in_effect(w, h))
            check_fail(w, "nothing begins while it is held",
                       "node %d begins delivery %d.%d under hold %d", node, NAME(d), i);
    }
}

static void check_window(struct world *w, int node, int d)
{
    const struct system *s = delivery_system(w, d);
    int64_t minute = INT64_C(60) * S, day = 1440 * minute;
    int64_t from = w->now_us / day * day + s->window.open_minute * minute;
    int64_t to = from + (s->window.close_minute - s->window.open_minute) * minute;

    if (s->windowed && !w->stepped &&
        (w->now_us < from - TOLERANCE_US || w->now_us > to + TOLERANCE_US))
        check_fail(w, "nothing begins while it is held",
                   "node %d begins delivery %d.%d outside of the window", node, NAME(d));
}

/* ---- sends ---- */

/* In any time w at most w / T + burst: each must fit when all are played again on one timeline.
 * A node knows the store's time but for the time that its question was on its way. */
static void check_rate(struct world *w, int system)
{
    const struct rate_rule *r = &w->systems[system].rate;
    int64_t now = w->now_us * 1000, *t = &w->rate_t_ns[system];

    if (!w->systems[system].limited)
        return;
    if (*t < now)
        *t = now;
    if (*t - now > (r->burst - 1) * r->interval_ns + TOLERANCE_US * INT64_C(1000))
        check_fail(w, "the rate is kept", "system %d: %lld ms too early", system,
                   (long long)((*t - now - (r->burst - 1) * r->interval_ns) / 1000000));
    *t += r->interval_ns;
}

static void check_wait(struct world *w, int d)
{
    struct watch *watch = &w->watch[d];

    if (!w->stepped && w->now_us < watch->not_before_us - TOLERANCE_US)
        check_fail(w, "retries back off", "delivery %d.%d is tried %lld ms too early", NAME(d),
                   (long long)((watch->not_before_us - w->now_us) / MS));
    if (watch->begun_us == w->now_us)
        check_fail(w, "retries back off", "delivery %d.%d is tried twice at once", NAME(d));
}

void check_begin(struct world *w, int node, int task, bool ask)
{
    int d = w->nodes[node].tasks[task].delivery;

    check_held(w, node, d);
    check_window(w, node, d);
    check_wait(w, d);
    w->watch[d].not_before_us = 0;
    if (ask)
        return;
    w->watch[d].begun_us = w->now_us;
    check_rate(w, delivery_target(w, d)->system);
}

/* Only who has the claim sends, and what is sent after `hold add` has returned was listed. */
void check_byte(struct world *w, int node, int task)
{
    const struct task *j = &w->nodes[node].tasks[task];
    const struct claim *row = &w->store.deliveries[j->delivery].claim;
    int d = j->delivery;

    if (row->token != j->claim.token)
        check_fail(w, "one node has a claim", "node %d sends delivery %d.%d, claimed by node %lld",
                   node, NAME(d), (long long)row->node - 1);
    for (int i = 0; i < w->store.hold_count; i++) {
        const struct hold *h = &w->store.holds[i];

        if (h->system == delivery_target(w, d)->system && h->at_once && h->ended_mark == 0 &&
            h->mark <= w->live_mark && is_in_effect(w, h) &&
            (w->live_sending.word[d / 64] >> d % 64 & 1) == 0)
            check_fail(w, "a hold is live everywhere", "delivery %d.%d is sent under hold %d",
                       NAME(d), i);
    }
}

/* ---- arrivals ---- */

/* Nothing that comes before it in its lane, of its gateway, is still to arrive. */
static void check_order(struct world *w, int d)
{
    const struct store *s = &w->store;
    int lane = delivery_lane(w, d), doc = d / CHILDREN;

    for (int e = 0; e < w->papers * CHILDREN; e++) {
        int other = e / CHILDREN;
        bool before = s->docs[other].seq < s->docs[doc].seq || (other == doc && e < d);

        if (s->docs[other].seq == 0 || !before || e % CHILDREN >= w->paper[other].children ||
            w->paper[other].gateway != w->paper[doc].gateway || delivery_lane(w, e) != lane)
            continue;
        const struct delivery *row = &s->deliveries[e];
        bool aside = w->watch[e].was_dead && delivery_system(w, e)->skips;

        if (w->watch[e].arrivals == 0 && !aside && !(row->exists && delivery_is_over(row->state)))
            check_fail(w, "first arrivals are in order", "delivery %d.%d arrives before %d.%d",
                       NAME(d), NAME(e));
    }
}

void check_arrival(struct world *w, int send)
{
    int d = w->sends[send].delivery;
    const struct watch *watch = &w->watch[d];
    const struct system *s = delivery_system(w, d);

    if (s->policy != DOUBT_RESEND && watch->arrivals > 1 + watch->resends + watch->missing)
        check_fail(w, "never twice without a decision", "delivery %d.%d arrives %d times", NAME(d),
                   watch->arrivals);
    if (s->policy == DOUBT_PROBE && s->remembers && watch->effects > 1)
        check_fail(w, "exactly once", "delivery %d.%d has %d effects", NAME(d), watch->effects);
    if (s->ordered && watch->arrivals == 1)
        check_order(w, d);
}

/* ---- the end ---- */

static void check_over(struct world *w, int d)
{
    const struct delivery *row = &w->store.deliveries[d];
    const struct watch *watch = &w->watch[d];

    if (!row->exists || !delivery_is_over(row->state))
        check_fail(w, "nothing is stranded", "delivery %d.%d is %s%s", NAME(d),
                   row->exists ? delivery_states[row->state] : "not there",
                   row->claim.token != 0 ? ", claimed" : "");
    else if (row->state == DELIVERY_DELIVERED && !row->unconfirmed && !watch->resolved &&
             watch->effects == 0)
        check_fail(w, "nothing is lost", "delivery %d.%d is delivered, nobody has it", NAME(d));
}

void check_end(struct world *w)
{
    for (int i = 0; i < w->papers; i++) {
        if (w->paper[i].acked && w->store.docs[i].seq == 0)
            check_fail(w, "nothing is lost", "document %d was acknowledged and is not there", i);
        if (!w->paper[i].acked)
            check_fail(w, "nothing is stranded", "document %d was never taken", i);
        for (int c = 0; c < w->paper[i].children; c++)
            check_over(w, i * CHILDREN + c);
    }
    jobs_check_end(w);
}
