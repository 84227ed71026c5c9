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

/* More nodes than slots, all busy: whoever gives its slot back is last in line. */
TEST(postgres_slots_go_round)
{
    enum { NODES = 3 };
    struct home h = fresh_home(), beside[NODES - 1];
    struct store *s[NODES] = { open_store(&h) };
    struct allot_op o = { .system = SYSTEM, .most = 1, .upto = 1, .wants = true };
    struct err err = { 0 };
    int had[NODES] = { 0 };

    for (int i = 1; i < NODES; i++) {
        beside[i - 1] = home_beside(&h);
        s[i] = open_store(&beside[i - 1]);
    }
    for (int i = 0; i < NODES; i++) {
        CHECK(s[i] != NULL && writers_call(store_writers(s[i]), &allot_verb, &o.op, &err));
        CHECK(o.granted == (i == 0));
    }
    for (int turn = 0; turn < 2 * NODES; turn++) {
        int holder = turn % NODES;

        had[holder]++;
        /* The first node asks first, always. */
        for (int i = 0; i < NODES; i++) {
            o = (struct allot_op){ .system = SYSTEM, .most = 1, .upto = 1, .wants = true };
            o.keep = i == holder;
            CHECK(writers_call(store_writers(s[i]), &allot_verb, &o.op, &err));
            CHECK(o.granted == (i == holder));
        }
        CHECK(seen_by(s[holder]).waiting == NODES - 1 && seen_by(s[holder]).total == 1);
        o = (struct allot_op){ .system = SYSTEM, .most = 1, .wants = true }; /* its turn is over */
        CHECK(writers_call(store_writers(s[holder]), &allot_verb, &o.op, &err) && o.granted == 0);
        for (int i = 0; i < NODES; i++) { /* also who has just given it back */
            o = (struct allot_op){ .system = SYSTEM, .most = 1, .upto = 1, .wants = true };
            CHECK(writers_call(store_writers(s[i]), &allot_verb, &o.op, &err));
            CHECK(o.granted == (i == (holder + 1) % NODES));
        }
    }
    CHECK(had[0] == 2 && had[1] == 2 && had[2] == 2);
    for (int i = 0; i < NODES; i++)
        store_close(s[i]);
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
