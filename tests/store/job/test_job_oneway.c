/* Jobs: a claim that another node takes over, and acknowledgements of runs outside. */
#include <pthread.h>

#include "job_scene.h"
#include "store/job/job_run.h"
#include "store/road/rescue.h"

/* ---- taking over ---- */

static bool take_over(struct store *s, const struct task *t, struct job_claim *ret)
{
    const struct job_lease lease = lease_since(0);
    struct err err = { 0 };
    bool taken = false;

    if (!job_take_over(s, t->id, t->claim, &lease, &texts, ret, &taken, &err))
        printf("# take over: %s\n", err.text);
    return taken;
}

static bool hand_back(struct store *s, const struct task *t)
{
    enum job_end_result result = JOB_END_LOST;
    struct err err = { 0 };

    if (!job_give_back(s, t, clock_wall_us() - 1, NULL, STR(""), &result, &err))
        printf("# give back: %s\n", err.text);
    return result == JOB_END_WRITTEN;
}

/* proves: SC3 */
TEST(postgres_a_claim_is_taken_over_once)
{
    struct home h = fresh_home(), other = home_beside(&h);
    struct store *a = open_store(&h), *b = open_store(&other);
    struct job_claim c, mine, none;

    CHECK(b != NULL && one_job(a) && take(a, 1, &c) == 1);
    CHECK(take_over(b, &c.task, &mine) && mine.task.claim > c.task.claim);
    CHECK(mine.task.id == c.task.id && mine.task.rank == c.task.rank && mine.awaited == 0);
    CHECK(str_is(mine.record.name, "a") && mine.record.turn == c.record.turn);
    CHECK(show(a, "a").holder == store_node(b) && tokens(a) == 1 && wrongs(a) == 0);

    /* The old number is lost for everybody. */
    CHECK(!take_over(b, &c.task, &none) && !take_over(a, &c.task, &none));
    CHECK(!hand_back(a, &c.task));
    struct job_end_op old = end_of(&c, "old", 1), o = end_of(&mine, "new", clock_wall_us() - 1);

    CHECK(!end(a, &old) && old.result == JOB_END_LOST);
    CHECK(end(b, &o) && strcmp(state_of(&h), "new") == 0 && show(a, "a").runs == 1);

    /* What was given back is not taken over, also when it is claimed again. */
    CHECK(take(a, 1, &c) == 1 && hand_back(a, &c.task) && !take_over(b, &c.task, &none));
    CHECK(take(a, 1, &mine) == 1 && !take_over(b, &c.task, &none) && tokens(a) == 1);
    store_close(a);
    store_close(b);
}

/* proves: SC4 */
TEST(postgres_what_was_taken_over_goes_with_its_node)
{
    struct home h = fresh_home(), other = home_beside(&h);
    struct store *a = open_store(&h), *b = open_store(&other);
    struct err err = { 0 };
    struct job_claim c, mine, again_;
    int64_t moved;

    CHECK(b != NULL && one_job(a) && take(a, 1, &c) == 1 && take_over(b, &c.task, &mine));
    CHECK(tell(&h, "UPDATE node SET alive_until_us = 0 WHERE node_id = (SELECT min(node_id) FROM "
                   "task_lease)"));
    CHECK(rescue_dead_nodes(a, &moved, &err) && moved == 1 && take(a, 1, &again_) == 1);
    struct job_end_op late = end_of(&mine, "dead", 1), o = end_of(&again_, "alive", 1);

    CHECK(!writers_call(store_writers(b), &job_end_verb, &late.op, &err)); /* the fence */
    CHECK(end(a, &o) && strcmp(state_of(&h), "alive") == 0 && tokens(a) == 1);
    store_close(a);
    store_close(b);
}

TEST(postgres_a_job_that_was_stopped_is_not_taken_over)
{
    struct home h = fresh_home(), other = home_beside(&h);
    struct store *a = open_store(&h), *b = open_store(&other);
    struct job_claim c, none;

    CHECK(b != NULL && one_job(a) && take(a, 1, &c) == 1 && act(a, JOB_PAUSE, 0, 0) == JOB_OK);
    CHECK(!take_over(b, &c.task, &none) && tokens(a) == 0 && wrongs(a) == 0);
    store_close(a);
    store_close(b);
}

enum { CONTESTS = 60 };

struct giver {
    struct store *s;
    pthread_t thread;
    const struct task *task;
    bool gave;
};

static void *give_one(void *arg)
{
    struct giver *g = arg;

    g->gave = hand_back(g->s, g->task);
    return NULL;
}

/* proves: SC3 */
TEST(postgres_of_who_takes_over_and_who_gives_back_one_wins)
{
    struct home h = fresh_home(), other = home_beside(&h);
    struct store *a = open_store(&h), *b = open_store(&other);
    int taken = 0;

    CHECK(b != NULL && one_job(a));
    for (int i = 0; i < CONTESTS; i++) {
        struct job_claim c, mine;

        CHECK(take(a, 1, &c) == 1);
        struct giver g = { .s = a, .task = &c.task };

        CHECK(pthread_create(&g.thread, NULL, give_one, &g) == 0);
        bool took = take_over(b, &c.task, &mine);

        (void)pthread_join(g.thread, NULL);
        CHECK(took != g.gave && tokens(a) == 1);
        taken += took;
        CHECK(!took || hand_back(b, &mine.task));
    }
    printf("# taken over %d of %d\n", taken, CONTESTS);
    CHECK(wrongs(a) == 0);
    store_close(a);
    store_close(b);
}

/* Its claims are marks in the memory of the process that has made them. */
TEST(sqlite_nothing_is_taken_over)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct job_claim c, none;

    CHECK(one_job(s) && take(s, 1, &c) == 1 && !take_over(s, &c.task, &none));
    struct job_end_op o = end_of(&c, "x", 5);

    CHECK(end(s, &o) && wrongs(s) == 0);
    store_close(s);
}

/* ---- acknowledgements ---- */

static bool kept(struct store *s, const struct job_claim *c, struct job_ack *ret)
{
    struct err err = { 0 };
    bool found = false;

    if (!job_ack_get(s, c->task.id, c->task.claim, ret, &found, &err))
        printf("# ack: %s\n", err.text);
    return found;
}

static bool open_outside(struct store *s, struct job_claim *c, const struct sha256 *secret,
                         int64_t nominal_us)
{
    struct err err = { 0 };

    if (take(s, 1, c) != 1)
        return false;
    struct job_run_open o = { .task = c->task,
                              .nominal_us = nominal_us,
                              .state_number = c->record.state_number,
                              .parallel = 1,
                              .began_us = clock_wall_us(),
                              .until_us = clock_wall_us() + DAY_US,
                              .outside = true,
                              .ack = *secret,
                              .plan = { .turn = c->record.turn } };

    return job_run_open(s, &o, &err) && o.opened == JOB_OPENED;
}

static bool acknowledge(struct store *s, const struct job_ack *ack, struct job_end_op *o)
{
    struct job_run_end e = { .end = o, .ack = ack };
    struct err err = { 0 };
    bool ok;

    while ((ok = job_run_end(s, &e, &err)) && o->result == JOB_END_PLAN)
        o->plan.turn = o->record.turn;
    return ok && o->result == JOB_END_WRITTEN;
}

TEST(an_acknowledgement_is_kept_with_what_became_of_it)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct job_ack ack = { .secret = digest_of(STR("secret")), .said = digest_of(STR("{}")) }, got;
    struct err err = { 0 };
    struct job_claim c, next;
    struct job_run run;
    bool found = false;

    CHECK(one_job(s) && open_outside(s, &c, &ack.secret, 77) && !kept(s, &c, &got));
    CHECK(job_run_get(s, c.task.id, c.task.claim, &run, &found, &err) && found);
    CHECK(run.nominal_us == 77); /* the one that it was begun for */
    struct job_end_op o = end_of(&c, "far", clock_wall_us() - 1), twice = o;

    CHECK(acknowledge(s, &ack, &o) && kept(s, &c, &got));
    CHECK(digest_same(&got.secret, &ack.secret) && digest_same(&got.said, &ack.said));
    CHECK(got.job == c.task.id && got.claim == c.task.claim);
    CHECK(got.outcome == JOB_DONE && !got.stale);
    CHECK(!acknowledge(s, &ack, &twice) && twice.result == JOB_END_LOST);

    /* Old ones go with the next one of the job. */
    CHECK(tell(&h, "UPDATE job_ack SET at_us = at_us - 3700000000"));
    CHECK(open_outside(s, &next, &ack.secret, 0) && kept(s, &c, &got));
    struct job_end_op failed = end_of(&next, NULL, clock_wall_us() + DAY_US);

    failed.outcome = JOB_FAILED;
    CHECK(acknowledge(s, &ack, &failed) && !kept(s, &c, &got) && kept(s, &next, &got));
    CHECK(got.outcome == JOB_FAILED && show(s, "a").runs == 2 && wrongs(s) == 0);
    store_close(s);
}

/* An end that is not written keeps no acknowledgement. */
TEST(an_acknowledgement_that_is_too_late_is_not_kept)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct job_ack ack = { .secret = digest_of(STR("secret")), .said = digest_of(STR("{}")) }, got;
    struct job_claim c;

    CHECK(one_job(s) && open_outside(s, &c, &ack.secret, 0));
    CHECK(act(s, JOB_CANCEL, clock_wall_us() + DAY_US, 0) == JOB_OK);
    struct job_end_op o = end_of(&c, "late", 1);

    CHECK(!acknowledge(s, &ack, &o) && o.result == JOB_END_LOST && !kept(s, &c, &got));
    store_close(s);
}

STORE_TEST_MAIN
