/* order.h - which delivery of a lane may go: the rule of ordered systems.
 *
 * A lane is (system, key).  Its items stand in the order of (seq, child): seq is the place of the
 * document in the order of acceptance, child that of the delivery in its document.  The first one
 * is the head, and only the head may go, when
 *   (1) no document of its gateway with a lower seq is still to be routed: it could come into
 *       this lane before the head,
 *   (2) nothing else of the lane is under way, and
 *   (3) it is ready.  One that waits for a retry, is held or is in doubt keeps its place and
 *       those behind it wait; a dead one does too, or steps aside (`on_dead`).
 * Delivered and cancelled ones leave the lane.  A dead one that is tried again stands at its old
 * place.  Between gateways no order is promised.
 *
 * Pure: facts in, answer out.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/state.h"

enum order_on_dead { ORDER_STOP, ORDER_SKIP };

struct order_item {
    int64_t seq, child;
    enum delivery_state state;
    int64_t due_us; /* of a retry; 0: none */
};

struct order_gate {
    int64_t open_seq; /* the lowest seq of the item's gateway that is not routed; 0: none */
    bool under_way;   /* something of the lane is being sent */
    enum order_on_dead on_dead;
};

enum order_answer {
    ORDER_GO,
    ORDER_WAIT,       /* it goes by itself, later */
    ORDER_BLOCKED,    /* it waits for a person, and the lane with it */
    ORDER_STEP_ASIDE, /* it is no head: ask about the next one */
};

/* Below zero: a stands before b; zero: the same place. */
int order_compare(const struct order_item *a, const struct order_item *b);

/* May the head go now?  *ret_due_us: with ORDER_WAIT the time at which its retry is due, 0 when it
 * waits for something else. */
enum order_answer order_ask(const struct order_item *head, const struct order_gate *gate,
                            int64_t now_us, int64_t *ret_due_us);
