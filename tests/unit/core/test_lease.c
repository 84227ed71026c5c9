#include "core/lease.h"

#include "test.h"

static const struct lease_node alive = { .node = 7, .epoch = 3, .alive_until_us = 1000 };
static const struct lease_claim claim = { .token = 50, .node = 7, .epoch = 3 };

TEST(lease_lasts_until_it_is_over_and_not_at_its_end)
{
    struct lease_node dead = alive;

    dead.dead = true;
    CHECK(lease_is_alive(&alive, 7, 3, 999));
    CHECK(!lease_is_alive(&alive, 7, 3, 1000));
    CHECK(!lease_is_alive(&alive, 7, 2, 1)); /* it came back under a new epoch */
    CHECK(!lease_is_alive(&alive, 7, 4, 1));
    CHECK(!lease_is_alive(&alive, 8, 3, 1));
    CHECK(!lease_is_alive(&dead, 7, 3, 1));
}

/* Rule (1): each fact alone is enough to stop a change. */
TEST(lease_change_needs_the_claim_the_node_and_its_life)
{
    struct lease_node dead = alive;
    struct lease_claim other = claim, none = { 0 };

    dead.dead = true;
    CHECK(lease_may_change(&claim, &claim, &alive, 999));
    CHECK(!lease_may_change(&claim, &claim, &alive, 1000));
    CHECK(!lease_may_change(&claim, &claim, &dead, 1));
    CHECK(!lease_may_change(&none, &none, &alive, 1));
    other.token = 51;
    CHECK(!lease_may_change(&claim, &other, &alive, 1));
    other = claim;
    other.node = 8;
    CHECK(!lease_may_change(&claim, &other, &alive, 1));
    other = claim;
    other.epoch = 4;
    CHECK(!lease_may_change(&claim, &other, &alive, 1));
    CHECK(!lease_may_change(&other, &other, &alive, 1));
}

TEST(lease_silence_is_longer_than_the_grace)
{
    struct lease_node dead = alive;

    dead.dead = true;
    CHECK(!lease_is_silent(&alive, 500, 1500));
    CHECK(lease_is_silent(&alive, 500, 1501));
    CHECK(!lease_is_silent(&dead, 500, 5000)); /* not twice */
}

/* Rule (3). */
TEST(lease_send_ends_before_it)
{
    CHECK(lease_may_send(100, 1000, 300, 100));
    CHECK(lease_may_send(100, 1000, 300, 799));
    CHECK(!lease_may_send(100, 1000, 300, 800));
    CHECK(!lease_may_send(100, 1000, 1000, 100));
    CHECK(lease_may_send(100, 1000, 0, 1099));
    CHECK(!lease_may_send(100, 1000, 0, 1100));
}

int main(void)
{
    return test_main();
}
