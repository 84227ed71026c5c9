/* jobs_node.c - what a node does with jobs: claim, plan again, hand over or run, end.  See jobs.h.
 */
#include "base/require.h"
#include "sim.h"

static const char *const op_names[] = {
    [JOB_OP_CLAIM] = "claim",     [JOB_OP_OPEN] = "open",   [JOB_OP_END] = "end",
    [JOB_OP_RUN_END] = "run end", [JOB_OP_BEAT] = "beat",   [JOB_OP_BACK] = "give back",
    [JOB_OP_TAKE] = "take over",  [JOB_OP_CHECK] = "check", [JOB_OP_RETURN] = "return",
};

static const char *const answer_names[] = { [JOB_WRITTEN] = "written",
                                            [JOB_LOST] = "lost",
                                            [JOB_OTHER_PLAN] = "other plan",
                                            [JOB_HELD] = "held",
                                            [JOB_TOO_MANY] = "too many" };

/* ---- asking the store ---- */

static struct slot *slot_at(struct world *w, int node, int slot)
{
    return &w->schedulers[node].slots[slot];
}

struct slot *jobs_slot(struct world *w, int node, int slot, uint32_t serial)
{
    struct slot *s = slot_at(w, node, slot);

    return s->stage != SLOT_FREE && s->serial == serial ? s : NULL;
}

struct job_op *jobs_ask(struct world *w, int node, enum job_op_kind kind)
{
    int at = w->jobs.op_next;

    while (w->job_ops[at].used) {
        at = (at + 1) % JOB_OPS;
        require(at != w->jobs.op_next);
    }
    w->jobs.op_next = (at + 1) % JOB_OPS;
    w->job_ops[at] = (struct job_op){ .used = true,
                                      .kind = kind,
                                      .node = node,
                                      .slot = -1,
                                      .job = -1,
                                      .post = -1,
                                      .life = w->nodes[node].life,
                                      .epoch = w->nodes[node].epoch,
                                      .now_us = node_clock_us(w, node) };
    world_push(w, world_between(w, 200, 5 * MS), EV_JOB_APPLY, -1, at, 0);
    return &w->job_ops[at];
}

static struct job_op *ask_for(struct world *w, int node, int slot, enum job_op_kind kind)
{
    const struct slot *s = slot_at(w, node, slot);
    struct job_op *op = jobs_ask(w, node, kind);

    op->slot = slot;
    op->serial = s->serial;
    op->job = s->job;
    op->claim = s->claim.token;
    op->awaited = s->awaited;
    op->result = s->result;
    return op;
}

/* ---- claiming ---- */

/* What is handed over takes no slot of those that work: nodes that hand over to each other would
 * refuse each other for ever. */
int jobs_room(const struct world *w, int node, bool hand_over, int *ret_first)
{
    int from = hand_over ? SLOTS_MOST : 0, to = hand_over ? SLOTS_MOST + JOB_BATCH : w->jobs.slots;
    int n = 0;

    for (int i = to - 1; i >= from; i--)
        if (w->schedulers[node].slots[i].stage == SLOT_FREE) {
            *ret_first = i;
            n++;
        }
    return n;
}

/* The scheduler sleeps until a token is due. */
static bool is_due(const struct world *w, int64_t now_us)
{
    for (int i = 0; i < w->jobs.count; i++)
        if (w->jobs.rows[i].token == JOB_TOKEN_WAITS && w->jobs.rows[i].due_us <= now_us)
            return true;
    return false;
}

void jobs_look(struct world *w, int node)
{
    struct scheduler *s = &w->schedulers[node];
    int slot, room = jobs_room(w, node, w->jobs.farm, &slot);

    if (s->looking || room == 0 || !w->nodes[node].registered || !node_may_send(w, node) ||
        !is_due(w, node_clock_us(w, node)))
        return;
    s->looking = true;
    struct job_op *op = jobs_ask(w, node, JOB_OP_CLAIM);

    op->room = room < JOB_BATCH ? room : JOB_BATCH;
}

/* Nobody knows whether it was done: if it was, its claims are returned. */
static void return_claims(struct world *w, const struct job_op *answer)
{
    if (answer->count == 0)
        return;
    struct job_op *op = jobs_ask(w, answer->node, JOB_OP_RETURN);

    op->count = answer->count;
    for (int i = 0; i < answer->count; i++)
        op->returned[i] = answer->claimed[i].claim.token;
}

/* A slot for what was claimed; -1: there is none. */
static int fill_slot(struct world *w, int node, const struct job_claimed *c, bool taken)
{
    int slot;

    if (jobs_room(w, node, w->jobs.farm && !taken, &slot) == 0)
        return -1;
    w->schedulers[node].slots[slot] = (struct slot){ .stage = SLOT_CLAIMED,
                                                     .serial = ++w->serials,
                                                     .job = c->job,
                                                     .claim = c->claim,
                                                     .row = c->row,
                                                     .awaited = c->awaited };
    return slot;
}

static void on_claimed(struct world *w, const struct job_op *op)
{
    w->schedulers[op->node].looking = false;
    if (op->failed) {
        return_claims(w, op);
        return;
    }
    for (int i = 0; i < op->count; i++) {
        int slot = fill_slot(w, op->node, &op->claimed[i], false);

        TRACE(w, "node %d claims job %d, claim %lld", op->node, op->claimed[i].job,
              (long long)op->claimed[i].claim.token);
        if (slot < 0) { /* a take-over was faster */
            struct job_op one = *op;

            one.count = 1;
            one.claimed[0] = op->claimed[i];
            return_claims(w, &one);
        } else if (w->jobs.farm) {
            jobs_hand_over(w, op->node, slot);
        } else {
            jobs_begin(w, op->node, slot);
        }
    }
    if (op->count == op->room)
        jobs_look(w, op->node);
}

static void on_taken(struct world *w, const struct job_op *op)
{
    int slot = op->failed || op->answer != JOB_WRITTEN
                   ? -1
                   : fill_slot(w, op->node, &op->claimed[0], true);

    if (op->failed || (op->answer == JOB_WRITTEN && slot < 0))
        return_claims(w, op);
    jobs_post_done(w, op);
    if (slot < 0)
        return;
    TRACE(w, "node %d takes job %d over, claim %lld", op->node, op->job,
          (long long)op->claimed[0].claim.token);
    jobs_begin(w, op->node, slot);
}

/* ---- a run ---- */

static void free_slot(struct world *w, int node, struct slot *s)
{
    s->stage = SLOT_FREE;
    jobs_look(w, node);
}

static struct job_op *back(struct world *w, int node, int slot, const struct job_plan *plan)
{
    slot_at(w, node, slot)->stage = SLOT_ENDING;
    struct job_op *op = ask_for(w, node, slot, JOB_OP_BACK);

    if (plan != NULL) {
        op->plan = *plan;
        op->until_us = plan->next_us;
    }
    return op;
}

void jobs_back(struct world *w, int node, int slot, int64_t due_us)
{
    back(w, node, slot, NULL)->until_us = due_us;
}

static void send_end(struct world *w, int node, int slot)
{
    struct slot *s = slot_at(w, node, slot);
    struct job_op *op = ask_for(w, node, slot, s->opened ? JOB_OP_RUN_END : JOB_OP_END);

    s->stage = SLOT_ENDING;
    op->plan = job_plan_end(w, s->job, &s->row, &s->result, node_clock_us(w, node));
}

void jobs_fail(struct world *w, int node, int slot)
{
    struct slot *s = slot_at(w, node, slot);

    s->result.outcome = SCHEDULE_FAILED;
    s->result.has_state = false;
    s->result.ended_us = node_clock_us(w, node);
    send_end(w, node, slot);
}

struct job_result jobs_result(struct world *w, int job, const struct job_row *r)
{
    const struct job_rule *rule = job_rule_of(w, job, r);
    struct job_result result = { .outcome = world_luck(w, rule->failing) ? SCHEDULE_FAILED
                                            : world_luck(w, rule->full)  ? SCHEDULE_FULL
                                            : world_luck(w, rule->idle)  ? SCHEDULE_NOTHING
                                                                         : SCHEDULE_MOVED,
                                 .state = { r->state.number, r->state.value + 1 } };

    result.has_state = result.outcome == SCHEDULE_FULL || result.outcome == SCHEDULE_MOVED;
    return result;
}

static void work(struct world *w, int node, int slot)
{
    struct slot *s = slot_at(w, node, slot);
    const struct job_rule *rule = job_rule_of(w, s->job, &s->row);

    if (!node_may_send(w, node)) { /* again: answers of the store take their time */
        if (s->opened)
            jobs_fail(w, node, slot);
        else
            jobs_back(w, node, slot, s->row.due_us);
        return;
    }
    jobs_check_begin(w, node, slot);
    TRACE(w, "node %d runs job %d for %lld, state %lld", node, s->job,
          (long long)((s->result.nominal_us - w->start_us) / MS), (long long)s->row.state.number);
    if (rule->outside) {
        jobs_call(w, node, slot);
        return;
    }
    struct job_result did = jobs_result(w, s->job, &s->row);

    s->result.outcome = did.outcome;
    s->result.has_state = did.has_state;
    s->result.state = did.state;
    s->stage = SLOT_WORKING;
    if (world_luck(w, rule->hanging)) {
        s->stage = SLOT_STUCK;
        world_push(w, rule->timeout_us + 30 * S, EV_JOB_STOP, node, slot, (int)s->serial);
        return;
    }
    world_push(w, world_between(w, 1 * MS, rule->longest_us), EV_JOB_WORKED, node, slot,
               (int)s->serial);
}

static void open_run(struct world *w, int node, int slot)
{
    struct slot *s = slot_at(w, node, slot);
    const struct job_rule *rule = job_rule_of(w, s->job, &s->row);

    s->stage = SLOT_OPENING;
    struct job_op *op = ask_for(w, node, slot, JOB_OP_OPEN);

    op->plan = job_plan_beside(w, s->job, &s->row, s->result.began_us);
    op->outside = rule->outside;
    op->until_us = s->result.began_us + rule->timeout_us;
}

/* It was acknowledged by nobody in time. */
static void end_awaited(struct world *w, int node, int slot)
{
    struct slot *s = slot_at(w, node, slot);
    const struct job_run *run = job_find_run(&s->row, s->awaited);

    TRACE(w, "node %d: no ack of job %d in time", node, s->job);
    s->result.nominal_us = run->nominal_us;
    s->result.claimed_us = run->claimed_us;
    s->result.began_us = run->began_us;
    jobs_fail(w, node, slot);
}

/* Whether the schedule has a time for it now; otherwise it is given back with the one that it has.
 */
static bool find_time(struct world *w, int node, int slot)
{
    struct slot *s = slot_at(w, node, slot);
    struct job_plan p = job_plan_now(w, s->job, &s->row, s->result.began_us);

    s->result.nominal_us = s->result.asked ? s->row.asked_us : p.nominal_us;
    if (s->result.asked || (p.next_us != 0 && p.next_us <= s->result.began_us))
        return true;
    (void)back(w, node, slot, &p);
    return false;
}

/* What was claimed a moment ago, by this node or for it. */
void jobs_begin(struct world *w, int node, int slot)
{
    struct slot *s = slot_at(w, node, slot);
    const struct job_rule *rule = job_rule_of(w, s->job, &s->row);
    int64_t now = node_clock_us(w, node);

    s->result = (struct job_result){ .asked = job_was_asked(&s->row),
                                     .claimed_us = s->row.claimed_us,
                                     .began_us = now,
                                     .state = s->row.state };
    if (!node_may_send(w, node))
        jobs_back(w, node, slot, s->row.due_us);
    else if (s->awaited != 0)
        end_awaited(w, node, slot);
    else if (!find_time(w, node, slot))
        return;
    else if (job_open_runs(&s->row) >= rule->parallel)
        jobs_back(w, node, slot, now + JOB_NO_ROOM_US);
    else if (rule->parallel > 1 || rule->outside)
        open_run(w, node, slot);
    else
        work(w, node, slot);
}

void jobs_worked(struct world *w, int node, int slot, uint32_t serial)
{
    struct slot *s = jobs_slot(w, node, slot, serial);

    if (s == NULL || s->stage != SLOT_WORKING)
        return;
    s->result.ended_us = node_clock_us(w, node);
    send_end(w, node, slot);
}

/* The thread is given up. */
void jobs_stop(struct world *w, int node, int slot, uint32_t serial)
{
    struct slot *s = jobs_slot(w, node, slot, serial);

    if (s != NULL)
        free_slot(w, node, s);
}

/* ---- duties: the queue check ---- */

static void check_late(struct world *w, int node, int job)
{
    struct job_row *r = &w->jobs.rows[job];
    int64_t now = world_store_us(w);

    for (int i = 0; i < JOB_RUNS_MOST && w->bug != BUG_LEFT; i++) {
        const struct job_run *run = &r->runs[i];

        if (run->claim == 0 ||
            (run->until_us >= now && (run->outside || store_has_epoch(w, run->epoch))))
            continue;
        struct job_op *op = jobs_ask(w, node, JOB_OP_RUN_END);

        op->job = job;
        op->claim = run->claim;
        op->late = true;
        op->result = (struct job_result){ .outcome = SCHEDULE_FAILED,
                                          .asked = run->asked,
                                          .nominal_us = run->nominal_us,
                                          .claimed_us = run->claimed_us,
                                          .began_us = run->began_us,
                                          .ended_us = op->now_us };
        op->plan = job_plan_end(w, job, r, &op->result, op->now_us);
    }
}

void jobs_keep(struct world *w, int node)
{
    for (int job = 0; job < w->jobs.count && w->nodes[node].registered; job++) {
        const struct job_row *r = &w->jobs.rows[job];

        check_late(w, node, job);
        if (r->token != JOB_TOKEN_CLAIMED ||
            r->claimed_us + job_rule_of(w, job, r)->timeout_us + JOB_LATE_US >= world_store_us(w))
            continue;
        struct job_op *op = jobs_ask(w, node, JOB_OP_CHECK);

        op->job = job;
        op->claim = r->claim.token;
    }
}

/* ---- answers ---- */

static void lost(struct world *w, int node, struct slot *s)
{
    TRACE(w, "node %d: claim %lld of job %d was lost, nothing is changed", node,
          (long long)s->claim.token, s->job);
    if (w->bug == BUG_SLOT)
        s->stage = SLOT_STUCK;
    else
        free_slot(w, node, s);
}

static void run_opened(struct world *w, const struct job_op *op)
{
    slot_at(w, op->node, op->slot)->opened = true;
    if (op->until_us <= node_clock_us(w, op->node))
        jobs_fail(w, op->node, op->slot); /* the answer took longer than the run may */
    else
        work(w, op->node, op->slot);
}

static void on_opened(struct world *w, const struct job_op *op)
{
    struct slot *s = slot_at(w, op->node, op->slot);

    switch (op->answer) {
    case JOB_WRITTEN:
        run_opened(w, op);
        return;
    case JOB_HELD:
        work(w, op->node, op->slot);
        return;
    case JOB_TOO_MANY:
        jobs_back(w, op->node, op->slot, node_clock_us(w, op->node) + JOB_NO_ROOM_US);
        return;
    case JOB_OTHER_PLAN:
        jobs_back(w, op->node, op->slot, node_clock_us(w, op->node));
        return;
    case JOB_LOST: /* or it was done, and the answer to the first request was lost */
        if (job_find_run(&op->row, s->claim.token) != NULL)
            run_opened(w, op);
        else
            lost(w, op->node, s);
        return;
    }
}

static void on_ended(struct world *w, const struct job_op *op)
{
    struct slot *s = slot_at(w, op->node, op->slot);

    if (op->answer == JOB_OTHER_PLAN) {
        struct job_state read = s->row.state;

        s->row = op->row;
        s->row.state = read;
        if (op->kind == JOB_OP_BACK)
            jobs_back(w, op->node, op->slot, node_clock_us(w, op->node));
        else
            send_end(w, op->node, op->slot);
    } else if (op->answer == JOB_LOST) {
        lost(w, op->node, s);
    } else {
        free_slot(w, op->node, s);
    }
}

static void on_slot(struct world *w, const struct job_op *op)
{
    struct slot *s = jobs_slot(w, op->node, op->slot, op->serial);

    if (s == NULL)
        return; /* given up meanwhile */
    if (op->kind == JOB_OP_OPEN)
        on_opened(w, op);
    else
        on_ended(w, op);
}

static void push_again(struct world *w, int index, int64_t in_us)
{
    world_push(w, in_us, EV_JOB_AGAIN, w->job_ops[index].node, index, 0);
}

void jobs_answer(struct world *w, int index)
{
    struct job_op *op = &w->job_ops[index];

    TRACE(w, "node %d: %s job %d, claim %lld: %s", op->node, op_names[op->kind], op->job,
          (long long)op->claim, op->failed ? "failed" : answer_names[op->answer]);
    if (op->failed && (op->slot >= 0 || op->kind == JOB_OP_RETURN)) {
        push_again(w, index, world_between(w, 100 * MS, 500 * MS));
        return;
    }
    if (!op->failed && op->answer == JOB_OTHER_PLAN && op->post >= 0) {
        op->plan = job_plan_end(w, op->job, &op->row, &op->result, node_clock_us(w, op->node));
        push_again(w, index, 0);
        return;
    }
    op->used = false; /* nothing below asks before it has read it */
    const struct job_op answer = *op;

    if (answer.kind == JOB_OP_CLAIM)
        on_claimed(w, &answer);
    else if (answer.kind == JOB_OP_TAKE)
        on_taken(w, &answer);
    else if (answer.post >= 0)
        jobs_post_done(w, &answer);
    else if (answer.slot >= 0)
        on_slot(w, &answer);
}
