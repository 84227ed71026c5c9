#include <stdio.h>
#include <stdlib.h>

#include "base/auto.h"
#include "store_test.h"

/* Every document that the filter lets through, page by page; -1 on an error or when one
 * comes twice or out of order. */
static int walk(struct store *s, const struct document_filter *f, size_t page)
{
    static struct document docs[DOCUMENTS_PAGE_MOST];
    int64_t below = 0, last = INT64_MAX;
    int seen = 0;

    do {
        AUTO(arena_done) struct arena a = ARENA_INIT(8 << 20);
        struct err err = { 0 };
        size_t n;

        if (!document_list(s, f, below, page, &a, docs, &n, &below, &err)) {
            printf("# list: %s\n", err.text);
            return -1;
        }
        for (size_t i = 0; i < n; i++, seen++) {
            if (docs[i].source.num >= last)
                return -1;
            last = docs[i].source.num;
        }
    } while (below != 0);
    return seen;
}

/* Every tenth document is named "rare": a page of those looks at many windows. */
static bool accept_named(struct store *s, int count, int64_t gateway, struct accept_op *ops)
{
    for (int i = 0; i < count; i++) {
        ops[i] = doc_of(STR("x"));
        ops[i].gateway = gateway;
        ops[i].name = i % 10 == 1 ? STR("rare") : STR("usual");
    }
    return accept_docs(s, ops, (size_t)count);
}

TEST(a_list_leaves_nothing_out)
{
    enum { N = 1800 };
    static struct accept_op ops[N];
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct document_filter any = { 0 }, one = { .gateway = 3 }, rare = { .gateway = 3 };

    rare.name = STR("rare");
    CHECK(s != NULL && accept_named(s, N, 3, ops) && accept_named(s, 10, 4, ops));
    CHECK(walk(s, &any, 200) == N + 10 && walk(s, &any, 7) == N + 10);
    CHECK(walk(s, &one, 200) == N);
    CHECK(walk(s, &rare, 200) == N / 10 && walk(s, &rare, 13) == N / 10);
    store_close(s);
}

static bool index_is_complete(const struct home *h)
{
    const char *left = "SELECT count(*) FROM doc WHERE num > (SELECT value FROM mark WHERE name = "
                       "'indexed')";

    for (int i = 0; i < 3000 && ask(h, left) > 0; i++)
        clock_sleep_us(10 * CLOCK_MS);
    return ask(h, left) == 0;
}

/* More than a window of live rows above the index, as in a busy hour. */
TEST(sqlite_a_list_leaves_nothing_out_while_the_index_lags)
{
    enum { N = 1800, INDEXED = 700 };
    static struct accept_op ops[N];
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct document_filter rare = { .gateway = 3, .name = STR("rare") };

    CHECK(s != NULL && accept_named(s, INDEXED, 3, ops) && index_is_complete(&h));
    CHECK(accept_named(s, N - INDEXED, 3, ops) && index_is_complete(&h));
    CHECK(tell(&h, "UPDATE mark SET value = 700 WHERE name = 'indexed'") &&
          tell(&h, "DELETE FROM facet WHERE (key & 1099511627775) > 700"));
    CHECK(walk(s, &rare, 200) == N / 10);
    store_close(s);
}

/* A system is the sender of some and the receiver of others. */
TEST(a_list_by_sender_has_none_that_it_received)
{
    enum { N = 300 };
    static struct accept_op ops[N];
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct document_filter sent = { .sender = 77 }, got = { .receiver = 77 };

    CHECK(s != NULL && accept_named(s, N, 3, ops));
    store_close(s);
    CHECK(tell(&h, "UPDATE doc SET sender = CASE WHEN num % 3 = 0 THEN 77 ELSE 5 END, receiver = "
                   "CASE WHEN num % 3 = 0 THEN 5 ELSE 77 END"));
    CHECK(!on_sqlite() || (tell(&h, "UPDATE mark SET value = 0 WHERE name = 'indexed'") &&
                           tell(&h, "DELETE FROM facet")));
    s = open_store(&h);
    CHECK(s != NULL && accept_named(s, 1, 4, ops)); /* the index goes on with the next document */
    for (int round = 0; round < 2; round++) {
        CHECK(walk(s, &sent, 50) == N / 3 && walk(s, &got, 50) == N * 2 / 3);
        CHECK(!on_sqlite() || index_is_complete(&h));
    }
    store_close(s);
}

/* Those that end before their slice of the index comes, and those behind it. */
TEST(a_document_that_ended_stays_in_every_list)
{
    enum { N = 40 };
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct document_filter any = { 0 }, one = { .gateway = 3 };
    struct accept_op op;
    struct err err = { 0 };

    CHECK(s != NULL);
    for (int i = 1; i <= N; i++) {
        CHECK(accept_named(s, 1, 3, &op));
        if (i % 10 == 0)
            clock_sleep_us(100 * CLOCK_MS);
        CHECK(document_end(s, op.num, DOCUMENT_DONE, 10 + i % 3, &err));
        CHECK(walk(s, &one, 50) == i && walk(s, &any, 50) == i);
    }
    clock_sleep_us(100 * CLOCK_MS);
    CHECK(walk(s, &one, 50) == N);
    store_close(s);
    s = open_store(&h);
    CHECK(s != NULL && accept_named(s, 1, 3, &op));
    clock_sleep_us(100 * CLOCK_MS);
    CHECK(walk(s, &one, 50) == N + 1 && walk(s, &any, 50) == N + 1);
    store_close(s);
}

/* Ended documents of several days: each table gets its share of the window. */
TEST(a_list_over_several_days_leaves_nothing_out)
{
    enum { N = 3000, DAYS = 5 };
    static struct accept_op ops[N];
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct document_filter any = { 0 }, rare = { .name = STR("rare") };
    struct err err = { 0 };

    CHECK(s != NULL && accept_named(s, N, 3, ops));
    for (int i = 0; i < DAYS; i++) /* makes the tables */
        CHECK(document_end(s, ops[i].num, DOCUMENT_DONE, i, &err));
    AUTO(buf_done) struct buf sql = BUF_INIT(8000); /* the rest of them at once */

    buf_puts(&sql, "BEGIN;");
    for (int64_t day = clock_wall_us() / (86400 * INT64_C(1000000)), i = 0; i < DAYS; i++)
        buf_printf(&sql,
                   "INSERT INTO done_%lld(num, id, gateway, caller, config, received_us, size, "
                   "sha256, seg, pos, name, ctype, head, state, ended_us, sender, receiver, "
                   "dtype, route, again) SELECT num, id, gateway, caller, config, received_us, "
                   "size, sha256, seg, pos, name, ctype, head, 7, 1, 0, 0, 0, 0, 0 FROM doc "
                   "WHERE num %% %d = %lld;",
                   (long long)(day + i), DAYS, (long long)i);
    buf_puts(&sql, "DELETE FROM doc; COMMIT");
    buf_putc(&sql, '\0');
    CHECK(tell(&h, sql.ptr));
    CHECK(walk(s, &rare, 200) == N / 10 && walk(s, &rare, 7) == N / 10);
    CHECK(walk(s, &any, 200) == N);
    store_close(s);
}

STORE_TEST_MAIN
