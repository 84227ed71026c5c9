/* Lanes: numbers, heads, who goes when. */
#include <libpq-fe.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/auto.h"
#include "one_delivery.h"
#include "store/manual/operate.h"
#include "store/road/expire.h"
#include "store/road/order.h"
#include "store_test.h"

enum { MOST = 64, LANE = 4711, OTHER = 4713 };

static int64_t queue;
static struct store *order_store;

/* Documents that are claimed and numbered. */
static bool numbered(struct store *s, struct accept_op *docs, size_t count)
{
    struct err err = { 0 };

    order_number(s, true);
    return born_docs(s, docs, count) && queue_for(s, 32, 31, &queue, &err);
}

static void fill_run(struct settle_op *o, struct settle_delivery *p, const struct accept_op *doc,
                     int64_t lane)
{
    *p = part_of(STR("d"), queue, DELIVERY_READY);
    p->lane = lane;
    p->seq = doc->seq;
    *o = settle_of(&doc->task, doc->num, SETTLE_DELIVERIES);
    o->gateway = doc->gateway;
    o->seq = doc->seq;
    o->parts = p;
    o->part_count = 1;
}

/* It is routed into a lane. */
static bool route(struct store *s, const struct accept_op *doc, int64_t lane)
{
    struct settle_op o;
    struct settle_delivery p;

    fill_run(&o, &p, doc, lane);
    return settle_ops(s, &o, 1);
}

/* The document of the one delivery that may go; 0: none, -1: several. */
static int64_t next(struct store *s, struct task *ret)
{
    struct task tasks[8];
    size_t n = 0;
    struct err err = { 0 };
    struct delivery d;
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);

    if (!task_claim(s, queue, 8, LEASE_US, tasks, &n, &err) || n != 1)
        return n == 0 ? 0 : -1;
    *ret = tasks[0];
    return delivery_get(s, tasks[0].id, &a, &d, &err) ? d.doc : -1;
}

static bool end(struct store *s, const struct task *t, int64_t doc, enum delivery_state state,
                bool aside)
{
    struct settle_delivery p = part_of(STR("d"), queue, state);
    struct settle_op o = settle_of(t, doc, SETTLE_DELIVERIES);

    p.num = t->id;
    p.lane = LANE;
    p.aside = aside;
    p.code = STR("rejected");
    p.message = STR("no");
    o.parts = &p;
    o.part_count = 1;
    return settle_ops(s, &o, 1);
}

static bool scan(struct store *s, struct order_scan *ret, struct arena *a)
{
    struct err err = { 0 };

    return order_scan(s, -1, a, ret, &err);
}

TEST(numbers_are_only_given_when_asked_for_and_rise)
{
    static struct accept_op docs[MOST];
    struct home h = fresh_home();
    struct store *s = open_store(&h);

    CHECK(s != NULL && born_docs(s, docs, 2));
    CHECK(docs[0].seq == 0 && ask(&h, "SELECT count(*) FROM order_open") == 0);
    CHECK(numbered(s, docs, MOST));
    for (size_t i = 1; i < MOST; i++)
        CHECK(docs[i].seq > docs[i - 1].seq && docs[i - 1].seq > 0);
    CHECK(ask(&h, "SELECT count(*) FROM order_open") == MOST);
    CHECK(ask(&h, "SELECT count(*) FROM doc WHERE seq > 0") == MOST);
    store_close(s);
}

TEST(only_the_head_goes_and_what_is_before_it_must_be_routed)
{
    static struct accept_op docs[4];
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct task t;
    struct err err = { 0 };

    CHECK(s != NULL && numbered(s, docs, 4));
    CHECK(route(s, &docs[2], LANE) && next(s, &t) == 0 && order_is_asking(s));
    CHECK(route(s, &docs[1], LANE) && next(s, &t) == 0);
    CHECK(route(s, &docs[0], OTHER)); /* now nothing before the second is open */
    CHECK(order_ask_again(s, &err));
    struct task tasks[8];
    size_t n = 0;

    CHECK(task_claim(s, queue, 8, LEASE_US, tasks, &n, &err) && n == 2); /* one of each lane */
    struct task *first =
        ask(&h, "SELECT num FROM delivery WHERE turn = 2 AND lane = 4711") == tasks[0].id
            ? &tasks[0]
            : &tasks[1];

    CHECK(end(s, first, docs[1].num, DELIVERY_DELIVERED, false));
    CHECK(next(s, &t) == docs[2].num && end(s, &t, docs[2].num, DELIVERY_DELIVERED, false));
    CHECK(route(s, &docs[3], LANE) && next(s, &t) == docs[3].num);
    CHECK(ask(&h, "SELECT count(*) FROM order_open") == 0);
    store_close(s);
}

/* proves: DE17 */
TEST(a_dead_head_blocks_or_steps_aside)
{
    static struct accept_op docs[3];
    static struct order_scan found;
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct task t;
    struct err err = { 0 };
    struct operate_order retry = { .who = STR("test"), .keep_days = 1 };
    struct operate_answer answer;

    CHECK(s != NULL && numbered(s, docs, 3));
    for (size_t i = 0; i < 3; i++)
        CHECK(route(s, &docs[i], LANE));
    CHECK(next(s, &t) == docs[0].num && end(s, &t, docs[0].num, DELIVERY_DEAD, false));
    CHECK(next(s, &t) == 0);
    CHECK(scan(s, &found, &a) && found.stop_count == 1 && found.stops[0].blocks &&
          found.stops[0].state == DELIVERY_DEAD && next(s, &t) == 0);
    CHECK(order_step_aside(s, found.stops[0].delivery, &err));
    CHECK(next(s, &t) == docs[1].num);

    /* It goes back to its place: behind the one that is on its way, before the others. */
    struct operate_target target = { .id = docs[0].id };

    CHECK(operate(s, OPERATE_RETRY, &target, 1, &retry, &answer, &err) &&
          answer.result == OPERATE_DONE);
    CHECK(end(s, &t, docs[1].num, DELIVERY_DEAD, true));
    CHECK(next(s, &t) == docs[0].num && end(s, &t, docs[0].num, DELIVERY_DELIVERED, false));
    CHECK(next(s, &t) == docs[2].num && end(s, &t, docs[2].num, DELIVERY_DELIVERED, false));
    CHECK(scan(s, &found, &a) && found.lane_count == 0);
    store_close(s);
}

TEST(one_that_waits_is_cancelled_and_one_that_starts_again_keeps_its_place)
{
    static struct accept_op docs[3];
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct task t, run;
    struct err err = { 0 };
    struct operate_order order = { .who = STR("test"), .keep_days = 1, .config = 1 };
    struct operate_answer answer;

    CHECK(s != NULL && numbered(s, docs, 3));
    for (size_t i = 0; i < 3; i++)
        CHECK(route(s, &docs[i], LANE));
    struct operate_target second = { .id = docs[1].id }, first = { .id = docs[0].id };

    CHECK(operate(s, OPERATE_CANCEL, &second, 1, &order, &answer, &err) &&
          answer.result == OPERATE_DONE);
    CHECK(next(s, &t) == docs[0].num && end(s, &t, docs[0].num, DELIVERY_DEAD, false));
    order.from = RETRY_ROUTE;
    CHECK(operate(s, OPERATE_RETRY, &first, 1, &order, &answer, &err) &&
          answer.result == OPERATE_DONE);
    static struct order_scan found;
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);

    CHECK(scan(s, &found, &a) && next(s, &t) == 0); /* it is open again */
    CHECK(claim(s, 1, &run) == 1 && run.id == docs[0].num);
    docs[0].task = run;
    CHECK(route(s, &docs[0], LANE) && next(s, &t) == docs[0].num);
    CHECK(end(s, &t, docs[0].num, DELIVERY_DELIVERED, false) && next(s, &t) == docs[2].num);
    store_close(s);
}

TEST(lanes_outlive_the_process)
{
    static struct accept_op docs[3];
    static struct order_scan found;
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct task t;

    CHECK(s != NULL && numbered(s, docs, 3));
    for (size_t i = 0; i < 3; i++)
        CHECK(route(s, &docs[i], LANE));
    CHECK(next(s, &t) == docs[0].num);
    store_close(s); /* it was being sent */
    CHECK((s = open_store(&h)) != NULL && scan(s, &found, &a));
    for (size_t i = 0; i < 3; i++)
        CHECK(next(s, &t) == docs[i].num && end(s, &t, docs[i].num, DELIVERY_DELIVERED, false));
    CHECK(next(s, &t) == 0 && ask(&h, "SELECT count(*) FROM delivery") == 0);
    store_close(s);
}

/* One node routes what another one waits for. */
TEST(postgres_two_nodes_share_lanes)
{
    static struct accept_op docs[2];
    struct home h = fresh_home(), beside = home_beside(&h);
    struct store *one = open_store(&h), *two = open_store(&beside);
    struct task t;
    struct err err = { 0 };

    CHECK(one != NULL && two != NULL);
    CHECK(numbered(one, &docs[0], 1) && numbered(two, &docs[1], 1));
    CHECK(docs[1].seq > docs[0].seq);
    CHECK(route(two, &docs[1], LANE) && next(two, &t) == 0 && order_is_asking(two));
    CHECK(route(one, &docs[0], LANE) && next(two, &t) == docs[0].num);
    CHECK(order_ask_again(two, &err) && end(two, &t, docs[0].num, DELIVERY_DELIVERED, false));
    CHECK(next(one, &t) == docs[1].num);
    store_close(one);
    store_close(two);
}

/* ---- against another transaction (PostgreSQL) ---- */

/* Two in a lane: the first is dead and may have left, the second waits. */
struct contest {
    struct home home;
    struct store *store;
    struct accept_op docs[2];
    PGconn *other;
};

static bool contest_begin(struct contest *c)
{
    struct task t;

    c->home = fresh_home();
    c->store = open_store(&c->home);
    c->other = PQconnectdb(c->home.url);
    return c->store != NULL && numbered(c->store, c->docs, 2) &&
           route(c->store, &c->docs[0], LANE) && route(c->store, &c->docs[1], LANE) &&
           next(c->store, &t) == c->docs[0].num &&
           end(c->store, &t, c->docs[0].num, DELIVERY_DEAD, false);
}

static void contest_end(struct contest *c)
{
    PQfinish(c->other);
    store_close(c->store);
}

/* The other transaction does this, and commits when somebody waits for it. */
static bool meanwhile(struct contest *c, const char *sql)
{
    PQclear(PQexec(c->other, "BEGIN"));
    PGresult *result = PQexec(c->other, sql);
    bool ok = PQresultStatus(result) == PGRES_COMMAND_OK;

    PQclear(result);
    return ok &&
           PQsendQuery(c->other, "DO $$ BEGIN FOR i IN 1..1000 LOOP "
                                 "EXIT WHEN EXISTS (SELECT 1 FROM pg_locks l WHERE NOT l.granted "
                                 "AND pg_backend_pid() = ANY (pg_blocking_pids(l.pid))); "
                                 "PERFORM pg_sleep(0.01); END LOOP; END $$; COMMIT") == 1;
}

#define LET_SECOND_GO                                                                    \
    "WITH g AS (UPDATE delivery SET turn = 2 WHERE turn = 1 RETURNING num, doc, queue) " \
    "INSERT INTO task_ready(queue, prio, rank, id, kind, attempts, rescues, crashes) "   \
    "SELECT g.queue, 4, d.received_us, g.num, 2, 0, 0, 0 FROM g JOIN doc d ON d.num = g.doc"

TEST(postgres_what_ends_while_its_turn_comes_does_not_go)
{
    static struct order_scan found;
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct contest c = { 0 };
    struct task t;

    CHECK(contest_begin(&c));
    CHECK(tell(&c.home, "UPDATE delivery SET turn = 0 WHERE turn = 2")); /* the lane is free */
    CHECK(meanwhile(&c, "UPDATE delivery SET state = 6, turn = 0 WHERE turn = 1"));
    CHECK(scan(c.store, &found, &a) && next(c.store, &t) == 0);
    CHECK(ask(&c.home, "SELECT count(*) FROM delivery WHERE turn > 0") == 0);
    CHECK(places(c.store).ready == 0 && places(c.store).lease == 0);
    contest_end(&c);
}

TEST(postgres_what_goes_while_it_expires_is_not_ended)
{
    int64_t endpoints[EXPIRE_MOST];
    struct contest c = { 0 };
    struct err err = { 0 };
    struct task t;
    size_t n;

    CHECK(contest_begin(&c) && tell(&c.home, "UPDATE delivery SET expires_us = 9 WHERE turn = 1"));
    CHECK(tell(&c.home, "UPDATE delivery SET turn = 0 WHERE turn = 2"));
    CHECK(meanwhile(&c, LET_SECOND_GO));
    CHECK(expire_due(c.store, 10, endpoints, &n, &err) && n == 0);
    CHECK(ask(&c.home, "SELECT count(*) FROM delivery WHERE state = 0 AND turn = 2") == 1);
    CHECK(places(c.store).ready == 1 && places(c.store).dead == 1);
    CHECK(expire_due(c.store, 10, endpoints, &n, &err) && n == 1); /* with its task */
    CHECK(next(c.store, &t) == 0 && places(c.store).ready == 0 && places(c.store).dead == 2);
    contest_end(&c);
}

TEST(postgres_what_goes_while_it_is_cancelled_is_cancelled_with_its_task)
{
    struct operate_order order = { .who = STR("test"), .keep_days = 1 };
    struct operate_answer answer;
    struct contest c = { 0 };
    struct err err = { 0 };
    struct task t;

    CHECK(contest_begin(&c) && meanwhile(&c, LET_SECOND_GO));
    struct operate_target second = { .id = c.docs[1].id };

    CHECK(operate(c.store, OPERATE_CANCEL, &second, 1, &order, &answer, &err) &&
          answer.result == OPERATE_DONE);
    CHECK(next(c.store, &t) == 0 && places(c.store).ready == 0 && places(c.store).lease == 0);
    contest_end(&c);
}

TEST(postgres_what_steps_aside_while_it_is_retried_goes_back_to_its_lane)
{
    struct operate_order order = { .who = STR("test"), .keep_days = 1 };
    struct operate_answer answer;
    struct contest c = { 0 };
    struct err err = { 0 };

    CHECK(contest_begin(&c));
    CHECK(meanwhile(&c, "UPDATE delivery SET turn = 0 WHERE turn = 2 AND state = 6"));
    struct operate_target first = { .id = c.docs[0].id };

    CHECK(operate(c.store, OPERATE_RETRY, &first, 1, &order, &answer, &err) &&
          answer.result == OPERATE_DONE);
    CHECK(ask(&c.home, "SELECT count(*) FROM delivery WHERE state = 0 AND turn = 1") == 2);
    CHECK(places(c.store).ready == 0 && places(c.store).lease == 0);
    contest_end(&c);
}

/* ---- the order of locks ---- */

static void *accept_main(void *arg)
{
    struct accept_op *op = arg;

    accept_doc(order_store, op);
    return NULL;
}

/* A second session that lets nobody add a key until it is closed. */
static PGconn *lock_keys(const struct home *h)
{
    PGconn *c = PQconnectdb(h->url);

    PQclear(PQexec(c, "BEGIN"));
    PQclear(PQexec(c,
                   "DO $$ DECLARE r record; BEGIN FOR r IN SELECT tablename FROM pg_tables WHERE "
                   "tablename ~ '^idem_[0-9]+$' LOOP EXECUTE format('LOCK TABLE %I IN SHARE "
                   "MODE', r.tablename); END LOOP; END $$"));
    return c;
}

/* Whoever waits for a key does not hold the numbers, which all nodes need: neither with a head that
 * goes with the COMMIT nor with one that is too large for it. */
TEST(postgres_keys_are_locked_before_numbers)
{
    static const char waiting[] =
        "SELECT count(*) FROM pg_locks WHERE NOT granted AND database = (SELECT oid FROM "
        "pg_database WHERE datname = current_database())";
    static const size_t heads[] = { 100, 3 << 20 };
    struct home h = fresh_home();
    struct err err = { 0 };

    order_store = open_store(&h);
    CHECK(order_store != NULL && accept_keep_tables(order_store, INT64_C(3600) * CLOCK_S, &err));
    order_number(order_store, true);
    for (size_t i = 0; i < 2; i++) {
        char *head = calloc(1, heads[i]);
        struct accept_op op = keyed_doc(STR("x"), i == 0 ? "a" : "b", 600 * CLOCK_S);
        int64_t until = clock_mono_us() + 30 * CLOCK_S;
        PGconn *keys = lock_keys(&h);
        pthread_t thread;

        op.head = str_mem(head, heads[i]);
        CHECK(pthread_create(&thread, NULL, accept_main, &op) == 0);
        while (ask(&h, waiting) == 0 && clock_mono_us() < until)
            clock_sleep_us(10 * CLOCK_MS);
        CHECK(ask(&h, waiting) > 0);
        CHECK(ask(&h, "SELECT count(*) FROM (SELECT FROM order_seq FOR UPDATE SKIP LOCKED) AS o") ==
              1);
        PQfinish(keys);
        CHECK(pthread_join(thread, NULL) == 0 && op.op.ok && op.seq > 0);
        CHECK(ask(&h, "SELECT count(*) FROM doc WHERE seq > 0") == (int64_t)i + 1);
        free(head);
    }
    store_close(order_store);
}

STORE_TEST_MAIN
