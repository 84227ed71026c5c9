/* parts.h - the deliveries of a live document, as the verbs see them that change it by hand
 * (operate.c, resolve.c, edit.c), in an open transaction. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/state.h"
#include "store/manual/place.h"
#include "store/road/settle.h"

struct live_delivery {
    int64_t num, endpoint, queue, due_us;
    enum delivery_state state;
    struct str id;
    bool sent;    /* it may have arrived: its receiver is asked (intent.h) */
    bool ordered; /* it is of a lane (order.h) ... */
    bool waits;   /* ... in which it waits, and has no task */
    bool left;    /* ... which it has left: it goes back there */

    /* the verb's own */
    bool chosen;
    struct task_place place;
};

struct live_deliveries {
    struct live_delivery list[SETTLE_DELIVERIES_MOST];
    size_t count;
};

/* Texts are in the arena of the group. */
bool live_deliveries_read(struct writer *w, int64_t doc, struct live_deliveries *ret,
                          struct err *err);
