#include "store/job/job_claim.h"

#include "base/clock.h"
#include "base/container_of.h"
#include "base/require.h"
#include "store/db/rows.h"
#include "store/job/job_token.h"
#include "store/kernel/store_state.h"
#include "store/road/claims.h"
#include "store/road/settle_rows.h"

struct job_claim_op {
    struct store_op op;
    const int64_t *queues; /* NULL: one claim is taken over: id and number of `over` */
    struct task over;
    size_t queue_count, limit;
    struct str kinds;
    const struct job_lease *lease;
    int64_t asked_us; /* when the lease was given; monotonic */
    struct arena *arena;
    struct task tasks[JOB_CLAIM_MOST];
    size_t task_count;
    struct job_claim *claims;
    bool found[JOB_CLAIM_MOST]; /* of each task: there is a record */
    bool removed[JOB_CLAIM_MOST];
    size_t count;
};

static bool job_claim_tokens(struct writer *w, struct job_claim_op *o, struct err *err)
{
    int64_t restored;

    if (!db_one_int(w->db, SQL_RESTORE_WAITING, DB_NO_ARGS, 0, &restored, err))
        return false;
    for (size_t i = 0; restored == 0 && i < o->queue_count && o->task_count < o->limit; i++) {
        size_t n = 0;
        bool ok = task_claim_in(w, o->queues[i], o->kinds, o->limit - o->task_count, o->lease->us,
                                o->tasks + o->task_count, &n, err);

        o->task_count += n;
        if (!ok)
            return false;
    }
    return true;
}

static void job_read_claimed(struct db_rows *row, struct arena *a, void *to)
{
    struct job_claim *c = to;

    job_read(row, a, &c->record);
    /* Behind `which` columns are counted from 1 (row_found()). */
    c->state = row_text(row, JOB_CLAIMED_STATE - 1, a);
    c->record.open_runs = db_get_int(row, JOB_CLAIMED_OPEN_RUNS - 1);
    c->awaited = db_get_int(row, JOB_CLAIMED_AWAITED - 1);
    c->backfill = db_get_int(row, JOB_CLAIMED_BACKFILL - 1);
}

static bool job_found_claimed(void *arg, int64_t slot, size_t at, struct db_rows *row,
                              struct err *err)
{
    struct job_claim_op *o = arg;

    (void)slot;
    (void)err;
    row_found(row, job_read_claimed, o->arena, &o->claims[at]);
    o->claims[at].task = o->tasks[at];
    o->found[at] = true;
    return true;
}

/* Removes the tokens of jobs that may not run, and keeps the other claims. */
static bool job_sort_claims(struct writer *w, struct job_claim_op *o, struct err *err)
{
    for (size_t i = 0; i < o->task_count; i++) {
        const struct task *t = &o->tasks[i];
        enum job_token token;

        o->removed[i] = !o->found[i] || !job_may_run(&o->claims[i].record);
        if (!o->removed[i]) {
            if (o->count != i)
                o->claims[o->count] = o->claims[i];
            o->count++;
        } else if (!job_token_seize(
                       w, &(struct job_place){ .num = t->id, .queue = t->queue, .due_us = t->rank },
                       &token, err)) {
            return false;
        }
    }
    return true;
}

/* Notes how long the runs may take. */
static bool job_claims_last(struct writer *w, const struct job_claim_op *o, struct err *err)
{
    const struct job_lease *l = o->lease;
    struct rows rows = rows_of(w, SQL_JOB_LEASE_LASTS, 4, o->count);
    int64_t now_us = l->now_us + clock_mono_us() - o->asked_us; /* the writer may have been busy */

    for (size_t i = 0; i < o->count; i++) {
        const struct job_claim *c = &o->claims[i];
        int64_t lasts_us = l->lasts != NULL ? l->lasts(l->arg, &c->record) : JOB_LASTS_US;

        if (w->store->claims != NULL) {
            claims_lasts(w->store->claims, &c->task, lasts_us);
            continue;
        }
        struct db_value *v = row_of(&rows);

        v[0] = db_int(c->task.id);
        v[1] = db_int(c->task.claim);
        v[2] = db_int(now_us + l->us);
        v[3] = db_int(lasts_us);
    }
    return write_rows(w, &rows, err);
}

static void job_claim_undo(struct store *s, struct job_claim_op *o)
{
    task_claim_undo(s, o->tasks, o->task_count);
    o->task_count = o->count = 0;
}

static bool job_claim_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct job_claim_op *o = container_of(ops[0], struct job_claim_op, op);
    struct db_value keys[JOB_CLAIM_MOST];

    require(count == 1);
    job_claim_undo(w->store, o);
    if (!(o->queues != NULL
              ? job_claim_tokens(w, o, err)
              : task_claim_over(w, &o->over, o->lease->us, o->tasks, &o->task_count, err)))
        return false;
    for (size_t i = 0; i < o->task_count; i++) {
        keys[i] = db_int(o->tasks[i].id);
        o->found[i] = false;
    }
    return o->task_count == 0 || (db_find(w->db, SQL_JOB_CLAIMED, DB_NO_SLOT, 1, keys, 1,
                                          o->task_count, job_found_claimed, o, err) &&
                                  job_sort_claims(w, o, err) && job_claims_last(w, o, err));
}

static void job_claim_committed(struct writer *w, struct store_op **ops, size_t count)
{
    struct job_claim_op *o = container_of(ops[0], struct job_claim_op, op);

    (void)count;
    for (size_t i = 0; w->store->claims != NULL && i < o->task_count; i++)
        if (o->removed[i])
            claims_drop(w->store->claims, &o->tasks[i]);
}

static const struct store_verb job_claim_verb = {
    .name = "claim jobs", .run = job_claim_run, .notes = true, .committed = job_claim_committed
};

bool job_claim(struct store *s, const int64_t *queues, size_t queue_count, struct str kinds,
               size_t limit, const struct job_lease *lease, struct arena *a, struct job_claim *ret,
               size_t *ret_count, struct err *err)
{
    struct job_claim_op o = { .queues = queues,
                              .queue_count = queue_count,
                              .kinds = kinds,
                              .limit = limit,
                              .lease = lease,
                              .asked_us = clock_mono_us(),
                              .arena = a,
                              .claims = ret };

    require(limit > 0 && limit <= JOB_CLAIM_MOST);
    if (!writers_call(s->writers, &job_claim_verb, &o.op, err)) {
        job_claim_undo(s, &o);
        return false;
    }
    *ret_count = o.count;
    return true;
}

bool job_take_over(struct store *s, int64_t job, int64_t claim, const struct job_lease *lease,
                   struct arena *a, struct job_claim *ret, bool *ret_taken, struct err *err)
{
    struct job_claim_op o = { .over = { .id = job, .claim = claim, .kind = TASK_JOB },
                              .limit = 1,
                              .lease = lease,
                              .asked_us = clock_mono_us(),
                              .arena = a,
                              .claims = ret };

    if (!writers_call(s->writers, &job_claim_verb, &o.op, err))
        return false;
    *ret_taken = o.count == 1;
    return true;
}
