/* Jobs: two who change one job at the same time. */
#include <libpq-fe.h>
#include <pthread.h>
#include <stdatomic.h>

#include "job_scene.h"

#define PATIENCE_US (60 * CLOCK_S)

/* ---- a rescue behind the back of somebody who has found the lease (PostgreSQL) ---- */

/* What a rescue does, and not committed yet. */
static PGconn *begin_rescue(const struct home *h)
{
    PGconn *conn = PQconnectdb(h->url);

    PQclear(PQexec(conn, "BEGIN"));
    PGresult *result = PQexec(
        conn, "WITH gone AS (DELETE FROM task_lease RETURNING *) INSERT INTO task_ready(queue, "
              "prio, rank, id, kind, attempts, rescues, crashes) SELECT queue, prio, rank, id, "
              "kind, attempts, rescues + 1, crashes FROM gone");

    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        printf("# rescue: %s", PQerrorMessage(conn));
    PQclear(result);
    return conn;
}

/* Commits it when somebody waits for it. */
static bool commit_when_awaited(const struct home *h, PGconn *conn)
{
    int64_t until = clock_mono_us() + PATIENCE_US, waiting = 0;

    while (waiting == 0 && clock_mono_us() < until) {
        waiting = ask(h, "SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid) "
                         "WHERE NOT l.granted AND a.datname = current_database()");
        clock_sleep_us(5 * CLOCK_MS);
    }
    PGresult *result = PQexec(conn, "COMMIT");
    bool ok = PQresultStatus(result) == PGRES_COMMAND_OK && waiting > 0;

    PQclear(result);
    PQfinish(conn);
    return ok;
}

struct canceller {
    struct store *s;
    pthread_t thread;
    struct job_order order;
    enum job_answer answer;
};

static void *cancel_too(void *arg)
{
    struct canceller *c = arg;

    c->answer = give_order(c->s, &c->order);
    return NULL;
}

/* proves: SC3 SC4 */
TEST(postgres_a_cancel_beside_a_rescue_doubles_no_token)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct job_claim c, twice[2];

    CHECK(one_job(s) && take(s, 1, &c) == 1);
    struct canceller other = { .s = s,
                               .order = order_of(JOB_CANCEL, clock_wall_us() - 2, c.record.turn) };
    PGconn *rescue = begin_rescue(&h);

    CHECK(pthread_create(&other.thread, NULL, cancel_too, &other) == 0);
    CHECK(commit_when_awaited(&h, rescue));
    (void)pthread_join(other.thread, NULL);
    CHECK(other.answer == JOB_NOT_RUNNING && tokens(s) == 1 && wrongs(s) == 0);
    CHECK(take(s, 2, twice) == 1 && twice[0].task.rescues == 1);
    store_close(s);
}

struct mover {
    struct store *s;
    pthread_t thread;
    struct job_follow f;
    bool ok;
};

static void *move_too(void *arg)
{
    struct mover *m = arg;
    struct err err = { 0 };

    m->ok = job_follow(m->s, &m->f, &err);
    return NULL;
}

/* proves: SC3 SC4 */
TEST(postgres_a_new_area_beside_a_rescue_loses_no_token)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct job_wanted j = wanted("a", "2", clock_wall_us() - 1);
    struct mover other = { .s = s, .f = { .version = 2, .jobs = &j, .count = 1, .again = again } };
    struct err err = { 0 };
    struct job_claim c;
    size_t n = 0;

    CHECK(one_job(s) && take(s, 1, &c) == 1 && job_queue(s, STR("dmz"), &j.queue, &err));
    j.area = STR("dmz");
    PGconn *rescue = begin_rescue(&h);

    CHECK(pthread_create(&other.thread, NULL, move_too, &other) == 0);
    CHECK(commit_when_awaited(&h, rescue));
    (void)pthread_join(other.thread, NULL);
    CHECK(other.ok && other.f.changed == 1 && tokens(s) == 1 && wrongs(s) == 0);
    CHECK(take(s, 1, &c) == 0);
    const struct job_lease lease = lease_since(0);

    CHECK(job_claim(s, &j.queue, 1, STR(""), 5, &lease, &texts, &c, &n, &err) && n == 1);
    store_close(s);
}

/* ---- two in one group of commits (SQLite) ---- */

static atomic_int gate_waits;

/* Holds the writer until two others wait for it. */
static bool gate_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    int64_t until = clock_mono_us() + PATIENCE_US;

    (void)ops;
    (void)count;
    (void)err;
    atomic_store(&gate_waits, 1);
    while (writers_waiting(w->all) < 2 && clock_mono_us() < until)
        clock_sleep_us(CLOCK_MS);
    return true;
}

static const struct store_verb gate_verb = { .name = "gate", .run = gate_run, .apart = true };

struct pair {
    struct store *s;
    struct job_order order;
    enum job_answer answer;
    struct job_end_op end;
    bool ended;
};

static void *pass_gate(void *arg)
{
    struct store_op op = { 0 };
    struct err err = { 0 };
    struct pair *p = arg;

    (void)writers_call(store_writers(p->s), &gate_verb, &op, &err);
    return NULL;
}

static void *pair_order(void *arg)
{
    struct pair *p = arg;

    p->answer = give_order(p->s, &p->order);
    return NULL;
}

static void *pair_end(void *arg)
{
    struct err err = { 0 };
    struct pair *p = arg;

    p->ended = writers_call(store_writers(p->s), &job_end_verb, &p->end.op, &err);
    return NULL;
}

/* Both in one transaction, in this order. */
static bool in_one_group(struct pair *p, void *(*first)(void *), void *(*second)(void *))
{
    void *(*const runs[])(void *) = { pass_gate, first, second };
    int64_t until = clock_mono_us() + PATIENCE_US;
    pthread_t threads[3];

    atomic_store(&gate_waits, 0);
    for (size_t i = 0; i < 3; i++) {
        if (pthread_create(&threads[i], NULL, runs[i], p) != 0)
            return false;
        while ((atomic_load(&gate_waits) == 0 ||
                (i == 1 && writers_waiting(store_writers(p->s)) < 1)) &&
               clock_mono_us() < until)
            clock_sleep_us(CLOCK_MS);
    }
    for (size_t i = 0; i < 3; i++)
        (void)pthread_join(threads[i], NULL);
    return clock_mono_us() < until;
}

/* proves: SC3 */
TEST(sqlite_a_cancel_behind_an_end_finds_no_run)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t due = clock_wall_us() - 1;
    struct pair p = { .s = s };
    struct job_claim c;

    CHECK(one_job(s) && take(s, 1, &c) == 1);
    p.order = order_of(JOB_CANCEL, due, c.record.turn + 1); /* of the record after the end */
    p.end = end_of(&c, "x", due);
    CHECK(in_one_group(&p, pair_end, pair_order));
    CHECK(p.ended && p.end.result == JOB_END_WRITTEN && p.answer == JOB_NOT_RUNNING);
    CHECK(show(s, "a").outcome == JOB_DONE && show(s, "a").runs == 1);
    CHECK(tokens(s) == 1 && wrongs(s) == 0 && take(s, 1, &c) == 1);
    store_close(s);
}

/* proves: SC3 SC4 */
TEST(sqlite_an_end_behind_a_cancel_is_lost)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t due = clock_wall_us() - 1;
    struct pair p = { .s = s };
    struct job_claim c;

    CHECK(one_job(s) && take(s, 1, &c) == 1);
    p.order = order_of(JOB_CANCEL, due, c.record.turn);
    p.end = end_of(&c, "x", due);
    p.end.plan.turn = c.record.turn + 1; /* of the record after the cancel */
    CHECK(in_one_group(&p, pair_order, pair_end));
    CHECK(p.answer == JOB_OK && p.ended && p.end.result == JOB_END_LOST);
    CHECK(show(s, "a").outcome == JOB_CANCELLED && show(s, "a").runs == 0);
    CHECK(tokens(s) == 1 && wrongs(s) == 0 && take(s, 1, &c) == 1);
    store_close(s);
}

/* A claim whose token is gone ends with the first who finds that it is lost. */
TEST(sqlite_a_lost_claim_leaves_no_mark)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct err err = { 0 };
    enum job_end_result back;
    struct job_claim c;

    CHECK(one_job(s) && take(s, 1, &c) == 1 && tell(&h, "DELETE FROM task_ready"));
    struct job_end_op o = end_of(&c, "x", 5);

    CHECK(!end(s, &o) && o.result == JOB_END_LOST && !show(s, "a").running);
    CHECK(act(s, JOB_RUN, 0, 0) == JOB_OK && take(s, 1, &c) == 1);
    CHECK(tell(&h, "DELETE FROM task_ready"));
    CHECK(job_give_back(s, &c.task, 5, NULL, STR(""), &back, &err) && back == JOB_END_LOST);
    CHECK(act(s, JOB_RUN, 0, 0) == JOB_OK && take(s, 1, &c) == 1);
    store_close(s);
}

/* ---- plans ---- */

/* proves: SC6 */
TEST(a_plan_of_an_older_record_is_refused)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t due = clock_wall_us() + DAY_US;
    struct err err = { 0 };
    enum job_end_result back;
    struct job_claim c;

    CHECK(one_job(s) && take(s, 1, &c) == 1);
    int64_t old = c.record.turn;
    struct job_order order = order_of(JOB_RESUME, due, old);

    /* Paused and resumed while it runs: the schedule knows of the pause from now on. */
    CHECK(act(s, JOB_PAUSE, 0, 0) == JOB_OK && show(s, "a").turn > old);
    CHECK(give_order(s, &order) == JOB_OLD_PLAN && show(s, "a").stop == JOB_PAUSED);
    order.plan.turn = show(s, "a").turn;
    order.plan.past.paused_us = 77;
    CHECK(give_order(s, &order) == JOB_OK);

    struct job_end_op o = end_of(&c, "x", due + 5);

    CHECK(writers_call(store_writers(s), &job_end_verb, &o.op, &err));
    CHECK(o.result == JOB_END_PLAN && o.record.past.paused_us == 77 && o.record.name.len == 0);
    CHECK(o.record.turn == show(s, "a").turn && show(s, "a").past.paused_us == 77);
    CHECK(show(s, "a").runs == 0 && show(s, "a").running && strcmp(state_of(&h), "") == 0);

    /* Nor is one that comes with what is given back, or with a cancel. */
    CHECK(job_give_back(s, &c.task, due, &o.plan, STR(""), &back, &err) && back == JOB_END_PLAN);
    order = order_of(JOB_CANCEL, due, old);
    CHECK(give_order(s, &order) == JOB_OLD_PLAN && show(s, "a").running && tokens(s) == 1);

    /* From the record as it is. */
    o.plan.past.paused_us = o.record.past.paused_us;
    o.plan.turn = o.record.turn;
    CHECK(writers_call(store_writers(s), &job_end_verb, &o.op, &err));
    CHECK(o.result == JOB_END_WRITTEN && show(s, "a").past.paused_us == 77);
    CHECK(show(s, "a").due_us == due + 5 && tokens(s) == 1 && wrongs(s) == 0);
    store_close(s);
}

STORE_TEST_MAIN
