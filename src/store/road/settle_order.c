#include "store/road/settle_order.h"

#include "base/arena.h"
#include "base/container_of.h"
#include "store/kernel/store_state.h"
#include "store/road/accept.h"

enum { CLOSED = 3 }; /* columns of order_close */

/* The delivery joins its lane or leaves it, so the head of the lane may change. */
static bool moves_lane(const struct settle_op *o, const struct settle_delivery *p)
{
    if (p->lane == 0 || o->end != SETTLE_DELIVERIES)
        return false;
    return p->is_new || delivery_is_over(p->state) || p->aside;
}

static size_t lanes_of(struct settle_op **ops, size_t count, int64_t *ret)
{
    size_t n = 0;

    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < ops[i]->part_count; k++)
            if (moves_lane(ops[i], &ops[i]->parts[k]))
                ret[n++] = ops[i]->parts[k].lane;
    return n;
}

static size_t closed_of(struct settle_op **ops, size_t count, struct db_value *ret)
{
    size_t n = 0;

    for (size_t i = 0; i < count; i++)
        if (ops[i]->task.kind == TASK_RUN && ops[i]->seq != 0 && ops[i]->end != SETTLE_AGAIN) {
            ret[n * CLOSED] = db_int(ops[i]->gateway);
            ret[n * CLOSED + 1] = db_int(ops[i]->seq);
            ret[n++ * CLOSED + 2] = db_int(ops[i]->child);
        }
    return n;
}

static size_t own_of(struct settle_op **ops, size_t count, int64_t *ret)
{
    size_t n = 0;

    for (size_t i = 0; i < count; i++)
        if (ops[i]->keep && ops[i]->part_count == 1 && ops[i]->parts[0].is_new)
            ret[n++] = ops[i]->parts[0].num;
    return n;
}

bool settle_order(struct writer *w, struct settle_op **ops, size_t count, struct order_batch *ret,
                  struct err *err)
{
    size_t parts = 0, numbered = 0;

    for (size_t i = 0; i < count; i++) {
        numbered += ops[i]->seq != 0;
        for (size_t k = 0; k < ops[i]->part_count; k++)
            parts += ops[i]->parts[k].lane != 0;
    }
    if (parts + numbered == 0)
        return true;
    int64_t *lanes = ARENA_ARRAY(w->arena, int64_t, parts + 1);
    int64_t *own = ARENA_ARRAY(w->arena, int64_t, count);
    struct db_value *closed = ARENA_ARRAY(w->arena, struct db_value, numbered * CLOSED + 1);
    size_t lane_count = lanes_of(ops, count, lanes), closed_count = closed_of(ops, count, closed);

    return db_batch(w->db, SQL_ORDER_CLOSE, DB_NO_SLOT, closed, CLOSED, closed_count, err) &&
           order_let_go(w,
                        &(struct order_lanes){ .lanes = lanes,
                                               .count = lane_count,
                                               .closed = closed_count > 0,
                                               .own = own,
                                               .own_count = own_of(ops, count, own) },
                        ret, err);
}

void settle_order_went(struct store_op **ops, size_t count, const struct order_batch *going)
{
    for (size_t k = 0; k < going->count; k++)
        for (size_t i = 0; going->going[k].own && going->going[k].claimed && i < count; i++) {
            struct settle_op *o = container_of(ops[i], struct settle_op, op);

            if (o->ours && o->keep && o->parts[0].num == going->going[k].num)
                o->went = going->going[k].task;
        }
}
