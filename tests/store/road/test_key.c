#include <pthread.h>
#include <stdio.h>

#include "base/auto.h"
#include "store_test.h"

#define DAY_US (INT64_C(86400) * CLOCK_S)

static struct store *open_with_keys(const struct home *h)
{
    struct store *s = open_store(h);
    struct err err = { 0 };

    if (s != NULL && !accept_keep_tables(s, DAY_US, &err))
        printf("# key tables: %s\n", err.text);
    return err.kind == ERR_NONE ? s : NULL;
}

/* proves: IN6 */
TEST(the_same_key_and_body_gives_the_first_answer)
{
    struct home h = fresh_home();
    struct store *s = open_with_keys(&h);
    struct accept_op first = keyed_doc(STR("order 1"), "k1", DAY_US), other;

    CHECK(s != NULL && accept_doc(s, &first) && first.result == ACCEPT_STORED);
    for (int i = 0; i < 3; i++) {
        struct accept_op again = keyed_doc(STR("order 1"), "k1", DAY_US);

        CHECK(accept_doc(s, &again) && again.result == ACCEPT_REPEATED);
        CHECK(id_eq(&again.id, &first.id));
    }
    other = keyed_doc(STR("order 1"), "k2", DAY_US);
    CHECK(accept_doc(s, &other) && other.result == ACCEPT_STORED && !id_eq(&other.id, &first.id));
    store_close(s);
    s = open_with_keys(&h);
    other = keyed_doc(STR("order 1"), "k1", DAY_US);
    CHECK(s != NULL && accept_doc(s, &other));
    CHECK(other.result == ACCEPT_REPEATED && id_eq(&other.id, &first.id));
    CHECK(ask(&h, "SELECT count(*) FROM doc") == 2);
    CHECK(places(s).ready == 2);
    store_close(s);
}

/* proves: IN6 */
TEST(the_same_key_with_another_body_is_refused)
{
    struct home h = fresh_home();
    struct store *s = open_with_keys(&h);
    struct accept_op first = keyed_doc(STR("order 1"), "k", DAY_US);
    struct accept_op other = keyed_doc(STR("order 2"), "k", DAY_US);

    CHECK(s != NULL && accept_doc(s, &first) && accept_doc(s, &other));
    CHECK(other.result == ACCEPT_KEY_DIFFERS && id_eq(&other.id, &first.id));
    CHECK(ask(&h, "SELECT count(*) FROM doc") == 1);
    CHECK(ask(&h, "SELECT CAST(sum(n) AS BIGINT) FROM tally WHERE kind = 1") == 1);
    store_close(s);
}

/* proves: IN6 EN3 */
TEST(twins_in_one_group_make_one_document)
{
    struct home h = fresh_home();
    struct store *s = open_with_keys(&h);
    struct accept_op ops[8];
    int stored = 0, repeated = 0, differ = 0;

    CHECK(s != NULL);
    for (int i = 0; i < 8; i++)
        ops[i] = keyed_doc(i == 5 ? STR("other") : STR("same"), i == 7 ? "alone" : "twin", DAY_US);
    CHECK(accept_docs(s, ops, 8));
    for (int i = 0; i < 7; i++) {
        stored += ops[i].result == ACCEPT_STORED;
        repeated += ops[i].result == ACCEPT_REPEATED;
        differ += ops[i].result == ACCEPT_KEY_DIFFERS;
        CHECK(id_eq(&ops[i].id, &ops[0].id));
    }
    CHECK(stored == 1 && repeated + differ == 6);
    CHECK(ops[7].result == ACCEPT_STORED && !id_eq(&ops[7].id, &ops[0].id));
    CHECK(ask(&h, "SELECT count(*) FROM doc") == 2);
    store_close(s);
}

/* A body that is stored nowhere must not be taken for repeated, only because another
 * request in the group has the same one. */
TEST(twins_of_a_known_key_are_compared_with_what_is_stored)
{
    struct home h = fresh_home();
    struct store *s = open_with_keys(&h);
    struct accept_op first = keyed_doc(STR("stored"), "k", DAY_US), ops[9];

    CHECK(s != NULL && accept_doc(s, &first));
    for (int i = 0; i < 9; i++)
        ops[i] = keyed_doc(i % 3 == 2 ? STR("stored") : STR("other"), "k", DAY_US);
    CHECK(accept_docs(s, ops, 9));
    for (int i = 0; i < 9; i++) {
        CHECK(ops[i].result == (i % 3 == 2 ? ACCEPT_REPEATED : ACCEPT_KEY_DIFFERS));
        CHECK(id_eq(&ops[i].id, &first.id));
    }
    CHECK(ask(&h, "SELECT count(*) FROM doc") == 1);
    store_close(s);
}

TEST(a_key_that_is_over_is_new_again)
{
    struct home h = fresh_home();
    struct store *s = open_with_keys(&h);
    struct accept_op first = keyed_doc(STR("a"), "k", 1), second = keyed_doc(STR("b"), "k", DAY_US);
    struct accept_op third = keyed_doc(STR("b"), "k", DAY_US);

    CHECK(s != NULL && accept_doc(s, &first));
    clock_sleep_us(2 * CLOCK_MS);
    CHECK(accept_doc(s, &second) && second.result == ACCEPT_STORED);
    CHECK(accept_doc(s, &third) && third.result == ACCEPT_REPEATED);
    CHECK(id_eq(&third.id, &second.id));
    store_close(s);
}

/* Keys of different periods lie in different tables. */
TEST(keys_of_any_period_are_found)
{
    struct home h = fresh_home();
    struct store *s = open_with_keys(&h);
    char key[20];

    CHECK(s != NULL);
    for (int round = 0; round < 2; round++)
        for (int i = 1; i <= 12; i++) {
            (void)snprintf(key, sizeof key, "k%d", i);
            struct accept_op op = keyed_doc(STR("x"), key, DAY_US * i / 12);

            op.key_period_us = DAY_US * i / 12;
            CHECK(accept_doc(s, &op));
            CHECK(op.result == (round == 0 ? ACCEPT_STORED : ACCEPT_REPEATED));
        }
    /* Asked for with another period every one of them is found. */
    for (int i = 1; i <= 12; i++) {
        (void)snprintf(key, sizeof key, "k%d", i);
        struct accept_op op = keyed_doc(STR("x"), key, i % 2 == 0 ? DAY_US : CLOCK_S);

        CHECK(accept_doc(s, &op) && op.result == ACCEPT_REPEATED);
    }
    CHECK(ask(&h, "SELECT count(*) FROM doc") == 12);
    store_close(s);
}

/* More would end the node, and keep it from starting. */
TEST(tables_of_keys_are_not_without_number)
{
    struct home h = fresh_home();
    struct store *s = open_with_keys(&h);
    struct err err = { 0 };

    CHECK(s != NULL && accept_keep_tables(s, 60 * DAY_US, &err));
    struct accept_op first = keyed_doc(STR("order 1"), "k1", 59 * DAY_US);
    struct accept_op again = keyed_doc(STR("order 1"), "k1", 59 * DAY_US);

    CHECK(accept_doc(s, &first) && first.result == ACCEPT_STORED);
    CHECK(accept_doc(s, &again) && again.result == ACCEPT_REPEATED && id_eq(&again.id, &first.id));
    int64_t tables = ask(&h, "SELECT count(*) FROM part WHERE family = 1");

    CHECK(!accept_keep_tables(s, 200 * DAY_US, &err) && err.kind == ERR_LIMIT);
    CHECK(strstr(err.text, "shorten `idempotency`") != NULL);
    CHECK(ask(&h, "SELECT count(*) FROM part WHERE family = 1") == tables);
    store_close(s);
    s = open_with_keys(&h);
    CHECK(s != NULL);
    store_close(s);
}

/* As behind a clock that ran ahead and was set right. */
TEST(postgres_a_gap_between_tables_of_keys_is_closed)
{
    struct home h = fresh_home();
    struct store *s = open_with_keys(&h);
    struct accept_op first = keyed_doc(STR("order 1"), "k1", DAY_US);
    struct err err = { 0 };
    char drop[64], forget[64];

    CHECK(s != NULL && accept_keep_tables(s, 9 * DAY_US, &err));
    int64_t gap = ask(&h, "SELECT max(slot) - 10 FROM part WHERE family = 1");

    (void)snprintf(drop, sizeof drop, "DROP TABLE idem_%lld", (long long)gap);
    (void)snprintf(forget, sizeof forget, "DELETE FROM part WHERE family = 1 AND slot = %lld",
                   (long long)gap);
    CHECK(tell(&h, drop) && tell(&h, forget));
    CHECK(accept_keep_tables(s, DAY_US, &err));
    CHECK(accept_doc(s, &first) && first.result == ACCEPT_STORED);
    store_close(s);
}

TEST(tables_of_keys_that_are_over_go)
{
    struct home h = fresh_home();
    struct store *s = open_with_keys(&h);
    struct err err = { 0 };

    CHECK(s != NULL);
    int64_t tables = ask(&h, "SELECT count(*) FROM part WHERE family = 1");

    CHECK(tables >= 7);
    CHECK(tell(&h, "CREATE TABLE idem_5(key TEXT)") &&
          tell(&h, "INSERT INTO part(family, slot) VALUES (1, 5)"));
    CHECK(accept_keep_tables(s, DAY_US, &err));
    CHECK(ask(&h, "SELECT count(*) FROM part WHERE family = 1") == tables);
    CHECK(!tell(&h, "INSERT INTO idem_5(key) VALUES ('x')"));
    store_close(s);
}

/* ---- many at once ---- */

enum { THREADS = 16, KEYS = 60 };

static struct sender {
    pthread_t thread;
    struct store *store;
    int64_t period_us;
    int stored[KEYS];
    struct id ids[KEYS];
    bool ok;
} senders[THREADS];

static void *send_all(void *arg)
{
    struct sender *me = arg;
    char key[20], body[20];

    me->ok = true;
    for (int i = 0; i < KEYS; i++) {
        (void)snprintf(key, sizeof key, "key %d", i);
        (void)snprintf(body, sizeof body, "body %d", i);
        struct accept_op op = keyed_doc(str_of(body), key, me->period_us);
        bool ok = accept_doc(me->store, &op);

        if (!ok)
            printf("# send: %s\n", op.op.err.text);
        me->ok = me->ok && ok && op.result != ACCEPT_KEY_DIFFERS;
        me->stored[i] = op.result == ACCEPT_STORED;
        me->ids[i] = op.id;
    }
    return NULL;
}

/* Every other one by a store, and a period, of its own. */
static bool send_from_all(struct store *a, int64_t period_a_us, struct store *b,
                          int64_t period_b_us)
{
    bool ok = true;

    for (int t = 0; t < THREADS; t++) {
        senders[t].store = t % 2 == 0 ? a : b;
        senders[t].period_us = t % 2 == 0 ? period_a_us : period_b_us;
        ok = ok && pthread_create(&senders[t].thread, NULL, send_all, &senders[t]) == 0;
    }
    for (int t = 0; t < THREADS; t++) {
        (void)pthread_join(senders[t].thread, NULL);
        ok = ok && senders[t].ok;
    }
    for (int i = 0; i < KEYS; i++) {
        int stored = 0;

        for (int t = 0; t < THREADS; t++) {
            stored += senders[t].stored[i];
            ok = ok && id_eq(&senders[t].ids[i], &senders[0].ids[i]);
        }
        ok = ok && stored == 1;
    }
    return ok;
}

/* proves: IN6 EN3 */
TEST(many_senders_with_one_key_make_one_document)
{
    struct home h = fresh_home();
    struct store *s = open_with_keys(&h);

    CHECK(s != NULL && send_from_all(s, DAY_US, s, DAY_US));
    CHECK(ask(&h, "SELECT count(*) FROM doc") == KEYS);
    CHECK(ask(&h, "SELECT count(*) FROM task_ready") == KEYS);
    store_close(s);
}

/* proves: IN6 EN3 PR15 */
TEST(postgres_two_nodes_and_one_key_make_one_document)
{
    struct home h = fresh_home(), other = home_beside(&h);
    struct store *a = open_with_keys(&h), *b = open_with_keys(&other);

    CHECK(a != NULL && b != NULL && send_from_all(a, DAY_US, b, DAY_US));
    CHECK(ask(&h, "SELECT count(*) FROM doc") == KEYS);
    CHECK(ask(&h, "SELECT count(*) FROM payload_0") == KEYS);
    store_close(a);
    store_close(b);
}

/* Two that come at once while the time of another table begins: one is over in the one table, one
 * in the other.
 * proves: IN6 EN3 PR15 */
TEST(postgres_one_key_in_two_tables_makes_one_document)
{
    const int64_t table = INT64_C(4) * 3600 * CLOCK_S; /* accept.c: KEY_TABLE_US */
    struct home h = fresh_home(), other = home_beside(&h);
    struct store *a = open_with_keys(&h), *b = open_with_keys(&other);
    int64_t edge = 2 * table - clock_wall_us() % table;

    CHECK(a != NULL && b != NULL);
    CHECK(send_from_all(a, edge - 55 * CLOCK_S, b, edge + CLOCK_S));
    CHECK(ask(&h, "SELECT count(*) FROM doc") == KEYS);
    store_close(a);
    store_close(b);
}

STORE_TEST_MAIN
