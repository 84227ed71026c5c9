/* Holds and pauses in the store: what is kept, who is told, who goes by it. */
#include "store/govern/hold.h"

#include <stdio.h>

#include "base/auto.h"
#include "store/govern/pause.h"
#include "store_test.h"

enum { SALES = 11, STOCK = 12 };

static struct hold hold_of(int64_t system, int64_t from_us, int64_t until_us)
{
    struct hold h = { .system = system, .from_us = from_us, .until_us = until_us };

    h.reason = STR("stocktaking");
    h.owner = STR("ann");
    return h;
}

static int64_t mark_of(struct store *s)
{
    struct err err = { 0 };
    int64_t mark = -1, now;

    (void)hold_look(s, &mark, &now, &err);
    return mark;
}

static int64_t add(struct store *s, int64_t system, int64_t from_us, int64_t until_us)
{
    struct hold h = hold_of(system, from_us, until_us);
    struct err err = { 0 };
    int64_t num = -1;

    if (!hold_add(s, &h, &num, &err))
        (void)printf("# %s\n", err.text);
    return num;
}

TEST(a_hold_comes_and_ends)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    AUTO(arena_done) struct arena a = ARENA_INIT(8 << 20);
    struct hold *list = ARENA_ARRAY(&a, struct hold, HOLDS_MOST), one;
    struct err err = { 0 };
    int64_t now, mark, first, second;
    size_t n;
    bool was;

    CHECK(s != NULL && hold_look(s, &mark, &now, &err));
    CHECK(now > clock_wall_us() - 5 * CLOCK_S && now < clock_wall_us() + 5 * CLOCK_S);
    first = add(s, SALES, 0, 0);
    CHECK(mark_of(s) > mark);
    second = add(s, STOCK, now + 100, now + 200);
    CHECK(first > 0 && second > first);
    CHECK(hold_list(s, false, &a, list, &n, &err) && n == 2);
    CHECK(list[0].num == first && list[0].system == SALES && list[0].until_us == 0);
    CHECK(list[0].from_us >= now && list[0].from_us <= list[0].made_us + CLOCK_S);
    CHECK(list[0].ended_us == 0);
    CHECK(str_is(list[0].reason, "stocktaking") && str_is(list[0].owner, "ann"));
    CHECK(list[1].num == second && list[1].from_us == now + 100 && list[1].until_us == now + 200);
    mark = mark_of(s);
    CHECK(hold_end(s, first, STR("bob"), &was, &err) && was && mark_of(s) > mark);
    CHECK(hold_end(s, first, STR("eve"), &was, &err) && !was); /* it has ended */
    CHECK(hold_end(s, 9999, STR("eve"), &was, &err) && !was);
    CHECK(hold_list(s, false, &a, list, &n, &err) && n == 1 && list[0].num == second);
    CHECK(hold_list(s, true, &a, list, &n, &err) && n == 2 && list[1].num == first);
    CHECK(hold_get(s, first, &a, &one, &err) && str_is(one.ended_by, "bob") && one.ended_us > 0);
    CHECK(!hold_get(s, 9999, &a, &one, &err) && err.kind == ERR_NONE);
    store_close(s);
    s = open_store(&h); /* it is there after a start */
    CHECK(s != NULL && hold_list(s, false, &a, list, &n, &err) && n == 1);
    store_close(s);
}

TEST(a_hold_ends_when_its_time_is_over)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    int64_t nums[HOLDS_MOST], now = clock_wall_us(), first, mark;
    struct err err = { 0 };
    struct hold one;
    size_t n;

    CHECK(s != NULL && (first = add(s, SALES, now - 20, now + 100)) > 0);
    CHECK(add(s, SALES, 0, 0) > 0 && add(s, SALES, now, now + 101) > 0);
    mark = mark_of(s);
    CHECK(hold_expire(s, now + 99, nums, &n, &err) && n == 0 && mark_of(s) == mark);
    CHECK(hold_expire(s, now + 100, nums, &n, &err) && n == 1 && nums[0] == first);
    CHECK(mark_of(s) > mark && hold_get(s, first, &a, &one, &err));
    CHECK(one.ended_us == now + 100 && str_is(one.ended_by, "its time"));
    CHECK(hold_expire(s, now + 100, nums, &n, &err) && n == 0); /* once */
    store_close(s);
}

/* proves: HO6 */
TEST(one_without_an_end_is_reminded_of_once_a_day)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t nums[HOLDS_MOST], now = clock_wall_us(), day = INT64_C(86400) * CLOCK_S, first;
    struct err err = { 0 };
    size_t n;

    CHECK(s != NULL && (first = add(s, SALES, 0, 0)) > 0);
    CHECK(add(s, SALES, 0, now + 10 * day) > 0); /* it has an end */
    CHECK(hold_remind(s, now, now - day, nums, &n, &err) && n == 0);
    now += day + 5 * CLOCK_S;
    CHECK(hold_remind(s, now, now - day, nums, &n, &err) && n == 1 && nums[0] == first);
    CHECK(hold_remind(s, now, now - day, nums, &n, &err) && n == 0);
    now += day;
    CHECK(hold_remind(s, now, now - day, nums, &n, &err) && n == 1);
    store_close(s);
}

TEST(who_goes_by_a_hold_is_known_with_what_it_was_sending)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h), *other = NULL;
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct str ids[10];
    int64_t nodes[10], num;
    struct err err = { 0 };
    size_t n, living = on_postgres() ? 2 : 1;
    bool was;

    CHECK(s != NULL && (num = add(s, SALES, 0, 0)) > 0);
    if (on_postgres()) {
        struct home beside = home_beside(&h);

        CHECK((other = open_store(&beside)) != NULL);
    }
    CHECK(hold_blind(s, num, nodes, 10, &n, &err) && n == living);
    CHECK(hold_see(s, num, STR("a.x\nb.x\n"), &err));
    CHECK(hold_see(s, num, STR("too late\n"), &err)); /* the first time counts */
    CHECK(hold_blind(s, num, nodes, 10, &n, &err) && n == living - 1);
    if (other != NULL) {
        CHECK(nodes[0] == store_node(other));
        CHECK(hold_see(other, num, STR("c.x\n"), &err));
        CHECK(hold_blind(s, num, nodes, 10, &n, &err) && n == 0);
    }
    CHECK(hold_sending(s, num, &a, ids, 10, &n, &err) && n == living + 1);
    CHECK(hold_sending(s, num, &a, ids, 1, &n, &err) && n == 1);
    CHECK(hold_end(s, num, STR("bob"), &was, &err) && was);
    CHECK(ask(&h, "SELECT count(*) FROM hold_seen") == 0);
    store_close(other);
    store_close(s);
}

TEST(there_is_a_limit_and_old_ones_go)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct hold one = hold_of(SALES, 0, 0);
    struct err err = { 0 };
    char sql[200];
    int64_t num;
    bool was;

    CHECK(s != NULL);
    (void)snprintf(sql, sizeof sql,
                   "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
                   " INSERT INTO hold SELECT i + 5000, 11, 1, 0, '', '', 1, 1, 0, '' FROM n",
                   HOLDS_MOST);
    CHECK(tell(&h, sql) && !hold_add(s, &one, &num, &err) && err.kind == ERR_LIMIT);
    err = (struct err){ 0 };
    CHECK(tell(&h, "UPDATE hold SET ended_us = 1 WHERE num > 5002") && add(s, SALES, 0, 0) > 0);
    CHECK(hold_end(s, 5001, STR("bob"), &was, &err) && was);
    CHECK(ask(&h, "SELECT count(*) FROM hold") == 3);
    store_close(s);
}

TEST(what_waits_in_each_lane_is_counted)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op docs[3] = { doc_of(STR("a")), doc_of(STR("b")), doc_of(STR("c")) };
    static const enum delivery_state states[] = { DELIVERY_READY, DELIVERY_READY,
                                                  DELIVERY_RETRYING };
    struct settle_delivery parts[3];
    struct settle_op ops[3];
    struct queue_depth depths[4];
    struct err err = { 0 };
    int64_t queue;
    size_t n;

    CHECK(s != NULL && queue_depths(s, depths, 4, &n, &err) && n == 0);
    CHECK(born_docs(s, docs, 3) && queue_for(s, 32, 31, &queue, &err));
    for (int i = 0; i < 3; i++) {
        char id[16];

        (void)snprintf(id, sizeof id, "d%d", i);
        parts[i] = part_of(str_of(id), queue, states[i]);
        ops[i] = settle_of(&docs[i].task, docs[i].num, SETTLE_DELIVERIES);
        ops[i].parts = &parts[i];
        ops[i].part_count = 1;
        CHECK(settle_ops(s, &ops[i], 1));
    }
    CHECK(queue_depths(s, depths, 4, &n, &err) && n == 1);
    CHECK(depths[0].queue == queue && depths[0].ready == 2 && depths[0].later == 1);
    store_close(s);
}

TEST(a_pause_stays_until_somebody_says_otherwise)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct pause *list = ARENA_ARRAY(&a, struct pause, PAUSES_MOST);
    struct err err = { 0 };
    int64_t node, n, mark;
    size_t count;

    CHECK(s != NULL);
    node = store_node(s);
    mark = mark_of(s);
    CHECK(pause_put(s, node, 1u << PAUSE_INTAKE | 1u << PAUSE_JOBS, STR("disk"), STR("ann"), &err));
    CHECK(mark_of(s) > mark);
    CHECK(pause_put(s, 0, 1u << PAUSE_DELIVERY, STR(""), STR("ann"), &err));
    CHECK(pause_put(s, 0, 1u << PAUSE_DELIVERY, STR("again"), STR("bob"), &err));
    CHECK(pause_list(s, &a, list, &count, &err) && count == 3);
    CHECK(list[0].node == 0 && list[0].what == PAUSE_DELIVERY && str_is(list[0].reason, "again"));
    CHECK(list[1].node == node && list[1].what == PAUSE_INTAKE && str_is(list[1].by, "ann"));
    store_close(s);
    s = open_store(&h); /* another number, the same node */
    CHECK(s != NULL && store_node(s) != node);
    CHECK(pause_list(s, &a, list, &count, &err) && count == 3 && list[1].node == store_node(s));
    CHECK(pause_drop(s, store_node(s), 1u << PAUSE_JOBS, &n, &err) && n == 1);
    CHECK(pause_drop(s, store_node(s), 1u << PAUSE_JOBS, &n, &err) && n == 0);
    CHECK(pause_drop(s, 0, 1u << PAUSE_INTAKE | 1u << PAUSE_DELIVERY, &n, &err) && n == 2);
    CHECK(pause_list(s, &a, list, &count, &err) && count == 0);
    store_close(s);
}

STORE_TEST_MAIN
