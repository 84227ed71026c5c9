#include "store/job/job_operate.h"

#include "base/container_of.h"
#include "base/require.h"
#include "store/db/rows.h"
#include "store/job/job_backfill.h"
#include "store/job/job_run.h"
#include "store/job/job_token.h"
#include "store/kernel/store_state.h"
#include "store/road/accept.h"
#include "store/road/claims.h"

struct job_operate_op {
    struct store_op op;
    const struct job_order *order;
    enum job_answer answer;
    int64_t seized; /* the job whose claim was taken away; 0: none */

    struct job_record r;
    struct job_plan plan; /* to be written */
    struct job_place place;
    int64_t awaited_us; /* the token is the time-out of a run outside; 0: it is not */
    int64_t now_us;
};

static bool job_write(struct writer *w, const struct job_operate_op *o, struct err *err)
{
    const struct job_record *r = &o->r;
    struct db_value v[9 + JOB_PLAN] = { db_int(r->num),      db_int(o->place.due_us),
                                        db_int(r->asked_us), db_int(r->stop),
                                        db_int(r->stop_us),  db_int(r->stop_until_us),
                                        db_text(r->stop_by), db_text(r->stop_why),
                                        db_int(r->resets) };

    job_plan_values(v + 9, &o->plan);
    return db_run(w->db, SQL_JOB_SET, (struct db_args){ v, 9 + JOB_PLAN }, NULL, err);
}

static bool job_refuse(struct job_operate_op *o, enum job_answer answer)
{
    o->answer = answer;
    o->op.nothing = true;
    return true;
}

/* Pause and suspend.  The token of a run that somebody asked for goes, too; one outside that
 * somebody asked for goes on, and keeps its time-out. */
static bool job_do_stop(struct writer *w, struct job_operate_op *o, struct err *err)
{
    enum job_stop stop = o->order->act == JOB_PAUSE ? JOB_PAUSED : JOB_SUSPENDED;
    bool goes_on = o->r.asked_us != 0 && o->awaited_us != 0;
    enum job_token token = JOB_TOKEN_HELD;

    if (o->r.stop == JOB_AT_END || (o->r.stop == JOB_SUSPENDED && stop == JOB_PAUSED))
        return job_refuse(o, JOB_IS_STOPPED);
    if (!goes_on && !job_token_take(w, &o->place, &token, err))
        return false;
    if (token != JOB_TOKEN_HELD)
        o->r.asked_us = 0;
    o->r.stop = stop;
    o->r.stop_us = o->now_us;
    o->r.stop_until_us = stop == JOB_PAUSED ? o->order->until_us : 0;
    o->r.stop_by = job_cut(o->order->by);
    o->r.stop_why = job_cut(o->order->why);
    return job_write(w, o, err);
}

/* Puts the token, if the job goes, where the schedule says, or where a run outside is over.  That
 * one ends as what it is: somebody has asked for it, or it is for the time of the plan. */
static bool job_schedule(struct writer *w, struct job_operate_op *o, struct err *err)
{
    if (o->awaited_us == 0)
        o->r.asked_us = 0;
    if (o->r.stop == JOB_GOES && o->plan.next.due_us == 0)
        o->r.stop = JOB_AT_END;
    if (o->r.stop != JOB_GOES || o->r.gone_us != 0)
        return job_write(w, o, err);
    o->place.due_us = o->awaited_us != 0 ? o->awaited_us : o->plan.next.due_us;
    return job_write(w, o, err) && job_token_put(w, &o->place, o->now_us, err);
}

static bool job_do_resume(struct writer *w, struct job_operate_op *o, struct err *err)
{
    enum job_token token;

    bool other = o->order->until_us != 0 &&
                 (o->r.stop != JOB_PAUSED || o->r.stop_until_us != o->order->until_us);

    if (other || (o->r.stop != JOB_PAUSED && o->r.stop != JOB_SUSPENDED))
        return job_refuse(o, JOB_NOT_STOPPED);
    if (o->order->plan.turn != o->r.turn)
        return job_refuse(o, JOB_OLD_PLAN);
    if (!job_token_take(w, &o->place, &token, err))
        return false;
    o->r.stop = JOB_GOES;
    o->r.stop_us = o->now_us;
    o->r.stop_until_us = 0;
    o->r.stop_by = o->r.stop_why = STR("");
    o->r.resets = 0;
    o->plan = o->order->plan;
    /* One that still runs gets its token at its end. */
    return token == JOB_TOKEN_HELD ? job_write(w, o, err) : job_schedule(w, o, err);
}

static bool job_do_run(struct writer *w, struct job_operate_op *o, struct err *err)
{
    enum job_token token;

    if (o->awaited_us != 0)
        return job_refuse(o, JOB_IS_RUNNING);
    if (!job_token_take(w, &o->place, &token, err))
        return false;
    if (token == JOB_TOKEN_HELD)
        return job_refuse(o, JOB_IS_RUNNING);
    o->r.asked_us = o->now_us;
    o->place.due_us = o->now_us;
    return job_write(w, o, err) && job_token_put(w, &o->place, o->now_us, err);
}

/* A backfill is cancelled that waits for its next run, which may have its token already. */
static bool job_end_wait(struct writer *w, struct job_operate_op *o, struct err *err)
{
    enum job_token token;

    if (o->r.asked_us == 0)
        return true;
    return job_token_take(w, &o->place, &token, err) &&
           (token == JOB_TOKEN_HELD || job_schedule(w, o, err));
}

/* The run that holds the token is over; there is none if the token is claimed as a time-out. */
static bool job_note_held(struct writer *w, const struct job_operate_op *o, struct err *err)
{
    struct job_over *over = o->order->over;
    struct job_holder holder;

    if (over == NULL || o->awaited_us != 0)
        return true;
    if (!job_token_holder(w, o->r.num, &holder, err))
        return false;
    if (holder.claim != 0)
        over->runs[over->count++] = (struct job_run){ .job = o->r.num,
                                                      .claim = holder.claim,
                                                      .node = holder.node,
                                                      .nominal_us = o->r.asked_us,
                                                      .began_us = holder.since_us };
    return true;
}

static bool job_note_all(struct writer *w, const struct job_operate_op *o, struct err *err)
{
    struct job_over *over = o->order->over;

    return over == NULL ||
           (job_run_read(w, o->r.num, over->runs, &over->count, err) && job_note_held(w, o, err));
}

static bool job_do_cancel(struct writer *w, struct job_operate_op *o, struct err *err)
{
    enum job_token token;
    int64_t open, left;
    bool held;

    if (!job_token_held(w, o->r.num, &held, err) ||
        !db_one_int(w->db, SQL_JOB_RUN_COUNT, DB_ARGS(db_int(o->r.num)), 0, &open, err))
        return false;
    if (!job_backfill_remove(w, o->r.num, &left, err))
        return false;
    if (!held && open == 0)
        return left > 0 ? job_end_wait(w, o, err) : job_refuse(o, JOB_NOT_RUNNING);
    if (o->r.asked_us == 0 &&
        (o->order->plan.turn != o->r.turn || (o->order->unheld && (held || o->awaited_us != 0))))
        return job_refuse(o, JOB_OLD_PLAN);
    if (!job_note_all(w, o, err))
        return false;
    o->seized = held ? o->r.num : 0;
    o->awaited_us = 0; /* it goes */
    if (o->r.asked_us == 0)
        o->plan = o->order->plan;
    return job_token_seize(w, &o->place, &token, err) &&
           db_run(w->db, SQL_JOB_DROP_RUNS, DB_ARGS(db_int(o->r.num)), NULL, err) &&
           job_schedule(w, o, err) &&
           db_run(w->db, SQL_JOB_CANCELLED,
                  DB_ARGS(db_int(o->r.num), db_text(job_cut(o->order->why))), NULL, err);
}

static bool job_do_reset(struct writer *w, struct job_operate_op *o, struct err *err)
{
    int64_t n = 0;

    if (!db_run(w->db, SQL_JOB_RESET, DB_ARGS(db_int(o->r.num), db_int(o->order->state_number)), &n,
                err))
        return false;
    if (n == 0)
        return job_refuse(o, JOB_NOT_KEPT);
    return db_run(w->db, SQL_JOB_STATE_COPY, DB_ARGS(db_int(o->r.num)), NULL, err) &&
           db_run(w->db, SQL_JOB_STATE_TRIM,
                  DB_ARGS(db_int(o->r.num), db_int(o->r.state_number + 1 - JOB_STATES_KEPT)), NULL,
                  err);
}

/* The plan stays: the time that the run was for is not served. */
static bool job_do_release(struct writer *w, struct job_operate_op *o, struct err *err)
{
    const struct task claim = {
        .id = o->r.num, .claim = o->order->claim, .prio = PRIO_NORMAL, .rank = o->place.due_us
    };
    enum job_token token;
    bool held;

    if (!job_claim_holds(w, &o->place, &claim, &held, err))
        return false;
    if (!held)
        return job_refuse(o, JOB_NOT_RUNNING);
    if (!job_note_held(w, o, err) || !job_token_seize(w, &o->place, &token, err))
        return false;
    o->seized = o->r.num;
    o->r.resets++;
    if (o->r.resets >= JOB_RESETS_MOST && o->r.stop == JOB_GOES) {
        o->r.stop = JOB_SUSPENDED;
        o->r.stop_us = o->now_us;
        o->r.stop_why = job_cut(o->order->why);
        o->answer = JOB_SUSPENDS;
    }
    if (o->answer == JOB_SUSPENDS)
        o->r.asked_us = 0;
    o->place.due_us = o->now_us;
    bool goes = o->r.gone_us == 0 && (o->r.stop == JOB_GOES || o->r.asked_us != 0);

    return job_write(w, o, err) && (!goes || job_token_put(w, &o->place, o->now_us, err));
}

static bool job_do_backfill(struct writer *w, struct job_operate_op *o, struct err *err)
{
    int64_t left;

    if (o->order->time_count == 0) /* whoever computed them did not know the job */
        return job_refuse(o, JOB_OLD_PLAN);
    if (!job_backfill_count(w, o->r.num, &left, err))
        return false;
    return left > 0 ? job_refuse(o, JOB_HAS_BACKFILL)
                    : job_backfill_put(w, o->r.num, o->order->times, o->order->time_count, err);
}

/* The schedule has the first right: what is due of it runs first. */
static bool job_do_next(struct writer *w, struct job_operate_op *o, struct err *err)
{
    bool rests = (o->r.stop == JOB_GOES || o->r.stop == JOB_AT_END) && o->r.asked_us == 0 &&
                 o->awaited_us == 0 && (o->r.stop == JOB_AT_END || o->r.due_us > o->now_us);
    enum job_token token;
    int64_t first_us = 0;

    if (rests && !job_backfill_first(w, o->r.num, o->now_us, &first_us, err))
        return false;
    if (first_us == 0)
        return job_refuse(o, JOB_NOT_RUNNING);
    if (!job_token_take(w, &o->place, &token, err))
        return false;
    if (token == JOB_TOKEN_HELD)
        return job_refuse(o, JOB_IS_RUNNING);
    o->r.asked_us = first_us;
    o->place.due_us = o->now_us;
    return job_write(w, o, err) && job_token_put(w, &o->place, o->now_us, err);
}

static bool (*const job_acts[JOB_ACTS])(struct writer *w, struct job_operate_op *o,
                                        struct err *err) = {
    [JOB_PAUSE] = job_do_stop,      [JOB_SUSPEND] = job_do_stop,      [JOB_RESUME] = job_do_resume,
    [JOB_RUN] = job_do_run,         [JOB_CANCEL] = job_do_cancel,     [JOB_RESET] = job_do_reset,
    [JOB_RELEASE] = job_do_release, [JOB_BACKFILL] = job_do_backfill, [JOB_NEXT] = job_do_next
};

static bool job_operate_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct job_operate_op *o = container_of(ops[0], struct job_operate_op, op);
    bool found;

    require(count == 1);
    o->answer = JOB_OK;
    o->seized = 0;
    if (!rows_one(w->db, SQL_JOB_LOCK, DB_NO_SLOT, DB_ARGS(db_text(o->order->name)), job_read,
                  w->arena, &o->r, &found, err) ||
        !db_one_int(w->db, SQL_RATE_NOW, DB_NO_ARGS, 0, &o->now_us, err))
        return false;
    if (!found)
        return job_refuse(o, JOB_UNKNOWN);
    /* A run of a job that is gone can be cancelled or released, and its state reset for when it
     * comes back. */
    if (o->r.gone_us != 0 && o->order->act != JOB_CANCEL && o->order->act != JOB_RESET &&
        o->order->act != JOB_RELEASE)
        return job_refuse(o, JOB_IS_GONE);
    if (!db_one_int(w->db, SQL_JOB_RUN_AWAITED, DB_ARGS(db_int(o->r.num)), 0, &o->awaited_us, err))
        return false;
    o->place = (struct job_place){ o->r.num, o->r.queue, o->r.due_us };
    o->plan = job_plan_of(&o->r);
    if (o->order->over != NULL)
        *o->order->over = (struct job_over){ .due_us = o->r.due_us };
    return job_acts[o->order->act](w, o, err);
}

/* SQLite: the claim goes after the commit.  The new token may have been passed while it stood. */
static void job_operate_committed(struct writer *w, struct store_op **ops, size_t count)
{
    const struct job_operate_op *o = container_of(ops[0], struct job_operate_op, op);
    struct claims *claims = w->store->claims;

    (void)count;
    if (claims == NULL || o->seized == 0)
        return; /* job_token_put() has said where it is */
    claims_end(claims, o->seized);
    claims_put_at(claims, o->place.queue,
                  (struct claim_place){ PRIO_NORMAL, o->place.due_us, o->place.num });
}

static const struct store_verb job_operate_verb = { .name = "operate job",
                                                    .run = job_operate_run,
                                                    .committed = job_operate_committed };

bool job_operate(struct store *s, const struct job_order *order, enum job_answer *ret,
                 struct err *err)
{
    struct job_operate_op o = { .order = order };

    require(order->act < JOB_ACTS);
    if (!writers_call(s->writers, &job_operate_verb, &o.op, err))
        return false;
    *ret = o.answer;
    return true;
}
