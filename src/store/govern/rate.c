#include "store/govern/rate.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/container_of.h"
#include "store/kernel/store_state.h"

static bool govern_rate_reserve(struct writer *w, struct rate_op *o, struct err *err)
{
    int64_t next, now_us;

    if (!db_one_int(w->db, SQL_RATE_LOCK, DB_ARGS(db_int(o->system)), 0, &next, err) ||
        !db_one_int(w->db, SQL_RATE_NOW, DB_NO_ARGS, 0, &now_us, err))
        return false;
    o->mono_us = clock_mono_us();
    o->now_ns = now_us * 1000;
    o->piece = o->last;
    o->granted = rate_reserve(&next, &o->rule, o->now_ns, &o->piece, &o->wait_until_ns);
    return db_run(w->db, SQL_RATE_PUT, DB_ARGS(db_int(o->system), db_int(next)), NULL, err);
}

static int rate_by_system(const void *a, const void *b)
{
    const struct rate_op *const *x = a, *const *y = b;

    return ((*x)->system > (*y)->system) - ((*x)->system < (*y)->system);
}

/* In one order, so that nodes do not wait for each other in a circle. */
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
