/* jobs_store.c - the rules of store/job, one transaction per request.  See jobs.h.
 *
 * Who changes a record has it locked; a transaction of the model is one step.  What each verb is
 * modelled on stands beside it. */
#include <string.h>

#include "base/require.h"
#include "sim.h"

#define TOUCH(w, thing) store_touch(w, &(thing), sizeof(thing))

/* ---- records ---- */

void job_put_plan(struct job_row *r, const struct job_plan *p)
{
    if (p->known.runs > r->known.runs)
        r->served_us = p->served_us;
    r->known = p->known;
    r->next_us = p->next_us;
    r->nominal_us = p->nominal_us;
    r->left_out += p->left_out;
    r->turn++;
}

/* The token waits until then, if the job may run. */
static void put_token(struct job_row *r, int64_t due_us)
{
    r->claim = (struct claim){ 0 };
    r->token = job_may_run(r) ? JOB_TOKEN_WAITS : JOB_TOKEN_NONE;
    r->due_us = due_us;
}

static bool is_ours(const struct job_row *r, int64_t claim)
{
    return r->token == JOB_TOKEN_CLAIMED && r->claim.token == claim;
}

static struct job_run *find_run(struct job_row *r, int64_t claim)
{
    const struct job_run *run = job_find_run(r, claim);

    return run != NULL ? &r->runs[run - r->runs] : NULL;
}

static void drop_run(struct job_row *r, int64_t claim)
{
    struct job_run *run = find_run(r, claim);

    if (run != NULL)
        *run = (struct job_run){ 0 };
}

/* A new state replaces the one that the run has read; else it is stale. */
static void put_state(const struct world *w, struct job_row *r, struct job_op *op)
{
    const struct job_state *state = &op->result.state;

    op->stale = op->result.has_state && state->number != r->state.number && w->bug != BUG_STATE;
    if (!op->result.has_state || op->stale)
        return;
    r->state.number++;
    r->state.value = state->value;
    r->states[r->state.number % JOB_STATES] = r->state;
}

/* ---- claims: job_claim.c ---- */

static bool may_claim(struct world *w, const struct job_row *r, int64_t now_us)
{
    if (w->bug == BUG_OWNERS && r->token == JOB_TOKEN_CLAIMED && world_luck(w, 10))
        return true;
    return r->token == JOB_TOKEN_WAITS && r->due_us <= now_us;
}

static void give_claim(struct world *w, struct job_op *op, int job)
{
    struct job_row *r = &w->jobs.rows[job];
    struct job_claimed *c = &op->claimed[op->count++];

    r->token = JOB_TOKEN_CLAIMED;
    /* A number is not given twice, even if the transaction is undone. */
    r->claim =
        (struct claim){ .token = ++w->store.tokens, .node = op->node + 1, .epoch = op->epoch };
    r->claimed_us = world_store_us(w);
    *c =
        (struct job_claimed){ .job = job, .claim = r->claim, .row = *r, .awaited = job_awaited(r) };
}

static void apply_claim(struct world *w, struct job_op *op)
{
    int first = world_pick(w, w->jobs.count);

    op->count = 0;
    for (int i = 0; i < w->jobs.count && op->count < op->room; i++) {
        int job = (first + i) % w->jobs.count;
        struct job_row *r = &w->jobs.rows[job];

        if (!may_claim(w, r, op->now_us))
            continue;
        TOUCH(w, *r);
        if (job_may_run(r))
            give_claim(w, op, job);
        else
            r->token = JOB_TOKEN_NONE; /* it was stopped meanwhile */
    }
}

/* A node takes over what another one has claimed and handed to it. */
static void apply_take(struct world *w, struct job_op *op)
{
    struct job_row *r = &w->jobs.rows[op->job];
    bool late = w->bug == BUG_TAKER && r->token != JOB_TOKEN_NONE;

    op->count = 0;
    if (!is_ours(r, op->claim) && !late) {
        op->answer = JOB_LOST;
        return;
    }
    TOUCH(w, *r);
    give_claim(w, op, op->job);
}

/* lease_return(): claims of commits whose answers were lost. */
static void apply_return(struct world *w, struct job_op *op)
{
    for (int i = 0; i < op->count; i++)
        for (int job = 0; job < w->jobs.count; job++) {
            struct job_row *r = &w->jobs.rows[job];

            if (!is_ours(r, op->returned[i]))
                continue;
            TOUCH(w, *r);
            put_token(r, r->due_us);
        }
}

void jobs_rescue(struct world *w, int node)
{
    for (int job = 0; job < w->jobs.count; job++) {
        struct job_row *r = &w->jobs.rows[job];

        if (r->token != JOB_TOKEN_CLAIMED || r->claim.node != node + 1)
            continue;
        TOUCH(w, *r);
        r->token = JOB_TOKEN_WAITS; /* whoever claims it finds whether it may run */
        r->claim = (struct claim){ 0 };
    }
}

/* ---- the end of a run: job_end.c ---- */

/* Settings and plan are those of the record. */
static bool fits(const struct job_row *r, struct job_op *op)
{
    bool same =
        (r->gone || r->rule == op->plan.rule) && (r->asked_us != 0 || r->turn == op->plan.turn);

    if (!same)
        op->answer = JOB_OTHER_PLAN;
    return same;
}

static void write_end(struct world *w, struct job_row *r, struct job_op *op)
{
    struct job_plan asked = job_plan_of(r);
    const struct job_plan *p = r->asked_us != 0 ? &asked : &op->plan;

    put_state(w, r, op);
    if (r->stop == JOB_GOES && p->suspend)
        r->stop = JOB_SUSPENDED;
    else if (r->stop == JOB_GOES && p->next_us == 0)
        r->stop = JOB_AT_END;
    r->asked_us = r->resets = 0;
    job_put_plan(r, p);
    drop_run(r, op->awaited);
    put_token(r, p->next_us);
    w->jobs.watch[op->job].ended_us = w->now_us;
}

static void apply_end(struct world *w, struct job_op *op)
{
    struct job_row *r = &w->jobs.rows[op->job];

    if (!fits(r, op))
        return;
    if (!is_ours(r, op->claim)) {
        op->answer = JOB_LOST;
        return;
    }
    TOUCH(w, *r);
    write_end(w, r, op);
}

static void apply_back(struct world *w, struct job_op *op)
{
    struct job_row *r = &w->jobs.rows[op->job];
    bool planned = op->plan.turn != 0;

    op->answer = !is_ours(r, op->claim)                ? JOB_LOST
                 : planned && op->plan.turn != r->turn ? JOB_OTHER_PLAN
                                                       : JOB_WRITTEN;
    if (op->answer != JOB_WRITTEN)
        return;
    TOUCH(w, *r);
    if (!job_may_run(r)) {
        put_token(r, r->due_us);
        return;
    }
    if (planned) {
        if (w->bug == BUG_TIME)
            op->plan.left_out = 0;
        if (r->stop == JOB_GOES && op->plan.next_us == 0)
            r->stop = op->plan.suspend ? JOB_SUSPENDED : JOB_AT_END;
        job_put_plan(r, &op->plan);
    } else {
        r->turn++;
    }
    put_token(r, op->until_us);
}

/* ---- runs without the token: job_run.c ---- */

static void put_run(struct job_row *r, const struct job_op *op, bool waits)
{
    for (int i = 0; i < JOB_RUNS_MOST; i++)
        if (r->runs[i].claim == 0) {
            r->runs[i] = (struct job_run){ .claim = op->claim,
                                           .epoch = op->epoch,
                                           .nominal_us = op->result.nominal_us,
                                           .claimed_us = op->result.claimed_us,
                                           .began_us = op->result.began_us,
                                           .asked = op->result.asked,
                                           .until_us = op->until_us,
                                           .state_number = op->result.state.number,
                                           .waits = waits,
                                           .outside = op->outside };
            return;
        }
    unreachable("more runs than may be");
}

static void apply_open(struct world *w, struct job_op *op)
{
    struct job_row *r = &w->jobs.rows[op->job];
    int open = job_open_runs(r), parallel = w->jobs.rules[op->job][op->plan.rule].parallel;
    bool beside = open + 1 < parallel && r->asked_us == 0 && r->stop == JOB_GOES && !r->gone &&
                  op->plan.next_us != 0;
    struct job_plan same = job_plan_of(r);

    if (!is_ours(r, op->claim))
        op->answer = JOB_LOST;
    else if (open >= parallel)
        op->answer = JOB_TOO_MANY;
    else if (!beside && !op->outside)
        op->answer = JOB_HELD;
    else if (beside && op->plan.turn != r->turn)
        op->answer = JOB_OTHER_PLAN;
    if (op->answer != JOB_WRITTEN)
        return;
    TOUCH(w, *r);
    put_run(r, op, !beside);
    job_put_plan(r, beside ? &op->plan : &same);
    put_token(r, beside ? op->plan.next_us : op->until_us);
}

/* It goes on until then; a claim of its time-out is taken away. */
static void apply_beat(struct world *w, struct job_op *op)
{
    struct job_row *r = &w->jobs.rows[op->job];
    struct job_run *run = find_run(r, op->claim);

    if (run == NULL) {
        op->answer = JOB_LOST;
        return;
    }
    TOUCH(w, *r);
    run->until_us = op->until_us;
    if (!run->waits)
        return;
    r->turn++;
    put_token(r, op->until_us);
}

/* The schedule has moved on: only its result is written. */
static void end_beside(struct world *w, struct job_row *r, struct job_op *op)
{
    int64_t suspend = w->jobs.rules[op->job][r->rule].schedule.suspend;

    r->known.failures = op->result.outcome == SCHEDULE_FAILED ? r->known.failures + 1 : 0;
    r->turn++;
    drop_run(r, op->claim);
    put_state(w, r, op);
    w->jobs.watch[op->job].ended_us = w->now_us;
    if (suspend == 0 || r->known.failures < suspend || r->stop != JOB_GOES || r->gone)
        return;
    r->stop = JOB_SUSPENDED;
    if (r->token == JOB_TOKEN_CLAIMED || (r->asked_us != 0 && job_awaited(r) != 0))
        return;
    r->asked_us = 0;
    r->token = JOB_TOKEN_NONE;
}

static void remember_ack(struct job_row *r, const struct job_op *op)
{
    if (op->post >= 0)
        r->acks[r->ack_count++ % JOB_ACKS] = op->claim;
}

static bool was_acked(const struct job_row *r, int64_t claim)
{
    for (int i = 0; i < JOB_ACKS; i++)
        if (r->acks[i] == claim)
            return true;
    return false;
}

static bool is_late(const struct world *w, const struct job_run *run)
{
    return run->until_us < world_store_us(w) || (!run->outside && !store_has_epoch(w, run->epoch));
}

static void apply_run_end(struct world *w, struct job_op *op)
{
    struct job_row *r = &w->jobs.rows[op->job];
    const struct job_run *run = find_run(r, op->claim);

    op->acked = was_acked(r, op->claim);
    op->answer = JOB_LOST;
    if (run == NULL || (op->late && !is_late(w, run)))
        return;
    op->result.state.number = run->state_number;
    if (run->waits && !fits(r, op))
        return;
    op->answer = JOB_WRITTEN;
    TOUCH(w, *r);
    remember_ack(r, op);
    if (run->waits) {
        op->awaited = op->claim;
        write_end(w, r, op);
    } else {
        end_beside(w, r, op);
    }
}

/* ---- the queue check ---- */

static bool is_overdue(const struct world *w, int job)
{
    const struct job_row *r = &w->jobs.rows[job];

    return r->token == JOB_TOKEN_CLAIMED &&
           r->claimed_us + job_rule_of(w, job, r)->timeout_us + JOB_LATE_US < world_store_us(w);
}

/* Claimed for too long although its node lives: released, the third time in a row suspended. */
static void apply_check(struct world *w, struct job_op *op)
{
    struct job_row *r = &w->jobs.rows[op->job];

    if (!is_overdue(w, op->job) || r->claim.token != op->claim) {
        op->answer = JOB_LOST;
        return;
    }
    TOUCH(w, *r);
    TRACE(w, "store: claim %lld of job %d is taken away", (long long)r->claim.token, op->job);
    w->jobs.watch[op->job].forgiven = w->store.tokens;
    r->turn++;
    if (++r->resets >= JOB_RESETS_MOST && r->stop == JOB_GOES)
        r->stop = JOB_SUSPENDED;
    if (r->resets >= JOB_RESETS_MOST)
        r->asked_us = 0;
    put_token(r, world_store_us(w));
}

/* ---- all of them ---- */

void jobs_commit(struct world *w, const struct job_op *op)
{
    if (op != NULL && w->journal_count > 0)
        check_node(w, op->node, op->epoch);
    for (size_t i = 0; i < w->journal_count; i++) {
        const struct undo *u = &w->journal[i];
        struct job_row was;

        if (u->size != sizeof was)
            continue; /* a number */
        memcpy(&was, u->was, sizeof was);
        jobs_check_row(w, op, (int)((const struct job_row *)u->at - w->jobs.rows), &was);
    }
    w->journal_count = 0;
}

void jobs_apply(struct world *w, int index)
{
    static void (*const verbs[])(struct world * w, struct job_op * op) = {
        [JOB_OP_CLAIM] = apply_claim,   [JOB_OP_OPEN] = apply_open,
        [JOB_OP_END] = apply_end,       [JOB_OP_RUN_END] = apply_run_end,
        [JOB_OP_BEAT] = apply_beat,     [JOB_OP_BACK] = apply_back,
        [JOB_OP_TAKE] = apply_take,     [JOB_OP_CHECK] = apply_check,
        [JOB_OP_RETURN] = apply_return,
    };
    struct job_op *op = &w->job_ops[index];
    bool fails = world_luck(w, 2) || w->nodes[op->node].cut_until_us > w->now_us;

    op->answer = JOB_WRITTEN;
    op->failed = !store_has_node(w, op->node, op->epoch);
    if (!op->failed)
        verbs[op->kind](w, op);
    if (fails) {
        store_rollback(w);
        op->failed = true;
    }
    if (op->job >= 0)
        op->row = w->jobs.rows[op->job];
    jobs_commit(w, op);
    if (!op->failed && op->answer == JOB_WRITTEN)
        jobs_check_effect(w, op);
    if (world_luck(w, 1))
        op->failed = true; /* it was done, and its answer is lost: nobody knows */
    people_strike(w, op->node, OP_SETTLE);
    struct event e = { .at_us = w->now_us + world_between(w, 200, 10 * MS),
                       .order = ++w->event_order,
                       .kind = EV_JOB_ANSWER,
                       .node = op->node,
                       .life = op->life,
                       .a = index };

    queue_push(w, &e);
}
