/* The doctor's checks: silent about a store that is right, and each wrong is found. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/require.h"
#include "store/road/done.h"
#include "store/watch/check.h"
#include "store_test.h"

enum {
    TRIES = 20,
};

/* How many a check finds; -1: it cannot be run.  A statement that a busy machine makes too late is
 * tried again, as a person would. */
static int64_t bad(struct store *s, const char *name)
{
    struct check_result r = { 0 };
    struct err err = { 0 };
    size_t i = 0;
    int try = 0;

    while (i < check_count() && strcmp(check_name(i), name) != 0)
        i++;
    require(i < check_count());
    do {
        r = (struct check_result){ 0 };
        if (check_run(s, i, true, &r, &err))
            return r.bad;
        printf("# %s: %s\n", name, err.text);
    } while (err.kind == ERR_TRANSIENT && ++try < TRIES);
    return -1;
}

static bool all_good(struct store *s)
{
    bool good = true;

    for (size_t i = 0; i < check_count(); i++)
        if (bad(s, check_name(i)) != 0) {
            printf("# %s\n", check_name(i));
            good = false;
        }
    return good;
}

/* A document in every place: waiting, claimed, due later, dead, with deliveries in every
 * state, and over. */
static bool fill(struct store *s, int64_t doc[static 6])
{
    static struct accept_op docs[6];
    struct err err = { 0 };
    struct settle_bytes bytes = { .bytes = STR("changed"),
                                  .size = 7,
                                  .sha256 = digest_of(STR("changed")) };
    struct settle_delivery parts[7] = { 0 };
    struct settle_op ops[4];
    int64_t q, moved, next;

    for (int i = 0; i < 6; i++) {
        docs[i] = doc_of(STR("looked at"));
        docs[i].claim_wanted = i > 0;
    }
    if (!queue_for(s, 1, 2, &q, &err) || !accept_docs(s, docs, 6))
        return false;
    for (int i = 0; i < 6; i++)
        doc[i] = docs[i].num;
    static const enum delivery_state states[] = { DELIVERY_READY,     DELIVERY_RETRYING,
                                                  DELIVERY_RETRYING,  DELIVERY_IN_DOUBT,
                                                  DELIVERY_DELIVERED, DELIVERY_DEAD,
                                                  DELIVERY_CANCELLED };

    for (int i = 0; i < 7; i++)
        parts[i] = (struct settle_delivery){ .id = STR("D.a"),
                                             .queue = q,
                                             .state = states[i],
                                             .due_us = i == 2 ? 5 : INT64_C(1) << 60,
                                             .bytes = i == 0 ? &bytes : NULL,
                                             .code = i == 5 ? STR("rejected") : STR("") };
    ops[0] = settle_of(&docs[2].task, doc[2], SETTLE_AGAIN);
    ops[0].due_us = INT64_C(1) << 60;
    ops[1] = settle_of(&docs[3].task, doc[3], SETTLE_DEAD);
    ops[1].code = STR("no_route");
    ops[2] = settle_of(&docs[4].task, doc[4], SETTLE_DELIVERIES);
    ops[2].parts = parts;
    ops[2].part_count = 7;
    ops[3] = settle_of(&docs[5].task, doc[5], SETTLE_OVER);
    return settle_ops(s, ops, 4) && task_wake(s, 10, 10, &moved, &next, &err) && moved == 1;
}

TEST(a_store_that_is_right_passes)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t doc[6];

    CHECK(s != NULL && fill(s, doc) && all_good(s));
    store_close(s);
    s = open_store(&h);
    CHECK(s != NULL && all_good(s));
    store_close(s);
}

static int64_t after(const char *name, const char *sql, int at)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t doc[6], found = -2;
    char text[300];

    if (s != NULL && fill(s, doc)) {
        (void)snprintf(text, sizeof text, "%s", sql);
        if (at > 0)
            (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%lld",
                           (long long)doc[at - 1]);
        found = tell(&h, text) ? bad(s, name) : -3;
    }
    store_close(s);
    return found;
}

/* proves: EN1 */
TEST(each_wrong_is_found)
{
    static const struct {
        const char *check, *sql;
        int doc; /* its number ends the statement: from 1, as fill() made them */
    } wrongs[] = {
        { "documents-have-tasks", "DELETE FROM task_ready WHERE id = ", 1 },
        { "documents-have-tasks", "DELETE FROM task_later WHERE id = ", 3 },
        { "documents-have-tasks", "DELETE FROM task_dead WHERE id = ", 4 },
        { "documents-have-tasks", "UPDATE delivery SET state = 5 WHERE doc = ", 5 },
        { "deliveries", "DELETE FROM task_ready WHERE queue > 1000 AND rank = 5" },
        { "deliveries", "DELETE FROM task_later WHERE kind = 2" },
        { "deliveries", "DELETE FROM task_dead WHERE code = 'in_doubt'" },
        { "deliveries", "DELETE FROM task_dead WHERE code = 'rejected'" },
        { "deliveries", "UPDATE delivery SET state = 1 WHERE state = 0" },
        { "deliveries", "UPDATE delivery SET doc = 0 WHERE state = 0" },
        { "deliveries", "UPDATE delivery SET intent_us = 5 WHERE state = 4" },
        { "deliveries", "UPDATE delivery SET intent_us = 5 WHERE state = 5" },
        { "tasks-have-documents", "DELETE FROM doc WHERE num = ", 1 },
        { "tasks-have-documents", "DELETE FROM doc WHERE num = ", 3 },
        { "tasks-have-documents", "DELETE FROM doc WHERE num = ", 4 },
        { "tasks-have-documents", "UPDATE delivery SET state = 6 WHERE state = 0" },
        { "tasks-have-documents", "DELETE FROM delivery WHERE state = 6" },
        { "counts", "DELETE FROM doc WHERE num = ", 5 },
        { "payloads", "UPDATE delivery SET b_size = 3 WHERE b_size = 7" },
    };

    for (size_t i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++) {
        int64_t found = after(wrongs[i].check, wrongs[i].sql, wrongs[i].doc);

        if (found != 1)
            printf("# %s: %s: %lld\n", wrongs[i].check, wrongs[i].sql, (long long)found);
        CHECK(found == 1);
    }
}

struct busy {
    struct store *s;
    atomic_bool over;
    bool ok;
};

/* Documents come and end without a pause, in the tables of many days. */
static void *work(void *arg)
{
    static struct accept_op docs[8];
    static struct settle_op ops[8];
    struct busy *b = arg;
    int64_t day = 0;

    for (b->ok = true; b->ok && day < 8000;) {
        for (int i = 0; i < 8; i++) {
            docs[i] = doc_of(STR("on its way"));
            docs[i].claim_wanted = true;
        }
        b->ok = accept_docs(b->s, docs, 8);
        for (int i = 0; i < 8; i++) {
            ops[i] = settle_of(&docs[i].task, docs[i].num, SETTLE_OVER);
            ops[i].keep_days = day++ % 40;
        }
        b->ok = b->ok && settle_ops(b->s, ops, 8);
    }
    b->over = true;
    return NULL;
}

/* A document that ends between two counts is one document. */
TEST(counts_are_of_one_moment)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct busy b = { .s = s };
    pthread_t thread;
    int wrong = 0;

    CHECK(s != NULL && pthread_create(&thread, NULL, work, &b) == 0);
    while (!b.over)
        wrong += bad(s, "counts") != 0;
    (void)pthread_join(thread, NULL);
    CHECK(b.ok && wrong == 0);
    store_close(s);
}

/* Counted in slices: one statement for some millions would take longer than PostgreSQL lets it. */
TEST(large_tables_are_counted_whole)
{
    static const char more[] =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 45000) "
        "INSERT INTO doc(num, id, gateway, caller, config, received_us, size, sha256, seg, pos, "
        "seq) "
        "SELECT num + i, id, gateway, caller, config, received_us, size, sha256, seg, pos, seq "
        "FROM doc, n";
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op doc = doc_of(STR("one of many"));

    CHECK(s != NULL && accept_doc(s, &doc) && bad(s, "counts") == 0);
    CHECK(tell(&h, more) && bad(s, "counts") == 1);
    CHECK(bad(s, "documents-have-tasks") == 45000);
    CHECK(tell(&h, "UPDATE tally SET n = n + 45000 WHERE kind = 1") && bad(s, "counts") == 0);
    CHECK(tell(&h, "DELETE FROM doc WHERE num = (SELECT max(num) FROM doc)"));
    CHECK(bad(s, "counts") == 1);
    store_close(s);
}

STORE_TEST_MAIN
