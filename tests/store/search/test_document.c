/* Looking at documents while they come, while the index runs behind, and when they ended. */
#include <pthread.h>
#include <stdio.h>

#include "base/auto.h"
#include "store/search/index.h"
#include "store_test.h"

/* How many documents a list shows, page by page; -1 when a page fails or one comes twice. */
static int list_all(struct store *s, const struct document_filter *f, size_t page)
{
    int64_t below = 0, last = INT64_MAX;
    int n = 0;

    do {
        AUTO(arena_done) struct arena a = ARENA_INIT(16 << 20);
        struct document docs[DOCUMENTS_PAGE_MOST];
        struct err err = { 0 };
        size_t count = 0;

        if (!document_list(s, f, below, page, &a, docs, &count, &below, &err)) {
            printf("# list: %s\n", err.text);
            return -1;
        }
        for (size_t i = 0; i < count; i++) {
            if (docs[i].source.num >= last || (f->gateway != 0 && docs[i].gateway != f->gateway))
                return -1;
            last = docs[i].source.num;
        }
        n += (int)count;
    } while (below != 0);
    return n;
}

static bool accept_of(struct store *s, int64_t gateway, int count)
{
    static struct accept_op ops[500];

    for (int i = 0; i < count; i++) {
        ops[i] = doc_of(STR("x"));
        ops[i].gateway = gateway;
    }
    return accept_docs(s, ops, (size_t)count);
}

/* Every document is found at every moment: by the index, or as a row above its watermark. */
TEST(a_document_is_found_as_soon_as_it_is_stored)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct document_filter of1 = { .gateway = 1 }, of2 = { .gateway = 2 }, any = { 0 };

    CHECK(s != NULL);
    for (int round = 1; round <= (on_sqlite() ? 25 : 8); round++) {
        CHECK(accept_of(s, 1, 200) && accept_of(s, 2, 7));
        CHECK(list_all(s, &of1, 200) == 200 * round);
        CHECK(list_all(s, &of2, 50) == 7 * round);
        CHECK(list_all(s, &any, 150) == 207 * round);
        if (round % 5 == 0)
            clock_sleep_us(INDEX_EVERY_US);
    }
    store_close(s);
}

static struct {
    pthread_t thread;
    struct store *store;
    _Atomic int stored; /* at least so many are there */
    _Atomic bool stop, ok;
} sender;

static void *send_main(void *arg)
{
    (void)arg;
    while (!sender.stop && sender.ok) {
        sender.ok = accept_of(sender.store, 1, 100);
        sender.stored += 100;
    }
    return NULL;
}

TEST(nothing_is_invisible_while_the_index_moves)
{
    struct home h = fresh_home();
    struct document_filter of1 = { .gateway = 1 };

    sender.store = open_store(&h);
    CHECK(sender.store != NULL);
    sender.stored = 0;
    sender.stop = false;
    sender.ok = true;
    CHECK(pthread_create(&sender.thread, NULL, send_main, NULL) == 0);
    bool ok = true;

    for (int i = 0; i < 30 && ok; i++) {
        int sure = sender.stored;
        int seen = list_all(sender.store, &of1, 200);

        ok = seen >= sure;
        if (!ok)
            printf("# %d stored, %d seen\n", sure, seen);
        if (sender.stored > 4000)
            break;
    }
    sender.stop = true;
    (void)pthread_join(sender.thread, NULL);
    CHECK(ok && sender.ok);
    store_close(sender.store);
}

TEST(sqlite_the_index_catches_up_and_its_watermark_with_it)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t behind = 1;

    CHECK(s != NULL && accept_many(s, 0, 5000, 500));
    for (int i = 0; i < 3000 && behind > 0; i++) {
        clock_sleep_us(20 * CLOCK_MS);
        behind =
            ask(&h, "SELECT count(*) FROM doc WHERE num > (SELECT value FROM mark WHERE name = "
                    "'indexed')");
    }
    CHECK(behind == 0);
    CHECK(ask(&h, "SELECT count(*) FROM facet") < 500); /* lists: one for each slice and word */
    struct document_filter of1 = { .gateway = 1 };

    CHECK(list_all(s, &of1, 200) == list_all(s, &(struct document_filter){ 0 }, 200));
    store_close(s);
}

TEST(an_ended_document_is_still_found)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op ops[10];
    struct document_filter any = { 0 }, of1 = { .gateway = 1 },
                           ended = { .state = STR("delivered") };
    struct document d;
    struct err err = { 0 };

    CHECK(s != NULL);
    for (int i = 0; i < 10; i++)
        ops[i] = doc_of(STR("ends"));
    CHECK(accept_docs(s, ops, 10));
    for (int i = 0; i < 10; i += 2)
        CHECK(document_end(s, ops[i].num, DOCUMENT_DELIVERED, 1 + i / 4, &err));
    CHECK(!document_end(s, ops[0].num, DOCUMENT_DELIVERED, 1, &err));
    CHECK(list_all(s, &any, 3) == 10 && list_all(s, &of1, 3) == 10 && list_all(s, &ended, 3) == 5);
    err = (struct err){ 0 };
    CHECK(document_get(s, &ops[4].id, &a, &d, &err) && str_is(d.state, "delivered"));
    CHECK(document_get(s, &ops[5].id, &a, &d, &err) && str_is(d.state, "received"));
    CHECK(payload_is(s, &ops[4], STR("ends")));
    store_close(s);
}

/* Whoever ends documents of one day first makes its table; the others wait for it. */
TEST(postgres_two_nodes_end_documents_of_one_day)
{
    enum { COUNT = 40 };
    struct home h = fresh_home(), other = home_beside(&h);
    struct store *a = open_store(&h), *b = open_store(&other);
    static struct accept_op ops[COUNT];
    struct err err = { 0 };

    CHECK(a != NULL && b != NULL);
    for (int i = 0; i < COUNT; i++)
        ops[i] = doc_of(STR("ends"));
    CHECK(accept_docs(a, ops, COUNT));
    for (int i = 0; i < COUNT; i++)
        CHECK(document_end(i % 2 == 0 ? a : b, ops[i].num, DOCUMENT_DELIVERED, i / 4, &err));
    CHECK(ask(&h, "SELECT count(*) FROM doc") == 0);
    CHECK(ask(&h, "SELECT count(*) FROM part WHERE family = 2") == COUNT / 4);
    struct document_filter any = { 0 };

    CHECK(list_all(b, &any, 7) == COUNT);
    store_close(a);
    store_close(b);
}

/* What a document is asked for while its sender waits for the receiver. */
TEST(documents_that_have_come_to_an_end_are_told_from_others)
{
    enum { DOCS = 6, NOBODY = DOCS, ASKED };
    static const struct {
        enum settle_outcome end;
        enum delivery_state states[2];
        size_t count;
        bool is_live, has_end;
    } cases[DOCS] = {
        { SETTLE_AGAIN, { 0 }, 0, true, false },
        { SETTLE_DELIVERIES, { DELIVERY_READY, DELIVERY_RETRYING }, 2, true, false },
        { SETTLE_DELIVERIES, { DELIVERY_IN_DOUBT }, 1, true, false },
        { SETTLE_DELIVERIES, { DELIVERY_RETRYING, DELIVERY_DELIVERED }, 2, true, true },
        { SETTLE_DELIVERIES, { DELIVERY_DEAD }, 1, true, true },
        { SETTLE_OVER, { 0 }, 0, false, false },
    };
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op docs[DOCS];
    struct document_stand stands[ASKED] = { { 0 } };
    struct err err = { 0 };

    CHECK(s != NULL);
    for (size_t i = 0; i < DOCS; i++)
        docs[i] = doc_of(STR("x"));
    CHECK(born_docs(s, docs, DOCS));
    for (size_t i = 0; i < DOCS; i++) {
        struct settle_op op = settle_of(&docs[i].task, docs[i].num, cases[i].end);
        struct settle_delivery parts[2];
        char ids[2][32];

        for (size_t k = 0; k < cases[i].count; k++) {
            (void)snprintf(ids[k], sizeof ids[k], "d%zu.%zu", i, k);
            parts[k] = part_of(str_of(ids[k]), QUEUE_DELIVERIES, cases[i].states[k]);
        }
        op.parts = parts;
        op.part_count = cases[i].count;
        op.due_us = clock_wall_us() + INT64_C(3600) * CLOCK_S;
        CHECK(settle_ops(s, &op, 1) && op.ours);
        stands[i].num = docs[i].num;
    }
    stands[NOBODY].num = INT64_MAX / 2;
    CHECK(document_stands(s, stands, ASKED, &err));
    for (size_t i = 0; i < DOCS; i++)
        CHECK(stands[i].is_live == cases[i].is_live && stands[i].has_end == cases[i].has_end);
    CHECK(!stands[NOBODY].is_live && !stands[NOBODY].has_end);
    CHECK(document_stands(s, stands, 0, &err));
    store_close(s);
}

STORE_TEST_MAIN
