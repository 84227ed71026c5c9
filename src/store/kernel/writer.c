/* writer.c - group commit.
 *
 * Problem.  The caller of an operation is notified only when the operation is durable.  A commit
 * costs a sync, or two trips to a server: one for each operation would be far too slow.
 *
 * Method.  Callers append operations to one queue.  A writer thread takes all that wait, up to a
 * limit, as a group; while a group is committed, the next one gathers, so the group size follows
 * the load without a timer.  A group is one transaction: begin, fence (node.h), run() of each
 * verb with all its operations, audit lines, flush of the segments, commit.  Then come committed()
 * of each verb and done() of each operation.  Verbs marked `last` run last, so that the locks that
 * all nodes need are held for the shortest time.
 *
 * Errors.  A transaction that was lost without effect (DB_AGAIN) is tried GROUP_TRIES times.
 * ERR_PERMANENT, and DB_NOT_ALL, may be the fault of one operation: the range is split in halves,
 * each a transaction of its own, until that operation is alone and gets the error.  Any other error
 * (full disk, no connection, dead node) concerns all operations of the range, and all get it.
 *
 * Invariants
 *   (1) done() is called exactly once for each operation.  The ranges of run_group() always cover
 *       the operations without a done(), and do not overlap: a range is notified or split.
 *   (2) ok is set only after the commit, and the payloads are synced before the commit.
 *   (3) run() may be called several times for the same operation.  Every try begins with an empty
 *       arena and without noted claims and audit lines; run() resets the results it writes.
 *   (4) A document number is used once.  On SQLite the block is a row, so a rollback takes it back,
 *       and the copy in memory is restored with it.  On PostgreSQL it is a sequence: numbers of a
 *       failed group are lost.
 *   (5) Operations of one verb run in order of arrival within a group, also in halves.  Between
 *       verbs there is no order, nor between the groups of two writers (PostgreSQL).
 *
 * Crashes
 *   Before the commit: the database has nothing of the group.  Payloads that were written have no
 *     row and only cost space (segment.c).  No caller was notified; a sender sends again.
 *   After the commit, before done(): the group is durable, but its callers do not know.  A sender
 *     sends again; with an idempotency key it gets the stored answer.
 *   Answer to COMMIT lost (PostgreSQL): the outcome is neither success nor failure.  The fence
 *     writes a token to the writer's row in the transaction and locks this row until the end of
 *     the transaction.  find_out() reads the token with the same lock on a new connection, so it
 *     waits for a commit in progress: the same token means committed, another one lost, and the
 *     group is tried again.  If this is not known within FIND_OUT_US, or the row is gone, all
 *     operations get ERR_UNCERTAIN, and the claims of the group are remembered, to be returned
 *     (lease_rows.h).
 *
 * Races.  `sleeping` and the queue change under one mutex, so a wake-up is not missed.  `running`
 * is raised in the critical section that empties the queue, and lowered after the last done():
 * writers_drain() sees every operation in one of the two, also one that a done() queued.
 * writers_waiting() and group_us are read without the mutex; they are estimates.
 */
#include "store/kernel/writer.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/fault.h"
#include "base/metrics.h"
#include "base/require.h"
#include "base/thread.h"
#include "base/wait.h"
#include "store/kernel/damage.h"
#include "store/kernel/health.h"
#include "store/kernel/node.h"
#include "store/kernel/reserve.h"
#include "store/kernel/store_state.h"
#include "store/kernel/told.h"

enum {
    NUMBER_BLOCK = 128,
    NUMBER_AGE_US = 250 * 1000,
    HALVES = 64, /* ranges waiting while a group is halved: log2 of the largest group is enough */
    CHECKPOINT_PAGES = 2000,
    GROUP_MOST = 4096,
    ARENA_MOST = 256 << 20,
    ARENA_KEEP = 4 << 20,
    GROUP_TRIES = 4,
    FIND_OUT_US = 5 * CLOCK_S, /* how long the outcome of a COMMIT is queried */
};

struct thread {
    struct writers *all;
    struct writer w;
    struct arena arena;
    pthread_t thread;
    int64_t told_us;
    struct store_op *ops[GROUP_MOST];
};

struct writers {
    struct store *store;
    struct writers_options options;
    pthread_mutex_t mutex;
    pthread_cond_t filled, told;
    struct store_op *first, **end;
    _Atomic size_t waiting;   /* operations; changed with the mutex held */
    size_t sleeping, running; /* threads; groups */
    bool stopping;
    _Atomic int64_t group_us;
    pthread_mutex_t number_mutex;
    struct numbers numbers;
    struct thread *threads;
};

static struct metric groups = { .name = "waybill_commit_groups_total",
                                .help = "Transactions that carried a group of operations.",
                                .type = METRIC_COUNTER };
static struct metric group_ops = { .name = "waybill_commit_operations_total",
                                   .help = "Operations committed in groups.",
                                   .type = METRIC_COUNTER };
static struct metric group_time = { .name = "waybill_commit_group_seconds",
                                    .help = "Time from taking a group to its commit.",
                                    .type = METRIC_HISTOGRAM };
static struct metric halved = { .name = "waybill_commit_halvings_total",
                                .help = "Groups that failed and were run again in halves.",
                                .type = METRIC_COUNTER };

static struct metric again = { .name = "waybill_commit_retries_total",
                               .help = "Groups that were lost and run again.",
                               .type = METRIC_COUNTER };
static struct metric checkpoint_time = { .name = "waybill_checkpoint_seconds",
                                         .help = "SQLite: the log is brought into the database, "
                                                 "and commits wait.",
                                         .type = METRIC_HISTOGRAM };
static struct metric *const metrics[] = { &groups, &group_ops, &group_time,
                                          &halved, &again,     &checkpoint_time };

/* ---- the queue ---- */

/* With the mutex held: a plain store; writers_waiting() reads it without. */
static void set_waiting(struct writers *ws, size_t count)
{
    atomic_store_explicit(&ws->waiting, count, memory_order_relaxed);
}

bool writers_submit(struct writers *ws, struct store_op *first, struct store_op *last, size_t count)
{
    bool wake = false, taken;

    (void)pthread_mutex_lock(&ws->mutex);
    taken = !ws->stopping && writers_waiting(ws) + count <= ws->options.queue_most;
    if (taken) {
        last->next = NULL;
        *ws->end = first;
        ws->end = &last->next;
        set_waiting(ws, writers_waiting(ws) + count);
        wake = ws->sleeping > 0;
    }
    (void)pthread_mutex_unlock(&ws->mutex);
    if (wake)
        (void)pthread_cond_signal(&ws->filled);
    return taken;
}

void writers_submit_always(struct writers *ws, struct store_op *first, struct store_op *last,
                           size_t count)
{
    (void)pthread_mutex_lock(&ws->mutex);
    require(!ws->stopping);
    last->next = NULL;
    *ws->end = first;
    ws->end = &last->next;
    set_waiting(ws, writers_waiting(ws) + count);
    bool wake = ws->sleeping > 0;

    (void)pthread_mutex_unlock(&ws->mutex);
    if (wake)
        (void)pthread_cond_signal(&ws->filled);
}

struct call {
    struct store_op *op;
    pthread_mutex_t mutex;
    pthread_cond_t done;
    bool is_done;
};

/* The operation that writers_call() queues; it lives on the stack of the waiting caller. */
struct call_op {
    const struct store_verb *verb;
    struct store_op *inner;
    struct call *call;
    struct store_op op;
};

/* Signals with the mutex held: `call` is on the caller's stack and ends when the caller wakes up.
 */
static void call_done(struct store_op *op)
{
    struct call_op *c = container_of(op, struct call_op, op);
    struct call *call = c->call;

    (void)pthread_mutex_lock(&call->mutex);
    call->is_done = true;
    (void)pthread_cond_signal(&call->done);
    (void)pthread_mutex_unlock(&call->mutex);
}

/* All calls share a verb, so that they run in order of arrival; each then runs its own verb. */
static bool call_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        struct call_op *c = container_of(ops[i], struct call_op, op);

        c->inner->audited = c->inner->nothing = false;
        if (!c->verb->run(w, &c->inner, 1, err))
            return false;
        if (!c->verb->notes && !c->inner->nothing)
            w->all->options.hooks.audit_note(w, c->inner);
    }
    return true;
}

static void call_committed(struct writer *w, struct store_op **ops, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct call_op *c = container_of(ops[i], struct call_op, op);

        if (c->verb->committed != NULL)
            c->verb->committed(w, &c->inner, 1);
    }
}

static const struct store_verb call_verb = { .name = "call",
                                             .run = call_run,
                                             .committed = call_committed };
static const struct store_verb call_last_verb = {
    .name = "last call", .run = call_run, .last = true, .committed = call_committed
};
static const struct store_verb call_apart_verb = {
    .name = "call apart", .run = call_run, .apart = true, .committed = call_committed
};

bool writers_call(struct writers *ws, const struct store_verb *verb, struct store_op *op,
                  struct err *err)
{
    struct call call = { .op = op };
    struct call_op c = { .verb = verb,
                         .inner = op,
                         .call = &call,
                         .op = { .verb = verb->apart  ? &call_apart_verb
                                         : verb->last ? &call_last_verb
                                                      : &call_verb,
                                 .done = call_done } };

    if (op->audit == NULL)
        op->audit = ws->options.hooks.audit_scope();
    (void)pthread_mutex_init(&call.mutex, NULL);
    (void)pthread_cond_init(&call.done, NULL);
    writers_submit_always(ws, &c.op, &c.op, 1);
    (void)pthread_mutex_lock(&call.mutex);
    while (!call.is_done)
        (void)pthread_cond_wait(&call.done, &call.mutex);
    (void)pthread_mutex_unlock(&call.mutex);
    op->ok = c.op.ok;
    op->err = c.op.err;
    if (op->ok)
        ws->options.hooks.audit_carried(op);
    else
        *err = op->err;
    return op->ok;
}

void writers_drain(struct writers *ws)
{
    (void)pthread_mutex_lock(&ws->mutex);
    while (ws->first != NULL || ws->running > 0)
        (void)pthread_cond_wait(&ws->told, &ws->mutex);
    (void)pthread_mutex_unlock(&ws->mutex);
}

size_t writers_waiting(struct writers *ws)
{
    return atomic_load_explicit(&ws->waiting, memory_order_relaxed);
}

int64_t writers_group_us(struct writers *ws)
{
    return atomic_load_explicit(&ws->group_us, memory_order_relaxed);
}

/* Takes the next group; returns its size.  Waits for an operation, but no longer than until the
 * work between groups is due if there is some: then it may return 0. */
static size_t writer_take(struct writers *ws, struct thread *t, bool work_waits, bool *ret_end)
{
    bool alone = false;
    size_t n = 0;
    bool in_time = true;

    (void)pthread_mutex_lock(&ws->mutex);
    while (ws->first == NULL && !ws->stopping && in_time) {
        ws->sleeping++;
        if (work_waits)
            in_time = wait_until(&ws->filled, &ws->mutex,
                                 clock_mono_us() + ws->options.hooks.slice_every_us);
        else
            (void)pthread_cond_wait(&ws->filled, &ws->mutex);
        ws->sleeping--;
    }
    for (; ws->first != NULL && n < ws->options.group_most && !alone; n++) {
        alone = ws->first->verb->apart;
        if (alone && n > 0)
            break;
        t->ops[n] = ws->first;
        ws->first = ws->first->next;
    }
    if (ws->first == NULL)
        ws->end = &ws->first;
    set_waiting(ws, writers_waiting(ws) - n);
    ws->running += n > 0;
    *ret_end = ws->stopping && n == 0;
    bool wake = ws->first != NULL && ws->sleeping > 0;

    (void)pthread_mutex_unlock(&ws->mutex);
    if (wake) /* another thread takes the rest */
        (void)pthread_cond_signal(&ws->filled);
    return n;
}

/* All done() calls of a group have returned. */
static void note_told(struct writers *ws)
{
    (void)pthread_mutex_lock(&ws->mutex);
    ws->running--;
    (void)pthread_cond_broadcast(&ws->told);
    (void)pthread_mutex_unlock(&ws->mutex);
}

/* ---- a group ---- */

/* With number_mutex held. */
static bool take_block(struct writer *w, struct numbers *n, struct err *err)
{
    int64_t last;

    if (!db_one_int(w->db, SQL_NUM_BLOCK, DB_NO_ARGS, 0, &last, err))
        return false;
    *n = (struct numbers){ .next = last - NUMBER_BLOCK + 1,
                           .end = last + 1,
                           .taken_us = clock_mono_us() };
    return true;
}

bool writer_number(struct writer *w, int64_t *ret, struct err *err)
{
    struct numbers *n = &w->all->numbers;
    bool ok = true;

    (void)pthread_mutex_lock(&w->all->number_mutex);
    if (n->next >= n->end ||
        (w->db->kind == DB_POSTGRESQL && clock_mono_us() - n->taken_us > NUMBER_AGE_US))
        ok = take_block(w, n, err);
    if (ok)
        *ret = n->next++;
    (void)pthread_mutex_unlock(&w->all->number_mutex);
    if (ok)
        w->top = *ret + 1;
    return ok;
}

static bool run_verbs(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && ops[to]->verb == ops[from]->verb;)
            to++;
        for (size_t i = from; w->guilty != NULL && i < to; i++)
            if (ops[i] == w->guilty)
                return err_set(err, ERR_PERMANENT, 0, "an operation is refused (injected)");
        if (!ops[from]->verb->run(w, ops + from, to - from, err))
            return false;
    }
    return true;
}

/* The answer to COMMIT was lost: the token in the database tells the outcome (node.h). */
static bool find_out(struct writer *w, struct err *err)
{
    int64_t until = clock_mono_us() + FIND_OUT_US;

    do {
        struct err why = { 0 };
        bool done;

        if ((db_alive(w->db) || db_revive(w->db, &why)) && node_has_committed(w, &done, &why))
            return done ? true
                        : err_set(err, ERR_TRANSIENT, DB_AGAIN,
                                  "the transaction was lost with its connection");
        if (why.kind == ERR_UNCERTAIN)
            break;
        clock_sleep_us(100 * CLOCK_MS);
    } while (clock_mono_us() < until);
    return err_context(err, "it is not known whether the commit was done");
}

static bool writer_commit(struct writer *w, struct err *err)
{
    if (db_commit(w->db, err))
        return true;
    db_rollback(w->db);
    if (err->kind != ERR_UNCERTAIN || !find_out(w, err))
        return false;
    *err = (struct err){ 0 };
    return true;
}

/* After a reconnect, before anything is written: the server may be another one, which lacks the
 * newest commits (told.h). */
static bool writer_look_back(struct writer *w, struct err *err)
{
    struct told_gap gap;

    if (w->connects == w->db->connects)
        return true;
    if (!told_compare(w->store, w->db, &gap, err) ||
        (told_is_behind(&gap) && !w->all->options.hooks.went_back(w, err)))
        return false;
    w->connects = w->db->connects;
    return true;
}

/* A segment was begun: its number is never used again, also when its file is lost. */
static bool note_segment(struct writer *w, struct err *err)
{
    if (w->segments == NULL || segments_newest(w->segments) == w->segment)
        return true;
    w->segment = segments_newest(w->segments);
    return db_run(w->db, SQL_MARK_RAISE, DB_ARGS(db_text(STR("segment")), db_int(w->segment)), NULL,
                  err);
}

static bool write_group(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    if (!node_fence(w, err))
        return false;
    if (w->segments != NULL)
        segments_begin(w->segments, w->token);
    return run_verbs(w, ops, count, err) && w->all->options.hooks.audit_write(w, err) &&
           note_segment(w, err) && (w->segments == NULL || segments_flush(w->segments, err));
}

/* Entries that the group has written are still there, and no row names them. */
static void cancel_entries(struct writer *w, struct payload_ref start)
{
    struct payload_ref end;

    segments_cancel(w->segments);
    end = segments_end(w->segments);
    if (end.seg != start.seg || end.pos != start.pos)
        told_refuse(w->store->told, start, end);
}

static bool try_group(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    const struct writer_hooks *hooks = &w->all->options.hooks;
    bool alone = w->db->kind == DB_SQLITE;
    struct numbers before = { 0 };
    struct payload_ref start = { 0 };
    int64_t top = w->top;

    if (alone) {
        before = w->all->numbers;
        start = segments_end(w->segments);
    }
    arena_reset(w->arena);
    w->leased = NULL;
    w->ended = NULL;
    w->audit = NULL;
    w->accepted = 0;
    if (!writer_look_back(w, err) || !db_begin(w->db, err))
        return false;
    fault_point(GROUP_BEGUN);
    if (write_group(w, ops, count, err)) {
        fault_point(GROUP_WRITTEN);
        if (writer_commit(w, err)) {
            fault_point(GROUP_COMMITTED);
            return true;
        }
        if (err->kind == ERR_UNCERTAIN)
            hooks->leases_unsure(w);
    }
    if (w->segments != NULL)
        cancel_entries(w, start);
    db_rollback(w->db);
    if (alone) { /* a block that was drawn was rolled back with the rest */
        w->all->numbers = before;
        w->segment = 0;
        w->top = top;
    }
    return false;
}

/* Tries a transaction again that was lost without effect, GROUP_TRIES times at most. */
static bool run_once(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    for (int tries = 1;; tries++) {
        struct err why = { 0 };

        *err = why;
        if (try_group(w, ops, count, err))
            return true;
        if (tries == GROUP_TRIES || !db_should_retry(err))
            return false;
        metric_add(&again, 1);
        if (!db_alive(w->db) && !db_revive(w->db, &why)) {
            *err = why;
            return false;
        }
    }
}

static void note_commit(struct writer *w, struct store_op **ops, size_t count)
{
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && ops[to]->verb == ops[from]->verb;)
            to++;
        if (ops[from]->verb->committed != NULL)
            ops[from]->verb->committed(w, ops + from, to - from);
    }
}

static void writer_tell(struct store_op **ops, size_t count, bool ok, const struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        ops[i]->ok = ok;
        ops[i]->err = *err;
        ops[i]->done(ops[i]); /* done() may free the operation */
    }
}

/* Other errors (full disk, lost connection) would strike each operation alike. */
static bool is_one_ops_fault(const struct err *err)
{
    return err->kind == ERR_PERMANENT || err->sys == DB_NOT_ALL;
}

/* No space: operations that take something in are refused, the others get the reserve.  Moves those
 * to the front of the range; returns their number, 0 if there is no reserve. */
static size_t give_reserve(struct writer *w, struct store_op **ops, size_t count,
                           const struct err *err)
{
    size_t rest = 0;

    if (err->kind != ERR_LIMIT || err->sys != ENOSPC)
        return 0;
    for (size_t i = 0; i < count; i++)
        rest += !ops[i]->verb->takes;
    if (rest == 0 || !reserve_give_up(w->store))
        return 0;
    rest = 0;
    for (size_t i = 0; i < count; i++) {
        struct store_op *op = ops[i];

        if (op->verb->takes)
            writer_tell(&op, 1, false, err);
        else
            ops[rest++] = op;
    }
    return rest;
}

/* In test builds: the operation that an injected fault refuses at every try. */
static const struct store_op *guilty_one(struct store_op **ops, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (fault_error(OPERATION))
            return ops[i];
    return NULL;
}

static void run_group(struct writer *w, struct store_op **ops, size_t count)
{
    struct {
        size_t from, count;
    } parts[HALVES] = { { 0, count } };
    size_t left = 1;

    w->guilty = guilty_one(ops, count);
    while (left > 0) {
        size_t from = parts[left - 1].from, n = parts[left - 1].count;
        struct err err = { 0 };
        size_t rest;

        left--;
        if (run_once(w, ops + from, n, &err)) {
            health_committed(w->store->health);
            metric_add(&groups, 1);
            metric_add(&group_ops, (int64_t)n);
            note_commit(w, ops + from, n);
            told_note(w->store->told, (size_t)w->number, w->token, w->accepted);
            writer_tell(ops + from, n, true, &err);
        } else if (damage_is(&err)) {
            damage_end(w->store, &err);
        } else if (is_one_ops_fault(&err) && n > 1) {
            require(left + 2 <= HALVES);
            metric_add(&halved, 1);
            parts[left].from = from + n / 2;
            parts[left++].count = n - n / 2;
            parts[left].from = from;
            parts[left++].count = n / 2;
        } else if ((rest = give_reserve(w, ops + from, n, &err)) > 0) {
            parts[left].from = from;
            parts[left++].count = rest;
        } else {
            health_failed(w->store->health, &err, is_one_ops_fault(&err));
            writer_tell(ops + from, n, false, &err);
        }
    }
}

/* Operations of one verb come together, in order of arrival; verbs marked `last` come last. */
static void sort_by_verb(struct store_op **ops, size_t count)
{
    bool mixed = false;

    for (size_t i = 1; i < count && !mixed; i++)
        mixed = ops[i]->verb != ops[0]->verb;
    if (!mixed)
        return;
    struct store_op **sorted = xmalloc(count * sizeof *sorted);
    size_t n = 0;

    for (int last = 0; last < 2; last++)
        for (size_t i = 0; i < count; i++) {
            if (ops[i] == NULL || ops[i]->verb->last != last)
                continue;
            const struct store_verb *verb = ops[i]->verb;

            for (size_t k = i; k < count; k++)
                if (ops[k] != NULL && ops[k]->verb == verb) {
                    sorted[n++] = ops[k];
                    ops[k] = NULL;
                }
        }
    memcpy(ops, sorted, count * sizeof *ops);
    free(sorted);
}

/* ---- between groups ---- */

static bool checkpoint(struct writer *w, struct err *err)
{
    if (db_sqlite_wal_pages(w->db) <= CHECKPOINT_PAGES)
        return true;
    int64_t began = clock_mono_us();

    if (!db_sqlite_checkpoint(w->db, err))
        return false;
    metric_observe_us(&checkpoint_time, clock_mono_us() - began);
    return true;
}

static bool behind_the_write(struct writer *w)
{
    const struct writer_hooks *hooks = &w->all->options.hooks;
    struct err err = { 0 };
    bool waits = false;

    if (w->db->kind != DB_SQLITE)
        return false;
    if (!hooks->slices(w, &waits, &err) || !checkpoint(w, &err)) {
        if (damage_is(&err))
            damage_end(w->store, &err);
        store_trouble(w->store, "work behind the write", &err);
    }
    return hooks->copy_slice(w) || waits;
}

/* Reconnects if needed; reports a failure at most once a second, however many groups fail. */
static void writer_revive(struct thread *t)
{
    struct err err = { 0 };
    int64_t now = clock_mono_us();

    if (db_alive(t->w.db) || db_revive(t->w.db, &err) || now - t->told_us < CLOCK_S)
        return;
    t->told_us = now;
    store_trouble(t->w.store, "connect", &err);
}

static void *writer_main(void *arg)
{
    struct thread *t = arg;
    struct writers *ws = t->all;
    bool waits = false, end = false;

    while (!end) {
        size_t n = writer_take(ws, t, waits, &end);

        if (n > 0) {
            int64_t from = clock_mono_us(), took;

            fault_point(GROUP_TAKEN);
            writer_revive(t);
            sort_by_verb(t->ops, n);
            run_group(&t->w, t->ops, n);
            note_told(ws);
            fault_point(GROUP_ACKED);
            took = clock_mono_us() - from;
            metric_observe_us(&group_time, took);
            int64_t was = atomic_load_explicit(&ws->group_us, memory_order_relaxed);

            atomic_store_explicit(&ws->group_us, was + (took - was) / 8, memory_order_relaxed);
        }
        if (!end)
            waits = behind_the_write(&t->w);
    }
    return NULL;
}

struct writers *writers_new(struct store *store, const struct writers_options *options,
                            struct db **dbs, struct segments *segments)
{
    struct writers *ws = NEW(struct writers);

    ws->store = store;
    ws->options = *options;
    if (ws->options.group_most == 0 || ws->options.group_most > GROUP_MOST)
        ws->options.group_most = GROUP_MOST;
    ws->end = &ws->first;
    (void)pthread_mutex_init(&ws->mutex, NULL);
    (void)pthread_mutex_init(&ws->number_mutex, NULL);
    (void)pthread_cond_init(&ws->filled, NULL);
    (void)pthread_cond_init(&ws->told, NULL);
    ws->threads = xcalloc(options->count, sizeof *ws->threads);
    for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++)
        metrics_register(metrics[i]);
    for (size_t i = 0; i < options->count; i++) {
        struct thread *t = &ws->threads[i];

        t->all = ws;
        t->arena = (struct arena){ .cap = ARENA_MOST, .keep = ARENA_KEEP };
        t->w = (struct writer){ .all = ws,
                                .store = store,
                                .db = dbs[i],
                                .segments = segments,
                                .number = (int64_t)i,
                                .connects = dbs[i]->connects,
                                .arena = &t->arena };
        thread_start(&t->thread, "writer", writer_main, t);
    }
    return ws;
}

void writers_free(struct writers *ws)
{
    if (ws == NULL)
        return;
    (void)pthread_mutex_lock(&ws->mutex);
    ws->stopping = true;
    (void)pthread_cond_broadcast(&ws->filled);
    (void)pthread_mutex_unlock(&ws->mutex);
    for (size_t i = 0; i < ws->options.count; i++) {
        (void)pthread_join(ws->threads[i].thread, NULL);
        arena_done(&ws->threads[i].arena);
    }
    for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++)
        metrics_forget(metrics[i]);
    free(ws->threads);
    free(ws);
}
