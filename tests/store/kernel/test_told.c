/* A store that went back in time, by the number of the last commit that was told. */
#include "store/kernel/told.h"

#include <stdio.h>

#include "store/kernel/store_state.h"
#include "store_test.h"

/* The database forgets the newest `commits` groups with `documents` documents of this node. */
static bool forget(const struct home *h, const struct store *s, int commits, int documents)
{
    char sql[300];
    bool ok;

    if (on_sqlite())
        (void)snprintf(sql, sizeof sql, "UPDATE tally SET n = n - %d WHERE kind = %d", commits,
                       (int)TALLY_COMMITS);
    else
        (void)snprintf(sql, sizeof sql,
                       "UPDATE node_writer SET token = token - %d WHERE writer = (SELECT writer "
                       "FROM node_writer ORDER BY token DESC LIMIT 1)",
                       commits);
    ok = tell(h, sql);
    (void)snprintf(sql, sizeof sql,
                   "UPDATE tally SET n = n - %d WHERE kind = 1 AND (node_id, writer) = (SELECT "
                   "node_id, writer FROM tally WHERE kind = 1 AND node_id = %lld ORDER BY n DESC "
                   "LIMIT 1)",
                   documents, (long long)store_node(s));
    return ok && (documents == 0 || tell(h, sql));
}

static bool waits(const struct home *h, int64_t restores)
{
    return ask(h, "SELECT count(*) FROM restore WHERE done_us = 0") == restores;
}

/* proves: FO14 */
TEST(a_start_notices_commits_that_were_told_and_are_gone)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    char source[200];

    CHECK(accept_many(s, 0, 20, 1));
    CHECK(forget(&h, s, 3, 3));
    store_close(s);
    s = open_store(&h);
    CHECK(waits(&h, 1));
    (void)ask_text(&h, "SELECT source FROM restore", source, sizeof source);
    CHECK(strstr(source, "it lacks 3 commits with 3 documents") != NULL);
    store_close(s);
    s = open_store(&h); /* it is noticed once */
    CHECK(waits(&h, 1));
    store_close(s);
}

TEST(a_commit_without_documents_counts_too)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);

    CHECK(accept_many(s, 0, 3, 1));
    CHECK(forget(&h, s, 1, 0));
    store_close(s);
    s = open_store(&h);
    CHECK(waits(&h, 1));
    store_close(s);
}

TEST(a_store_that_is_as_it_was_told_is_not_held)
{
    struct home h = fresh_home();

    for (int i = 0; i < 3; i++) {
        struct store *s = open_store(&h);

        CHECK(s != NULL && accept_many(s, 0, 50, 7));
        store_close(s);
    }
    CHECK(waits(&h, 0));
}

TEST(a_page_of_another_store_says_nothing)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);

    CHECK(accept_many(s, 0, 5, 1) && forget(&h, s, 2, 2));
    store_close(s);
    CHECK(tell(&h, "UPDATE mark SET value = value + 1 WHERE name = 'store'"));
    s = open_store(&h);
    CHECK(waits(&h, 0));
    store_close(s);
}

static void count_notice(void *arg)
{
    ++*(int *)arg;
}

/* A server that lacks the newest commits answers in the place of the one that had them. */
TEST(postgres_a_reconnect_notices_commits_that_are_gone)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int noticed = 0;

    told_watch(s, count_notice, &noticed);
    CHECK(accept_many(s, 0, 20, 1));
    CHECK(forget(&h, s, 3, 2));
    CHECK(ask(&h, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = "
                  "current_database() AND pid <> pg_backend_pid()") > 0);
    for (int i = 0; i < 10; i++) /* both writers have work */
        CHECK(accept_many(s, 100 + i, 1, 1));
    CHECK(waits(&h, 1) && noticed == 1);
    store_close(s);
    s = open_store(&h);
    CHECK(waits(&h, 1));
    store_close(s);
}

/* Two nodes lose commits in one failover: one row holds both, also when the second notices late. */
TEST(postgres_one_failover_is_one_restore)
{
    struct home h = fresh_home(), other = home_beside(&h);
    struct store *a = open_store(&h), *b = open_store(&other);

    CHECK(accept_many(a, 0, 8, 1) && accept_many(b, 0, 8, 1));
    CHECK(tell(&h, "UPDATE node_writer SET token = token - 2 WHERE token > 2"));
    CHECK(ask(&h, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = "
                  "current_database() AND pid <> pg_backend_pid()") > 0);
    for (int i = 0; i < 6; i++)
        CHECK(accept_many(a, 100 + i, 1, 1) && accept_many(b, 100 + i, 1, 1));
    CHECK(waits(&h, 1));
    store_close(a);
    store_close(b);
}

STORE_TEST_MAIN
