/* sending.c - what a node does with a delivery: slot, intent, first byte, what came of it.
 * See sim.h. */
#include "base/require.h"
#include "sim.h"

static struct task *task_at(struct world *w, int node, int task)
{
    return &w->nodes[node].tasks[task];
}

static int system_of(const struct world *w, const struct task *j)
{
    return delivery_target(w, j->delivery)->system;
}

/* ---- the end of it ---- */

static void leave_slot(struct world *w, int node, int task)
{
    struct task *j = task_at(w, node, task);

    if (j->begun)
        w->nodes[node].busy[system_of(w, j)]--;
    if (j->probe)
        breaker_probe_lost(&w->nodes[node].breaker[system_of(w, j)]);
    j->begun = j->probe = false;
}

static struct op *settle(struct world *w, int node, int task)
{
    struct task *j = task_at(w, node, task);

    TRACE(w, "node %d settles delivery %d.%d as %s%s", node, j->delivery / CHILDREN,
          j->delivery % CHILDREN, delivery_states[j->row.state], j->row.intent ? ", intent" : "");
    leave_slot(w, node, task);
    j->stage = TASK_SETTLING;
    return node_ask_for(w, node, task, OP_SETTLE);
}

/* Nothing was sent: it is as it was. */
static void give_back(struct world *w, int node, int task)
{
    (void)settle(w, node, task);
}

/* The time of the next attempt, or question. */
static int64_t due_of(struct world *w, int node, const struct task *j, int64_t tries,
                      uint64_t chance)
{
    int64_t now = node_clock_us(w, node);

    if (w->bug == BUG_BACKOFF)
        return now;
    return now + retry_wait_us(&delivery_system(w, j->delivery)->retry, tries, chance);
}

static void settle_retry(struct world *w, int node, int task, int64_t tries, bool may_die)
{
    struct task *j = task_at(w, node, task);
    uint64_t chance = world_chance(w);

    j->row.state = DELIVERY_RETRYING;
    j->row.due_us = due_of(w, node, j, tries, chance);
    if (may_die &&
        retry_is_over(&delivery_system(w, j->delivery)->retry, j->row.first_us, j->row.due_us))
        j->row.state = DELIVERY_DEAD;
    struct op *op = settle(w, node, task);

    op->failed_us = w->now_us;
    op->tries = tries;
    op->chance = chance;
}

static void settle_as(struct world *w, int node, int task, enum delivery_state state)
{
    task_at(w, node, task)->row.state = state;
    (void)settle(w, node, task);
}

static void follow(struct world *w, int node, int task, const struct doubt_facts *f)
{
    struct task *j = task_at(w, node, task);
    enum doubt_next next = doubt_next(f);

    j->row.intent = doubt_keeps_intent(f, next);
    if (f->source == DOUBT_ASKED && f->verdict == VERDICT_DOUBT)
        j->row.asked++;
    switch (next) {
    case DOUBT_DELIVERED:
        settle_as(w, node, task, DELIVERY_DELIVERED);
        return;
    case DOUBT_UNCONFIRMED:
        j->row.unconfirmed = true;
        settle_as(w, node, task, DELIVERY_DELIVERED);
        return;
    case DOUBT_SEND_LATER:
        settle_retry(w, node, task, j->row.attempts, true);
        return;
    case DOUBT_ASK_LATER:
        settle_retry(w, node, task, j->row.asked + 1, false);
        return;
    case DOUBT_WAIT:
        settle_as(w, node, task, DELIVERY_READY);
        return;
    case DOUBT_IN_DOUBT:
        j->row.asked = 0;
        settle_as(w, node, task, DELIVERY_IN_DOUBT);
        return;
    case DOUBT_DEAD:
        settle_as(w, node, task, DELIVERY_DEAD);
        return;
    case DOUBT_SEND_NOW:
    case DOUBT_ASK_NOW:
        break;
    }
    unreachable("what goes on now does not end");
}

/* ---- the beginning ---- */

/* The time for one, of the piece that this node has; else it sees to another piece. */
static bool take_time(struct world *w, int node, int system)
{
    struct node *n = &w->nodes[node];
    const struct rate_rule *rule = &w->systems[system].rate;
    int64_t now = n->piece_now_ns[system] + (w->now_us - n->piece_at_us[system]) * 1000, wait;

    if (!w->systems[system].limited)
        return true;
    switch (rate_take(&n->piece[system], rule, now, &wait)) {
    case RATE_GO:
        return true;
    case RATE_WAIT:
        n->rested_us[system] = w->now_us + (wait - now) / 1000 + 1;
        node_kick(w, node, (wait - now) / 1000 + 1);
        return false;
    case RATE_RESERVE:
        break;
    }
    if (!n->reserving[system]) {
        struct op *op = node_ask(w, node, OP_RESERVE);

        n->reserving[system] = true;
        n->rested_us[system] = w->now_us + LOOK_US;
        op->system = system;
        op->piece = n->piece[system];
    }
    return false;
}

static void first_byte(struct world *w, int node, int task, bool ask)
{
    struct task *j = task_at(w, node, task);

    if (!node_may_send(w, node)) {
        TRACE(w, "node %d does not send: its lease is over", node);
        if (!ask)
            j->row.intent = false;
        give_back(w, node, task);
        return;
    }
    j->stage = ask ? TASK_ASKING : TASK_SENDING;
    if (!ask)
        check_byte(w, node, task);
    receiver_send(w, node, task, ask);
}

/* It has its slot and its time. */
static void begin(struct world *w, int node, int task)
{
    struct task *j = task_at(w, node, task);

    check_begin(w, node, task, false);
    j->row.attempts++;
    j->row.asked = 0;
    if (j->row.first_us == 0)
        j->row.first_us = node_clock_us(w, node);
    if (delivery_system(w, j->delivery)->policy == DOUBT_RESEND) {
        first_byte(w, node, task, false);
        return;
    }
    j->stage = TASK_INTENDING;
    (void)node_ask_for(w, node, task, OP_INTENT);
}

/* A slot, unless something keeps it back. */
static bool take_slot(struct world *w, int node, int task, bool ask)
{
    struct node *n = &w->nodes[node];
    struct task *j = task_at(w, node, task);
    int system = system_of(w, j);

    if (node_reasons(w, node, system) != 0 || n->busy[system] >= w->systems[system].concurrency)
        return false;
    enum breaker_answer a = breaker_ask(&n->breaker[system], w->now_us);

    if (a == BREAKER_WAIT)
        return false;
    j->probe = a == BREAKER_PROBE;
    if (!ask && !take_time(w, node, system))
        return false; /* leave_slot() gives the probe back */
    j->begun = true;
    n->busy[system]++;
    return true;
}

void sending_start(struct world *w, int node, int task)
{
    struct task *j = task_at(w, node, task);
    bool ask = false;

    if (j->row.intent) {
        const struct doubt_facts f = { .policy = delivery_system(w, j->delivery)->policy,
                                       .source = DOUBT_INTENT };
        enum doubt_next next = doubt_next(&f);

        ask = next == DOUBT_ASK_NOW;
        if (!ask && next != DOUBT_SEND_NOW) {
            follow(w, node, task, &f);
            return;
        }
    }
    if (!take_slot(w, node, task, ask)) {
        give_back(w, node, task);
    } else if (ask) {
        check_begin(w, node, task, true);
        first_byte(w, node, task, true);
    } else {
        begin(w, node, task);
    }
}

void sending_intended(struct world *w, int node, int task, bool ours)
{
    struct task *j = task_at(w, node, task);

    if (ours) {
        j->row.intent = true;
        first_byte(w, node, task, false);
        return;
    }
    TRACE(w, "node %d: the claim was lost, nothing is sent", node);
    leave_slot(w, node, task);
    j->stage = TASK_FREE;
}

/* ---- what came of it ---- */

/* The receiver has nothing: it is sent again, as any other one. */
static void send_after_all(struct world *w, int node, int task)
{
    struct task *j = task_at(w, node, task);

    j->row.intent = false;
    leave_slot(w, node, task);
    if (take_slot(w, node, task, false))
        begin(w, node, task);
    else
        settle_as(w, node, task, DELIVERY_READY);
}

static void judge(struct world *w, int node, int task, enum verdict_kind verdict, bool answered)
{
    struct task *j = task_at(w, node, task);
    struct breaker *b = &w->nodes[node].breaker[system_of(w, j)];
    const struct system *s = delivery_system(w, j->delivery);

    const struct verdict v = { .kind = verdict, .status = answered ? 200 : 0 };

    (void)breaker_judge(b, &s->breaker, &v, j->probe, w->now_us, world_chance(w));
    j->probe = false; /* it has reported */
    const struct doubt_facts f = { .policy = s->policy,
                                   .source = j->stage == TASK_ASKING ? DOUBT_ASKED : DOUBT_SENT,
                                   .verdict = verdict,
                                   .answered = answered,
                                   .breaker_open = breaker_is_open(b),
                                   .over = retry_is_over(&s->retry, j->row.first_us,
                                                         node_clock_us(w, node)),
                                   .asked = j->row.asked };

    if (f.source == DOUBT_ASKED && doubt_next(&f) == DOUBT_SEND_NOW)
        send_after_all(w, node, task);
    else
        follow(w, node, task, &f);
}

/* The task that waits for it; NULL: nobody does any more. */
static struct task *waiting(struct world *w, const struct send *s)
{
    struct task *j = task_at(w, s->node, s->task);
    bool waits = j->stage == TASK_SENDING || j->stage == TASK_ASKING;

    return waits && j->serial == s->serial && &w->sends[j->send] == s ? j : NULL;
}

void sending_told(struct world *w, int send)
{
    const struct send *s = &w->sends[send];

    if (waiting(w, s) != NULL)
        judge(w, s->node, s->task, s->verdict, s->verdict != VERDICT_UNREACHED);
}

void sending_gave_up(struct world *w, int send)
{
    const struct send *s = &w->sends[send];

    if (waiting(w, s) == NULL)
        return;
    TRACE(w, "node %d has no answer about delivery %d.%d", s->node, s->delivery / CHILDREN,
          s->delivery % CHILDREN);
    judge(w, s->node, s->task, s->ask ? VERDICT_UNREACHED : VERDICT_DOUBT, false);
}
