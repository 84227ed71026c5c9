#include "core/order.h"

int order_compare(const struct order_item *a, const struct order_item *b)
{
    if (a->seq != b->seq)
        return a->seq < b->seq ? -1 : 1;
    return (a->child > b->child) - (a->child < b->child);
}

/* It is ready, or was: does something before it or beside it keep it back? */
static enum order_answer ask_gate(const struct order_item *head, const struct order_gate *gate)
{
    bool open = gate->open_seq != 0 && gate->open_seq < head->seq;

    return open || gate->under_way ? ORDER_WAIT : ORDER_GO;
}

enum order_answer order_ask(const struct order_item *head, const struct order_gate *gate,
                            int64_t now_us, int64_t *ret_due_us)
{
    *ret_due_us = 0;
    switch (head->state) {
    case DELIVERY_READY:
        return ask_gate(head, gate);
    case DELIVERY_RETRYING:
        if (head->due_us <= now_us)
            return ask_gate(head, gate);
        *ret_due_us = head->due_us;
        return ORDER_WAIT;
    case DELIVERY_DEAD:
        return gate->on_dead == ORDER_SKIP ? ORDER_STEP_ASIDE : ORDER_BLOCKED;
    case DELIVERY_IN_DOUBT:
        return ORDER_BLOCKED;
    case DELIVERY_DELIVERED:
    case DELIVERY_CANCELLED:
        return ORDER_STEP_ASIDE;
    case DELIVERY_SENDING:
    case DELIVERY_HELD:
    case DELIVERY_STATES:
        break;
    }
    return ORDER_WAIT;
}
