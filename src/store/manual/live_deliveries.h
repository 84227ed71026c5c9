/* live_deliveries.h - the deliveries of a live document, for verbs that change it by hand
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
    bool sent;    /* a send was begun: it may have arrived (intent.h) */
    bool ordered; /* it belongs to a lane (order.h) ... */
    bool waits;   /* ... in which it waits, without a task */
    bool left;    /* ... which it has left, and to which it returns */

    /* used by the verb */
    bool chosen;
    struct task_place place;
};

struct live_deliveries {
    struct live_delivery list[SETTLE_DELIVERIES_MOST];
    size_t count;
};

/* Texts are in the writer's arena. */
bool live_deliveries_read(struct writer *w, int64_t doc, struct live_deliveries *ret,
                          struct err *err);
