/* Rows of links that could not be written, and orders of people. */
#include "store/replica/set_aside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "store/audit/audit.h"
#include "store/replica/replica_order.h"
#include "store_test.h"

#define MINUTE_US (60 * (int64_t)CLOCK_S)

enum { LIST = 50 };

static struct arena texts = ARENA_INIT(64 << 20); /* of all tests */

static struct set_aside row_of(const char *table, const char *key, const char *row)
{
    return (struct set_aside){ .link = STR("a-b"),
                               .table = str_of(table),
                               .key = str_of(key),
                               .row = str_of(row),
                               .kind = STR("refused"),
                               .why = STR("a rule of its own"),
                               .x = 7 };
}

/* How many are open then, -1 on an error. */
static int64_t put(struct store *s, const struct set_aside *rows, size_t count, int64_t now_us)
{
    struct err err = { 0 };
    int64_t open = -1;

    if (!set_aside_put(s, rows, count, now_us, &open, &err))
        (void)printf("# put: %s\n", err.text);
    return open;
}

static int64_t put_one(struct store *s, const char *key, const char *row, int64_t now_us)
{
    struct set_aside r = row_of("t", key, row);

    return put(s, &r, 1, now_us);
}

static int64_t drop(struct store *s, const char *table, const struct str *keys, size_t count)
{
    struct err err = { 0 };
    int64_t open = -1;

    if (!set_aside_drop(s, STR("a-b"), str_of(table), keys, count, &open, &err))
        (void)printf("# drop: %s\n", err.text);
    return open;
}

static int list(struct store *s, const char *link, const char *table, int64_t after,
                struct set_aside *ret)
{
    struct err err = { 0 };
    size_t n = 0;

    if (set_aside_list(s, str_of(link), str_of(table), after, LIST, &texts, ret, &n, &err))
        return (int)n;
    (void)printf("# list: %s\n", err.text);
    return -1;
}

static int due(struct store *s, int64_t now_us, size_t most, struct set_aside *ret)
{
    struct err err = { 0 };
    size_t n = 0;

    if (set_aside_due(s, STR("a-b"), STR("t"), now_us, most, &texts, ret, &n, &err))
        return (int)n;
    (void)printf("# due: %s\n", err.text);
    return -1;
}

static bool judge(struct store *s, int64_t id, bool discard)
{
    struct err err = { 0 };
    bool has = false;

    return set_aside_judge(s, id, discard, STR("ada"), STR("a reason"), &has, &err) && has;
}

TEST(a_row_is_set_aside_once_and_its_newer_image_takes_its_place)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct set_aside r[LIST];

    CHECK(put_one(s, "k1", "old", 1000) == 1 && put_one(s, "k2", "other", 1000) == 2);
    CHECK(list(s, "a-b", "t", 0, r) == 2 && r[0].id > 0 && r[0].id < r[1].id);
    int64_t id = r[0].id;

    CHECK(put_one(s, "k1", "new", 5000) == 2);
    store_close(s);
    s = open_store(&h);
    CHECK(list(s, "a-b", "t", 0, r) == 2);
    CHECK(r[0].id == id && str_is(r[0].key, "k1") && str_is(r[0].row, "new"));
    CHECK(r[0].first_us == 1000 && r[0].last_us == 5000 && r[0].tries == 2 && r[0].x == 7);
    CHECK(str_is(r[0].kind, "refused") && str_is(r[0].why, "a rule of its own"));
    CHECK(str_is(r[0].link, "a-b") && str_is(r[0].table, "t") && !r[0].discarded);
    store_close(s);
}

TEST(it_is_tried_later_and_later)
{
    static const int64_t minutes[] = { 1, 2, 4, 8, 16, 32, 60, 60, 60 };
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct set_aside r[LIST];

    for (size_t i = 0; i < sizeof minutes / sizeof *minutes; i++) {
        CHECK(put_one(s, "k", "row", 1000) == 1 && list(s, "", "", 0, r) == 1);
        CHECK(r[0].due_us == 1000 + minutes[i] * MINUTE_US && r[0].tries == (int64_t)i + 1);
    }
    CHECK(put_one(s, "young", "row", 1000) == 2);
    CHECK(due(s, 1000 + MINUTE_US - 1, LIST, r) == 0);
    CHECK(due(s, 1000 + MINUTE_US, LIST, r) == 1 && str_is(r[0].key, "young") && r[0].row.len == 0);
    CHECK(due(s, 1000 + 60 * MINUTE_US, LIST, r) == 2 && str_is(r[0].key, "young"));
    CHECK(due(s, 1000 + 60 * MINUTE_US, 1, r) == 1 && str_is(r[0].key, "young"));
    store_close(s);
}

TEST(those_that_were_written_are_not_set_aside_any_more)
{
    const struct str keys[] = { STR("k3"), STR("k1"), STR("never") };
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct set_aside rows[] = { row_of("t", "k1", "1"), row_of("t", "k2", "2"),
                                row_of("t", "k3", "3") };
    struct set_aside u = row_of("u", "k1", "1"), r[LIST];
    struct err err = { 0 };
    int64_t open;

    CHECK(put(s, rows, 3, 1000) == 3 && put(s, &u, 1, 1000) == 1);
    CHECK(drop(s, "t", keys, 3) == 1 && drop(s, "t", keys, 3) == 1 && drop(s, "t", keys, 0) == 1);
    CHECK(list(s, "a-b", "t", 0, r) == 1 && str_is(r[0].key, "k2"));
    CHECK(list(s, "a-b", "u", 0, r) == 1 && list(s, "", "", 0, r) == 2 &&
          list(s, "a-b", "", r[0].id, r) == 1 && list(s, "", "u", 0, r) == 1 &&
          list(s, "other", "", 0, r) == 0);
    CHECK(set_aside_drop_all(s, STR("a-b"), STR("t"), &err));
    CHECK(set_aside_open(s, STR("a-b"), STR("t"), &open, &err) && open == 0);
    CHECK(set_aside_open(s, STR("a-b"), STR("u"), &open, &err) && open == 1);
    store_close(s);
}

TEST(a_person_says_what_becomes_of_it)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct set_aside r[LIST];

    CHECK(put_one(s, "k1", "row", 1000) == 1 && put_one(s, "k2", "row", 1000) == 2);
    CHECK(list(s, "a-b", "t", 0, r) == 2);
    int64_t first = r[0].id, second = r[1].id;

    CHECK(judge(s, first, true) && due(s, INT64_MAX, LIST, r) == 1 && r[0].id == second);
    CHECK(list(s, "a-b", "t", first - 1, r) == 2 && r[0].id == first && r[0].discarded);
    CHECK(str_is(r[0].judged_by, "ada") && str_is(r[0].judged_why, "a reason"));
    CHECK(put_one(s, "k1", "row", 2000) == 1); /* the same again: it stays discarded */
    CHECK(put_one(s, "k1", "newer", 2000) == 2);
    CHECK(judge(s, second, false) && due(s, clock_wall_us(), LIST, r) >= 1);
    CHECK(list(s, "a-b", "t", second - 1, r) == 1 && r[0].id == second && r[0].due_us > 2000);
    CHECK(!judge(s, second + 1000, true));
    store_close(s);
}

TEST(what_people_say_is_in_the_audit_log)
{
    const struct audit_entry entry = { .actor = STR("ada"),
                                       .kind = STR("user"),
                                       .action = STR("quarantineDiscard"),
                                       .object = STR("a-b/t") };
    const struct replica_order order = { .link = STR("a-b"), .table = STR("t"), .by = STR("ada") };
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct set_aside r[LIST];
    struct err err = { 0 };

    CHECK(put_one(s, "k1", "row", 1000) == 1 && list(s, "", "", 0, r) == 1);
    audit_begin(&entry);
    CHECK(judge(s, r[0].id, true) && !judge(s, r[0].id + 1000, true));
    audit_end();
    CHECK(ask(&h, "SELECT count(*) FROM audit WHERE action = 'quarantineDiscard'") == 1);
    audit_begin(&entry);
    CHECK(replica_order_put(s, &order, &err));
    audit_end();
    CHECK(ask(&h, "SELECT count(*) FROM audit WHERE action = 'quarantineDiscard'") == 2);
    store_close(s);
}

/* A key may be longer than an index takes, a row than is kept, a reason than it should be. */
TEST(everything_may_be_large_and_strange)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    char *key = arena_alloc(&texts, 4000), *row = arena_alloc(&texts, SET_ASIDE_ROW_MOST + 1);
    struct set_aside large = row_of("t", "", ""), r[LIST];

    for (int i = 0; i < 4000; i++)
        key[i] = (char)(i * 7919 >> 3); /* cannot be packed */
    large.key = str_mem(key, 4000);
    large.row = str_mem(row, SET_ASIDE_ROW_MOST);
    large.why = str_mem("not \xff\x80 text\n\0!", 14);
    CHECK(put(s, &large, 1, 1000) == 1 && list(s, "", "", 0, r) == 1);
    CHECK(str_eq(r[0].key, large.key) && str_eq(r[0].row, large.row));
    CHECK(str_is(r[0].why, "not ?? text  !"));
    large.row = str_mem(row, SET_ASIDE_ROW_MOST + 1);
    CHECK(put(s, &large, 1, 1000) == 1 && list(s, "", "", 0, r) == 1 && r[0].row.len == 0);
    CHECK(drop(s, "t", &large.key, 1) == 0);
    store_close(s);
}

static bool get(struct store *s, enum replica_wish wish, struct replica_order *ret)
{
    struct err err = { 0 };
    bool has = false;

    if (!replica_order_get(s, wish, STR("a-b"), STR("t"), &texts, &has, ret, &err))
        (void)printf("# order: %s\n", err.text);
    return has;
}

TEST(a_wish_is_one_until_it_is_done)
{
    struct replica_order o = { .wish = REPLICA_VERIFY,
                               .link = STR("a-b"),
                               .table = STR("t"),
                               .detail = STR("{\"mode\": \"full\"}"),
                               .by = STR("ada"),
                               .why = STR("to see") };
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct replica_order first, now;
    struct err err = { 0 };

    CHECK(!get(s, REPLICA_VERIFY, &now) && replica_order_put(s, &o, &err));
    store_close(s);
    s = open_store(&h);
    CHECK(get(s, REPLICA_VERIFY, &first) && first.id > 0 && first.at_us > 0);
    CHECK(first.wish == REPLICA_VERIFY && str_is(first.link, "a-b") && str_is(first.table, "t"));
    CHECK(str_eq(first.detail, o.detail) && str_is(first.by, "ada") && str_is(first.why, "to see"));
    CHECK(!get(s, REPLICA_RESYNC, &now) && !get(s, REPLICA_GO_ON, &now));
    o.by = STR("ben");
    CHECK(replica_order_put(s, &o, &err) && get(s, REPLICA_VERIFY, &now));
    CHECK(now.id > first.id && str_is(now.by, "ben"));
    CHECK(replica_order_drop(s, first.id, &err) && get(s, REPLICA_VERIFY, &now));
    CHECK(replica_order_drop(s, now.id, &err) && !get(s, REPLICA_VERIFY, &now));
    store_close(s);
}

STORE_TEST_MAIN
