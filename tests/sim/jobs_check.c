/* jobs_check.c - what must hold of jobs, whatever happens.
 *
 * Nominal times are counted by arithmetic on minutes, apart from core/schedule.  See jobs.h. */
#include "sim.h"

/* ---- one owner of a token ---- */

static bool is_current(const struct job_row *r, int64_t claim)
{
    for (int i = 0; i < JOB_RUNS_MOST; i++)
        if (r->runs[i].claim == claim)
            return true;
    return r->token == JOB_TOKEN_CLAIMED && r->claim.token == claim;
}

static void check_owner(struct world *w, const struct job_op *op, int job,
                        const struct job_row *was)
{
    bool claims = op->kind == JOB_OP_CLAIM;
    bool by_claim = op->kind == JOB_OP_END || op->kind == JOB_OP_BACK || op->kind == JOB_OP_OPEN ||
                    op->kind == JOB_OP_TAKE;

    if (claims && was->token == JOB_TOKEN_CLAIMED)
        check_fail(w, "one owner of a token", "node %d takes job %d, which node %lld has", op->node,
                   job, (long long)was->claim.node - 1);
    if (by_claim && (was->token != JOB_TOKEN_CLAIMED || was->claim.token != op->claim))
        check_fail(w, "one owner of a token",
                   "node %d uses claim %lld of job %d, the store has %lld", op->node,
                   (long long)op->claim, job, (long long)was->claim.token);
    if (op->kind == JOB_OP_RUN_END && !is_current(was, op->claim))
        check_fail(w, "one owner of a token", "node %d ends a run of job %d that is over", op->node,
                   job);
}

/* ---- states ---- */

/* A run replaces the state that it has read, by one that follows from it. */
static void check_state(struct world *w, const struct job_op *op, int job,
                        const struct job_row *was, const struct job_row *is)
{
    int64_t number = is->state.number - was->state.number;

    if (number < 0 || number > 1)
        check_fail(w, "states are one chain", "job %d from state %lld to %lld", job,
                   (long long)was->state.number, (long long)is->state.number);
    if (number == 0 && is->state.value != was->state.value)
        check_fail(w, "states are one chain", "job %d: state %lld is another one", job,
                   (long long)is->state.number);
    if (number == 1 && op != NULL && is->state.value != was->state.value + 1)
        check_fail(w, "states are one chain", "job %d: state %lld has %lld, after %lld", job,
                   (long long)is->state.number, (long long)is->state.value,
                   (long long)was->state.value);
}

/* ---- nominal times ---- */

enum which { ALL_TIMES, OPEN_TIMES };

/* Of (from, to]; a job without times has none. */
static int64_t count_times(const struct world *w, int job, int rule, int64_t from_us, int64_t to_us,
                           enum which which)
{
    const struct job_rule *r = &w->jobs.rules[job][rule];
    const struct schedule *s = &r->schedule;

    if (s->until_us != 0 && to_us > s->until_us)
        to_us = s->until_us;
    if (s->form == SCHEDULE_EVERY || to_us <= from_us)
        return 0;
    if (s->form == SCHEDULE_ONCE)
        return from_us < s->once_us && s->once_us <= to_us;
    int64_t n = 0, minute = 60 * (int64_t)S;

    for (int64_t at = from_us / minute + 1; at * minute <= to_us; at++)
        n += at % r->step == r->phase && (which == ALL_TIMES || s->times.window == NULL ||
                                          at % JOB_TURN_MINUTES < JOB_OPEN_MINUTES);
    return n;
}

static bool is_time(const struct world *w, int job, int rule, int64_t at_us)
{
    return count_times(w, job, rule, at_us - 1, at_us, OPEN_TIMES) == 1;
}

/* An iteration begins so long after the end of the one before. */
static void check_interval(struct world *w, const struct job_op *op, int job,
                           const struct job_row *was)
{
    const struct schedule *s = &job_rule_of(w, job, was)->schedule;
    const struct schedule_known *k = &was->known;
    bool counts = op != NULL && op->kind == JOB_OP_END && !op->result.asked &&
                  s->form == SCHEDULE_EVERY && k->ended_us > w->jobs.watch[job].stopped_us &&
                  !k->more && k->tries == 0;

    if (counts && !w->stepped && op->result.nominal_us < k->ended_us + s->every_us)
        check_fail(w, "an interval is kept", "job %d: %lld ms too early", job,
                   (long long)((k->ended_us + s->every_us - op->result.nominal_us) / MS));
}

/* Each time between two settled ones was served or counted.  A run that began by other settings is
 * for a time of those. */
static void check_times(struct world *w, const struct job_op *op, int job,
                        const struct job_row *was, const struct job_row *is)
{
    int64_t from = was->known.last_us, to = is->known.last_us, nominal = is->served_us;
    int64_t left = is->left_out - was->left_out;
    bool served = is->known.runs > was->known.runs && nominal > from;
    bool others = (op != NULL && op->result.claimed_us <= w->jobs.watch[job].stopped_us) ||
                  was->known.tries > 0 || w->stepped;
    bool first = job_rule_of(w, job, is)->schedule.form == SCHEDULE_EVERY && was->known.runs == 0;

    if (to < from)
        check_fail(w, "no time is served twice", "job %d goes back by %lld ms", job,
                   (long long)((from - to) / MS));
    if (is->known.runs > was->known.runs && !served && !others && !first)
        check_fail(w, "no time is served twice", "job %d: %lld", job,
                   (long long)((nominal - w->start_us) / MS));
    int64_t times = count_times(w, job, is->rule, from, to, ALL_TIMES) -
                    (served && is_time(w, job, is->rule, nominal));

    if (others && served ? left > times : left != times)
        check_fail(w, "each time is served or counted", "job %d: %lld of %lld", job,
                   (long long)left, (long long)times);
    w->jobs.watch[job].served += served;
    check_interval(w, op, job, was);
}

/* ---- changes ---- */

static void check_shape(struct world *w, int job, const struct job_row *r)
{
    int waits = 0;

    for (int i = 0; i < JOB_RUNS_MOST; i++)
        waits += r->runs[i].claim != 0 && r->runs[i].waits;
    if ((r->token == JOB_TOKEN_CLAIMED) != (r->claim.token != 0))
        check_fail(w, "one owner of a token", "job %d: a claim without a token", job);
    if (waits > 1)
        check_fail(w, "one owner of a token", "job %d: one token waits for %d runs", job, waits);
    if (job_may_run(r) && r->token == JOB_TOKEN_NONE)
        check_fail(w, "nothing is stranded", "job %d goes and has no token", job);
}

void jobs_check_row(struct world *w, const struct job_op *op, int job, const struct job_row *was)
{
    const struct job_row *is = &w->jobs.rows[job];

    check_shape(w, job, is);
    check_state(w, op, job, was, is);
    check_times(w, op, job, was, is);
    if (op == NULL)
        return;
    check_owner(w, op, job, was);
    w->jobs.watch[job].stale += op->stale;
    if (op->kind == JOB_OP_OPEN && job_open_runs(is) > w->jobs.rules[job][op->plan.rule].parallel)
        check_fail(w, "at most n open runs", "job %d has %d", job, job_open_runs(is));
}

/* ---- runs ---- */

/* Paused time piles nothing up, and what another schedule has missed is not made up for. */
static void check_passed(struct world *w, const struct slot *s)
{
    const struct job_watch *watch = &w->jobs.watch[s->job];
    const struct schedule *rule = &job_rule_of(w, s->job, &s->row)->schedule;
    int64_t nominal = s->result.nominal_us;
    bool again = s->row.known.tries > 0 || s->row.known.more;

    if (rule->form != SCHEDULE_EVERY && !s->result.asked && !again &&
        s->result.claimed_us > watch->stopped_us && nominal <= watch->passed_us)
        check_fail(w, "what was paused is left out", "job %d serves %lld", s->job,
                   (long long)((nominal - w->start_us) / MS));
}

/* Somebody may have taken the claim away meanwhile; nobody else may have it. */
void jobs_check_begin(struct world *w, int node, int slot)
{
    const struct slot *s = &w->schedulers[node].slots[slot];
    const struct job_row *r = &w->jobs.rows[s->job];
    bool holds = r->token == JOB_TOKEN_CLAIMED && r->claim.token == s->claim.token;
    int parallel = job_rule_of(w, s->job, &s->row)->parallel;

    if (!is_current(r, s->claim.token) && s->claim.token > w->jobs.watch[s->job].forgiven)
        check_fail(w, "one owner of a token",
                   "node %d runs job %d by claim %lld, the store has %lld", node, s->job,
                   (long long)s->claim.token, (long long)r->claim.token);
    if (holds && job_open_runs(r) + 1 > parallel)
        check_fail(w, "at most n open runs", "job %d has %d beside the one of node %d", s->job,
                   job_open_runs(r), node);
    check_passed(w, s);
    if (!w->stepped && s->result.nominal_us > w->now_us + TOLERANCE_US)
        check_fail(w, "nothing runs before its time", "job %d: %lld ms", s->job,
                   (long long)((s->result.nominal_us - w->now_us) / MS));
}

/* ---- acks ---- */

void jobs_check_effect(struct world *w, const struct job_op *op)
{
    struct post *p = op->post >= 0 ? &w->posts[op->post] : NULL;

    if (op->kind != JOB_OP_RUN_END || p == NULL || p->serial != op->serial)
        return;
    if (++p->effects > 1)
        check_fail(w, "an ack counts once", "job %d, claim %lld", op->job, (long long)op->claim);
}

/* The same ack has the same answer. */
void jobs_check_reply(struct world *w, int post)
{
    struct post *p = &w->posts[post];

    if (p->kind != POST_ACK)
        return;
    p->told_done |= p->status == 200;
    p->told_late |= p->status == 410;
    if (p->told_done && p->told_late)
        check_fail(w, "the same ack has the same answer", "job %d, claim %lld", p->job,
                   (long long)p->claim);
    if (p->told_done != (p->effects > 0) && (p->told_done || p->told_late))
        check_fail(w, "an ack counts once", "job %d, claim %lld: told %d, written %d times", p->job,
                   (long long)p->claim, p->status, p->effects);
}

/* ---- the end ---- */

/* All is well, a run has ended since, and no time waits to be served. */
bool jobs_is_served(const struct world *w, int job, int64_t now_us)
{
    const struct job_row *r = &w->jobs.rows[job];

    if (r->stop == JOB_AT_END)
        return !r->gone && r->token == JOB_TOKEN_NONE;
    if (r->gone || r->stop != JOB_GOES || r->asked_us != 0 || r->known.tries > 0)
        return false;
    return w->stepped || (w->jobs.watch[job].ended_us > w->end_us &&
                          count_times(w, job, r->rule, r->known.last_us, now_us, OPEN_TIMES) == 0);
}

void jobs_check_end(struct world *w)
{
    for (int i = 0; i < w->jobs.count; i++) {
        const struct job_row *r = &w->jobs.rows[i];

        if (!w->jobs.watch[i].finished || r->token != JOB_TOKEN_NONE || job_open_runs(r) > 0)
            check_fail(w, "nothing is stranded", "job %d: %s, token %d, %d open runs, %lld ms late",
                       i,
                       r->gone                 ? "gone"
                       : r->stop == JOB_GOES   ? "goes"
                       : r->stop == JOB_AT_END ? "at its end"
                       : r->stop == JOB_PAUSED ? "paused"
                                               : "suspended",
                       r->token, job_open_runs(r), (long long)((w->now_us - r->due_us) / MS));
    }
}
