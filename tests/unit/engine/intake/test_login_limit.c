/* Guessing is slowed by address; nobody can lock somebody else out. */
#include "engine/intake/login_limit.h"

#include "base/auto.h"
#include "test.h"

#define S INT64_C(1000000)

static void drop(struct login_limit **l)
{
    login_limit_free(*l);
}

static int64_t try(struct login_limit *l, const char *user, const char *address, int64_t now)
{
    return login_limit_try(l, str_of(user), str_of(address), now);
}

TEST(login_limit_doubles_the_wait_of_an_account_at_an_address)
{
    AUTO(drop) struct login_limit *l = login_limit_new();
    int64_t now = 1000 * S;

    for (int i = 0; i < LOGIN_FREE_PAIR; i++)
        CHECK(try(l, "alice", "10.0.0.1", now) == 0);
    for (int i = 0; i < 9; i++) {
        int64_t wait = try(l, "alice", "10.0.0.1", now);

        CHECK(wait == S << i);
        CHECK(try(l, "alice", "10.0.0.1", now + wait - 1) == 1);
        now += wait;
        CHECK(try(l, "alice", "10.0.0.1", now) == 0);
    }
    CHECK(try(l, "alice", "10.0.0.1", now) == S << 9);
    now += S << 9;
    CHECK(try(l, "alice", "10.0.0.1", now) == 0);
    CHECK(try(l, "alice", "10.0.0.1", now) == LOGIN_WAIT_MOST_US);
    now += LOGIN_WAIT_MOST_US; /* it is forgotten */
    for (int i = 0; i < LOGIN_FREE_PAIR; i++)
        CHECK(try(l, "alice", "10.0.0.1", now) == 0);
}

TEST(login_limit_is_not_forgotten_by_trying_on)
{
    AUTO(drop) struct login_limit *l = login_limit_new();
    int64_t now = 1000 * S;
    char name[20];

    for (int i = 0; i < LOGIN_FREE_ADDRESS; i++) {
        (void)snprintf(name, sizeof name, "user%d", i);
        CHECK(try(l, name, "10.0.0.1", now) == 0);
    }
    for (int i = 0; i < 50000; i++) {
        (void)snprintf(name, sizeof name, "other%d", i);
        if (try(l, name, "10.0.0.1", now + i) == 0) {
            CHECK(!"the wait is over");
            break;
        }
    }
}

TEST(login_limit_is_not_lowered_by_ones_own_account)
{
    AUTO(drop) struct login_limit *l = login_limit_new();
    int64_t now = 1000 * S;
    char name[20];
    int tries = 0;

    for (; tries < 200; tries++, now += S) {
        (void)snprintf(name, sizeof name, "user%d", tries);
        if (try(l, name, "10.0.0.1", now) > 0)
            break;
        CHECK(try(l, "mallory", "10.0.0.1", now) == 0);
        login_limit_worked(l, STR("mallory"), STR("10.0.0.1"), now);
    }
    CHECK(tries <= LOGIN_FREE_ADDRESS + 1);
}

TEST(login_limit_is_the_strangers_alone)
{
    AUTO(drop) struct login_limit *l = login_limit_new();
    int64_t now = 1000 * S;

    for (int i = 0; i < 100; i++)
        (void)try(l, "alice", "10.0.0.1", now + i);
    CHECK(try(l, "alice", "10.0.0.1", now + 200) > 0);
    CHECK(try(l, "alice", "10.0.0.2", now + 200) == 0);
    CHECK(try(l, "bob", "10.0.0.1", now + 200) == 0);
}

TEST(login_limit_counts_all_accounts_of_an_address)
{
    AUTO(drop) struct login_limit *l = login_limit_new();
    int64_t now = 1000 * S;
    char name[20];
    int tries = 0;

    for (int i = 0; i < 100; i++) {
        (void)snprintf(name, sizeof name, "user%d", i);
        tries += try(l, name, "10.0.0.1", now) == 0;
    }
    CHECK(tries == LOGIN_FREE_ADDRESS);
}

TEST(login_limit_lets_in_who_was_there_before)
{
    AUTO(drop) struct login_limit *l = login_limit_new();
    int64_t now = 1000 * S;
    char name[20];

    CHECK(try(l, "alice", "10.0.0.1", now) == 0);
    login_limit_worked(l, STR("alice"), STR("10.0.0.1"), now);
    for (int i = 0; i < 1000; i++) { /* somebody else at the same address */
        (void)snprintf(name, sizeof name, "user%d", i);
        (void)try(l, name, "10.0.0.1", now);
    }
    CHECK(try(l, "dave", "10.0.0.1", now) > 0);
    CHECK(try(l, "alice", "10.0.0.1", now) == 0);
    for (int i = 0; i < 100; i++) /* even as alice */
        (void)try(l, "alice", "10.0.0.1", now);
    CHECK(try(l, "alice", "10.0.0.1", now) == S);
    CHECK(try(l, "alice", "10.0.0.1", now + S) == 0);
    CHECK(try(l, "alice", "10.0.0.1", now + S) > 0);
    CHECK(try(l, "alice", "10.0.0.1", now + 3600 * S) == 0);
}

TEST(login_limit_does_not_count_what_worked)
{
    AUTO(drop) struct login_limit *l = login_limit_new();
    int64_t now = 1000 * S;
    char name[20];

    for (int i = 0; i < 1000; i++) { /* an office */
        (void)snprintf(name, sizeof name, "user%d", i);
        CHECK(try(l, name, "10.0.0.1", now) == 0);
        login_limit_worked(l, str_of(name), STR("10.0.0.1"), now);
    }
}

TEST(login_limit_takes_a_network_of_ipv6_for_one)
{
    AUTO(drop) struct login_limit *l = login_limit_new();
    int64_t now = 1000 * S;
    char address[60];

    for (int i = 0; i < LOGIN_FREE_PAIR; i++) {
        (void)snprintf(address, sizeof address, "2001:db8:1:2::%x", (unsigned)i);
        CHECK(try(l, "alice", address, now) == 0);
    }
    CHECK(try(l, "alice", "2001:db8:1:2:ffff::1", now) > 0);
    CHECK(try(l, "alice", "2001:db8:1:3::1", now) == 0);
    for (int i = 0; i < LOGIN_FREE_PAIR; i++)
        CHECK(try(l, "alice", "::ffff:10.0.0.1", now) == 0);
    CHECK(try(l, "alice", "10.0.0.1", now) > 0);
    CHECK(try(l, "alice", "no address at all, and a long one at that, longer than any", now) == 0);
}

TEST(login_limit_forgets_the_oldest)
{
    AUTO(drop) struct login_limit *l = login_limit_new();
    char address[60];

    for (int i = 0; i < 50000; i++) { /* from everywhere; memory does not grow */
        (void)snprintf(address, sizeof address, "10.%d.%d.1", i >> 8, i & 255);
        CHECK(try(l, "alice", address, 1000 * S + i) == 0);
    }
}

TEST(login_limit_takes_a_try_back_that_was_not_made)
{
    AUTO(drop) struct login_limit *l = login_limit_new();
    int64_t now = 1000 * S;

    for (int i = 0; i < 1000; i++) {
        CHECK(try(l, "alice", "10.0.0.1", now) == 0);
        login_limit_undo(l, STR("alice"), STR("10.0.0.1"));
    }
    for (int i = 0; i < LOGIN_FREE_PAIR; i++)
        CHECK(try(l, "alice", "10.0.0.1", now) == 0);
    CHECK(try(l, "alice", "10.0.0.1", now) == S); /* ... and no more than these */
    now += S;
    CHECK(try(l, "alice", "10.0.0.1", now) == 0);
    login_limit_undo(l, STR("alice"), STR("10.0.0.1"));
    CHECK(try(l, "alice", "10.0.0.1", now) == 0); /* the wait of the try is taken back with it */
    CHECK(try(l, "alice", "10.0.0.1", now) == 2 * S);
}

TEST(login_limit_takes_a_try_of_a_known_pair_back)
{
    AUTO(drop) struct login_limit *l = login_limit_new();
    int64_t now = 1000 * S;

    CHECK(try(l, "alice", "10.0.0.1", now) == 0);
    login_limit_worked(l, STR("alice"), STR("10.0.0.1"), now);
    for (int i = 0; i < 3 * LOGIN_KNOWN_BURST; i++) {
        CHECK(try(l, "alice", "10.0.0.1", now) == 0);
        login_limit_undo(l, STR("alice"), STR("10.0.0.1"));
    }
}

int main(void)
{
    return test_main();
}
