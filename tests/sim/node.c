/* node.c - a node of the model: its life, its heartbeat, what it claims and routes.  See sim.h. */
#include <string.h>

#include "base/require.h"
#include "sim.h"

/* ---- asking the store ---- */

static int64_t wire_us(struct world *w)
{
    return world_luck(w, 3) ? world_between(w, 10 * MS, 80 * MS) : world_between(w, 200, 5 * MS);
}

struct op *node_ask(struct world *w, int node, enum op_kind kind)
{
    const struct node *n = &w->nodes[node];
    int at = w->op_next;

    while (w->ops[at].used) {
        at = (at + 1) % OPS_MOST;
        require(at != w->op_next);
    }
    w->op_next = (at + 1) % OPS_MOST;
    w->ops[at] = (struct op){ .used = true,
                              .kind = kind,
                              .node = node,
                              .life = n->life,
                              .epoch = n->epoch,
                              .sent_us = w->now_us,
                              .task = -1,
                              .delivery = -1,
                              .doc = -1 };
    world_push(w, wire_us(w), EV_APPLY, -1, at, 0);
    return &w->ops[at];
}

struct op *node_ask_for(struct world *w, int node, int task, enum op_kind kind)
{
    const struct task *j = &w->nodes[node].tasks[task];
    struct op *op = node_ask(w, node, kind);

    op->task = task;
    op->serial = j->serial;
    op->claim = j->claim;
    op->doc = j->doc;
    op->delivery = j->delivery;
    op->row = j->row;
    return op;
}

void node_kick(struct world *w, int node, int64_t in_us)
{
    world_push(w, in_us, EV_LOOK, node, 0, 0);
}

/* ---- life ---- */

void node_boot(struct world *w, int node)
{
    struct node *n = &w->nodes[node];
    uint32_t life = n->life + 1;
    int64_t off = n->off_us;

    if (n->up)
        return;
    /* A clock that was put forward while the node was down looks like time that has passed. */
    if (w->node_count == 1 && off > n->boot_off_us)
        memset(w->rate_t_ns, 0, sizeof w->rate_t_ns);
    *n = (struct node){ .up = true, .life = life, .off_us = off, .boot_off_us = off };
    w->schedulers[node] = (struct scheduler){ 0 };
    n->govern = govern_new();
    TRACE(w, "node %d starts", node);
    (void)node_ask(w, node, OP_REGISTER);
}

static bool someone_else(const struct world *w, int node)
{
    int left = 0;

    for (int i = 0; i < w->node_count; i++)
        left += i != node && !w->nodes[i].gone;
    return left > 0;
}

static void end_life(struct world *w, int node, const char *why)
{
    struct node *n = &w->nodes[node];

    TRACE(w, "node %d %s", node, why);
    govern_free(n->govern);
    n->govern = NULL;
    n->up = n->registered = false;
    n->frozen_until_us = 0;
    n->life++;
}

void node_sleep(struct world *w, int node, int64_t for_us)
{
    end_life(w, node, "is off for minutes");
    world_push(w, for_us, EV_BOOT, node, 0, 0);
}

void node_die(struct world *w, int node, const char *why)
{
    struct node *n = &w->nodes[node];

    end_life(w, node, why);
    n->gone = !w->draining && world_luck(w, 15) && someone_else(w, node);
    if (n->gone)
        TRACE(w, "node %d does not come back", node);
    else
        world_push(w, world_between(w, 500 * MS, w->draining ? 2 * S : 20 * S), EV_BOOT, node, 0,
                   0);
}

int64_t node_clock_us(const struct world *w, int node)
{
    return steady_early_us(&w->nodes[node].clock, w->now_us);
}

bool node_may_send(const struct world *w, int node)
{
    return w->now_us < lease_end_us(w->nodes[node].beaten_us);
}

/* ---- reasons to wait ---- */

static bool is_closed(struct world *w, const struct node *n, int system)
{
    const struct system *s = &w->systems[system];
    int64_t change;

    return s->windowed &&
           (!window_set_open(&s->windows, steady_early_us(&n->clock, w->now_us), &change) ||
            !window_set_open(&s->windows, steady_late_us(&n->clock, w->now_us), &change));
}

unsigned node_reasons(struct world *w, int node, int system)
{
    struct node *n = &w->nodes[node];
    int64_t ask;
    unsigned why = govern_why(n->govern, system, w->now_us, &ask);

    if (is_closed(w, n, system))
        why |= HELD_WINDOW;
    if (w->bug == BUG_RELEASE) {
        n->asleep[system] |= why != 0;
        return n->asleep[system] ? why | HELD_HOLD : why;
    }
    return why;
}

/* ---- keeping ---- */

void node_keep(struct world *w, int node)
{
    (void)node_ask(w, node, OP_BEAT);
    world_push(w, world_between(w, LEASE_BEAT_US * 9 / 10, LEASE_BEAT_US), EV_KEEP, node, 0, 0);
    jobs_keep(w, node);
}

static void go_by(struct world *w, int node, const struct op *op)
{
    struct node *n = &w->nodes[node];
    struct govern_hold holds[HOLDS_MOST];
    int64_t step;

    /* As of when it was asked for: the answer may have waited for a frozen node. */
    (void)steady_note(&n->clock, op->clock_us, op->sent_us, &step);
    (void)govern_note_clock(n->govern, op->clock_us, op->sent_us, &step);
    if (op->mark == n->mark && n->registered)
        return;
    for (int i = 0; i < op->hold_count; i++)
        holds[i] = (struct govern_hold){ .system = op->holds[i].system,
                                         .from_us = op->holds[i].from_us,
                                         .until_us = op->holds[i].until_us };
    govern_set_holds(n->govern, holds, (size_t)op->hold_count);
    govern_set_pause(n->govern, op->paused);
    n->mark = op->mark;
}

static void note_beat(struct node *n, int64_t sent_us)
{
    if (sent_us > n->beaten_us)
        n->beaten_us = sent_us;
    govern_set_lease(n->govern, lease_end_us(n->beaten_us));
}

/* What it is sending while it begins to go by the holds of this mark. */
static void tell(struct world *w, int node)
{
    const struct node *n = &w->nodes[node];
    struct op *op = node_ask(w, node, OP_SEEN);

    op->mark = n->mark;
    for (int i = 0; i < TASKS_MOST; i++)
        if (n->tasks[i].stage != TASK_FREE && n->tasks[i].begun)
            op->sending.word[n->tasks[i].delivery / 64] |= UINT64_C(1) << n->tasks[i].delivery % 64;
}

static void on_registered(struct world *w, int node, const struct op *op)
{
    struct node *n = &w->nodes[node];

    n->epoch = op->epoch;
    note_beat(n, op->sent_us);
    go_by(w, node, op);
    n->told_mark = n->mark;
    n->registered = true;
    TRACE(w, "node %d is registered, epoch %lld", node, (long long)n->epoch);
    world_push(w, world_between(w, 0, LEASE_BEAT_US), EV_KEEP, node, 0, 0);
    world_push(w, world_between(w, 0, LOOK_US), EV_LOOK, node, 1, 0);
}

static void on_beat(struct world *w, int node, const struct op *op)
{
    struct node *n = &w->nodes[node];

    if (!op->ok) {
        node_die(w, node, "learns that it was declared dead");
        return;
    }
    note_beat(n, op->sent_us);
    if (op->mark < n->mark)
        return; /* an answer that was overtaken */
    go_by(w, node, op);
    if (n->told_mark != n->mark)
        tell(w, node);
}

/* ---- claiming ---- */

static bool may_try(struct world *w, int node, int system)
{
    const struct node *n = &w->nodes[node];
    const struct breaker *b = &n->breaker[system];

    return node_reasons(w, node, system) == 0 && n->rested_us[system] <= w->now_us &&
           (!breaker_is_open(b) || (w->now_us >= b->until_us && !b->probing));
}

static int count_free(const struct node *n)
{
    int count = 0;

    for (int i = 0; i < TASKS_MOST; i++)
        count += n->tasks[i].stage == TASK_FREE;
    return count;
}

void node_look(struct world *w, int node, bool periodic)
{
    struct node *n = &w->nodes[node];

    if (periodic)
        world_push(w, world_between(w, LOOK_US / 2, LOOK_US), EV_LOOK, node, 1, 0);
    jobs_look(w, node);
    if (n->looking || count_free(n) < CLAIMS_MOST)
        return;
    struct op *op = node_ask(w, node, OP_CLAIM);

    n->looking = true;
    op->routes = 3;
    for (int i = 0; i < SYSTEMS; i++) {
        op->slots[i] = w->systems[i].concurrency - n->busy[i];
        if (op->slots[i] > 0 && may_try(w, node, i))
            op->systems |= 1u << i;
    }
}

static void on_claimed(struct world *w, int node, const struct op *op)
{
    struct node *n = &w->nodes[node];

    for (int i = 0, at = 0; i < op->claimed_count; i++) {
        while (n->tasks[at].stage != TASK_FREE)
            require(++at < TASKS_MOST);
        struct task *j = &n->tasks[at];

        *j = op->claimed[i];
        j->serial = ++w->serials;
        j->stage = TASK_ROUTING;
        if (j->delivery >= 0) {
            TRACE(w, "node %d claims delivery %d.%d", node, j->delivery / CHILDREN,
                  j->delivery % CHILDREN);
            sending_start(w, node, at);
            continue;
        }
        TRACE(w, "node %d claims document %d, seq %lld", node, j->doc,
              (long long)w->store.docs[j->doc].seq);
        world_push(w,
                   world_luck(w, 15) ? world_between(w, 100 * MS, 5 * S)
                                     : world_between(w, 1 * MS, 50 * MS),
                   EV_ROUTED, node, at, (int)j->serial);
    }
}

void node_routed(struct world *w, int node, int task, uint32_t serial)
{
    struct task *j = &w->nodes[node].tasks[task];

    if (j->stage != TASK_ROUTING || j->serial != serial)
        return;
    j->stage = TASK_SETTLING;
    (void)node_ask_for(w, node, task, OP_ROUTE);
}

/* ---- answers ---- */

static void on_piece(struct world *w, int node, const struct op *op)
{
    struct node *n = &w->nodes[node];

    n->reserving[op->system] = false;
    n->rested_us[op->system] = 0;
    if (op->result != OP_DONE)
        return;
    if (!op->ok) {
        int64_t wait = (op->wait_until_ns - op->clock_us * 1000) / 1000 + 1;

        n->rested_us[op->system] = op->sent_us + wait;
        node_kick(w, node, wait);
        return;
    }
    n->piece[op->system] = op->piece;
    n->piece_now_ns[op->system] = op->clock_us * 1000;
    n->piece_at_us[op->system] = op->sent_us;
    node_kick(w, node, 0);
}

static void on_task(struct world *w, const struct op *op)
{
    struct node *n = &w->nodes[op->node];
    struct task *j = &n->tasks[op->task];

    require(j->serial == op->serial);
    if (op->kind == OP_INTENT) {
        sending_intended(w, op->node, op->task, op->result == OP_DONE);
        return;
    }
    if (op->result == OP_LOST)
        TRACE(w, "node %d: the claim was lost, nothing is changed", op->node);
    j->stage = TASK_FREE;
    node_kick(w, op->node, 0);
}

void node_answer(struct world *w, int index)
{
    struct op *op = &w->ops[index];
    bool done = op->result == OP_DONE, by_task = op->task >= 0;

    if (!done && (by_task ? op->result == OP_FAILED : op->kind == OP_REGISTER)) {
        world_push(w, world_between(w, 100 * MS, 500 * MS), EV_AGAIN, op->node, index, 0);
        return;
    }
    op->used = false; /* nothing below asks before it has read it */
    const struct op answer = *op;

    if (by_task)
        on_task(w, &answer);
    else if (answer.kind == OP_RESERVE)
        on_piece(w, answer.node, &answer);
    else if (answer.kind == OP_CLAIM)
        w->nodes[answer.node].looking = false;
    if (!done || by_task)
        return;
    if (answer.kind == OP_REGISTER)
        on_registered(w, answer.node, &answer);
    else if (answer.kind == OP_BEAT)
        on_beat(w, answer.node, &answer);
    else if (answer.kind == OP_SEEN)
        w->nodes[answer.node].told_mark = answer.mark;
    else if (answer.kind == OP_CLAIM)
        on_claimed(w, answer.node, &answer);
    else if (answer.kind == OP_ACCEPT)
        w->paper[answer.doc].acked = true;
    if (answer.kind == OP_ACCEPT && world_luck(w, 80))
        node_kick(w, answer.node, 0);
}
