#include "store/road/task.h"

#include <stdlib.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/fault.h"
#include "base/require.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"
#include "store/road/accept.h"
#include "store/road/claims.h"
#include "store/road/lease_rows.h"
#include "store/road/settle.h"

static void read_task(struct db_rows *row, struct arena *a, void *to)
{
    (void)a;
    *(struct task *)to = (struct task){ .id = db_get_int(row, TASK_ID),
                                        .claim = db_get_int(row, TASK_CLAIM),
                                        .until_us = db_get_int(row, TASK_UNTIL_US),
                                        .queue = db_get_int(row, TASK_QUEUE),
                                        .prio = db_get_int(row, TASK_PRIO),
                                        .rank = db_get_int(row, TASK_RANK),
                                        .kind = db_get_int(row, TASK_KIND),
                                        .attempts = db_get_int(row, TASK_ATTEMPTS),
                                        .rescues = db_get_int(row, TASK_RESCUES),
                                        .crashes = db_get_int(row, TASK_CRASHES) };
}

static bool read_tasks(struct db *db, enum sql_id id, struct db_args args, struct task *out,
                       size_t most, size_t *ret_count, struct err *err)
{
    return rows_collect(db, id, DB_NO_SLOT, args, ROWS_INTO(out, most, NULL, read_task), ret_count,
                        err);
}

static struct claim_place task_place_of(const struct task *t)
{
    return (struct claim_place){ .prio = t->prio, .rank = t->rank, .id = t->id };
}

static bool task_put_ready(struct db *db, const struct task *t, struct err *err)
{
    return db_run(db, SQL_TASK_READY_PUT,
                  DB_ARGS(db_int(t->queue), db_int(t->prio), db_int(t->rank), db_int(t->id),
                          db_int(t->kind), db_int(t->attempts), db_int(t->rescues),
                          db_int(t->crashes)),
                  NULL, err);
}

static bool task_put_later(struct db *db, const struct task *t, int64_t due_us, struct str error,
                           struct err *err)
{
    return db_run(db, SQL_TASK_LATER_PUT,
                  DB_ARGS(db_int(due_us), db_int(t->id), db_int(t->queue), db_int(t->prio),
                          db_int(t->kind), db_int(t->attempts), db_int(t->rescues),
                          db_int(t->crashes), db_text(error)),
                  NULL, err);
}

static bool task_put_dead(struct db *db, const struct task *t, struct str code, struct str message,
                          struct err *err)
{
    return db_run(db, SQL_TASK_DEAD_PUT,
                  DB_ARGS(db_int(t->id), db_int(t->queue), db_int(t->prio), db_int(t->kind),
                          db_text(code), db_text(message), db_int(t->attempts), db_int(t->rescues),
                          db_int(t->crashes)),
                  NULL, err);
}

static struct db_args key_args(const struct task *t, struct db_value v[static 4])
{
    v[0] = db_int(t->queue);
    v[1] = db_int(t->prio);
    v[2] = db_int(t->rank);
    v[3] = db_int(t->id);
    return (struct db_args){ .values = v, .count = 4 };
}

/* ---- claim ---- */

#define LEASE_US (INT64_C(3600) * CLOCK_S)

int64_t task_lease_us(void)
{
    const char *ms = fault_switch("WAYBILL_TEST_LEASE_MS");
    int64_t n;

    return ms != NULL && str_to_i64(str_of(ms), &n) ? n * CLOCK_MS : LEASE_US;
}

struct claim_op {
    struct store_op op;
    int64_t queue, lease_us;
    struct str job_kinds; /* task_claim_in() */
    size_t limit;
    struct task *tasks;
    size_t count;
};

void task_claim_undo(struct store *s, const struct task *tasks, size_t count)
{
    for (size_t i = 0; i < count && s->claims != NULL; i++) {
        claims_drop(s->claims, &tasks[i]);
        claims_put_at(s->claims, tasks[i].queue, task_place_of(&tasks[i]));
    }
}

/* A failed group is run again: release what the failed run has marked. */
static void unclaim(struct store *s, struct claim_op *o)
{
    task_claim_undo(s, o->tasks, o->count);
    o->count = 0;
}

static bool claim_in_memory(struct writer *w, struct claim_op *o, struct err *err)
{
    enum { WINDOW = 256 };
    struct claims *claims = w->store->claims;
    struct claim_place at = claims_cursor(claims, o->queue);
    struct task window[WINDOW];
    size_t n = WINDOW;

    while (o->count < o->limit && n == WINDOW && !claims_full(claims)) {
        if (!read_tasks(w->db, SQL_TASK_WINDOW,
                        DB_ARGS(db_int(o->queue), db_int(at.prio), db_int(at.rank), db_int(at.id),
                                db_int(WINDOW)),
                        window, WINDOW, &n, err))
            return false;
        for (size_t i = 0; i < n && o->count < o->limit && !claims_full(claims); i++) {
            at = task_place_of(&window[i]);
            if (!claims_take(claims, &window[i], o->lease_us))
                continue;
            window[i].attempts++;
            o->tasks[o->count++] = window[i];
        }
    }
    claims_read_to(claims, o->queue, at);
    return true;
}

static int task_by_place(const void *a, const void *b)
{
    const struct task *x = a, *y = b;

    if (x->prio != y->prio)
        return x->prio < y->prio ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static bool task_claim_some(struct writer *w, struct claim_op *o, struct err *err)
{
    if (w->db->kind == DB_SQLITE)
        return claim_in_memory(w, o, err);
    bool all = o->job_kinds.len == 0;
    struct db_value v[] = { db_int(o->queue), db_int((int64_t)o->limit),
                            db_int(store_node(w->store)), db_int(o->lease_us),
                            db_text(o->job_kinds) };

    if (!read_tasks(w->db, all ? SQL_TASK_CLAIM : SQL_TASK_CLAIM_KINDS,
                    (struct db_args){ v, all ? 4 : 5 }, o->tasks, o->limit, &o->count, err))
        return false;
    for (size_t i = 0; i < o->count; i++)
        lease_note(w, &o->tasks[i]);
    qsort(o->tasks, o->count, sizeof *o->tasks, task_by_place); /* RETURNING has no order */
    return true;
}

static bool task_claim_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct claim_op *o = container_of(ops[0], struct claim_op, op);

    require(count == 1);
    unclaim(w->store, o);
    return task_claim_some(w, o, err);
}

static const struct store_verb claim_verb = { .name = "claim", .run = task_claim_run };

bool task_claim(struct store *s, int64_t queue, size_t limit, int64_t lease_us,
                struct task *ret_tasks, size_t *ret_count, struct err *err)
{
    struct claim_op o = {
        .queue = queue, .limit = limit, .lease_us = lease_us, .tasks = ret_tasks
    };

    require(limit > 0 && limit <= TASK_CLAIM_MOST);
    if (!writers_call(s->writers, &claim_verb, &o.op, err)) {
        unclaim(s, &o);
        return false;
    }
    *ret_count = o.count;
    return true;
}

bool task_claim_in(struct writer *w, int64_t queue, struct str job_kinds, size_t limit,
                   int64_t lease_us, struct task *ret_tasks, size_t *ret_count, struct err *err)
{
    struct claim_op o = { .queue = queue,
                          .job_kinds = job_kinds,
                          .limit = limit,
                          .lease_us = lease_us,
                          .tasks = ret_tasks };
    bool ok = task_claim_some(w, &o, err);

    *ret_count = o.count; /* also when it failed: to be undone */
    return ok;
}

bool task_claim_over(struct writer *w, const struct task *t, int64_t lease_us, struct task *ret,
                     size_t *ret_count, struct err *err)
{
    *ret_count = 0;
    if (w->db->kind == DB_SQLITE)
        return true;
    if (!read_tasks(w->db, SQL_TASK_CLAIM_OVER,
                    DB_ARGS(db_int(t->id), db_int(t->claim), db_int(t->kind),
                            db_int(store_node(w->store)), db_int(lease_us)),
                    ret, 1, ret_count, err))
        return false;
    if (*ret_count == 1)
        lease_note(w, ret);
    return true;
}

bool task_is_held(struct writer *w, const struct task *t, bool *ret, struct err *err)
{
    int64_t there = 0;
    bool sqlite = w->db->kind == DB_SQLITE;
    struct db_value key[4];

    *ret = false;
    if (sqlite && !claims_have(w->store->claims, t))
        return true;
    if (sqlite ? !db_one_int(w->db, SQL_TASK_IS_THERE, key_args(t, key), 0, &there, err)
               : !db_one_int(w->db, SQL_TASK_IS_LEASED, DB_ARGS(db_int(t->id), db_int(t->claim)), 0,
                             &there, err))
        return false;
    *ret = there == 1;
    return true;
}

/* ---- finish, fail ---- */

struct end_op {
    struct store_op op;
    const struct task *task;
    bool failed;
    int64_t due_us;   /* if failed: when it is ready again */
    struct str error; /* if failed: why */
    bool ours;
};

/* Delete and return the row, if the claim still holds. */
static bool task_take_claimed(struct writer *w, const struct task *t, struct task *ret,
                              bool *ret_ours, struct err *err)
{
    struct db_value key[4];
    size_t n = 0;
    bool ok;

    if (w->db->kind == DB_SQLITE) {
        *ret_ours = claims_have(w->store->claims, t);
        if (!*ret_ours)
            return true;
        ok = read_tasks(w->db, SQL_TASK_READY_TAKE, key_args(t, key), ret, 1, &n, err);
        ret->attempts = t->attempts; /* a claim is counted in memory only */
    } else {
        ok = read_tasks(w->db, SQL_TASK_LEASE_TAKE, DB_ARGS(db_int(t->id), db_int(t->claim)), ret,
                        1, &n, err);
    }
    *ret_ours = n == 1;
    return ok;
}

static bool task_end_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct end_op *o = container_of(ops[0], struct end_op, op);
    struct task t;

    require(count == 1);
    if (!task_take_claimed(w, o->task, &t, &o->ours, err))
        return false;
    return !o->ours || !o->failed || task_put_later(w->db, &t, o->due_us, o->error, err);
}

static const struct store_verb end_verb = { .name = "end", .run = task_end_run };

static bool end_task(struct store *s, struct end_op *o, bool *ret_ours, struct err *err)
{
    if (!writers_call(s->writers, &end_verb, &o->op, err))
        return false;
    if (o->ours && s->claims != NULL) {
        struct claim_place place = task_place_of(o->task);

        place.rank = o->due_us;
        claims_drop(s->claims, o->task);
        if (o->failed) /* it may be due, and task_wake() may have moved it to ready already */
            claims_put_at(s->claims, o->task->queue, place);
    }
    *ret_ours = o->ours;
    return true;
}

bool task_finish(struct store *s, const struct task *t, bool *ret_ours, struct err *err)
{
    struct end_op o = { .task = t };

    return end_task(s, &o, ret_ours, err);
}

bool task_fail(struct store *s, const struct task *t, int64_t due_us, struct str error,
               bool *ret_ours, struct err *err)
{
    struct end_op o = { .task = t, .failed = true, .due_us = due_us, .error = error };

    return end_task(s, &o, ret_ours, err);
}

/* ---- later, crashed ---- */

struct wake_op {
    struct store_op op;
    int64_t now_us, next_us, moved;
    struct task tasks[TASK_CLAIM_MOST]; /* SQLite */
    size_t limit, count;
};

/* SQLite: the marks of claims have to know which. */
static bool wake_one_by_one(struct writer *w, struct wake_op *o, struct err *err)
{
    if (!read_tasks(w->db, SQL_TASK_DUE, DB_ARGS(db_int(o->now_us), db_int((int64_t)o->limit)),
                    o->tasks, o->limit, &o->count, err))
        return false;
    for (size_t i = 0; i < o->count; i++)
        if (!db_run(w->db, SQL_TASK_LATER_DROP,
                    DB_ARGS(db_int(o->tasks[i].rank), db_int(o->tasks[i].id)), NULL, err) ||
            !task_put_ready(w->db, &o->tasks[i], err))
            return false;
    o->moved = (int64_t)o->count;
    return true;
}

static bool wake_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct wake_op *o = container_of(ops[0], struct wake_op, op);

    require(count == 1);
    o->moved = 0;
    o->count = 0;
    if (!(w->db->kind == DB_SQLITE
              ? wake_one_by_one(w, o, err)
              : db_run(w->db, SQL_TASK_WAKE, DB_ARGS(db_int(o->now_us), db_int((int64_t)o->limit)),
                       &o->moved, err)))
        return false;
    return db_one_int(w->db, SQL_TASK_NEXT_DUE, DB_NO_ARGS, 0, &o->next_us, err);
}

static const struct store_verb wake_verb = { .name = "wake", .run = wake_run };

bool task_wake(struct store *s, int64_t now_us, size_t limit, int64_t *ret_moved,
               int64_t *ret_next_us, struct err *err)
{
    struct wake_op o = { .now_us = now_us, .limit = limit };

    require(limit > 0 && limit <= TASK_CLAIM_MOST);
    if (!writers_call(s->writers, &wake_verb, &o.op, err))
        return false;
    for (size_t i = 0; i < o.count && s->claims != NULL; i++)
        claims_put_at(s->claims, o.tasks[i].queue, task_place_of(&o.tasks[i]));
    *ret_moved = o.moved;
    *ret_next_us = o.next_us;
    return true;
}

struct crashed_op {
    struct store_op op;
    const struct task *task;
    bool poison;
};

/* The token of a job is taken here before its record is locked, against the order of job.h: only
 * the row says whether there is anything to count.  Whoever holds the record and wants that row may
 * be waiting for us then; PostgreSQL ends one of the two, which the writer tries again (DB_AGAIN).
 */
static bool crashed_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct crashed_op *o = container_of(ops[0], struct crashed_op, op);
    struct db_value key[4];
    struct task t;
    size_t n;

    require(count == 1);
    o->poison = false;
    if (!read_tasks(w->db, SQL_TASK_READY_TAKE, key_args(o->task, key), &t, 1, &n, err))
        return false;
    if (n == 0) /* finished, or claimed by another node: nothing to count */
        return true;
    t.crashes++;
    o->poison = t.crashes >= TASK_CRASHES_MOST;
    struct str why = STR("the process died three times while it worked on this alone");

    if (o->poison && t.kind == TASK_DELIVER &&
        !db_run(w->db, SQL_DELIVERY_POISON, DB_ARGS(db_int(t.id), db_text(why)), NULL, err))
        return false;
    if (o->poison && t.kind == TASK_RUN &&
        !db_run(w->db, SQL_ORDER_CLOSE_DOC, DB_ARGS(db_int(t.id)), NULL, err))
        return false;
    if (o->poison && t.kind == TASK_JOB) /* a suspended job has no task */
        return db_run(w->db, SQL_JOB_POISON, DB_ARGS(db_int(t.id), db_text(why)), NULL, err);
    if (o->poison)
        return task_put_dead(w->db, &t, STR("poison"), why, err);
    return task_put_ready(w->db, &t, err);
}

static const struct store_verb crashed_verb = { .name = "crashed", .run = crashed_run };

bool task_crashed(struct store *s, const struct task *t, bool *ret_poison, struct err *err)
{
    struct crashed_op o = { .task = t };

    if (!writers_call(s->writers, &crashed_verb, &o.op, err))
        return false;
    *ret_poison = o.poison;
    return true;
}

static void read_queue(struct db_rows *row, struct arena *a, void *to)
{
    (void)a;
    *(struct task_queue *)to =
        (struct task_queue){ .queue = db_get_int(row, TASK_QUEUES_QUEUE),
                             .count = db_get_int(row, TASK_QUEUES_WAITING),
                             .oldest_us = db_get_int(row, TASK_QUEUES_OLDEST_US) };
}

bool task_queues(struct store *s, struct task_queue *ret, size_t most, size_t *ret_count,
                 struct err *err)
{
    return store_collect(s, SQL_TASK_QUEUES, DB_ARGS(db_int(most)),
                         ROWS_INTO(ret, most, NULL, read_queue), ret_count, err);
}

bool task_unrouted(struct store *s, int64_t gateway, int64_t *ret, struct err *err)
{
    enum { MOST = 100000 };
    size_t n;

    *ret = 0;
    return store_ints(s, SQL_TASK_UNROUTED,
                      DB_ARGS(db_int(QUEUE_INTAKE), db_int(gateway), db_int(MOST)), ret, 1, &n,
                      err);
}

static void read_dead_sum(struct db_rows *row, struct arena *a, void *to)
{
    (void)a;
    *(struct task_queue *)to =
        (struct task_queue){ .count = db_get_int(row, TASK_DEAD_SUM_WAITING),
                             .oldest_us = db_get_int(row, TASK_DEAD_SUM_OLDEST_US) };
}

bool task_dead_sum(struct store *s, int64_t *ret_count, int64_t *ret_oldest_us, struct err *err)
{
    struct task_queue dead = { 0 };
    bool there;
    bool ok = store_one(s, SQL_TASK_DEAD_SUM, DB_NO_ARGS, read_dead_sum, NULL, &dead, &there, err);

    *ret_count = dead.count;
    *ret_oldest_us = dead.oldest_us;
    return ok;
}

/* ---- leases of dead nodes (PostgreSQL) ---- */

bool task_take_over(struct db *db, int64_t node, struct err *err)
{
    return db_run(db, SQL_TASK_TAKE_OVER, DB_ARGS(db_int(node)), NULL, err);
}

bool task_rescue(struct db *db, int64_t *ret_moved, struct err *err)
{
    struct task tasks[TASK_CLAIM_MOST];
    size_t n;

    if (!read_tasks(db, SQL_TASK_ORPHANS, DB_ARGS(db_int(TASK_CLAIM_MOST)), tasks, TASK_CLAIM_MOST,
                    &n, err))
        return false;
    for (size_t i = 0; i < n; i++) {
        struct task gone;
        size_t ours;

        if (!read_tasks(db, SQL_TASK_LEASE_TAKE,
                        DB_ARGS(db_int(tasks[i].id), db_int(tasks[i].claim)), &gone, 1, &ours,
                        err) ||
            (ours == 1 && !task_put_ready(db, &tasks[i], err)))
            return false;
    }
    *ret_moved = (int64_t)n;
    return true;
}
