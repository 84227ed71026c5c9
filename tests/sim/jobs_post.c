/* jobs_post.c - requests about jobs on their way: from node to node, to a service, and its acks.
 *
 * A hand-over names job and claim, and whoever gets it takes the claim over in a commit.  A service
 * works in its own time, whatever became of the answer to the request, and acknowledges to any node
 * until it is told 200 or 410.  All of them may be lost, doubled and late, and so may their
 * answers.  See jobs.h. */
#include "sim.h"

enum {
    STATUS_DONE = 200,
    STATUS_TAKEN = 202,
    STATUS_NOT_YOURS = 409,
    STATUS_LATE = 410,
    STATUS_NOT_NOW = 503
};

enum { TELLS_MOST = 60 };

static const char *const names[] = {
    [POST_RUN] = "hand-over", [POST_CALL] = "call", [POST_ACK] = "ack", [POST_BEAT] = "beat"
};

/* ---- the wire ---- */

static struct post *post_new(struct world *w, enum post_kind kind, int from, int to)
{
    struct post *p = &w->posts[w->jobs.post_count++ % JOB_POSTS];

    *p = (struct post){ .kind = kind,
                        .from = from,
                        .to = to,
                        .serial = ++w->serials,
                        .life = from >= 0 ? w->nodes[from].life : 0 };
    return p;
}

static int index_of(const struct world *w, const struct post *p)
{
    return (int)(p - w->posts);
}

/* Nothing comes to the process that was there before; what is for a frozen one waits. */
static void push(struct world *w, int64_t in_us, enum event_kind kind, int node, uint32_t life,
                 const struct post *p)
{
    struct event e = { .at_us = w->now_us + in_us,
                       .order = ++w->event_order,
                       .kind = kind,
                       .node = node,
                       .life = life,
                       .a = index_of(w, p),
                       .b = (int)p->serial };

    queue_push(w, &e);
}

static int64_t way_us(struct world *w)
{
    return world_luck(w, 4) && !w->draining ? world_between(w, 1 * S, 8 * S)
                                            : world_between(w, 500, 20 * MS);
}

static void send(struct world *w, const struct post *p)
{
    uint32_t life = p->to >= 0 ? w->nodes[p->to].life : 0;
    bool lost = !w->draining && world_luck(w, 6), doubled = !w->draining && world_luck(w, 6);

    TRACE(w, "%s of job %d, claim %lld, to node %d%s%s", names[p->kind], p->job,
          (long long)p->claim, p->to,
          lost      ? " (lost)"
          : doubled ? " (doubled)"
                    : "",
          p->from < 0 ? " from the service" : "");
    if (!lost)
        push(w, way_us(w), EV_JOB_POST, p->to, life, p);
    if (!lost && doubled)
        push(w, way_us(w), EV_JOB_POST, p->to, life, p);
}

/* Each copy of a request has an answer of its own. */
static void answer(struct world *w, struct post *p, int status)
{
    p->status = status;
    jobs_check_reply(w, index_of(w, p));
    if (!w->draining && world_luck(w, 6))
        return;
    struct post *reply = post_new(w, p->kind, p->from, p->to);
    uint32_t serial = reply->serial;

    *reply = *p;
    reply->asked = index_of(w, p);
    reply->asks = p->serial;
    reply->serial = serial;
    push(w, way_us(w), EV_JOB_REPLY, p->from, p->life, reply);
}

static struct post *post_at(struct world *w, int post, uint32_t serial)
{
    struct post *p = &w->posts[post];

    return p->serial == serial ? p : NULL; /* NULL: so long ago that its place is taken */
}

/* ---- hand-over ---- */

static struct post *post_for(struct world *w, int node, int slot, enum post_kind kind, int to)
{
    struct slot *s = &w->schedulers[node].slots[slot];
    struct post *p = post_new(w, kind, node, to);

    p->slot = slot;
    p->slot_serial = s->serial;
    p->job = s->job;
    p->claim = s->claim.token;
    world_push(w, HAND_OVER_US, EV_JOB_WAITED, node, slot, (int)s->serial);
    return p;
}

void jobs_hand_over(struct world *w, int node, int slot)
{
    struct post *p = post_for(w, node, slot, POST_RUN, world_pick(w, w->node_count));

    w->schedulers[node].slots[slot].stage = SLOT_PASSING;
    send(w, p);
}

static void hear_run(struct world *w, struct post *p)
{
    int slot;

    if (!w->nodes[p->to].registered || !node_may_send(w, p->to) ||
        jobs_room(w, p->to, false, &slot) == 0) {
        answer(w, p, STATUS_NOT_NOW);
        return;
    }
    struct job_op *op = jobs_ask(w, p->to, JOB_OP_TAKE);

    op->job = p->job;
    op->claim = p->claim;
    op->post = index_of(w, p);
    op->serial = p->serial;
}

/* ---- a service that acknowledges later ---- */

void jobs_call(struct world *w, int node, int slot)
{
    struct slot *s = &w->schedulers[node].slots[slot];
    struct post *p = post_for(w, node, slot, POST_CALL, -1);

    s->stage = SLOT_CALLING;
    p->row = s->row;
    p->result = s->result;
    send(w, p);
}

/* Beats come at half the time. */
static void hear_call(struct world *w, struct post *p)
{
    const struct job_rule *rule = job_rule_of(w, p->job, &p->row);
    bool again = p->arrived;

    p->arrived = true;
    if (again) {
        answer(w, p, STATUS_TAKEN);
        return;
    }
    if (world_luck(w, rule->failing / 3)) {
        answer(w, p, STATUS_NOT_NOW);
        return;
    }
    int64_t takes =
        world_between(w, 1 * MS, world_luck(w, 10) ? rule->timeout_us * 3 / 2 : rule->longest_us);
    struct post *ack = post_new(w, POST_ACK, -1, -1);

    ack->job = p->job;
    ack->claim = p->claim;
    ack->result = jobs_result(w, p->job, &p->row);
    ack->result.nominal_us = p->result.nominal_us;
    ack->result.claimed_us = p->result.claimed_us;
    ack->result.began_us = p->result.began_us;
    ack->result.asked = p->result.asked;
    push(w, takes, EV_JOB_TELL, -1, 0, ack);
    if (takes > rule->timeout_us / 2 && world_luck(w, 50)) {
        struct post *beat = post_new(w, POST_BEAT, -1, -1);

        beat->job = p->job;
        beat->claim = p->claim;
        beat->until_us = rule->timeout_us;
        push(w, rule->timeout_us / 2, EV_JOB_TELL, -1, 0, beat);
    }
    answer(w, p, STATUS_TAKEN);
}

/* Now, and again until somebody has said what became of it. */
void jobs_tell(struct world *w, int post, uint32_t serial)
{
    struct post *p = post_at(w, post, serial);

    if (p == NULL || p->heard)
        return;
    p->to = world_pick(w, w->node_count);
    send(w, p);
    if (p->kind == POST_ACK && ++p->tries < TELLS_MOST)
        push(w, world_between(w, 1 * S, 3 * S), EV_JOB_TELL, -1, 0, p);
}

static void hear_ack(struct world *w, struct post *p, int node)
{
    const struct job_row *r = &w->jobs.rows[p->job];

    if (!w->nodes[node].registered) {
        answer(w, p, STATUS_NOT_NOW);
        return;
    }
    struct job_op *op = jobs_ask(w, node, p->kind == POST_ACK ? JOB_OP_RUN_END : JOB_OP_BEAT);

    op->job = p->job;
    op->claim = p->claim;
    op->post = index_of(w, p);
    op->serial = p->serial;
    op->result = p->result;
    op->result.ended_us = op->now_us;
    op->until_us = op->now_us + p->until_us;
    if (p->kind == POST_ACK)
        op->plan = job_plan_end(w, p->job, r, &op->result, op->now_us);
}

/* ---- arrivals and answers ---- */

void jobs_post_arrives(struct world *w, int node, int post, uint32_t serial)
{
    struct post *p = post_at(w, post, serial);

    if (p == NULL)
        return;
    if (p->kind == POST_RUN)
        hear_run(w, p);
    else if (p->kind == POST_CALL)
        hear_call(w, p);
    else
        hear_ack(w, p, node);
}

static int status_of(const struct job_op *op)
{
    if (op->failed)
        return STATUS_NOT_NOW;
    if (op->kind == JOB_OP_TAKE)
        return op->answer == JOB_WRITTEN ? STATUS_TAKEN : STATUS_NOT_YOURS;
    return op->answer == JOB_WRITTEN || op->acked ? STATUS_DONE : STATUS_LATE;
}

void jobs_post_done(struct world *w, const struct job_op *op)
{
    struct post *p = post_at(w, op->post, op->serial);

    if (p != NULL)
        answer(w, p, status_of(op));
}

static void on_reply(struct world *w, const struct post *reply, struct slot *s)
{
    int node = reply->from, slot = reply->slot;

    if (reply->kind == POST_RUN && s->stage == SLOT_PASSING) {
        if (reply->status == STATUS_NOT_NOW)
            jobs_back(w, node, slot, node_clock_us(w, node) + JOB_NO_ROOM_US);
        else
            jobs_stop(w, node, slot, s->serial); /* another one has it */
    } else if (reply->kind == POST_CALL && s->stage == SLOT_CALLING) {
        if (reply->status == STATUS_NOT_NOW)
            jobs_fail(w, node, slot);
        else
            jobs_stop(w, node, slot, s->serial); /* its row waits for the ack */
    }
}

void jobs_post_reply(struct world *w, int post, uint32_t serial)
{
    const struct post *reply = post_at(w, post, serial);

    if (reply == NULL)
        return;
    TRACE(w, "%s of job %d, claim %lld: %d", names[reply->kind], reply->job,
          (long long)reply->claim, reply->status);
    if (reply->from >= 0) {
        struct slot *s = jobs_slot(w, reply->from, reply->slot, reply->slot_serial);

        if (s != NULL)
            on_reply(w, reply, s);
        return;
    }
    struct post *p = post_at(w, reply->asked, reply->asks);

    if (p != NULL && reply->status != STATUS_NOT_NOW)
        p->heard = true;
}

/* No answer: the claim is given back; a service may work all the same. */
void jobs_waited(struct world *w, int node, int slot, uint32_t serial)
{
    struct slot *s = jobs_slot(w, node, slot, serial);

    if (s == NULL)
        return;
    if (s->stage == SLOT_PASSING) {
        TRACE(w, "node %d: nobody has taken job %d over", node, s->job);
        jobs_back(w, node, slot, s->row.due_us);
    } else if (s->stage == SLOT_CALLING) {
        jobs_stop(w, node, slot, serial);
    }
}
