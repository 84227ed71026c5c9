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
                                   .kind = ENDPOINT_OPEN,
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
    CHECK(list[0].kind == ENDPOINT_PAUSE && list[0].until_us == 500);
    CHECK(str_is(list[0].message, "Retry-After 60"));
    CHECK(list[1].kind == ENDPOINT_OPEN && list[1].since_us == 100 && list[1].until_us == 900);
    CHECK(list[1].node == 3 && str_is(list[1].message, "timed out"));
    CHECK(endpoint_state_list(s, &a, list, 1, &n, &err) && n == 1);
    CHECK(endpoint_state_close(s, 7, &err) && endpoint_state_close(s, 7, &err));
    CHECK(endpoint_state_list(s, &a, list, 10, &n, &err) && n == 1);
    CHECK(list[0].kind == ENDPOINT_PAUSE);
    store_close(s);
}

TEST(an_endpoint_that_rejects_everything_is_known_as_such)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct endpoint_state list[10];
    struct endpoint_state is = { .endpoint = 7, .node = 1, .since_us = 100, .until_us = 200 };
    struct err err = { 0 };
    size_t n;

    CHECK(s != NULL);
    is.kind = ENDPOINT_OPEN;
    CHECK(endpoint_state_put(s, &is, &err));
    is.kind = ENDPOINT_REJECTING;
    CHECK(endpoint_state_put(s, &is, &err));
    CHECK(endpoint_state_list(s, &a, list, 10, &n, &err) && n == 2);
    CHECK(list[1].kind == ENDPOINT_REJECTING);
    CHECK(endpoint_state_close(s, 7, &err)); /* for whatever reason it was open */
    CHECK(endpoint_state_list(s, &a, list, 10, &n, &err) && n == 0);
    store_close(s);
}

STORE_TEST_MAIN
