/* rate.c - reserves pieces of the timelines of rate-limited systems (rate.h).
 *
 * Problem.  A system accepts so many deliveries in a time, from all nodes together.  Nodes start,
 * stop and die, and their clocks differ.  A question to the database before each delivery would
 * cost a commit per delivery.
 *
 * Method.  The generic cell rate algorithm (core/rate.h): a system has one timeline of theoretical
 * times, one interval apart.  Its row in rate_bucket has next_ns, the first time that is not
 * reserved, and seen_ns, what the store's clock showed then.  A node reserves a piece [next, until)
 * in one commit and then hands out the times of its piece from memory (engine/dispatch/limiter.c).
 * A reservation
 *
 *   1. locks the row, which is created if it is missing;
 *   2. reads the store's clock, then the monotonic clock of the node;
 *   3. lets rate_reserve() decide: a piece, or the time at which to ask again;
 *   4. writes the row;
 *   5. reports the piece to the limiter, after the commit.
 *
 * Invariants
 *   (1) The pieces of a system are disjoint, also if the store's clock goes back: next_ns and
 *       seen_ns are read and written under the lock of their row.
 *   (2) A piece is used only after its reservation is committed (op.ok).
 *   (3) A transaction locks rows in the order of systems.  The writer calls run() once per group,
 *       with all its reservations, so sorting them there suffices, and nodes cannot deadlock.
 *   (4) run() may be repeated for the same operation, when its group failed: the whole answer is
 *       computed from `last` again.
 *
 * Why it is right.  A crash before the commit leaves the row as it was, and nobody has the piece.
 * A crash behind the commit, or a lost answer to it, loses the piece: the system gets less than
 * its rate for the length of a piece, never more.
 *
 * Clocks.  The store's clock is read under the lock, so waiting for the lock does not make it
 * stale.  The monotonic clock is read after it: the limiter's idea of the store's time is late by
 * the time of that answer, so it sends late rather than early.  If the store's clock goes back, the
 * row goes back with it.  So a system waits for about a piece and not until the clock is back where
 * it was.
 */
#include "store/govern/rate.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/container_of.h"
#include "store/db/rows.h"
#include "store/kernel/store_state.h"

static void rate_read_row(struct db_rows *row, struct arena *a, void *to)
{
    (void)a;
    *(struct rate_row *)to = (struct rate_row){ .next_ns = db_get_int(row, RATE_LOCK_NEXT_NS),
                                                .seen_ns = db_get_int(row, RATE_LOCK_SEEN_NS) };
}

static bool govern_rate_reserve(struct writer *w, struct rate_op *o, struct err *err)
{
    struct rate_row row = { 0 };
    int64_t now_us;
    bool there;

    if (!rows_one(w->db, SQL_RATE_LOCK, DB_NO_SLOT, DB_ARGS(db_int(o->system)), rate_read_row, NULL,
                  &row, &there, err) ||
        !db_one_int(w->db, SQL_RATE_NOW, DB_NO_ARGS, 0, &now_us, err))
        return false;
    o->mono_us = clock_mono_us();
    o->now_ns = now_us * 1000;
    o->piece = o->last;
    o->granted = rate_reserve(&row, &o->rule, o->now_ns, &o->piece, &o->wait_until_ns);
    return db_run(w->db, SQL_RATE_PUT,
                  DB_ARGS(db_int(o->system), db_int(row.next_ns), db_int(row.seen_ns)), NULL, err);
}

static int rate_by_system(const void *a, const void *b)
{
    const struct rate_op *const *x = a, *const *y = b;

    return ((*x)->system > (*y)->system) - ((*x)->system < (*y)->system);
}

/* Locks rows in the order of systems (invariant 3). */
static bool rate_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct rate_op **all = ARENA_ARRAY(w->arena, struct rate_op *, count);

    for (size_t i = 0; i < count; i++)
        all[i] = container_of(ops[i], struct rate_op, op);
    qsort(all, count, sizeof(struct rate_op *), rate_by_system);
    for (size_t i = 0; i < count; i++)
        if (!govern_rate_reserve(w, all[i], err))
            return false;
    return true;
}

const struct store_verb rate_verb = { .name = "rate", .run = rate_run };
