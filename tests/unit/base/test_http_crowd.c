/* Connections are counted by address, those of IPv6 by its first half. */
#include "base/http_crowd.h"

#include <stdio.h>

#include "base/auto.h"
#include "base/require.h"
#include "test.h"

static struct network_address address(const char *text)
{
    struct network_address a = { 0 };

    require(network_address_parse(str_of(text), &a));
    return a;
}

static void drop(struct http_crowd **c)
{
    http_crowd_free(*c);
}

TEST(http_crowd_counts_each_address)
{
    AUTO(drop) struct http_crowd *c = http_crowd_new(10);
    struct network_address one = address("10.0.0.1"), two = address("10.0.0.2");

    CHECK(http_crowd_enter(c, &one) == 1);
    CHECK(http_crowd_enter(c, &one) == 2);
    CHECK(http_crowd_enter(c, &two) == 1);
    http_crowd_leave(c, &one);
    CHECK(http_crowd_enter(c, &one) == 2);
    http_crowd_leave(c, &two);
    CHECK(http_crowd_enter(c, &two) == 1);
}

TEST(http_crowd_takes_a_network_of_ipv6_for_one)
{
    AUTO(drop) struct http_crowd *c = http_crowd_new(10);
    struct network_address a = address("2001:db8::1"), b = address("2001:db8::2:3"),
                           far = address("2001:db8:0:1::1"), four = address("::ffff:10.0.0.1"),
                           same = address("10.0.0.1"), other = address("10.0.0.2");

    CHECK(http_crowd_enter(c, &a) == 1 && http_crowd_enter(c, &b) == 2);
    CHECK(http_crowd_enter(c, &far) == 1);
    CHECK(http_crowd_enter(c, &four) == 1 && http_crowd_enter(c, &same) == 2);
    CHECK(http_crowd_enter(c, &other) == 1);
    CHECK(http_crowd_same(&a, &b) && !http_crowd_same(&a, &far));
    CHECK(http_crowd_same(&four, &same) && !http_crowd_same(&same, &other));
}

TEST(http_crowd_keeps_more_addresses_than_places)
{
    AUTO(drop) struct http_crowd *c = http_crowd_new(1);
    char text[40];

    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 5000; i++) {
            (void)snprintf(text, sizeof text, "10.1.%d.%d", i / 250, i % 250);
            struct network_address a = address(text);

            CHECK(http_crowd_enter(c, &a) == 1);
        }
        for (int i = 0; i < 5000; i++) {
            (void)snprintf(text, sizeof text, "10.1.%d.%d", i / 250, i % 250);
            struct network_address a = address(text);

            http_crowd_leave(c, &a);
        }
    }
}

int main(void)
{
    return test_main();
}
