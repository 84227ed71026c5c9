#include "base/auto.h"
#include "store/govern/failing.h"
#include "store_test.h"

/* proves: IN5 */
TEST(what_a_node_cannot_run_is_seen_while_the_node_runs)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct failing *list = ARENA_ARRAY(&a, struct failing, FAILINGS_MOST);
    struct err err = { 0 };
    size_t n;

    CHECK(s != NULL && failing_list(s, &a, list, &n, &err) && n == 0);
    CHECK(failing_put(s, 8, STR("no such folder"), &err));
    CHECK(failing_put(s, 7, STR("connection refused"), &err));
    CHECK(failing_list(s, &a, list, &n, &err) && n == 2);
    int64_t since = list[0].since_us;

    CHECK(failing_put(s, 7, STR("timed out"), &err));
    CHECK(failing_list(s, &a, list, &n, &err) && n == 2 && list[0].word == 7);
    CHECK(str_is(list[0].message, "timed out") && list[0].since_us == since && since > 0);
    CHECK(list[0].host.len > 0 && list[0].node != 0);
    CHECK(failing_drop(s, 7, &err) && failing_drop(s, 7, &err));
    CHECK(failing_list(s, &a, list, &n, &err) && n == 1 && list[0].word == 8);
    store_close(s);
    s = open_store(&h); /* the next life has troubles of its own */
    CHECK(s != NULL && failing_list(s, &a, list, &n, &err) && n == 0);
    store_close(s);
}

STORE_TEST_MAIN
