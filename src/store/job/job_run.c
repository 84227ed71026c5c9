#include "store/job/job_run.h"

#include "base/container_of.h"
#include "base/require.h"
#include "store/db/rows.h"
#include "store/job/job_token.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"
#include "store/road/accept.h"
#include "store/road/claims.h"

static void job_read_run(struct db_rows *row, struct arena *a, void *to)
{
    struct job_run *r = to;

    (void)a;
    *r = (struct job_run){ .job = db_get_int(row, OPEN_RUN_JOB),
                           .claim = db_get_int(row, OPEN_RUN_CLAIM),
                           .node = db_get_int(row, OPEN_RUN_NODE_ID),
                           .nominal_us = db_get_int(row, OPEN_RUN_NOMINAL_US),
                           .began_us = db_get_int(row, OPEN_RUN_BEGAN_US),
                           .until_us = db_get_int(row, OPEN_RUN_UNTIL_US),
                           .state_number = db_get_int(row, OPEN_RUN_STATE_NUMBER),
                           .waits = db_get_int(row, OPEN_RUN_WAITS) != 0,
                           .outside = db_get_int(row, OPEN_RUN_OUTSIDE) != 0 };
    if (r->outside)
        r->ack = row_sha256(row, OPEN_RUN_ACK);
}

/* ---- open ---- */

struct run_open_op {
    struct store_op op;
    struct job_run_open *o;
    struct job_place place;
};

static bool run_put_row(struct writer *w, const struct job_run_open *o, struct err *err)
{
    struct str ack = o->outside ? str_mem(o->ack.bytes, SHA256_SIZE) : STR("");
    int64_t nominal_us = o->nominal_us != 0 ? o->nominal_us : o->record.next.nominal_us;

    return db_run(w->db, SQL_JOB_RUN_PUT,
                  DB_ARGS(db_int(o->task.id), db_int(o->task.claim), db_int(store_node(w->store)),
                          db_int(nominal_us), db_int(o->began_us), db_int(o->until_us),
                          db_int(o->state_number), db_int(o->waits), db_int(o->outside),
                          db_bytes(ack)),
                  NULL, err);
}

/* Writes the plan, and puts the token at place->due_us if the job may run. */
static bool run_put_token(struct writer *w, const struct job_record *r, const struct job_place *p,
                          const struct job_plan *plan, int64_t now_us, struct err *err)
{
    struct db_value v[2 + JOB_PLAN] = { db_int(p->num), db_int(p->due_us) };

    job_plan_values(v + 2, plan);
    return db_run(w->db, SQL_JOB_PUT_BACK, (struct db_args){ v, 2 + JOB_PLAN }, NULL, err) &&
           (!job_may_run(r) || job_token_put(w, p, now_us, err));
}

/* Another one may begin beside it, and the schedule has a time for that. */
static bool run_is_beside(const struct job_run_open *o, int64_t open)
{
    return open + 1 < o->parallel && o->record.asked_us == 0 && o->record.stop == JOB_GOES &&
           o->record.gone_us == 0 && o->plan.next.due_us != 0;
}

/* The claim is ours, and there is room. */
static bool run_leaves_token(struct writer *w, struct run_open_op *x, bool beside, struct err *err)
{
    struct job_run_open *o = x->o;
    struct job_plan plan = beside ? o->plan : job_plan_of(&o->record);
    enum job_token token;
    int64_t now_us;

    o->opened = JOB_OPENED;
    o->waits = !beside;
    if (!db_one_int(w->db, SQL_RATE_NOW, DB_NO_ARGS, 0, &now_us, err) ||
        !job_token_seize(w, &x->place, &token, err) || !run_put_row(w, o, err))
        return false;
    x->place.due_us = beside ? plan.next.due_us : o->until_us;
    o->due_us = job_may_run(&o->record) ? x->place.due_us : 0;
    return run_put_token(w, &o->record, &x->place, &plan, now_us, err);
}

static bool run_open_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct run_open_op *x = container_of(ops[0], struct run_open_op, op);
    struct job_run_open *o = x->o;
    int64_t open;
    bool ours;

    require(count == 1);
    o->opened = JOB_OPEN_LOST;
    o->waits = false;
    o->due_us = 0;
    if (!job_lock_num(w, o->task.id, &o->record, err))
        return false;
    if (o->record.num == 0)
        return true;
    x->place = (struct job_place){ o->record.num, o->record.queue, o->record.due_us };
    if (!job_claim_holds(w, &x->place, &o->task, &ours, err) ||
        !db_one_int(w->db, SQL_JOB_RUN_COUNT, DB_ARGS(db_int(o->task.id)), 0, &open, err))
        return false;
    if (!ours)
        return true;
    bool beside = run_is_beside(o, open);

    if (open >= o->parallel)
        o->opened = JOB_OPEN_TOO_MANY;
    else if (!beside && !o->outside)
        o->opened = JOB_OPEN_HELD;
    else if (beside && o->plan.turn != o->record.turn)
        o->opened = JOB_OPEN_PLAN;
    else
        return run_leaves_token(w, x, beside, err);
    return true;
}

/* SQLite: the mark goes after the commit. */
static void run_open_committed(struct writer *w, struct store_op **ops, size_t count)
{
    const struct run_open_op *x = container_of(ops[0], struct run_open_op, op);
    struct claims *claims = w->store->claims;

    (void)count;
    if (claims == NULL || (x->o->opened != JOB_OPENED && x->o->opened != JOB_OPEN_LOST))
        return;
    claims_drop(claims, &x->o->task);
    if (x->o->due_us != 0)
        claims_put_at(claims, x->place.queue,
                      (struct claim_place){ PRIO_NORMAL, x->place.due_us, x->place.num });
}

static const struct store_verb run_open_verb = {
    .name = "open job run", .run = run_open_run, .notes = true, .committed = run_open_committed
};

bool job_run_open(struct store *s, struct job_run_open *o, struct err *err)
{
    struct run_open_op x = { .o = o };
    struct job_record *r = &o->record;

    require(o->parallel > 0 && o->parallel <= JOB_RUNS_MOST);
    if (!writers_call(s->writers, &run_open_verb, &x.op, err))
        return false;
    r->name = r->kind = r->area = r->stop_by = r->stop_why = r->message = STR("");
    return true;
}

/* ---- beat ---- */

struct run_beat_op {
    struct store_op op;
    int64_t job, claim, until_us;
    bool open;
    struct job_place place;
    bool moved;  /* the token */
    bool seized; /* a node has claimed its time-out */
};

static bool run_read(struct writer *w, int64_t job, int64_t claim, struct job_run *ret,
                     bool *ret_found, struct err *err)
{
    return rows_one(w->db, SQL_JOB_RUN_GET, DB_NO_SLOT, DB_ARGS(db_int(job), db_int(claim)),
                    job_read_run, w->arena, ret, ret_found, err);
}

/* The time-out waits longer, also one that a node has in hand already: as with the end of the run,
 * it is not too late yet. */
static bool run_move_timeout(struct writer *w, struct run_beat_op *b, const struct job_record *r,
                             struct err *err)
{
    struct job_plan plan = job_plan_of(r);
    enum job_token token;
    int64_t now_us;

    if (!db_one_int(w->db, SQL_RATE_NOW, DB_NO_ARGS, 0, &now_us, err) ||
        !job_token_seize(w, &b->place, &token, err))
        return false;
    b->seized = token == JOB_TOKEN_HELD;
    b->place.due_us = b->until_us;
    b->moved = job_may_run(r);
    return run_put_token(w, r, &b->place, &plan, now_us, err);
}

static bool run_beat_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct run_beat_op *b = container_of(ops[0], struct run_beat_op, op);
    struct job_record r;
    struct job_run run;

    require(count == 1);
    b->open = b->moved = b->seized = false;
    if (!job_lock_num(w, b->job, &r, err) || !run_read(w, b->job, b->claim, &run, &b->open, err))
        return false;
    if (r.num == 0 || !b->open) {
        b->open = false;
        return true;
    }
    b->place = (struct job_place){ r.num, r.queue, r.due_us };
    return (!run.waits || run_move_timeout(w, b, &r, err)) &&
           db_run(w->db, SQL_JOB_RUN_EXTEND,
                  DB_ARGS(db_int(b->job), db_int(b->claim), db_int(b->until_us)), NULL, err);
}

static void run_beat_committed(struct writer *w, struct store_op **ops, size_t count)
{
    const struct run_beat_op *b = container_of(ops[0], struct run_beat_op, op);

    (void)count;
    if (w->store->claims != NULL && b->seized)
        claims_end(w->store->claims, b->job);
    if (w->store->claims != NULL && b->moved)
        claims_put_at(w->store->claims, b->place.queue,
                      (struct claim_place){ PRIO_NORMAL, b->place.due_us, b->place.num });
}

static const struct store_verb run_beat_verb = {
    .name = "beat job run", .run = run_beat_run, .notes = true, .committed = run_beat_committed
};

bool job_run_beat(struct store *s, int64_t job, int64_t claim, int64_t until_us, bool *ret_open,
                  struct err *err)
{
    struct run_beat_op b = { .job = job, .claim = claim, .until_us = until_us };

    if (!writers_call(s->writers, &run_beat_verb, &b.op, err))
        return false;
    *ret_open = b.open;
    return true;
}

/* ---- end ---- */

struct run_end_op {
    struct store_op op;
    struct job_run_end *e;
    bool seized; /* a node has claimed its time-out */
};

/* The row is removed, or there was none. */
static bool run_drop_row(struct writer *w, const struct job_run *run, struct err *err)
{
    return db_run(w->db, SQL_JOB_RUN_DROP, DB_ARGS(db_int(run->job), db_int(run->claim)), NULL,
                  err);
}

/* The token waits for it: it ends as if it held it.  Nor is it too late while a node has its
 * time-out in hand: that node may die or give it back, and who was told that he is late would not
 * be, a moment later. */
static bool run_end_awaited(struct writer *w, struct run_end_op *x, const struct job_run *run,
                            struct err *err)
{
    struct job_end_op *o = x->e->end;
    struct job_place place = { o->record.num, o->record.queue, o->record.due_us };
    enum job_token token;

    if (!job_end_fits(o))
        return true;
    if (!job_token_seize(w, &place, &token, err))
        return false;
    x->seized = token == JOB_TOKEN_HELD;
    o->ours = true;
    return run_drop_row(w, run, err) && job_end_write(w, &o, 1, err);
}

/* A state for the record, and among those that are kept. */
static bool run_put_state(struct writer *w, const struct job_end_op *o, struct err *err)
{
    int64_t number = o->record.state_number + 1;

    if (!o->has_state || o->stale)
        return true;
    return db_run(w->db, SQL_JOB_STATE_PUT,
                  DB_ARGS(db_int(o->record.num), db_int(number), db_text(o->state)), NULL, err) &&
           db_run(w->db, SQL_JOB_STATE_TRIM,
                  DB_ARGS(db_int(o->record.num), db_int(number - JOB_STATES_KEPT)), NULL, err);
}

/* Suspends it: a token that waits is removed, that of a run that somebody asked for, too, unless it
 * is the time-out of that run. */
static bool run_suspend(struct writer *w, struct job_end_op *o, int64_t *io_asked_us,
                        struct err *err)
{
    struct job_place place = { o->record.num, o->record.queue, o->record.due_us };
    enum job_token token = JOB_TOKEN_HELD;
    int64_t awaited_us;

    if (!db_one_int(w->db, SQL_JOB_RUN_AWAITED, DB_ARGS(db_int(o->record.num)), 0, &awaited_us,
                    err) ||
        ((*io_asked_us == 0 || awaited_us == 0) && !job_token_take(w, &place, &token, err)))
        return false;
    if (token != JOB_TOKEN_HELD)
        *io_asked_us = 0;
    o->stop = JOB_SUSPENDED;
    return true;
}

/* Whether it suspends the job, which nobody has stopped, and why. */
static void run_decide_suspend(struct job_run_end *e, int64_t failures)
{
    struct job_end_op *o = e->end;
    const struct job_record *r = &o->record;
    bool many = e->suspend_after > 0 && failures >= e->suspend_after;

    o->suspend =
        o->outcome == JOB_FAILED && (e->suspend || many) && r->stop == JOB_GOES && r->gone_us == 0;
    o->why = !o->suspend  ? STR("")
             : e->suspend ? o->message
                          : job_why_failed(e->why, failures, o->message);
}

/* The schedule has moved on: only its result is written. */
static bool run_end_beside(struct writer *w, struct job_run_end *e, const struct job_run *run,
                           struct err *err)
{
    struct job_end_op *o = e->end;
    const struct job_record *r = &o->record;
    bool failed = o->outcome == JOB_FAILED;
    int64_t failures = o->outcome == JOB_DONE ? 0 : r->past.failures + failed;
    int64_t asked_us = r->asked_us;

    run_decide_suspend(e, failures);
    o->result = JOB_END_WRITTEN;
    o->stale = o->has_state && o->state_number != r->state_number;
    o->stop = r->stop;
    if (!run_drop_row(w, run, err) || (o->suspend && !run_suspend(w, o, &asked_us, err)))
        return false;
    bool has_state = o->has_state && !o->stale;

    return db_run(w->db, SQL_JOB_RUN_RESULT,
                  DB_ARGS(db_int(r->num), db_int(asked_us), db_int(o->stop),
                          db_text(job_cut(o->why)), db_int(has_state),
                          db_text(has_state ? o->state : STR("")), db_int(o->outcome),
                          db_text(job_cut(o->message)), db_int(run->node), db_int(o->began_us),
                          db_int(o->ended_us), db_int(failures)),
                  NULL, err) &&
           run_put_state(w, o, err);
}

/* Its time is over, or its node is not alive. */
static bool run_is_late(struct writer *w, const struct job_run *run, int64_t now_us, bool *ret,
                        struct err *err)
{
    int64_t alive;

    if (!db_one_int(w->db, SQL_JOB_RUN_ALIVE, DB_ARGS(db_int(run->node)), 0, &alive, err))
        return false;
    *ret = run->until_us < now_us || (!run->outside && alive == 0);
    return true;
}

/* So that the same acknowledgement gets the same answer. */
static bool run_keep_ack(struct writer *w, const struct job_run_end *e, struct err *err)
{
    struct job_ack ack;

    if (e->ack == NULL || e->end->result != JOB_END_WRITTEN)
        return true;
    ack = *e->ack;
    ack.job = e->end->task.id;
    ack.claim = e->end->task.claim;
    ack.outcome = e->end->outcome;
    ack.stale = e->end->stale;
    return job_ack_put(w, &ack, e->end->ended_us, err);
}

static bool run_end_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct run_end_op *x = container_of(ops[0], struct run_end_op, op);
    struct job_run_end *e = x->e;
    struct job_end_op *o = e->end;
    struct job_run run;
    bool there, late = true;

    require(count == 1 && o->state.len <= JOB_STATE_MOST && o->outcome < JOB_OUTCOMES);
    o->result = JOB_END_LOST;
    o->found = o->ours = o->stale = o->planned = x->seized = false;
    o->due_us = 0;
    if (!job_lock_num(w, o->task.id, &o->record, err) ||
        !run_read(w, o->task.id, o->task.claim, &run, &there, err) ||
        (there && e->late_us != 0 && !run_is_late(w, &run, e->late_us, &late, err)))
        return false;
    if (o->record.num == 0 || !there || !late)
        return true;
    o->began_us = run.began_us;
    o->state_number = run.state_number;
    return (run.waits ? run_end_awaited(w, x, &run, err) : run_end_beside(w, e, &run, err)) &&
           run_keep_ack(w, e, err);
}

static void run_end_committed(struct writer *w, struct store_op **ops, size_t count)
{
    const struct run_end_op *x = container_of(ops[0], struct run_end_op, op);
    const struct job_end_op *o = x->e->end;

    (void)count;
    if (w->store->claims != NULL && x->seized)
        claims_end(w->store->claims, o->task.id);
    if (w->store->claims != NULL && o->ours && o->due_us != 0)
        claims_put_at(
            w->store->claims, o->queue,
            (struct claim_place){ .prio = PRIO_NORMAL, .rank = o->due_us, .id = o->task.id });
}

static const struct store_verb run_end_verb = {
    .name = "end open job run", .run = run_end_run, .notes = true, .committed = run_end_committed
};

bool job_run_end(struct store *s, struct job_run_end *e, struct err *err)
{
    struct run_end_op x = { .e = e };
    struct job_record *r = &e->end->record;

    if (!writers_call(s->writers, &run_end_verb, &x.op, err))
        return false;
    r->name = r->kind = r->area = r->stop_by = r->stop_why = r->message = STR("");
    return true;
}

/* ---- look ---- */

bool job_run_get(struct store *s, int64_t job, int64_t claim, struct job_run *ret, bool *ret_found,
                 struct err *err)
{
    return store_one(s, SQL_JOB_RUN_GET, DB_ARGS(db_int(job), db_int(claim)), job_read_run, NULL,
                     ret, ret_found, err);
}

bool job_run_list(struct store *s, int64_t job, size_t most, struct job_run *ret, size_t *ret_count,
                  struct err *err)
{
    return store_collect(s, SQL_JOB_RUN_PAGE, DB_ARGS(db_int(job), db_int(most)),
                         ROWS_INTO(ret, most, NULL, job_read_run), ret_count, err);
}

bool job_run_read(struct writer *w, int64_t job, struct job_run ret[static JOB_RUNS_MOST],
                  size_t *ret_count, struct err *err)
{
    return rows_collect(w->db, SQL_JOB_RUN_PAGE, DB_NO_SLOT,
                        DB_ARGS(db_int(job), db_int(JOB_RUNS_MOST)),
                        ROWS_INTO(ret, JOB_RUNS_MOST, NULL, job_read_run), ret_count, err);
}

bool job_run_late(struct store *s, int64_t now_us, int64_t patience_us, const struct job_run *above,
                  size_t most, struct job_run *ret, size_t *ret_count, struct err *err)
{
    return store_collect(s, SQL_JOB_RUN_LATE,
                         DB_ARGS(db_int(now_us), db_int(now_us - patience_us),
                                 db_int(above->until_us), db_int(above->job), db_int(above->claim),
                                 db_int(most)),
                         ROWS_INTO(ret, most, NULL, job_read_run), ret_count, err);
}

bool job_run_left(struct store *s, int64_t now_us, const struct job_run *above, size_t most,
                  struct job_run *ret, size_t *ret_count, struct err *err)
{
    return store_collect(s, SQL_JOB_RUN_LEFT,
                         DB_ARGS(db_int(now_us), db_int(above->node), db_int(above->job),
                                 db_int(above->claim), db_int(most)),
                         ROWS_INTO(ret, most, NULL, job_read_run), ret_count, err);
}
