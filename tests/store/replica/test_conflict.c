/* Rows of links that have lost, here and at the other location of their link. */
#include "store/replica/conflict.h"

#include <stdio.h>

#include "base/auto.h"
#include "store/replica/replica_forget.h"
#include "store_test.h"

enum { LIST = 50 };

static struct arena texts = ARENA_INIT(64 << 20); /* of all tests */

static struct set_aside row_of(const char *link, const char *key, const char *row, int64_t due_us)
{
    return (struct set_aside){ .link = str_of(link),
                               .table = STR("t"),
                               .key = str_of(key),
                               .row = str_of(row),
                               .why = STR("another one has won"),
                               .x = 7,
                               .due_us = due_us };
}

static bool keep(struct store *s, const struct set_aside *row, bool untold)
{
    struct err err = { 0 };
    bool ok = conflict_put(s, row, 1, clock_wall_us(), untold, &err);

    if (!ok)
        (void)printf("# keep: %s\n", err.text);
    return ok;
}

static size_t list(struct store *s, const char *link, struct set_aside *ret)
{
    struct err err = { 0 };
    size_t n = 0;

    if (set_aside_list(s, str_of(link), STR("t"), 0, LIST, &texts, ret, &n, &err))
        return n;
    (void)printf("# list: %s\n", err.text);
    return SIZE_MAX;
}

static size_t untold(struct store *s, struct set_aside *ret)
{
    struct err err = { 0 };
    size_t n = 0;

    if (conflict_untold(s, STR("a-b"), STR("t"), LIST, &texts, ret, &n, &err))
        return n;
    (void)printf("# untold: %s\n", err.text);
    return SIZE_MAX;
}

static bool told(struct store *s, const struct set_aside *rows, size_t count)
{
    struct err err = { 0 };

    return conflict_told(s, rows, count, &err);
}

static bool judge(struct store *s, int64_t id, bool discard)
{
    struct err err = { 0 };
    bool has = false;

    return set_aside_judge(s, id, discard, STR("ada"), STR("why"), &has, &err) && has;
}

static bool copy(struct store *s, const char *peer, const struct set_aside *rows, size_t count,
                 const struct sha256 *gone, size_t gone_count)
{
    const struct conflict_copies c = { str_of(peer), rows, count, gone, gone_count };
    struct err err = { 0 };
    bool ok = conflict_copy(s, &c, clock_wall_us(), &err);

    if (!ok)
        (void)printf("# copy: %s\n", err.text);
    return ok;
}

TEST(what_the_other_location_does_not_know_is_told_until_it_does)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct set_aside own = row_of("a-b", "k", "row", CONFLICT_FOREVER_US), r[LIST], was;
    struct err err = { 0 };

    CHECK(keep(s, &own, true) && untold(s, r) == 1 && conflict_waits(&r[0]) && !r[0].discarded);
    CHECK(told(s, r, 1) && untold(s, r) == 0);
    CHECK(list(s, "a-b", r) == 1 && judge(s, r[0].id, true));
    store_close(s);
    s = open_store(&h);
    CHECK(untold(s, &was) == 1 && was.discarded && !conflict_waits(&was));
    CHECK(judge(s, was.id, false)); /* while it is on its way */
    CHECK(told(s, &was, 1) && untold(s, r) == 0 && list(s, "a-b", r) == 1 && !r[0].discarded);
    CHECK(conflict_settle(s, was.id, false, true, STR("refused"), &err));
    CHECK(untold(s, r) == 1 && str_is(r[0].why, "refused") && told(s, r, 1));
    CHECK(conflict_settle(s, was.id, true, true, STR(""), &err) && list(s, "a-b", r) == 0);
    CHECK(!judge(s, was.id, true) && untold(s, r) == 1 && r[0].gone);
    CHECK(keep(s, &own, true)); /* it has lost again meanwhile */
    CHECK(told(s, r, 1) && list(s, "a-b", r) == 1 && !r[0].gone && untold(s, r) == 1);
    CHECK(conflict_settle(s, r[0].id, true, true, STR(""), &err) && untold(s, r) == 1);
    CHECK(told(s, r, 1) && untold(s, r) == 0 && list(s, "a-b", r) == 0);
    store_close(s);
}

TEST(what_a_peer_has_decided_is_listed_and_goes_when_it_says_so)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t due_us = clock_wall_us() + 60 * CLOCK_S;
    struct set_aside rows[] = { row_of("b-a", "k1", "1", due_us), row_of("b-a", "k2", "", due_us) };
    struct set_aside own = row_of("b-a", "k1", "1", due_us), r[LIST];
    const struct sha256 gone = conflict_digest(&rows[0]);

    CHECK(copy(s, "berlin", rows, 2, NULL, 0) && copy(s, "berlin", rows, 2, NULL, 0));
    CHECK(list(s, "b-a", r) == 2 && str_is(r[0].peer, "berlin") && str_is(r[0].kind, "conflict"));
    CHECK(keep(s, &own, false) && copy(s, "bonn", rows, 1, NULL, 0)); /* others of the same name */
    CHECK(list(s, "b-a", r) == 4 && str_is(r[2].peer, "") && str_is(r[3].peer, "bonn"));
    rows[1].discarded = true;
    CHECK(copy(s, "berlin", &rows[1], 1, &gone, 1));
    CHECK(list(s, "b-a", r) == 3 && str_is(r[0].key, "k2") && r[0].discarded);
    CHECK(copy(s, "berlin", NULL, 0, &gone, 1) && list(s, "b-a", r) == 3);
    CHECK(untold(s, r) == 0);
    store_close(s);
}

TEST(what_a_peer_has_decided_needs_no_link_of_ours_and_goes_after_its_time)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct set_aside rows[] = { row_of("b-a", "old", "1", clock_wall_us() - CLOCK_S),
                                row_of("b-a", "waits", "2", CONFLICT_FOREVER_US) };
    struct set_aside own = row_of("b-a", "own", "1", CONFLICT_FOREVER_US), r[LIST];
    struct err err = { 0 };
    bool more;

    CHECK(copy(s, "berlin", rows, 2, NULL, 0) && keep(s, &own, false) && list(s, "b-a", r) == 3);
    CHECK(replica_forget(s, &more, &err) && !more);
    CHECK(list(s, "b-a", r) == 1 && str_is(r[0].key, "waits"));
    store_close(s);
}

STORE_TEST_MAIN
