/* outbox.h - what a thread gathers while it works on some flights, handed over in one go.
 *
 * Many small documents cost one wake of the transfer thread and one of the writer: transfers,
 * intents (doubt.h) and settlements (settling.h) go into an outbox that is passed along, and
 * send_flush() submits them.  One is declared with OUTBOX(), which flushes it at the end of its
 * scope, so that nothing can be forgotten in it.
 *
 * Threads: an outbox belongs to the thread that works with it.
 */
#pragma once

#include <stddef.h>

#include "base/auto.h"

struct road;
struct store_op;
struct transfer;

struct outbox {
    struct road *road;
    struct transfer *transfer_first, *transfer_last;
    struct outbox_ops {
        struct store_op *first, *last;
        size_t count;
    } intents, settlements;
};

/* `OUTBOX(out, road);` declares one; it is flushed (send.h) when its scope ends. */
#define OUTBOX(name, of) AUTO(send_flush) struct outbox name = { .road = (of) }

void outbox_add_transfer(struct outbox *o, struct transfer *one);
void outbox_add_intent(struct outbox *o, struct store_op *op);
void outbox_add_settlement(struct outbox *o, struct store_op *op);
/* The chain of transfers, which are not in it any more; NULL: none.  *ret_last: its last. */
struct transfer *outbox_take_transfers(struct outbox *o, struct transfer **ret_last);
/* To the writers: the intents, then the settlements. */
void outbox_submit(struct outbox *o);
