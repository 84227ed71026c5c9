/* What MariaDB's driver reads from texts: open transactions, addresses, errors. */
#include <stdio.h>
#include <string.h>

#include "table/mariadb/mariadb.h"

#include "test.h"

static void same_text(const char *is, const char *is_to_be)
{
    if (strcmp(is, is_to_be) != 0)
        (void)fprintf(stderr, "`%s`, not `%s`\n", is, is_to_be);
    CHECK(strcmp(is, is_to_be) == 0);
}

#define HEAD                                                      \
    "------------\nTRANSACTIONS\n------------\n"                  \
    "Trx id counter 52\n"                                         \
    "Purge done for trx's n:o < 49 undo n:o < 0 state: running\n" \
    "LIST OF TRANSACTIONS FOR EACH SESSION:\n"
#define OWN                                                                \
    "---TRANSACTION (0x7fd02c2c4680), ACTIVE 1 sec\n"                      \
    "MariaDB thread id 9, OS thread handle 140532069578432, query id 43\n" \
    "SHOW ENGINE INNODB STATUS\n"
#define END "--------\nFILE I/O\n--------\nEND OF INNODB MONITOR OUTPUT\n"

static bool open_of(const char *text, struct mariadb_writers *ret, struct err *err)
{
    *err = (struct err){ 0 };
    return mariadb_writers_read(str_of(text), 9, ret, err);
}

TEST(mariadb_transactions_that_are_open)
{
    struct mariadb_writers w;
    struct err err;

    CHECK(open_of(HEAD OWN END, &w, &err));
    CHECK(w.next == 52 && w.oldest == UINT64_MAX);
    CHECK(open_of(HEAD "---TRANSACTION 51, ACTIVE 1 sec inserting\n"
                       "MariaDB thread id 8, OS thread handle 1, query id 41\n"
                       "---TRANSACTION 47, ACTIVE (PREPARED) 93 sec\n"
                       "2 lock struct(s)\n"
                       "MariaDB thread id 7, OS thread handle 1, query id 40\n" OWN
                       "---TRANSACTION (0x7fd02c2c4681), not started\n"
                       "---TRANSACTION 46, not started\n" END,
                  &w, &err));
    CHECK(w.oldest == 47 && w.oldest_thread == 7 && w.oldest_us == 93000000);
}

/* A statement of somebody else can add a transaction, and hide none. */
TEST(mariadb_statements_that_look_like_transactions)
{
    struct mariadb_writers w;
    struct err err;

    CHECK(open_of(HEAD OWN "select '\n" END "---TRANSACTION 50, ACTIVE 2 sec\n", &w, &err));
    CHECK(w.oldest == 50);
    CHECK(open_of(HEAD OWN "select '\n---TRANSACTION 3, ACTIVE 2 sec'\n" END, &w, &err));
    CHECK(w.oldest == 3);
}

TEST(mariadb_lists_of_transactions_that_are_not_whole)
{
    struct mariadb_writers w;
    struct err err;

    CHECK(!open_of(HEAD "... truncated...\n" OWN END, &w, &err) && err.kind == ERR_TRANSIENT);
    CHECK(!open_of(HEAD OWN, &w, &err) && err.kind == ERR_PERMANENT);
    CHECK(!open_of(HEAD END, &w, &err) && err.kind == ERR_PERMANENT); /* we are not in it */
    CHECK(!open_of(OWN END, &w, &err) && err.kind == ERR_PERMANENT);
    CHECK(!open_of("", &w, &err) && err.kind == ERR_PERMANENT);
}

static bool place_of(const char *dsn, struct arena *a, struct mariadb_place *ret, struct err *err)
{
    *err = (struct err){ 0 };
    return mariadb_place_read(str_of(dsn), a, ret, err);
}

TEST(mariadb_addresses)
{
    struct arena a = ARENA_INIT(64 << 10);
    struct mariadb_place p;
    struct err err;

    CHECK(place_of("mariadb://me:p%40%2F%3aw+@db.example:3307/shop?ca=/etc/ca.pem", &a, &p, &err));
    same_text(p.user, "me");
    same_text(p.password, "p@/:w+");
    same_text(p.host, "db.example");
    same_text(p.database, "shop");
    CHECK(p.port == 3307 && p.tls && p.verify);
    CHECK(place_of("mariadb://me@/shop?socket=/run/s%20s", &a, &p, &err));
    same_text(p.socket, "/run/s s");
    CHECK(!p.tls);
    CHECK(place_of("mariadb://me@127.0.0.1/shop", &a, &p, &err) && p.port == 3306 && !p.tls);
    CHECK(place_of("mariadb://me@[::1]:3308/shop?tls=on", &a, &p, &err));
    CHECK(p.port == 3308 && p.tls && !p.verify);
    static const char *const bad[] = { "",
                                       "mysql://me@h/d",
                                       "mariadb://me@h",
                                       "mariadb://me@h/",
                                       "mariadb://me@/d",
                                       "mariadb://me:a@b@h/d",
                                       "mariadb://me:%4@h/d",
                                       "mariadb://me:%00@h/d",
                                       "mariadb://me@h:0/d",
                                       "mariadb://me@h:x/d",
                                       "mariadb://me@h/d/e",
                                       "mariadb://me@h/d?tls=maybe",
                                       "mariadb://me@h/d?secret=1" };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK(!place_of(bad[i], &a, &p, &err));
        CHECK(err.kind == ERR_CONFIG);
    }
    arena_done(&a);
}

static const char *said(unsigned number, const char *state, const char *text, struct err *err)
{
    struct database d = { 0 };

    *err = (struct err){ 0 };
    (void)mariadb_fail(&d, number, state, text, err);
    return err->text;
}

/* A value of a row is in none of them. */
TEST(mariadb_errors_without_values)
{
    struct err e;

    same_text(said(1062, "23000", "Duplicate entry 'x for key 'y' for key 'mail'", &e),
              "mail: another row has a value that must be unique (1062)");
    CHECK(e.kind == ERR_PERMANENT);
    same_text(said(1366, "22007",
                   "Incorrect integer value: 's3cret' for column `d`.`t`.`n` at row 1", &e),
              "n: a value of another form (1366)");
    same_text(said(1048, "23000", "Column 'n' cannot be null", &e),
              "n: NULL where none may be (1048)");
    same_text(said(1406, "22001", "Data too long for column 'v' at row 7", &e),
              "v: a value that is too long (1406)");
    CHECK(strstr(said(9999, "22999", "s3cret", &e), "s3cret") == NULL && e.kind == ERR_PERMANENT);
    (void)said(1213, "40001", "Deadlock", &e);
    CHECK(e.kind == ERR_TRANSIENT);
    (void)said(1045, "28000", "Access denied for user 'a'@'b'", &e);
    CHECK(e.kind == ERR_CONFIG);
}

TEST(mariadb_names_of_ours_are_short_enough)
{
    struct arena a = ARENA_INIT(64 << 10);
    struct str table = STR("a_table_whose_name_takes_all_of_the_sixty_four_bytes_that_one_has");
    struct str one = mariadb_own_name("waybill_journal_", str_first(table, 64), &a);
    struct str two = mariadb_own_name("waybill_journal_", str_first(table, 63), &a);
    struct buf sql = BUF_INIT(1000);

    CHECK(one.len == 64 && two.len == 64 && !str_eq(one, two));
    CHECK(str_is(mariadb_own_name("waybill_journal_", STR("short"), &a), "waybill_journal_short"));
    mariadb_put_name(&sql, STR("a`b"));
    mariadb_put_literal(&sql, STR("it's"));
    mariadb_put_literal(&sql, STR("plain"));
    CHECK(str_is(buf_view(&sql), "`a``b`X'69742773''plain'"));
    buf_done(&sql);
    arena_done(&a);
}

int main(void)
{
    return test_main();
}
