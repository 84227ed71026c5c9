#include "base/auto.h"
#include "store/govern/endpoint_state.h"
#include "store_test.h"

TEST(what_is_known_of_an_endpoint_comes_and_goes)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct endpoint_state list[10];
    struct err err = { 0 };
    size_t n;
    struct endpoint_state open = { .endpoint = 7,
                                   .node = 1,
                                   .since_us = 100,
                                   .until_us = 200,
                                   .breaker = true,
                                   .message = STR("connection refused") };
    struct endpoint_state pause = { .endpoint = 7, .node = 2, .since_us = 110, .until_us = 500 };

    pause.message = STR("Retry-After 60");
    CHECK(s != NULL && endpoint_state_list(s, &a, list, 10, &n, &err) && n == 0);
    CHECK(endpoint_state_put(s, &open, &err) && endpoint_state_put(s, &pause, &err));
    open.since_us = 150;
    open.until_us = 900;
    open.node = 3;
    open.message = STR("timed out");
    CHECK(endpoint_state_put(s, &open, &err));
    CHECK(endpoint_state_list(s, &a, list, 10, &n, &err) && n == 2);
    CHECK(!list[0].breaker && list[0].until_us == 500 && str_is(list[0].message, "Retry-After 60"));
    CHECK(list[1].breaker && list[1].since_us == 100 && list[1].until_us == 900);
    CHECK(list[1].node == 3 && str_is(list[1].message, "timed out"));
    CHECK(endpoint_state_list(s, &a, list, 1, &n, &err) && n == 1);
    CHECK(endpoint_state_drop(s, 7, true, &err) && endpoint_state_drop(s, 7, true, &err));
    CHECK(endpoint_state_list(s, &a, list, 10, &n, &err) && n == 1 && !list[0].breaker);
    store_close(s);
}

STORE_TEST_MAIN
