#include "store/govern/ledger.h"

#include "base/digest.h"
#include "store_test.h"

enum { TURN_US = 60 * CLOCK_S };

static struct sha256 key_of(const char *text)
{
    return digest_of(str_of(text));
}

TEST(the_ledger_knows_what_was_taken)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct sha256 a = key_of("a"), b = key_of("b");
    struct err err = { 0 };
    bool seen = true;

    CHECK(s != NULL && ledger_seen(s, 1, &a, &seen, &err) && !seen);
    CHECK(ledger_note(s, 1, &a, &err) && ledger_note(s, 1, &a, &err));
    CHECK(ledger_seen(s, 1, &a, &seen, &err) && seen);
    CHECK(ledger_seen(s, 2, &a, &seen, &err) && !seen); /* of another gateway */
    CHECK(ledger_seen(s, 1, &b, &seen, &err) && !seen);
    store_close(s);
    s = open_store(&h);
    CHECK(s != NULL && ledger_seen(s, 1, &a, &seen, &err) && seen);
    CHECK(ask(&h, "SELECT count(*) FROM ledger") == 1);
    store_close(s);
}

TEST(what_is_looked_at_is_not_forgotten)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct sha256 lies = key_of("still there"), gone = key_of("gone");
    int64_t week_ago = clock_wall_us() - INT64_C(7) * 86400 * CLOCK_S;
    struct err err = { 0 };
    bool seen = false;

    CHECK(s != NULL && ledger_note(s, 1, &lies, &err) && ledger_note(s, 1, &gone, &err));
    CHECK(ledger_sweep(s, 1, week_ago, &err) && ask(&h, "SELECT count(*) FROM ledger") == 2);
    CHECK(tell(&h, "UPDATE ledger SET seen_us = seen_us - 800000000000")); /* nine days */
    CHECK(ledger_seen(s, 1, &lies, &seen, &err) && seen);
    CHECK(ledger_sweep(s, 1, week_ago, &err) && ask(&h, "SELECT count(*) FROM ledger") == 1);
    CHECK(ledger_seen(s, 1, &lies, &seen, &err) && seen);
    CHECK(ledger_seen(s, 1, &gone, &seen, &err) && !seen);
    store_close(s);
}

/* proves: IN11 */
TEST(a_gateway_that_looks_forgets_nothing_of_another_one)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct sha256 key = key_of("a");
    struct err err = { 0 };
    bool seen = false;

    CHECK(s != NULL && ledger_note(s, 1, &key, &err) && ledger_note(s, 2, &key, &err));
    CHECK(ledger_sweep(s, 1, INT64_MAX, &err) && ask(&h, "SELECT count(*) FROM ledger") == 1);
    CHECK(ledger_seen(s, 2, &key, &seen, &err) && seen);
    CHECK(ledger_seen(s, 1, &key, &seen, &err) && !seen);
    store_close(s);
}

TEST(a_large_ledger_is_swept_in_pieces)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct err err = { 0 };

    CHECK(s != NULL);
    CHECK(tell(&h, on_sqlite()
                       ? "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
                         "WHERE i < 12000) INSERT INTO ledger SELECT 1, CAST(i AS BLOB), 5 FROM n"
                       : "INSERT INTO ledger SELECT 1, i::text::bytea, 5 FROM "
                         "generate_series(1, 12000) i"));
    CHECK(ledger_sweep(s, 1, 6, &err) && ask(&h, "SELECT count(*) FROM ledger") == 0);
    store_close(s);
}

TEST(sqlite_it_is_always_our_turn)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct err err = { 0 };
    bool ours = false;

    CHECK(s != NULL && poll_turn(s, 1, TURN_US, &ours, &err) && ours);
    CHECK(poll_turn_end(s, 1, &err) && ask(&h, "SELECT count(*) FROM poll_turn") == 0);
    store_close(s);
}

/* proves: IN12 */
TEST(postgres_only_one_node_looks)
{
    struct home h = fresh_home(), other = home_beside(&h);
    struct store *a = open_store(&h), *b = open_store(&other);
    struct err err = { 0 };
    bool ours = false;

    CHECK(a != NULL && b != NULL);
    CHECK(poll_turn(a, 7, TURN_US, &ours, &err) && ours);
    CHECK(poll_turn(b, 7, TURN_US, &ours, &err) && !ours);
    CHECK(poll_turn(b, 8, TURN_US, &ours, &err) && ours); /* another gateway */
    CHECK(poll_turn(a, 7, TURN_US, &ours, &err) && ours); /* renewed */
    CHECK(poll_turn_end(b, 7, &err));                     /* not b's to end */
    CHECK(poll_turn(b, 7, TURN_US, &ours, &err) && !ours);
    CHECK(poll_turn_end(a, 7, &err) && poll_turn(b, 7, TURN_US, &ours, &err) && ours);
    CHECK(poll_turn(a, 7, TURN_US, &ours, &err) && !ours);
    CHECK(tell(&h, "UPDATE poll_turn SET until_us = 1")); /* b was silent for too long */
    CHECK(poll_turn(a, 7, TURN_US, &ours, &err) && ours);
    CHECK(poll_turn(b, 7, TURN_US, &ours, &err) && !ours);
    CHECK(tell(&h, "UPDATE node SET alive_until_us = 1 WHERE node_id = "
                   "(SELECT node_id FROM poll_turn WHERE gateway = 7)")); /* a is silent */
    CHECK(poll_turn(b, 7, TURN_US, &ours, &err) && ours);
    CHECK(!poll_turn(a, 7, TURN_US, &ours, &err)); /* the fence */
    store_close(a);
    store_close(b);
}

STORE_TEST_MAIN
