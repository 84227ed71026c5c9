/* job_end.c - the end of a run, in one transaction.
 *
 * The problem.  A run has a result, perhaps a new state, and the time of the next run.  They must
 * take effect together and at most once, although the node may die at any moment, another node may
 * have taken the token over, the configuration may have changed and a person may have stopped the
 * job, while it ran.
 *
 * The method.  job_end_run() gets all ends of the writer's group; each step is one statement for
 * the whole group.
 *   1. Lock the records, by ascending number, and read them.
 *   2. Leave out those whose settings are others by now, or whose plan was computed from an older
 *      record; their claims are not touched.
 *   3. Delete the claimed tokens.  An operation whose token is gone has lost its claim, and
 *      nothing more is done for it: the DELETE decides, and a pair of id and claim is never given
 *      twice.
 *   4. Write the records, the states, and the tokens at their new places.
 *
 * Crashes.  Before the commit nothing of it is there, and the token is still claimed: on SQLite its
 * row never left task_ready, on PostgreSQL its lease stands until the node is declared dead.  The
 * run is repeated, from the same state and for the same nominal time.
 *
 * Races (PostgreSQL).  The lock of the record comes before the token (job.h), so a person who
 * pauses the job either finds the token where the end put it, or the end finds the pause.
 */
#include "store/job/job_end.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/container_of.h"
#include "base/fault.h"
#include "base/require.h"
#include "store/db/rows.h"
#include "store/job/job_backfill.h"
#include "store/job/job_token.h"
#include "store/kernel/store_state.h"
#include "store/road/accept.h"
#include "store/road/claims.h"
#include "store/road/settle_rows.h"

/* ---- records and claims ---- */

struct job_ends {
    struct writer *w;
    struct job_end_op **ops;
    size_t count;
};

static int job_end_by_num(const void *a, const void *b)
{
    const struct job_end_op *x = *(struct job_end_op *const *)a,
                            *y = *(struct job_end_op *const *)b;

    return x->task.id < y->task.id ? -1 : x->task.id > y->task.id;
}

static bool job_found_record(void *arg, int64_t slot, size_t at, struct db_rows *row,
                             struct err *err)
{
    struct job_ends *g = arg;

    (void)slot;
    (void)err;
    row_found(row, job_read, g->w->arena, &g->ops[at]->record);
    g->ops[at]->found = true;
    return true;
}

static bool job_lock_records(struct job_ends *g, struct err *err)
{
    struct db_value *keys = ARENA_ARRAY(g->w->arena, struct db_value, g->count + 1);

    for (size_t i = 0; i < g->count; i++)
        keys[i] = db_int(g->ops[i]->task.id);
    return db_find(g->w->db, SQL_JOB_LOCK_SOME, DB_NO_SLOT, 1, keys, 1, g->count, job_found_record,
                   g, err);
}

/* The caller plans again from this record; its texts are lent by the group. */
static void job_plan_again(struct job_end_op *o, enum job_end_result result)
{
    struct job_record *r = &o->record;

    r->name = r->kind = r->area = r->stop_by = r->stop_why = r->message = STR("");
    o->result = result;
}

/* Also if its job left the configuration meanwhile, and perhaps came back: then its record does not
 * say so any more. */
static bool job_was_asked(const struct job_end_op *o)
{
    return o->asked || o->record.asked_us != 0;
}

/* Of a job that is gone the settings do not matter, and of a run that was asked for the plan does
 * not. */
bool job_end_fits(struct job_end_op *o)
{
    const struct job_record *r = &o->record;

    if (r->gone_us == 0 && !digest_same(&r->digest, &o->digest))
        job_plan_again(o, JOB_END_SETTINGS);
    else if (!job_was_asked(o) && r->turn != o->plan.turn)
        job_plan_again(o, JOB_END_PLAN);
    else
        return true;
    return false;
}

/* Keeps those whose settings and record are still the same. */
static void job_compare_settings(struct job_ends *g)
{
    size_t n = 0;

    for (size_t i = 0; i < g->count; i++)
        if (g->ops[i]->found && job_end_fits(g->ops[i]))
            g->ops[n++] = g->ops[i];
    g->count = n;
}

static bool job_found_lease(void *arg, int64_t slot, size_t at, struct db_rows *row,
                            struct err *err)
{
    struct job_ends *g = arg;

    (void)slot;
    (void)row;
    (void)err;
    g->ops[at]->ours = true;
    return true;
}

static bool job_take_leases(struct job_ends *g, struct err *err)
{
    struct db_value *keys = ARENA_ARRAY(g->w->arena, struct db_value, g->count * 2 + 1);

    for (size_t i = 0; i < g->count; i++) {
        keys[i * 2] = db_int(g->ops[i]->task.id);
        keys[i * 2 + 1] = db_int(g->ops[i]->task.claim);
    }
    return db_find(g->w->db, SQL_SETTLE_LEASE_DROP, DB_NO_SLOT, 1, keys, 2, g->count,
                   job_found_lease, g, err);
}

/* By the place in the record: the queue of a claimed token may have changed (job_token_move()). */
static bool job_take_ready(struct job_ends *g, struct err *err)
{
    for (size_t i = 0; i < g->count; i++) {
        struct job_end_op *o = g->ops[i];
        struct job_place place = { o->task.id, o->record.queue, o->record.due_us };

        if (!job_claim_take(g->w, &place, &o->task, &o->ours, err))
            return false;
    }
    return true;
}

/* Test builds: what is left out shows that the crash test notices it. */
static bool job_leaves_claim_out(void)
{
    return fault_switch("WAYBILL_TEST_JOB_CLAIM_APART") != NULL;
}

static bool job_match_claims(struct job_ends *g, struct err *err)
{
    size_t n = 0;

    if (g->count > 0 &&
        !(g->w->db->kind == DB_SQLITE ? job_take_ready(g, err) : job_take_leases(g, err)))
        return false;
    for (size_t i = 0; i < g->count; i++)
        if (g->ops[i]->ours || job_leaves_claim_out())
            g->ops[n++] = g->ops[i];
    g->count = n;
    return true;
}

/* ---- what is written ---- */

struct str job_why_failed(char room[static JOB_WHY_MOST], int64_t failures, struct str message)
{
    (void)snprintf(room, JOB_WHY_MOST, "%" PRId64 " runs in a row failed: %.*s", failures,
                   STR_ARG(job_cut(message)));
    return str_of(room);
}

/* Nobody has stopped it since it was asked for. */
static bool job_goes_on(const struct job_end_op *o)
{
    const struct job_record *r = &o->record;

    return o->goes_on_us != 0 && r->asked_us != 0 && r->gone_us == 0 && !o->suspend &&
           (r->stop == JOB_GOES || r->stop_us < r->asked_us);
}

static void job_decide(struct job_end_op *o)
{
    const struct job_record *r = &o->record;

    o->result = JOB_END_WRITTEN;
    o->planned = !job_was_asked(o);
    o->written = o->planned ? o->plan : job_plan_of(r);
    o->stale = o->has_state && o->state_number != r->state_number;
    o->stop = r->stop;
    if (o->stop == JOB_GOES && o->suspend)
        o->stop = JOB_SUSPENDED;
    else if (o->stop == JOB_GOES && o->written.next.due_us == 0)
        o->stop = JOB_AT_END;
    /* One that failed is repeated as the same. */
    o->asked_us = !job_goes_on(o) ? 0 : o->outcome == JOB_DONE ? o->ended_us : r->asked_us;
    o->due_us = o->asked_us != 0                         ? o->goes_on_us
                : o->stop == JOB_GOES && r->gone_us == 0 ? o->written.next.due_us
                                                         : 0;
}

static void job_end_row(struct db_value *v, struct writer *w, const struct job_end_op *o)
{
    bool has_state = o->has_state && !o->stale;

    v[0] = db_int(o->task.id);
    v[1] = db_int(o->record.gone_us == 0 ? o->queue : o->record.queue);
    v[2] = db_int(o->due_us != 0 ? o->due_us : o->record.due_us);
    v[3] = db_int(o->stop);
    v[4] = db_text(job_cut(o->why));
    v[5] = db_int(has_state);
    v[6] = db_text(has_state ? o->state : STR(""));
    v[7] = db_int(o->outcome);
    v[8] = db_text(job_cut(o->message));
    v[9] = db_int(store_node(w->store));
    v[10] = db_int(o->began_us);
    v[11] = db_int(o->ended_us);
    job_plan_values(v + 12, &o->written);
    v[12 + JOB_PLAN] = db_int(o->asked_us);
}

static void job_state_rows(const struct job_end_op *o, struct rows *put, struct rows *trim)
{
    int64_t number = o->record.state_number + 1;

    if (!o->has_state || o->stale)
        return;
    struct db_value *v = row_of(put);

    v[0] = db_int(o->task.id);
    v[1] = db_int(number);
    v[2] = db_text(o->state);
    if (number <= JOB_STATES_KEPT)
        return;
    v = row_of(trim);
    v[0] = db_int(o->task.id);
    v[1] = db_int(number - JOB_STATES_KEPT);
}

static void job_token_rows(const struct job_end_op *o, struct rows *ready, struct rows *later)
{
    if (o->due_us == 0)
        return;
    if (o->due_us <= o->ended_us) {
        struct db_value *v = row_of(ready);

        v[0] = db_int(o->queue);
        v[1] = db_int(PRIO_NORMAL);
        v[2] = db_int(o->due_us);
        v[3] = db_int(o->task.id);
        v[4] = db_int(TASK_JOB);
        v[5] = v[6] = v[7] = db_int(0);
        return;
    }
    struct db_value *v = row_of(later);

    v[0] = db_int(o->due_us);
    v[1] = db_int(o->task.id);
    v[2] = db_int(o->queue);
    v[3] = db_int(PRIO_NORMAL);
    v[4] = db_int(TASK_JOB);
    v[5] = v[6] = v[7] = db_int(0);
    v[8] = db_text(STR(""));
}

static void job_awaited_row(const struct job_end_op *o, struct rows *runs)
{
    if (o->awaited == 0)
        return;
    struct db_value *v = row_of(runs);

    v[0] = db_int(o->task.id);
    v[1] = db_int(o->awaited);
}

bool job_end_write(struct writer *w, struct job_end_op **ops, size_t count, struct err *err)
{
    struct rows ends = rows_of(w, SQL_JOB_END, 12 + JOB_PLAN + 1, count);
    struct rows states = rows_of(w, SQL_JOB_STATE_PUT, 3, count);
    struct rows trims = rows_of(w, SQL_JOB_STATE_TRIM, 2, count);
    struct rows runs = rows_of(w, SQL_JOB_RUN_DROP, 2, count);
    struct rows ready = rows_of(w, SQL_TASK_READY_PUT, 8, count);
    struct rows later = rows_of(w, SQL_TASK_LATER_PUT, 9, count);

    for (size_t i = 0; i < count; i++) {
        struct job_end_op *o = ops[i];

        job_decide(o);
        job_end_row(row_of(&ends), w, o);
        job_state_rows(o, &states, &trims);
        job_awaited_row(o, &runs);
        job_token_rows(o, &ready, &later);
        if (!job_backfill_ended(w, o, err))
            return false;
    }
    return write_rows(w, &ends, err) && write_rows(w, &states, err) && write_rows(w, &trims, err) &&
           write_rows(w, &runs, err) && write_rows(w, &ready, err) && write_rows(w, &later, err);
}

static bool job_end_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct job_ends g = { .w = w, .ops = ARENA_ARRAY(w->arena, struct job_end_op *, count) };

    for (size_t i = 0; i < count; i++) {
        struct job_end_op *o = container_of(ops[i], struct job_end_op, op);

        require(o->state.len <= JOB_STATE_MOST && o->outcome < JOB_OUTCOMES);
        o->found = o->ours = o->stale = o->planned = false;
        o->result = JOB_END_LOST;
        o->due_us = 0;
        g.ops[g.count++] = o;
    }
    qsort(g.ops, g.count, sizeof *g.ops, job_end_by_num);
    if (!job_lock_records(&g, err))
        return false;
    job_compare_settings(&g);
    return job_match_claims(&g, err) && job_end_write(w, g.ops, g.count, err);
}

/* SQLite: the mark goes after the commit.  The token may have been put, and passed by a claim,
 * while it stood (claims.c). */
static void job_end_committed(struct writer *w, struct store_op **ops, size_t count)
{
    struct claims *claims = w->store->claims;

    for (size_t i = 0; claims != NULL && i < count; i++) {
        const struct job_end_op *o = container_of(ops[i], struct job_end_op, op);

        if (o->result == JOB_END_SETTINGS || o->result == JOB_END_PLAN)
            continue;
        claims_drop(claims, &o->task); /* a lost one, too: its token is not there any more */
        if (o->ours && o->due_us != 0)
            claims_put_at(
                claims, o->queue,
                (struct claim_place){ .prio = PRIO_NORMAL, .rank = o->due_us, .id = o->task.id });
    }
}

const struct store_verb job_end_verb = {
    .name = "end job run", .run = job_end_run, .notes = true, .committed = job_end_committed
};

/* ---- giving back ---- */

struct job_back_op {
    struct store_op op;
    const struct task *task;
    int64_t due_us;
    const struct job_plan *plan;
    struct str why;
    enum job_end_result result;
    bool over; /* the schedule has no time any more */
    struct job_place place;
    struct job_record record;
};

static bool job_back_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct job_back_op *o = container_of(ops[0], struct job_back_op, op);
    int64_t now_us;

    require(count == 1);
    o->result = JOB_END_LOST;
    o->over = false;
    if (!job_lock_num(w, o->task->id, &o->record, err) ||
        !db_one_int(w->db, SQL_RATE_NOW, DB_NO_ARGS, 0, &now_us, err))
        return false;
    if (o->record.num == 0)
        return true;
    o->place = (struct job_place){ o->record.num, o->record.queue, o->record.due_us };
    enum job_token token;
    bool ours;

    if (!job_claim_holds(w, &o->place, o->task, &ours, err))
        return false;
    if (!ours)
        return true;
    if (o->plan != NULL && o->plan->turn != o->record.turn) {
        o->result = JOB_END_PLAN;
        return true;
    }
    o->result = JOB_END_WRITTEN;
    if (!job_token_seize(w, &o->place, &token, err))
        return false;
    if (!job_may_run(&o->record))
        return true; /* stopped meanwhile */
    struct db_value v[2 + JOB_PLAN] = { db_int(o->place.num), db_int(o->due_us) };
    struct job_plan same = job_plan_of(&o->record);

    job_plan_values(v + 2, o->plan != NULL ? o->plan : &same);
    o->over = o->plan != NULL && o->plan->next.due_us == 0 && o->record.asked_us == 0;
    if (o->over)
        return db_run(w->db, SQL_JOB_PUT_BACK, (struct db_args){ v, 2 + JOB_PLAN }, NULL, err) &&
               db_run(w->db, SQL_JOB_OVER, DB_ARGS(db_int(o->place.num), db_text(job_cut(o->why))),
                      NULL, err);
    o->place.due_us = o->due_us;
    return job_token_put(w, &o->place, now_us, err) &&
           db_run(w->db, SQL_JOB_PUT_BACK, (struct db_args){ v, 2 + JOB_PLAN }, NULL, err);
}

static void job_back_committed(struct writer *w, struct store_op **ops, size_t count)
{
    struct job_back_op *o = container_of(ops[0], struct job_back_op, op);
    struct claims *claims = w->store->claims;

    (void)count;
    if (claims == NULL || o->result == JOB_END_PLAN)
        return;
    claims_drop(claims, o->task);
    if (o->result == JOB_END_LOST || o->over)
        return;
    claims_put_at(claims, o->place.queue,
                  (struct claim_place){ PRIO_NORMAL, o->place.due_us, o->place.num });
}

static const struct store_verb job_back_verb = {
    .name = "give job back", .run = job_back_run, .notes = true, .committed = job_back_committed
};

bool job_give_back(struct store *s, const struct task *t, int64_t due_us,
                   const struct job_plan *plan, struct str why, enum job_end_result *ret,
                   struct err *err)
{
    struct job_back_op o = { .task = t, .due_us = due_us, .plan = plan, .why = why };

    if (!writers_call(s->writers, &job_back_verb, &o.op, err))
        return false;
    *ret = o.result;
    return true;
}
