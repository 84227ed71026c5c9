#include <stdio.h>

#include "base/auto.h"
#include "store/watch/mishap.h"
#include "store_test.h"

TEST(mishaps_are_counted_by_code_and_object)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct mishap list[10];
    struct err err = { 0 };
    size_t n;
    const struct mishap first[] = {
        { STR("rejected"), STR("endpoint api"), STR("answered 400"), 3, 10, 20 },
        { STR("unreached"), STR("endpoint api"), STR("refused"), 1, 15, 15 },
    };
    const struct mishap second = {
        STR("rejected"), STR("endpoint api"), STR("answered 422"), 4, 30, 40
    };

    CHECK(s != NULL && mishap_add(s, NULL, 0, &err));
    CHECK(mishap_list(s, &a, list, 10, &n, &err) && n == 0);
    CHECK(mishap_add(s, first, 2, &err) && mishap_add(s, &second, 1, &err));
    CHECK(mishap_list(s, &a, list, 10, &n, &err) && n == 2);
    CHECK(str_is(list[0].code, "rejected") && list[0].count == 7);
    CHECK(list[0].first_us == 10 && list[0].last_us == 40);
    CHECK(str_is(list[0].message, "answered 422"));
    CHECK(str_is(list[1].code, "unreached") && list[1].count == 1);
    CHECK(mishap_list(s, &a, list, 1, &n, &err) && n == 1);
    store_close(s);
}

TEST(the_latest_mishaps_are_kept)
{
    enum { EXTRA = 5 };
    static struct mishap list[MISHAPS_MOST];
    static char names[MISHAPS_MOST][24];
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct err err = { 0 };

    for (int i = 0; i < MISHAPS_MOST; i++) {
        (void)snprintf(names[i], sizeof names[i], "endpoint %d", i);
        list[i] =
            (struct mishap){ STR("rejected"), str_of(names[i]), STR(""), 1, 1000 + i, 1000 + i };
    }
    CHECK(s != NULL && mishap_add(s, list, MISHAPS_MOST, &err));
    for (int i = 0; i < EXTRA; i++)
        list[i].code = STR("unreached"), list[i].last_us = 5000 + i;
    CHECK(mishap_add(s, list, EXTRA, &err));
    CHECK(ask(&h, "SELECT count(*) FROM mishap") == MISHAPS_MOST);
    CHECK(ask(&h, "SELECT min(last_us) FROM mishap") == 1000 + EXTRA);
    store_close(s);
}

STORE_TEST_MAIN
