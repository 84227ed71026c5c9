/* Changes under an id of their caller: begun once, answered as often as they are asked. */
#include "store/audit/once.h"

#include <stdio.h>

#include "base/auto.h"
#include "store_test.h"

static enum once_state begin(struct store *s, const char *who, const char *client, const char *what,
                             struct arena *a, struct once_found *ret)
{
    struct once_id id = { .who = str_of(who), .client = str_of(client) };
    struct sha256 question = digest_of(str_of(what));
    struct err err = { 0 };

    if (!once_begin(s, &id, &question, a, ret, &err))
        (void)printf("# %s\n", err.text);
    return ret->state;
}

TEST(a_change_is_done_once)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct once_id id = { .who = STR("ann"), .client = STR("c1") };
    struct once_found f;
    struct err err = { 0 };

    CHECK(s != NULL && begin(s, "ann", "c1", "add 1", &a, &f) == ONCE_NEW);
    CHECK(begin(s, "ann", "c1", "add 1", &a, &f) == ONCE_BEGUN && f.age_us >= 0);
    CHECK(begin(s, "ann", "c1", "add 2", &a, &f) == ONCE_OTHER);
    CHECK(begin(s, "bob", "c1", "add 2", &a, &f) == ONCE_NEW); /* each has ids of its own */
    CHECK(once_end(s, &id, STR("{\"n\":1}"), &err));
    CHECK(once_end(s, &id, STR("later"), &err)); /* the first answer stays */
    CHECK(begin(s, "ann", "c1", "add 1", &a, &f) == ONCE_DONE && str_is(f.answer, "{\"n\":1}"));
    CHECK(begin(s, "ann", "c1", "add 2", &a, &f) == ONCE_OTHER);
    CHECK(once_drop(s, &id, &err)); /* what was done is not forgotten */
    store_close(s);
    s = open_store(&h);
    CHECK(s != NULL && begin(s, "ann", "c1", "add 1", &a, &f) == ONCE_DONE);
    CHECK(str_is(f.answer, "{\"n\":1}"));
    store_close(s);
}

TEST(a_change_that_failed_may_be_asked_again)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    AUTO(arena_done) struct arena a = ARENA_INIT(4 << 20);
    struct once_id id = { .who = STR("ann"), .client = STR("c") };
    AUTO(buf_done) struct buf large = BUF_INIT(ONCE_ANSWER_MOST + 1);
    struct once_found f;
    struct err err = { 0 };

    CHECK(s != NULL && begin(s, "ann", "c", "q", &a, &f) == ONCE_NEW);
    CHECK(once_drop(s, &id, &err) && begin(s, "ann", "c", "other", &a, &f) == ONCE_NEW);
    CHECK(once_end(s, &id, (struct str){ 0 }, &err)); /* done, and its answer is a secret */
    CHECK(begin(s, "ann", "c", "other", &a, &f) == ONCE_DONE && f.answer.ptr == NULL);

    id.client = STR("d");
    CHECK(begin(s, "ann", "d", "q", &a, &f) == ONCE_NEW);
    for (size_t i = 0; i <= ONCE_ANSWER_MOST; i++)
        buf_putc(&large, 'x');
    CHECK(once_end(s, &id, buf_view(&large), &err)); /* too long to be kept */
    CHECK(begin(s, "ann", "d", "q", &a, &f) == ONCE_DONE && f.answer.ptr == NULL);
    store_close(s);
}

TEST(ids_are_forgotten_after_a_day)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct once_found f;

    CHECK(s != NULL && begin(s, "ann", "old", "q", &a, &f) == ONCE_NEW);
    CHECK(begin(s, "ann", "new", "q", &a, &f) == ONCE_NEW);
    CHECK(tell(&h, "UPDATE once SET made_us = made_us - 86401000000 WHERE client = 'old'"));
    CHECK(begin(s, "ann", "old", "another", &a, &f) == ONCE_NEW);
    CHECK(begin(s, "ann", "new", "q", &a, &f) == ONCE_BEGUN);
    CHECK(ask(&h, "SELECT count(*) FROM once") == 2);
    store_close(s);
}

STORE_TEST_MAIN
