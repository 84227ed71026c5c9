/* Configuration versions: which one was in force when. */
#include "store/govern/version.h"
#include "store_test.h"

TEST(the_version_that_was_in_force_at_a_time)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t number = -1;
    struct err err = { 0 };

    CHECK(s != NULL && version_at(s, INT64_MAX, &number, &err) && number == 0);
    for (int64_t i = 0; i < 3; i++)
        CHECK(version_add(s, i, STR("types: {}"), STR("bob"), STR(""), &number, &err));
    CHECK(tell(&h, "UPDATE config SET made_us = version * 100"));
    CHECK(version_at(s, 99, &number, &err) && number == 0);
    CHECK(version_at(s, 100, &number, &err) && number == 1);
    CHECK(version_at(s, 299, &number, &err) && number == 2);
    CHECK(version_at(s, INT64_MAX, &number, &err) && number == 3);
    /* A clock that went back: the later one replaced the other all the same. */
    CHECK(tell(&h, "UPDATE config SET made_us = 150 WHERE version = 3"));
    CHECK(version_at(s, 250, &number, &err) && number == 3);
    store_close(s);
}

STORE_TEST_MAIN
