/* Killed at every point of it, what was settled is settled whole. */
#include <stdio.h>

#include "base/auto.h"
#include "one_delivery.h"
#include "store/road/done.h"
#include "store_test.h"

/* Accepts and settles, over and over: some in one run, some with a delivery that is sent
 * again once.  Says "told N" for what it was told is over. */
CHILD(settle_and_tell)
{
    enum { GROUP = 20, GROUPS = 12 };
    static struct accept_op docs[GROUP];
    static struct settle_op ops[GROUP];
    static struct settle_delivery parts[GROUP];
    struct store *s = open_store(h);
    struct err err = { 0 };
    struct task t[TASK_CLAIM_MOST];
    size_t n;
    int64_t q, moved, next;

    (void)arg;
    if (s == NULL || !queue_for(s, 1, 2, &q, &err))
        return 1;
    for (int g = 0; g < GROUPS; g++) {
        if (!born_docs(s, docs, GROUP))
            return 1;
        for (int i = 0; i < GROUP; i++) {
            bool over = i % 2 == 0;

            parts[i] = part_of(STR("D.a"), q, i % 3 == 0 ? DELIVERY_READY : DELIVERY_RETRYING);
            ops[i] = settle_of(&docs[i].task, docs[i].num, over ? SETTLE_OVER : SETTLE_DELIVERIES);
            ops[i].parts = &parts[i];
            ops[i].part_count = 1;
        }
        if (!settle_ops(s, ops, GROUP) || !task_wake(s, INT64_MAX, 100, &moved, &next, &err) ||
            !task_claim(s, q, GROUP, LEASE_US, t, &n, &err))
            return 1;
        for (int i = 0; i < GROUP; i += 2)
            printf("told %lld\n", (long long)docs[i].num);
        for (size_t i = 0; i < n; i++) {
            AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
            struct delivery d;

            if (!delivery_get(s, t[i].id, &a, &d, &err))
                return 1;
            parts[i] = part_of(STR(""), q, DELIVERY_DELIVERED);
            parts[i].num = t[i].id;
            ops[i] = settle_of(&t[i], d.doc, SETTLE_DELIVERIES);
            ops[i].parts = &parts[i];
            ops[i].part_count = 1;
        }
        if (n > 0 && !settle_ops(s, ops, n))
            return 1;
        for (size_t i = 0; i < n; i++)
            printf("told %lld\n", (long long)ops[i].doc);
    }
    store_close(s);
    return 0;
}

static bool rows_agree(const struct home *h)
{
    char all[200];
    static const char *const none[] = {
        /* every live document has a task, or deliveries that have one */
        "SELECT count(*) FROM doc WHERE NOT EXISTS (SELECT 1 FROM task_ready t WHERE t.id = num) "
        "AND NOT EXISTS (SELECT 1 FROM task_lease t WHERE t.id = num) AND NOT EXISTS (SELECT 1 "
        "FROM delivery v WHERE v.doc = doc.num AND v.state <> 5)",
        "SELECT count(*) FROM delivery v WHERE NOT EXISTS (SELECT 1 FROM doc WHERE num = v.doc)",
        "SELECT count(*) FROM delivery v WHERE v.state IN (0, 3) AND NOT EXISTS (SELECT 1 FROM "
        "task_ready t WHERE t.id = v.num) AND NOT EXISTS (SELECT 1 FROM task_lease t WHERE t.id = "
        "v.num) AND NOT EXISTS (SELECT 1 FROM task_later t WHERE t.id = v.num)",
        "SELECT count(*) FROM task_ready t WHERE NOT EXISTS (SELECT 1 FROM doc WHERE num = t.id) "
        "AND NOT EXISTS (SELECT 1 FROM delivery v WHERE v.num = t.id)",
    };

    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        if (ask(h, none[i]) != 0) {
            printf("# %s: %lld\n", none[i], (long long)ask(h, none[i]));
            return false;
        }
    bool any = ask(h, "SELECT count(*) FROM part WHERE family = 2") > 0;

    (void)snprintf(all, sizeof all,
                   "SELECT (SELECT count(*) FROM doc) - (SELECT CAST(sum(n) AS BIGINT) FROM tally "
                   "WHERE kind = 1) + (SELECT count(*) FROM done_%lld)",
                   (long long)done_day(45));
    return !any || ask(h, all) == 0;
}

static bool told_are_over(const struct home *h, struct str said)
{
    while (said.len > 0) {
        struct str line, word;
        char sql[100];
        int64_t n;

        bool whole = memchr(said.ptr, '\n', said.len) != NULL;
        said = str_cut(said, '\n', &line);
        line = str_cut(line, ' ', &word);
        if (!whole || !str_is(word, "told") || !str_to_i64(line, &n))
            continue;
        (void)snprintf(sql, sizeof sql, "SELECT count(*) FROM done_%lld WHERE num = %lld",
                       (long long)done_day(45), (long long)n);
        if (ask(h, sql) != 1) {
            printf("# %lld is not over\n", (long long)n);
            return false;
        }
    }
    return true;
}

static bool settled_is_whole(const struct home *h, struct store *s, struct str said)
{
    (void)s;
    return told_are_over(h, said) && rows_agree(h);
}

/* proves: EN1 EN4 FO12 */
TEST(killed_anywhere_what_was_settled_is_settled_whole)
{
    static const char *const points[] = { "settle.written", "group.begun",     "group.written",
                                          "group.taken",    "group.committed", "group.acked" };
    static const int passes[] = { 1, 2, 5, 14, 23 };

    CHECK(kill_everywhere(&(struct kill_scene){ .child = "settle_and_tell",
                                                .points = points,
                                                .point_count = sizeof points / sizeof points[0],
                                                .passes = passes,
                                                .pass_count = sizeof passes / sizeof passes[0],
                                                .whole = settled_is_whole }) > 20);
}

STORE_TEST_MAIN
