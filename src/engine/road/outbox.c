#include "engine/road/outbox.h"

#include "base/fault.h"
#include "engine/road/state.h"
#include "store/store.h"

void outbox_add_transfer(struct outbox *o, struct transfer *one)
{
    one->next = NULL;
    if (o->transfer_last != NULL)
        o->transfer_last->next = one;
    else
        o->transfer_first = one;
    o->transfer_last = one;
}

struct transfer *outbox_take_transfers(struct outbox *o, struct transfer **ret_last)
{
    struct transfer *first = o->transfer_first;

    *ret_last = o->transfer_last;
    o->transfer_first = o->transfer_last = NULL;
    return first;
}

void outbox_add_unsent(struct outbox *o, struct leg *p)
{
    p->next = o->unsent;
    o->unsent = p;
}

struct leg *outbox_take_unsent(struct outbox *o)
{
    struct leg *p = o->unsent;

    if (p != NULL) {
        o->unsent = p->next;
        p->next = NULL;
    }
    return p;
}

static void add_op(struct outbox_ops *to, struct store_op *op)
{
    op->next = NULL;
    if (to->last != NULL)
        to->last->next = op;
    else
        to->first = op;
    to->last = op;
    to->count++;
}

void outbox_add_intent(struct outbox *o, struct store_op *op)
{
    add_op(&o->intents, op);
}

void outbox_add_settlement(struct outbox *o, struct store_op *op)
{
    add_op(&o->settlements, op);
}

static void submit_ops(struct road *r, struct outbox_ops *ops)
{
    struct outbox_ops all = *ops;

    *ops = (struct outbox_ops){ 0 };
    if (all.first != NULL)
        writers_submit_always(store_writers(r->store), all.first, all.last, all.count);
}

void outbox_submit(struct outbox *o)
{
    submit_ops(o->road, &o->intents);
    if (o->settlements.first != NULL)
        fault_point(SETTLE_SUBMIT);
    submit_ops(o->road, &o->settlements);
}
