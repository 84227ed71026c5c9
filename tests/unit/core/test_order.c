#include "core/order.h"

#include "test.h"

static enum order_answer ask(enum delivery_state state, int64_t due_us, struct order_gate gate)
{
    struct order_item head = { .seq = 10, .state = state, .due_us = due_us };
    int64_t due = -1;
    enum order_answer a = order_ask(&head, &gate, 1000, &due);

    return due == (a == ORDER_WAIT && due_us > 1000 ? due_us : 0) ? a : (enum order_answer) - 1;
}

TEST(order_is_by_seq_and_then_by_child)
{
    const struct order_item a = { .seq = 3, .child = 9 }, b = { .seq = 4, .child = 1 },
                            c = { .seq = 4, .child = 2 };

    CHECK(order_compare(&a, &b) < 0 && order_compare(&b, &a) > 0);
    CHECK(order_compare(&b, &c) < 0 && order_compare(&c, &b) > 0);
    CHECK(order_compare(&b, &b) == 0);
}

/* Rules (1), (2): what may come before it, and what is under way. */
TEST(order_head_that_is_ready_asks_the_gate)
{
    static const struct {
        struct order_gate gate;
        enum order_answer want;
    } cases[] = {
        { { .open_seq = 0 }, ORDER_GO },
        { { .open_seq = 11 }, ORDER_GO },
        { { .open_seq = 10 }, ORDER_GO },
        { { .open_seq = 9 }, ORDER_WAIT },
        { { .open_seq = 1 }, ORDER_WAIT },
        { { .open_seq = 0, .under_way = true }, ORDER_WAIT },
        { { .open_seq = 11, .under_way = true }, ORDER_WAIT },
        { { .open_seq = 0, .on_dead = ORDER_SKIP }, ORDER_GO },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK(ask(DELIVERY_READY, 0, cases[i].gate) == cases[i].want);
        CHECK(ask(DELIVERY_RETRYING, 1000, cases[i].gate) == cases[i].want);
        CHECK(ask(DELIVERY_RETRYING, 1001, cases[i].gate) == ORDER_WAIT);
    }
}

/* Rule (3), every state. */
TEST(order_head_that_is_not_ready_keeps_its_place_or_leaves)
{
    static const enum order_answer want[DELIVERY_STATES][2] = {
        [DELIVERY_READY] = { ORDER_GO, ORDER_GO },
        [DELIVERY_SENDING] = { ORDER_WAIT, ORDER_WAIT },
        [DELIVERY_HELD] = { ORDER_WAIT, ORDER_WAIT },
        [DELIVERY_RETRYING] = { ORDER_GO, ORDER_GO },
        [DELIVERY_IN_DOUBT] = { ORDER_BLOCKED, ORDER_BLOCKED },
        [DELIVERY_DELIVERED] = { ORDER_STEP_ASIDE, ORDER_STEP_ASIDE },
        [DELIVERY_DEAD] = { ORDER_BLOCKED, ORDER_STEP_ASIDE },
        [DELIVERY_CANCELLED] = { ORDER_STEP_ASIDE, ORDER_STEP_ASIDE },
    };

    for (unsigned s = 0; s < DELIVERY_STATES; s++) {
        CHECK(ask(s, 0, (struct order_gate){ .on_dead = ORDER_STOP }) == want[s][ORDER_STOP]);
        CHECK(ask(s, 0, (struct order_gate){ .on_dead = ORDER_SKIP }) == want[s][ORDER_SKIP]);
    }
    CHECK(ask(DELIVERY_STATES, 0, (struct order_gate){ 0 }) == ORDER_WAIT);
}

int main(void)
{
    return test_main();
}
