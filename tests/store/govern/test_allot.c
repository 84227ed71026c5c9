/* Slots of systems: of all nodes together never more than the concurrency. */
#include "store/govern/allot.h"

#include "store/road/rescue.h"
#include "store_test.h"

enum { SYSTEM = 7, MOST = 4 };

static int64_t allot(struct store *s, int64_t keep, int64_t upto, bool wants)
{
    struct allot_op o = {
        .system = SYSTEM, .most = MOST, .keep = keep, .upto = upto, .wants = wants
    };
    struct err err = { 0 };

    return writers_call(store_writers(s), &allot_verb, &o.op, &err) ? o.granted : -1;
}

static struct allotted seen_by(struct store *s)
{
    struct allotted all[MOST] = { 0 };
    struct err err = { 0 };
    size_t n = 0;

    return allot_list(s, all, MOST, &n, &err) && n == 1 ? all[0] : (struct allotted){ 0 };
}

TEST(postgres_two_nodes_never_hold_more_than_there_are)
{
    struct home h = fresh_home(), g = home_beside(&h);
    struct store *a = open_store(&h), *b = open_store(&g);

    CHECK(a != NULL && b != NULL);
    CHECK(allot(a, 0, MOST, true) == MOST);
    CHECK(allot(b, 0, MOST, true) == 0);
    CHECK(seen_by(a).total == MOST && seen_by(a).wanting == 1 && seen_by(b).wanting == 0);
    CHECK(allot(a, 3, 2, true) == 3); /* three are in use */
    CHECK(allot(b, 0, 2, true) == 1);
    CHECK(allot(a, 1, 0, false) == 1);
    CHECK(allot(b, 1, 2, true) == 2);
    CHECK(seen_by(a).total == 3);
    CHECK(allot(b, 2, MOST, true) == 3);
    CHECK(ask(&h, "SELECT sum(n) FROM allot") == MOST);
    store_close(a);
    store_close(b);
}

TEST(postgres_a_lower_limit_takes_nothing_away_that_is_in_use)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct allot_op o = { .system = SYSTEM, .most = 1, .keep = 3, .upto = 1, .wants = true };
    struct err err = { 0 };

    CHECK(s != NULL && allot(s, 0, MOST, true) == MOST);
    CHECK(writers_call(store_writers(s), &allot_verb, &o.op, &err) && o.granted == 3);
    store_close(s);
}

TEST(postgres_the_slots_of_a_dead_node_are_free)
{
    struct home h = fresh_home(), g = home_beside(&h);
    struct store *a = open_store(&h), *b = open_store(&g);
    struct err err = { 0 };
    char sql[100];
    int64_t moved;

    CHECK(a != NULL && b != NULL);
    CHECK(allot(a, 0, MOST, true) == MOST && allot(b, 0, MOST, true) == 0);
    (void)snprintf(sql, sizeof sql, "UPDATE node SET state = 2 WHERE node_id = %lld",
                   (long long)store_node(a));
    CHECK(tell(&h, sql));
    CHECK(allot(b, 0, MOST, true) == MOST);
    CHECK(rescue_dead_nodes(b, &moved, &err));
    CHECK(ask(&h, "SELECT count(*) FROM allot WHERE node_id <> 0") == 1);
    store_close(a);
    store_close(b);
}

STORE_TEST_MAIN
