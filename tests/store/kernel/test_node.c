/* Nodes: who may write, who is gone, and who takes over. */
#include <libpq-fe.h>
#include <stdio.h>

#include "core/lease_time.h"
#include "store/kernel/node.h"
#include "store/kernel/store_state.h"
#include "store/road/rescue.h"
#include "store_test.h"

static bool silence(const struct home *h, struct store *s)
{
    char sql[100];

    (void)snprintf(sql, sizeof sql, "UPDATE node SET alive_until_us = 1 WHERE node_id = %lld",
                   (long long)store_node(s));
    return tell(h, sql);
}

static bool beat(struct store *s, struct err *err)
{
    struct db *db;
    bool ok = store_connect(s, false, &db, err);
    int64_t sent_us;

    if (!ok)
        return false;
    ok = node_beat(s, db, &sent_us, err);
    if (ok)
        node_renew(s, sent_us);
    db_close(db);
    return ok;
}

static int64_t state_of(const struct home *h, int64_t node)
{
    char sql[100];

    (void)snprintf(sql, sizeof sql, "SELECT state FROM node WHERE node_id = %lld", (long long)node);
    return ask(h, sql);
}

TEST(a_node_is_registered_with_a_new_epoch)
{
    struct home h = fresh_home();
    int64_t epoch = 0, node = 0;

    for (int i = 0; i < 3; i++) {
        struct store *s = open_store(&h);
        struct node_row rows[4];
        struct err err = { 0 };
        size_t n = 0;

        CHECK(s != NULL && store_epoch(s) > epoch && store_node(s) != node);
        epoch = store_epoch(s);
        node = store_node(s);
        CHECK(node_list(s, rows, 4, &n, &err) && n == 1); /* the predecessor is forgotten */
        CHECK(rows[0].node == node && rows[0].epoch == epoch && rows[0].state == 0);
        CHECK(strcmp(rows[0].area, "internal") == 0 && rows[0].alive_until_us > clock_wall_us());
        store_close(s);
    }
}

TEST(postgres_a_heartbeat_keeps_a_node_alive)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct err err = { 0 };
    struct accept_op op = doc_of(STR("x"));

    CHECK(s != NULL && silence(&h, s));
    CHECK(!accept_doc(s, &op) && op.op.err.kind == ERR_TRANSIENT);
    CHECK(strcmp(op.op.err.text, "this node was declared dead") == 0);
    CHECK(beat(s, &err));
    op = doc_of(STR("x"));
    CHECK(accept_doc(s, &op));
    store_close(s);
}

/* proves: HO4 */
TEST(what_was_allowed_before_a_lease_ended_is_not_any_more)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    bool one = s != NULL && store_kind(s) == DB_SQLITE; /* without leases */
    int64_t before_us = clock_mono_us();

    CHECK(s != NULL && node_may_go_on(s, before_us));
    node_renew(s, before_us); /* in time */
    CHECK(node_may_go_on(s, before_us));
    node_renew(s, before_us - LEASE_TTL_US);
    CHECK(node_may_act(s) == one && node_may_go_on(s, before_us) == one);
    clock_sleep_us(1);
    node_renew(s, clock_mono_us()); /* it had ended */
    CHECK(node_may_act(s) && node_may_go_on(s, before_us) == one);
    CHECK(node_may_go_on(s, clock_mono_us()));
    store_close(s);
}

/* proves: QC1 QC2 FO13 */
TEST(postgres_a_silent_node_is_fenced_and_its_work_is_taken)
{
    struct home h = fresh_home(), other = home_beside(&h);
    struct store *a = open_store(&h), *b = open_store(&other);
    struct task tasks[5], taken[5];
    struct accept_op op = doc_of(STR("too late"));
    struct err err = { 0 };
    int64_t moved, gone;
    bool ours = true;

    CHECK(a != NULL && b != NULL && accept_many(a, 0, 5, 5) && claim(a, 5, tasks) == 5);
    gone = store_node(a);
    CHECK(rescue_dead_nodes(b, &moved, &err) && moved == 0 && state_of(&h, gone) == 0);
    CHECK(silence(&h, a) && rescue_dead_nodes(b, &moved, &err) && moved == 5);
    /* The dead one does nothing any more. */
    CHECK(!accept_doc(a, &op) && op.op.err.kind == ERR_TRANSIENT);
    CHECK(!task_finish(a, &tasks[0], &ours, &err) && err.kind == ERR_TRANSIENT);
    CHECK(!task_fail(a, &tasks[0], 0, STR(""), &ours, &err));
    err = (struct err){ 0 };
    CHECK(!beat(a, &err) && err.kind == ERR_PERMANENT);
    CHECK(claim(b, 5, taken) == 5);
    for (int i = 0; i < 5; i++) {
        CHECK(taken[i].rescues == 1 && taken[i].crashes == 0 && taken[i].claim > tasks[i].claim);
        err = (struct err){ 0 };
        CHECK(task_finish(b, &taken[i], &ours, &err) && ours);
    }
    CHECK(ask(&h, "SELECT count(*) FROM doc") == 5);
    CHECK(rescue_dead_nodes(b, &moved, &err) && moved == 0);
    CHECK(ask(&h, "SELECT count(*) FROM node") == 1); /* nothing points to it: forgotten */
    CHECK(ask(&h, "SELECT count(*) FROM node_writer") == 2);
    store_close(a);
    store_close(b);
}

/* Whoever is late with its heartbeat and is back before anybody acts keeps its work; of two that
 * act, one takes it. proves: FO2 */
TEST(postgres_a_false_alarm_makes_no_second_owner)
{
    struct home h = fresh_home(), other = home_beside(&h), third = home_beside(&h);
    struct store *a = open_store(&h), *b = open_store(&other), *c = open_store(&third);
    struct task tasks[4], taken[4];
    struct err err = { 0 };
    int64_t by_b, by_c;
    bool ours;

    CHECK(a != NULL && b != NULL && c != NULL);
    CHECK(accept_many(a, 0, 4, 4) && claim(a, 4, tasks) == 4);
    CHECK(silence(&h, a) && beat(a, &err));
    CHECK(rescue_dead_nodes(b, &by_b, &err) && rescue_dead_nodes(c, &by_c, &err));
    CHECK(by_b == 0 && by_c == 0 && state_of(&h, store_node(a)) == 0);
    CHECK(task_finish(a, &tasks[0], &ours, &err) && ours);
    CHECK(silence(&h, a) && rescue_dead_nodes(b, &by_b, &err) && rescue_dead_nodes(c, &by_c, &err));
    CHECK(by_b == 3 && by_c == 0 && !beat(a, &err));
    CHECK(claim(b, 2, taken) + claim(c, 4, taken) == 3);
    store_close(a);
    store_close(b);
    store_close(c);
}

/* proves: QC1 DE14 */
TEST(postgres_a_lease_lasts_as_long_as_its_node)
{
    struct home h = fresh_home(), other = home_beside(&h);
    struct store *a = open_store(&h), *b = open_store(&other);
    struct task tasks[2], taken[2];
    struct err err = { 0 };
    int64_t moved;
    bool ours;

    CHECK(a != NULL && b != NULL && accept_many(a, 0, 2, 2) && claim(a, 2, tasks) == 2);
    /* However long it takes: it may be on its way. */
    CHECK(tell(&h, "UPDATE task_lease SET until_us = 1"));
    CHECK(rescue_dead_nodes(b, &moved, &err) && moved == 0 && claim(b, 2, taken) == 0);
    CHECK(task_finish(a, &tasks[0], &ours, &err) && ours);
    CHECK(silence(&h, a) && rescue_dead_nodes(b, &moved, &err) && moved == 1);
    CHECK(claim(b, 2, taken) == 1 && taken[0].id == tasks[1].id && taken[0].rescues == 1);
    CHECK(taken[0].attempts == 2 && task_finish(b, &taken[0], &ours, &err) && ours);
    store_close(a);
    store_close(b);
}

/* proves: FO12 FO13 */
TEST(postgres_a_successor_takes_over_at_once)
{
    struct home h = fresh_home(), other = home_beside(&h);
    struct store *a = open_store(&h), *b = open_store(&other);
    struct task tasks[3], of_b, again[3];
    int64_t before;

    CHECK(a != NULL && b != NULL && accept_many(a, 0, 4, 4));
    CHECK(claim(a, 3, tasks) == 3 && claim(b, 1, &of_b) == 1);
    before = store_node(a);
    store_close(a);
    CHECK(state_of(&h, before) == 0);
    a = open_store(&h);
    CHECK(a != NULL && claim(a, 3, again) == 3);
    CHECK(ask(&h, "SELECT count(*) FROM node") == 2);
    for (int i = 0; i < 3; i++)
        CHECK(again[i].id == tasks[i].id && again[i].rescues == 1);
    CHECK(ask(&h, "SELECT count(*) FROM task_lease") == 4); /* b's is untouched */
    store_close(a);
    store_close(b);
}

/* A session that stands where a group of node `s`, writer 0, would stand. */
static PGconn *enter_as(const struct home *h, struct store *s)
{
    PGconn *conn = PQconnectdb(h->url);
    char sql[200];

    PQclear(PQexec(conn, "BEGIN"));
    (void)snprintf(sql, sizeof sql,
                   "UPDATE node_writer SET token = token WHERE node_id = %lld AND writer = 0",
                   (long long)store_node(s));
    PGresult *result = PQexec(conn, sql);
    bool ok = strcmp(PQcmdTuples(result), "1") == 0;

    PQclear(result);
    if (ok)
        return conn;
    PQfinish(conn);
    return NULL;
}

TEST(postgres_a_running_group_stops_neither_heartbeat_nor_is_it_cut_off)
{
    struct home h = fresh_home(), other = home_beside(&h);
    struct store *a = open_store(&h), *b = open_store(&other);
    struct err err = { 0 };
    int64_t moved, gone, from;

    CHECK(a != NULL && b != NULL);
    gone = store_node(a);
    PGconn *group = enter_as(&h, a);

    CHECK(group != NULL);
    from = clock_mono_us();
    CHECK(beat(a, &err));
    CHECK(clock_mono_us() - from < 2 * CLOCK_S);
    /* While the group runs its node is not declared dead, and nobody waits for it. */
    from = clock_mono_us();
    CHECK(silence(&h, a) && rescue_dead_nodes(b, &moved, &err));
    CHECK(clock_mono_us() - from < 2 * CLOCK_S);
    CHECK(state_of(&h, gone) == 0);
    PQclear(PQexec(group, "COMMIT"));
    CHECK(rescue_dead_nodes(b, &moved, &err));
    CHECK(state_of(&h, gone) == -1); /* declared dead and forgotten: it had no leases */
    PQfinish(group);
    store_close(a);
    store_close(b);
}

/* A group as the node itself opens it, in a session without time limits: its node is frozen, and
 * the server, for whatever reason, does not notice. */
static PGconn *freeze_in_group(const struct home *h, struct store *s)
{
    PGconn *conn = PQconnectdb(h->url);
    char node[24], epoch[24];
    const char *values[] = { node, epoch, "0", "99" };

    (void)snprintf(node, sizeof node, "%lld", (long long)store_node(s));
    (void)snprintf(epoch, sizeof epoch, "%lld", (long long)store_epoch(s));
    PQclear(PQexec(conn, "BEGIN"));
    PGresult *result =
        PQexecParams(conn, sql_postgresql[SQL_NODE_ENTER].text, 4, NULL, values, NULL, NULL, 0);
    bool ok = PQresultStatus(result) == PGRES_TUPLES_OK;

    PQclear(result);
    if (ok)
        return conn;
    PQfinish(conn);
    return NULL;
}

/* proves: QC2 */
TEST(postgres_a_node_frozen_in_a_group_is_declared_dead_all_the_same)
{
    struct home h = fresh_home(), other = home_beside(&h);
    struct store *a = open_store(&h), *b = open_store(&other);
    struct accept_op op = doc_of(STR("x"));
    struct err err = { 0 };
    int64_t moved, gone, until = clock_mono_us() + 20 * CLOCK_S;

    CHECK(a != NULL && b != NULL);
    gone = store_node(a);
    PGconn *group = freeze_in_group(&h, a);

    CHECK(group != NULL && rescue_dead_nodes(b, &moved, &err) && state_of(&h, gone) == 0);
    CHECK(PQstatus(group) == CONNECTION_OK && silence(&h, a));
    while (rescue_dead_nodes(b, &moved, &err) && state_of(&h, gone) == 0 && clock_mono_us() < until)
        clock_sleep_us(20 * CLOCK_MS);
    CHECK(state_of(&h, gone) == -1 && accept_doc(b, &op));
    PGresult *result = PQexec(group, "COMMIT"); /* it wakes up, and is too late */

    CHECK(strcmp(PQcmdStatus(result), "COMMIT") != 0);
    PQclear(result);
    PQfinish(group);
    store_close(a);
    store_close(b);
}

/* The other way round: who is being declared dead while it enters finds that it is. */
TEST(postgres_a_group_that_meets_its_own_end_waits_and_is_refused)
{
    struct home h = fresh_home();
    struct store *a = open_store(&h);
    PGconn *end = PQconnectdb(h.url);
    struct accept_op op = doc_of(STR("x"));
    char sql[300];

    CHECK(a != NULL);
    (void)snprintf(sql, sizeof sql,
                   "BEGIN; UPDATE node SET state = 2 WHERE node_id = %lld;"
                   "UPDATE node_writer SET dead = 1 WHERE node_id = %lld",
                   (long long)store_node(a), (long long)store_node(a));
    PQclear(PQexec(end, sql));
    CHECK(PQsendQuery(end, "SELECT pg_sleep(0.5); COMMIT") == 1);
    CHECK(!accept_doc(a, &op));
    CHECK(op.op.err.kind == ERR_TRANSIENT);
    CHECK(strcmp(op.op.err.text, "this node was declared dead") == 0);
    PQfinish(end);
    CHECK(ask(&h, "SELECT count(*) FROM doc") == 0);
    store_close(a);
}

/* One process owns the file: whatever another one left behind is dead. */
TEST(sqlite_others_are_dead_by_definition)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct err err = { 0 };
    int64_t moved = -1;

    CHECK(s != NULL);
    CHECK(tell(&h, "INSERT INTO node(node_id, epoch, host, pid, area, address, state, started_us, "
                   "alive_until_us) VALUES (5, 0, '', 0, '', '', 0, 0, 0)"));
    store_close(s);
    s = open_store(&h);
    CHECK(s != NULL && ask(&h, "SELECT count(*) FROM node") == 1);
    CHECK(rescue_dead_nodes(s, &moved, &err) && moved == 0);
    CHECK(beat(s, &err));
    store_close(s);
}

/* proves: FO7 */
TEST(sqlite_a_node_that_was_declared_dead_writes_nothing)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op op = doc_of(STR("x"));

    CHECK(s != NULL && tell(&h, "UPDATE node SET state = 2"));
    CHECK(!accept_doc(s, &op) && op.op.err.kind == ERR_TRANSIENT);
    CHECK(ask(&h, "SELECT count(*) FROM doc") == 0);
    store_close(s);
}

STORE_TEST_MAIN
