#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/road/overdue.h"
#include "store_test.h"

TEST(a_claimed_task_is_finished_once)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op op = doc_of(STR("x"));
    struct task t, none;
    struct err err = { 0 };
    bool ours = false;

    CHECK(s != NULL && accept_doc(s, &op));
    CHECK(claim(s, 1, &t) == 1);
    CHECK(t.id == op.num && t.claim != 0 && t.queue == QUEUE_INTAKE && t.kind == TASK_RUN);
    CHECK(t.attempts == 1 && t.rescues == 0 && t.crashes == 0 && t.rank == op.received_us);
    CHECK(claim(s, 1, &none) == 0);
    CHECK(task_finish(s, &t, &ours, &err) && ours);
    CHECK(task_finish(s, &t, &ours, &err) && !ours);
    CHECK(places(s).ready == 0 && places(s).lease == 0);
    store_close(s);
    CHECK(ask(&h, "SELECT count(*) FROM doc") == 1);
}

/* proves: QC1 QC2 */
TEST(a_stale_claim_does_nothing)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct task t, again, stale;
    struct err err = { 0 };
    bool ours = true;

    CHECK(s != NULL && accept_many(s, 0, 1, 1));
    CHECK(claim(s, 1, &stale) == 1);
    CHECK(give_back(s, &stale));
    CHECK(claim(s, 1, &t) == 1);
    CHECK(t.id == stale.id && t.claim != stale.claim);
    again = stale;
    CHECK(task_finish(s, &stale, &ours, &err) && !ours);
    CHECK(task_fail(s, &stale, clock_wall_us(), STR("late"), &ours, &err) && !ours);
    again.claim = 0;
    CHECK(task_finish(s, &again, &ours, &err) && !ours);
    struct task_places p = places(s);

    CHECK(p.later == 0 && p.dead == 0 && p.ready + p.lease == 1);
    CHECK(task_finish(s, &t, &ours, &err) && ours);
    store_close(s);
}

/* proves: QC8 */
TEST(a_claim_that_lasts_too_long_is_found)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct overdue late[OVERDUE_MOST];
    struct task t[3];
    struct err err = { 0 };
    size_t n;
    bool ours;

    CHECK(s != NULL && accept_many(s, 0, 3, 3));
    CHECK(claim(s, 1, t) == 1); /* in time */
    CHECK(overdue_claims(s, late, &n, &err) && n == 0);
    CHECK(task_claim(s, QUEUE_INTAKE, 2, -60 * CLOCK_S, t + 1, &n, &err) && n == 2);
    CHECK(overdue_claims(s, late, &n, &err) && n == 1);
    CHECK(late[0].queue == QUEUE_INTAKE && late[0].node == store_node(s) && late[0].count == 2);
    CHECK(late[0].over_us >= 60 * CLOCK_S && late[0].over_us < INT64_C(3600) * CLOCK_S);
    CHECK(late[0].doc == t[1].id || late[0].doc == t[2].id);
    CHECK(task_finish(s, &t[1], &ours, &err) && ours); /* it is ours all the same */
    CHECK(overdue_claims(s, late, &n, &err) && n == 1 && late[0].count == 1);
    if (on_postgres()) { /* those of a dead node are rescued */
        CHECK(tell(&h, "UPDATE node SET state = 2"));
        CHECK(overdue_claims(s, late, &n, &err) && n == 0);
    }
    store_close(s);
}

TEST(a_failed_task_comes_back_when_it_is_due)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct task t;
    struct err err = { 0 };
    int64_t moved, next, due = clock_wall_us() + INT64_C(3600) * CLOCK_S;
    bool ours;

    CHECK(s != NULL && accept_many(s, 0, 1, 1) && claim(s, 1, &t) == 1);
    CHECK(task_fail(s, &t, due, STR("receiver answered 503"), &ours, &err) && ours);
    CHECK(places(s).later == 1 && places(s).ready == 0 && places(s).lease == 0);
    CHECK(task_wake(s, due - 1, 100, &moved, &next, &err) && moved == 0 && next == due);
    CHECK(claim(s, 1, &t) == 0);
    CHECK(task_wake(s, due, 100, &moved, &next, &err) && moved == 1 && next == 0);
    CHECK(claim(s, 1, &t) == 1 && t.attempts == 2 && t.rank == due);
    CHECK(task_finish(s, &t, &ours, &err) && ours);
    store_close(s);
}

TEST(what_is_woken_is_bounded_and_in_order)
{
    enum { COUNT = 30 };
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct task tasks[COUNT];
    struct err err = { 0 };
    int64_t moved, next, now = clock_wall_us();
    bool ours;

    CHECK(s != NULL && accept_many(s, 0, COUNT, COUNT) && claim(s, COUNT, tasks) == COUNT);
    for (int i = 0; i < COUNT; i++)
        CHECK(task_fail(s, &tasks[i], now - i, STR(""), &ours, &err) && ours);
    CHECK(task_wake(s, now, 20, &moved, &next, &err));
    CHECK(moved == 20 && next == now - 9);
    CHECK(claim(s, COUNT, tasks) == 20);
    for (int i = 1; i < 20; i++)
        CHECK(tasks[i].rank == tasks[i - 1].rank + 1);
    CHECK(task_wake(s, now, 20, &moved, &next, &err) && moved == 10 && next == 0);
    store_close(s);
}

/* The task does not leave its place unless the dead letter is written with it.
 * proves: DL1 */
TEST(a_dead_letter_that_cannot_be_written_is_tried_again)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct settle_op op;
    struct task t;

    CHECK(s != NULL && accept_many(s, 0, 1, 1) && claim(s, 1, &t) == 1);
    op = settle_of(&t, t.id, SETTLE_DEAD);
    op.code = STR("no_route");
    CHECK(tell(&h, "ALTER TABLE task_dead RENAME TO task_gone"));
    CHECK(!settle_ops(s, &op, 1));
    CHECK(tell(&h, "ALTER TABLE task_gone RENAME TO task_dead"));
    CHECK(places(s).dead == 0 && places(s).ready + places(s).lease == 1);
    /* Still ours, nothing was lost. */
    CHECK(settle_ops(s, &op, 1));
    CHECK(places(s).dead == 1 && places(s).ready + places(s).lease == 0);
    store_close(s);
}

TEST(claims_are_in_the_order_of_priority_then_age)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct task tasks[9];
    static const int prio[9] = { 4, 4, 1, 7, 1, 4, 0, 7, 2 };
    static const int rank[9] = { 5, 3, 9, 1, 2, 4, 8, 0, 6 };
    static const int want[9] = { 6, 4, 2, 8, 1, 5, 0, 7, 3 };
    char sql[200];

    CHECK(s != NULL);
    for (int i = 0; i < 9; i++) {
        (void)snprintf(sql, sizeof sql,
                       "INSERT INTO task_ready(queue, prio, rank, id, kind, attempts, rescues, "
                       "crashes) VALUES (1, %d, %d, %d, 1, 0, 0, 0)",
                       prio[i], rank[i], 100 + i);
        CHECK(tell(&h, sql));
    }
    CHECK(tell(&h,
               "INSERT INTO task_ready(queue, prio, rank, id, kind, attempts, rescues, crashes) "
               "VALUES (2, 0, 0, 200, 1, 0, 0, 0)")); /* of another queue */
    CHECK(claim(s, 4, tasks) == 4 && claim(s, 100, tasks + 4) == 5);
    for (int i = 0; i < 9; i++)
        CHECK(tasks[i].id == 100 + want[i]);
    store_close(s);
}

/* A large body is received before a small one and stored after it: its task stands before
 * those that were claimed already. */
TEST(a_task_that_comes_late_is_not_passed_over)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op slow = doc_of(STR("slow")), fast[20];
    struct task tasks[30];
    struct err err = { 0 };
    bool ours;

    CHECK(s != NULL);
    for (int i = 0; i < 20; i++) {
        clock_sleep_us(10);
        fast[i] = doc_of(STR("fast"));
    }
    CHECK(accept_docs(s, fast, 20) && claim(s, 30, tasks) == 20);
    CHECK(accept_doc(s, &slow));
    CHECK(claim(s, 30, tasks + 20) == 1 && tasks[20].id == slow.num);
    for (int i = 0; i < 21; i++)
        CHECK(task_finish(s, &tasks[i], &ours, &err) && ours);
    store_close(s);
}

/* ---- many claimers ---- */

enum { CLAIMERS = 32, TASKS = 200 };

static struct claimer {
    pthread_t thread;
    struct store *store;
    int64_t ids[TASKS];
    int count;
    bool ok;
} claimers[CLAIMERS];
static _Atomic int finished;

static void *claim_all(void *arg)
{
    struct claimer *me = arg;

    me->ok = true;
    me->count = 0;
    while (me->ok && finished < TASKS) {
        struct task tasks[3];
        struct err err = { 0 };
        int n = claim(me->store, 3, tasks);

        me->ok = n >= 0;
        for (int i = 0; i < n && me->ok; i++) {
            bool ours = false;

            me->ok = task_finish(me->store, &tasks[i], &ours, &err) && ours && me->count < TASKS;
            if (me->ok) {
                me->ids[me->count++] = tasks[i].id;
                finished++;
            }
        }
        if (n == 0)
            clock_sleep_us(CLOCK_MS);
    }
    return NULL;
}

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

static bool claim_from_all(struct store *a, struct store *b)
{
    static int64_t all[TASKS];
    int n = 0;
    bool ok = true;

    finished = 0;
    for (int i = 0; i < CLAIMERS; i++) {
        claimers[i].store = i % 2 == 0 ? a : b;
        ok = ok && pthread_create(&claimers[i].thread, NULL, claim_all, &claimers[i]) == 0;
    }
    for (int i = 0; i < CLAIMERS; i++) {
        (void)pthread_join(claimers[i].thread, NULL);
        ok = ok && claimers[i].ok && n + claimers[i].count <= TASKS;
        for (int k = 0; ok && k < claimers[i].count; k++)
            all[n++] = claimers[i].ids[k];
    }
    qsort(all, (size_t)n, sizeof all[0], by_number);
    for (int i = 1; i < n; i++)
        ok = ok && all[i] != all[i - 1];
    return ok && n == TASKS;
}

/* proves: SC3 DM5 */
TEST(of_many_claimers_each_task_has_one)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);

    CHECK(s != NULL && accept_many(s, 0, TASKS, 50));
    CHECK(claim_from_all(s, s));
    CHECK(places(s).ready == 0 && places(s).lease == 0);
    store_close(s);
}

/* proves: SC3 DM5 PR15 */
TEST(postgres_of_many_claimers_on_two_nodes_each_task_has_one)
{
    struct home h = fresh_home(), other = home_beside(&h);
    struct store *a = open_store(&h), *b = open_store(&other);

    CHECK(a != NULL && b != NULL && accept_many(a, 0, TASKS, 50));
    CHECK(claim_from_all(a, b));
    CHECK(places(a).ready == 0 && places(a).lease == 0);
    store_close(a);
    store_close(b);
}

/* ---- crashes ---- */

/* proves: QC4 */
TEST(the_third_crash_while_alone_is_poison)
{
    struct home h = fresh_home();
    struct task t = { 0 };
    struct err err = { 0 };
    char text[40];
    bool poison = true;

    for (int crash = 1; crash <= TASK_CRASHES_MOST; crash++) {
        struct store *s = open_store(&h);

        CHECK(s != NULL);
        if (crash == 1)
            CHECK(accept_many(s, 0, 2, 2) && claim(s, 1, &t) == 1);
        else
            CHECK(task_crashed(s, &t, &poison, &err) && !poison);
        store_close(s); /* and died while it worked on it */
    }
    struct store *s = open_store(&h);

    CHECK(s != NULL && task_crashed(s, &t, &poison, &err) && poison);
    CHECK(task_crashed(s, &t, &poison, &err) && !poison); /* it is gone from there */
    struct task_places p = places(s);

    CHECK(p.dead == 1 && p.ready == 1 && p.lease == 0);
    CHECK(strcmp(ask_text(&h, "SELECT code FROM task_dead", text, sizeof text), "poison") == 0);
    CHECK(ask(&h, "SELECT crashes FROM task_dead") == TASK_CRASHES_MOST);
    CHECK(ask(&h, "SELECT id FROM task_dead") == t.id);
    store_close(s);
}

/* proves: QC1 */
TEST(after_a_restart_every_claim_is_free_again)
{
    enum { COUNT = 40 };
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct task before[COUNT], after[COUNT];
    struct err err = { 0 };
    bool ours;

    CHECK(s != NULL && accept_many(s, 0, COUNT, COUNT) && claim(s, COUNT, before) == COUNT);
    store_close(s);
    s = open_store(&h);
    CHECK(s != NULL);
    for (int i = 0; i < COUNT; i += 7)
        CHECK(task_finish(s, &before[i], &ours, &err) && !ours);
    CHECK(claim(s, COUNT, after) == COUNT);
    for (int i = 0; i < COUNT; i++) {
        CHECK(after[i].id == before[i].id && after[i].claim != before[i].claim);
        CHECK(after[i].crashes == 0);
    }
    store_close(s);
}

STORE_TEST_MAIN
