/* The note that a send begins which may not happen twice. */
#include <pthread.h>
#include <stdio.h>

#include "base/auto.h"
#include "one_delivery.h"
#include "store/kernel/node.h"
#include "store/road/intent.h"
#include "store/road/rescue.h"
#include "store_test.h"

enum { MANY = 40 };

/* ---- intents that are told ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t told = PTHREAD_COND_INITIALIZER;
static size_t told_count;

static void on_done(struct store_op *op)
{
    (void)op;
    (void)pthread_mutex_lock(&mutex);
    told_count++;
    (void)pthread_cond_signal(&told);
    (void)pthread_mutex_unlock(&mutex);
}

static struct intent_op intent_of(const struct task *t)
{
    return (struct intent_op){
        .op = { .verb = &intent_verb, .done = on_done }, .task = *t, .attempts = 2, .first_us = 77
    };
}

/* How many were committed and ours. */
static size_t intend(struct store *s, struct intent_op *ops, size_t count)
{
    size_t ours = 0;

    told_count = 0;
    for (size_t i = 0; i < count; i++)
        ops[i].op.next = i + 1 < count ? &ops[i + 1].op : NULL;
    if (!writers_submit(store_writers(s), &ops[0].op, &ops[count - 1].op, count))
        return 0;
    (void)pthread_mutex_lock(&mutex);
    while (told_count < count)
        (void)pthread_cond_wait(&told, &mutex);
    (void)pthread_mutex_unlock(&mutex);
    for (size_t i = 0; i < count; i++)
        ours += ops[i].op.ok && ops[i].ours;
    return ours;
}

/* `count` deliveries that wait, each of a document of its own, and their claims. */
static bool waiting(struct store *s, size_t count, struct task *tasks)
{
    static struct accept_op docs[MANY];
    static struct settle_op ops[MANY];
    static struct settle_delivery parts[MANY];
    struct err err = { 0 };
    int64_t q;
    size_t n;

    if (!queue_for(s, 32, 31, &q, &err) || !born_docs(s, docs, count))
        return false;
    for (size_t i = 0; i < count; i++) {
        parts[i] = part_of(STR("D.a"), q, DELIVERY_READY);
        ops[i] = settle_of(&docs[i].task, docs[i].num, SETTLE_DELIVERIES);
        ops[i].parts = &parts[i];
        ops[i].part_count = 1;
    }
    return settle_ops(s, ops, count) && task_claim(s, q, count, LEASE_US, tasks, &n, &err) &&
           n == count;
}

static struct delivery delivery_at(struct store *s, int64_t num)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct delivery d = { .num = -1 };
    struct err err = { 0 };

    if (!delivery_get(s, num, &a, &d, &err))
        printf("# delivery: %s\n", err.text);
    d.id = d.code = d.message = d.name = STR("");
    return d;
}

static bool settle_as(struct store *s, const struct task *t, enum delivery_state state,
                      int64_t intent_us, int64_t asked)
{
    struct delivery d = delivery_at(s, t->id);
    struct settle_delivery part = part_of(STR("D.a"), t->queue, state);
    struct settle_op op = settle_of(t, d.doc, SETTLE_DELIVERIES);

    part.num = t->id;
    part.intent_us = intent_us;
    part.asked = asked;
    part.due_us = state == DELIVERY_RETRYING ? 5 : 0;
    op.parts = &part;
    op.part_count = 1;
    return settle_ops(s, &op, 1);
}

/* ---- tests ---- */

/* proves: DE9 */
TEST(an_intent_stands_in_the_row_until_the_attempt_is_settled)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct task t[2];
    struct intent_op ops[2];

    CHECK(s != NULL && waiting(s, 2, t));
    CHECK(delivery_at(s, t[0].id).intent_us == 0);
    ops[0] = intent_of(&t[0]);
    ops[1] = intent_of(&t[1]);
    CHECK(intend(s, ops, 2) == 2);
    struct delivery d = delivery_at(s, t[0].id);

    CHECK(d.intent_us > 0 && d.attempts == 2 && d.first_us == 77 && d.state == DELIVERY_READY);
    /* What is not known yet keeps it; what is known takes it away. */
    CHECK(settle_as(s, &t[0], DELIVERY_RETRYING, d.intent_us, 3));
    CHECK(delivery_at(s, t[0].id).intent_us == d.intent_us && delivery_at(s, t[0].id).asked == 3);
    CHECK(settle_as(s, &t[1], DELIVERY_IN_DOUBT, 0, 0));
    CHECK(delivery_at(s, t[1].id).intent_us == 0);
    store_close(s);
}

/* proves: DE14 QC2 */
TEST(a_claim_that_was_lost_intends_nothing)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct task t[MANY];
    struct intent_op ops[MANY];

    CHECK(s != NULL && waiting(s, MANY, t));
    for (int i = 0; i < MANY; i++)
        ops[i] = intent_of(&t[i]);
    for (int i = 0; i < MANY; i += 4)
        CHECK(give_back(s, &t[i]));
    CHECK(intend(s, ops, MANY) == MANY - MANY / 4);
    for (int i = 0; i < MANY; i++) {
        CHECK(ops[i].op.ok && ops[i].ours == (i % 4 != 0));
        CHECK((delivery_at(s, t[i].id).intent_us != 0) == (i % 4 != 0));
    }
    store_close(s);
}

/* proves: DE10 */
TEST(after_a_restart_it_is_claimed_with_its_intent)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct task t[2], again[2];
    struct intent_op op;
    struct err err = { 0 };
    size_t n;

    CHECK(s != NULL && waiting(s, 2, t));
    op = intent_of(&t[1]);
    CHECK(intend(s, &op, 1) == 1);
    store_close(s);
    s = open_store(&h);
    CHECK(s != NULL && task_claim(s, t[0].queue, 2, LEASE_US, again, &n, &err) && n == 2);
    CHECK(delivery_at(s, t[0].id).intent_us == 0 && delivery_at(s, t[1].id).intent_us != 0);
    CHECK(intend(s, &op, 1) == 0); /* the claim of the life before */
    store_close(s);
}

/* proves: FO4 QC2 DE14 */
TEST(postgres_who_takes_over_sees_the_intent_and_the_old_node_does_nothing)
{
    struct home h = fresh_home(), other = home_beside(&h);
    struct store *a = open_store(&h), *b = open_store(&other);
    struct task t[2], taken[2];
    struct intent_op ops[2];
    struct err err = { 0 };
    int64_t moved;
    size_t n;

    CHECK(a != NULL && b != NULL && waiting(a, 2, t));
    ops[0] = intent_of(&t[0]);
    CHECK(intend(a, ops, 1) == 1);
    CHECK(tell(&h, "UPDATE task_lease SET node_id = 5")); /* as if it had been of a dead one */
    CHECK(rescue_dead_nodes(b, &moved, &err) && moved == 2);
    CHECK(task_claim(b, t[0].queue, 2, LEASE_US, taken, &n, &err) && n == 2);
    CHECK(delivery_at(b, t[0].id).intent_us != 0 && delivery_at(b, t[1].id).intent_us == 0);
    /* The first one thaws: neither a send nor its outcome. */
    ops[1] = intent_of(&t[1]);
    CHECK(intend(a, ops + 1, 1) == 0 && ops[1].op.ok && !ops[1].ours);
    CHECK(!settle_as(a, &t[0], DELIVERY_DELIVERED, 0, 0));
    CHECK(delivery_at(b, t[0].id).intent_us != 0);
    CHECK(settle_as(b, taken[0].id == t[0].id ? &taken[0] : &taken[1], DELIVERY_IN_DOUBT, 0, 0));
    store_close(a);
    store_close(b);
}

/* proves: FO4 */
TEST(postgres_a_node_that_was_declared_dead_intends_nothing)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct task t;
    struct intent_op op;

    CHECK(s != NULL && waiting(s, 1, &t) && node_may_act(s));
    CHECK(tell(&h, "UPDATE node_writer SET dead = 1"));
    op = intent_of(&t);
    CHECK(intend(s, &op, 1) == 0 && !op.op.ok);
    CHECK(ask(&h, "SELECT intent_us FROM delivery") == 0);
    store_close(s);
}

CHILD(intend_and_die)
{
    struct store *s = open_store(h);
    struct task t;

    (void)arg;
    if (s == NULL || !waiting(s, 1, &t))
        return 1;
    struct intent_op op = intent_of(&t);

    (void)intend(s, &op, 1);
    printf("told\n");
    return 0;
}

/* proves: DE10 */
TEST(killed_before_the_commit_there_is_no_intent)
{
    struct home h = fresh_home();

    CHECK(was_killed(run_child("intend_and_die", &h, "intent.written:kill:1", "", NULL)));
    CHECK(ask(&h, "SELECT count(*) FROM delivery") == 1);
    CHECK(ask(&h, "SELECT intent_us FROM delivery") == 0);
    struct store *s = open_store(&h);

    CHECK(s != NULL);
    store_close(s);
}

STORE_TEST_MAIN
