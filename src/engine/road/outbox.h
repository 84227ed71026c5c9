/* outbox.h - work for the transfer thread and the writers, gathered and handed over in one go.
 *
 * Transfers, intents (doubt.h) and settlements (settling.h) go into an outbox that is passed along,
 * and send_flush() submits them.  So many small documents cost one wake-up of the transfer thread
 * and one of the writer.  OUTBOX() declares one and flushes it at the end of its scope, so that
 * nothing is left in it.
 *
 * Threads: an outbox belongs to one thread.
 */
#pragma once

#include <stddef.h>

#include "base/auto.h"

struct leg;
struct road;
struct store_op;
struct transfer;

struct outbox {
    struct road *road;
    struct transfer *transfer_first, *transfer_last;
    struct leg *unsent;
    struct outbox_ops {
        struct store_op *first, *last;
        size_t count;
    } intents, settlements;
};

/* `OUTBOX(out, road);` declares an outbox that send_flush() empties when its scope ends. */
#define OUTBOX(name, of) AUTO(send_flush) struct outbox name = { .road = (of) }

void outbox_add_transfer(struct outbox *o, struct transfer *one);
/* A leg that the senders did not accept any more; send_flush() parks it. */
void outbox_add_unsent(struct outbox *o, struct leg *p);
void outbox_add_intent(struct outbox *o, struct store_op *op);
void outbox_add_settlement(struct outbox *o, struct store_op *op);
/* Takes the chain of transfers out; NULL: none. */
struct transfer *outbox_take_transfers(struct outbox *o, struct transfer **ret_last);
struct leg *outbox_take_unsent(struct outbox *o); /* one of them; NULL: none */
/* Submits the intents, then the settlements, to the writers. */
void outbox_submit(struct outbox *o);
