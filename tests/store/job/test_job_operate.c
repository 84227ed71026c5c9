/* Jobs: what people do to them, and how they stand beside documents. */
#include "store/job/job_operate.h"

#include "job_scene.h"
#include "store/job/job_late.h"
#include "store/job/job_run.h"
#include "store/road/overdue.h"
#include "store/road/rescue.h"

/* ---- people ---- */

/* proves: SC5 SC6 */
TEST(a_paused_job_has_no_token)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t due = clock_wall_us() + DAY_US;
    struct job_claim c;

    CHECK(one_job(s));
    CHECK(act(s, JOB_RESUME, due, 0) == JOB_NOT_STOPPED);
    CHECK(act(s, JOB_PAUSE, 0, 0) == JOB_OK && tokens(s) == 0 && take(s, 1, &c) == 0);
    struct job_record r = show(s, "a");

    CHECK(r.stop == JOB_PAUSED && str_is(r.stop_by, "ada") && str_is(r.stop_why, "a reason"));
    CHECK(wrongs(s) == 0 && act(s, JOB_RESUME, due, 0) == JOB_OK);
    CHECK(places(s).later == 1 && tokens(s) == 1 && show(s, "a").due_us == due && wrongs(s) == 0);
    CHECK(act(s, JOB_PAUSE, 0, 0) == JOB_OK && tokens(s) == 0); /* out of later */

    /* While it runs: no token at its end. */
    CHECK(act(s, JOB_RESUME, clock_wall_us() - 1, 0) == JOB_OK && take(s, 1, &c) == 1);
    CHECK(act(s, JOB_PAUSE, 0, 0) == JOB_OK && show(s, "a").running && tokens(s) == 1);
    struct job_end_op o = end_of(&c, "x", due);

    CHECK(end(s, &o) && o.stop == JOB_PAUSED && o.due_us == 0 && tokens(s) == 0 && wrongs(s) == 0);

    /* Paused and resumed while it runs: its end gives the token. */
    CHECK(act(s, JOB_RESUME, clock_wall_us() - 1, 0) == JOB_OK && take(s, 1, &c) == 1);
    CHECK(act(s, JOB_PAUSE, 0, 0) == JOB_OK && act(s, JOB_RESUME, due, 0) == JOB_OK);
    CHECK(show(s, "a").running && tokens(s) == 1);
    o = end_of(&c, "y", due);
    CHECK(end(s, &o) && tokens(s) == 1 && show(s, "a").runs == 2 && wrongs(s) == 0);
    store_close(s);
}

/* The claim of a dead node comes back although the job was paused: whoever claims it removes it. */
TEST(a_token_of_a_paused_job_is_removed_by_its_claim)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct err err = { 0 };
    int64_t moved = 0;
    struct job_claim c;

    CHECK(one_job(s) && take(s, 1, &c) == 1 && act(s, JOB_PAUSE, 0, 0) == JOB_OK);
    if (on_postgres()) {
        CHECK(tell(&h, "UPDATE task_lease SET node_id = 5"));
        CHECK(rescue_dead_nodes(s, &moved, &err) && moved == 1);
    } else {
        store_close(s);
        s = open_store(&h);
    }
    CHECK(places(s).ready == 1 && wrongs(s) == 0 && take(s, 1, &c) == 0 && tokens(s) == 0);
    /* Or it is found by the resume, and stays the only one. */
    CHECK(act(s, JOB_RESUME, clock_wall_us() - 1, 0) == JOB_OK && take(s, 1, &c) == 1);
    CHECK(act(s, JOB_PAUSE, 0, 0) == JOB_OK);
    if (on_postgres()) {
        CHECK(tell(&h, "UPDATE task_lease SET node_id = 5"));
        CHECK(rescue_dead_nodes(s, &moved, &err) && moved == 1);
    } else {
        store_close(s);
        s = open_store(&h);
    }
    CHECK(act(s, JOB_RESUME, clock_wall_us() + DAY_US, 0) == JOB_OK && tokens(s) == 1);
    CHECK(places(s).later == 1 && wrongs(s) == 0);
    store_close(s);
}

TEST(a_run_that_is_asked_for_does_not_move_the_schedule)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t due = clock_wall_us() + DAY_US;
    struct job_wanted j = wanted("a", "1", due);
    struct job_end_op o;
    struct job_claim c;

    CHECK(s != NULL && follow(s, 1, &j, 1) && act(s, JOB_RUN, 0, 0) == JOB_OK);
    CHECK(act(s, JOB_RUN, 0, 0) == JOB_OK && tokens(s) == 1); /* asked twice, one run */
    CHECK(take(s, 1, &c) == 1 && c.record.asked_us != 0 && act(s, JOB_RUN, 0, 0) == JOB_IS_RUNNING);
    o = end_of(&c, "x", due + 99);
    CHECK(end(s, &o) && o.due_us == due && show(s, "a").next.nominal_us == due);
    CHECK(show(s, "a").past.served == 0 && show(s, "a").asked_us == 0 && wrongs(s) == 0);

    /* While it is paused: one run, and it is paused again. */
    CHECK(act(s, JOB_PAUSE, 0, 0) == JOB_OK && act(s, JOB_RUN, 0, 0) == JOB_OK);
    CHECK(tokens(s) == 1 && wrongs(s) == 0 && take(s, 1, &c) == 1);
    o = end_of(&c, "y", due + 99);
    CHECK(end(s, &o) && tokens(s) == 0 && show(s, "a").stop == JOB_PAUSED && wrongs(s) == 0);
    CHECK(show(s, "a").runs == 2 && strcmp(state_of(&h), "y") == 0);

    struct job_order none = { .act = JOB_RUN, .name = STR("nobody") };
    enum job_answer answer;
    struct err err = { 0 };

    CHECK(job_operate(s, &none, &answer, &err) && answer == JOB_UNKNOWN);
    CHECK(follow(s, 2, NULL, 0) && act(s, JOB_RUN, 0, 0) == JOB_IS_GONE);
    store_close(s);
}

/* proves: SC5 */
TEST(failures_suspend_and_a_resume_forgets_them)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct job_claim c;

    CHECK(one_job(s) && take(s, 1, &c) == 1);
    struct job_end_op o = end_of(&c, NULL, clock_wall_us() - 1);

    o.outcome = JOB_FAILED;
    o.message = STR("refused");
    o.plan.past.failures = 5;
    o.suspend = true;
    o.why = STR("5 failed runs");
    CHECK(end(s, &o) && o.stop == JOB_SUSPENDED && tokens(s) == 0 && wrongs(s) == 0);
    struct job_record r = show(s, "a");

    CHECK(r.stop == JOB_SUSPENDED && str_is(r.stop_why, "5 failed runs") && r.past.failures == 5);
    CHECK(r.outcome == JOB_FAILED && str_is(r.message, "refused") && r.ok_us == 0);
    CHECK(act(s, JOB_PAUSE, 0, 0) == JOB_IS_STOPPED);
    CHECK(act(s, JOB_RESUME, clock_wall_us() - 1, 0) == JOB_OK && show(s, "a").past.failures == 0);
    CHECK(take(s, 1, &c) == 1);
    CHECK(act(s, JOB_CANCEL, clock_wall_us() - 1, 0) == JOB_OK &&
          act(s, JOB_CANCEL, 0, 0) == JOB_NOT_RUNNING && tokens(s) == 1);
    store_close(s);
}

/* By its claim a cancel knows for which time the run is; a plan without it serves no time, so that
 * it must not end a run which has begun since. */
TEST(a_record_says_since_when_its_token_is_claimed)
{
    static struct job_over over;
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct job_claim c;

    CHECK(one_job(s) && show(s, "a").held_us == 0);
    struct job_order order = order_of(JOB_CANCEL, clock_wall_us() + DAY_US, show(s, "a").turn);
    int64_t before_us = clock_wall_us();

    CHECK(take(s, 1, &c) == 1);
    int64_t held_us = show(s, "a").held_us;

    CHECK(held_us >= before_us - CLOCK_S && held_us <= clock_wall_us() + CLOCK_S);
    CHECK(show(s, "a").awaited_nominal_us == 0);
    order.unheld = true;
    order.over = &over;
    CHECK(give_order(s, &order) == JOB_OLD_PLAN && show(s, "a").running && over.count == 0);
    order.unheld = false;
    held_us = show(s, "a").held_us;
    CHECK(give_order(s, &order) == JOB_OK && show(s, "a").held_us == 0 && tokens(s) == 1);

    /* Which run it was: nobody else says so. */
    const struct job_run *run = &over.runs[0];

    CHECK(over.count == 1 && run->claim == c.task.claim && run->node == store_node(s));
    CHECK(over.due_us == c.task.rank && run->nominal_us == 0 && run->until_us == 0);
    CHECK(run->began_us >= held_us - CLOCK_S && run->began_us <= held_us + CLOCK_S);
    store_close(s);
}

/* ---- beside documents ---- */

/* ---- the queue check ---- */

static enum job_answer release(struct store *s, int64_t claim)
{
    struct job_order o = order_of(JOB_RELEASE, 0, 0);

    o.claim = claim;
    return give_order(s, &o);
}

/* proves: QC2 */
TEST(a_claim_that_lasts_for_too_long_is_released_and_the_third_time_suspends)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct job_claim c[JOB_RESETS_MOST];
    struct job_end_op o;

    CHECK(one_job(s) && release(s, 7) == JOB_NOT_RUNNING);
    for (int i = 0; i < JOB_RESETS_MOST; i++) {
        CHECK(take(s, 1, &c[i]) == 1 && c[i].record.resets == i);
        CHECK(release(s, c[i].task.claim + 1) == JOB_NOT_RUNNING && show(s, "a").running);
        CHECK(release(s, c[i].task.claim) == (i + 1 < JOB_RESETS_MOST ? JOB_OK : JOB_SUSPENDS));
        CHECK(!show(s, "a").running && wrongs(s) == 0);
        /* The end of the one that was released changes nothing, before and after the next claim. */
        o = end_of(&c[i], "late", clock_wall_us() + DAY_US);
        CHECK(!end(s, &o) && o.result == JOB_END_LOST && show(s, "a").runs == 0);
    }
    struct job_record r = show(s, "a");

    CHECK(tokens(s) == 0 && r.stop == JOB_SUSPENDED && str_is(r.stop_why, "a reason"));
    CHECK(r.next.nominal_us == c[0].record.next.nominal_us); /* its time is still to be served */
    CHECK(act(s, JOB_RESUME, clock_wall_us() - 1, 0) == JOB_OK && show(s, "a").resets == 0);
    /* One that ends by itself begins the count anew. */
    CHECK(take(s, 1, &c[0]) == 1 && release(s, c[0].task.claim) == JOB_OK &&
          take(s, 1, &c[0]) == 1);
    o = end_of(&c[0], "x", clock_wall_us() - 1);
    CHECK(end(s, &o) && show(s, "a").resets == 0);
    /* Of a job that was paused while it ran there is no token. */
    CHECK(take(s, 1, &c[0]) == 1 && act(s, JOB_PAUSE, 0, 0) == JOB_OK);
    CHECK(release(s, c[0].task.claim) == JOB_OK && tokens(s) == 0 && wrongs(s) == 0);
    store_close(s);
}

TEST(jobs_that_are_stopped_are_listed_and_a_pause_ends_once)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t due = clock_wall_us() + DAY_US;
    struct job_wanted jobs[] = { wanted("a", "1", due), wanted("b", "1", due),
                                 wanted("c", "1", due) };
    struct job_stopped stopped[5];
    struct err err = { 0 };
    struct job_order o;
    size_t n = 0;

    CHECK(follow(s, 1, jobs, 3) && job_stopped(s, 0, 5, &texts, stopped, &n, &err) && n == 0);
    CHECK(act(s, JOB_SUSPEND, 0, 0) == JOB_OK);
    o = order_of(JOB_PAUSE, 0, 0);
    o.name = STR("b"); /* for ever: it is not listed */
    CHECK(give_order(s, &o) == JOB_OK);
    o.name = STR("c");
    o.until_us = due - 5;
    CHECK(give_order(s, &o) == JOB_OK);
    CHECK(job_stopped(s, 0, 5, &texts, stopped, &n, &err) && n == 2);
    CHECK(stopped[0].stop == JOB_SUSPENDED && str_is(stopped[0].name, "a"));
    CHECK(str_is(stopped[0].why, "a reason"));
    CHECK(stopped[1].stop == JOB_PAUSED && stopped[1].until_us == due - 5);
    CHECK(job_stopped(s, stopped[0].job, 5, &texts, stopped, &n, &err) && n == 1);
    /* Somebody has paused it for longer meanwhile. */
    o = order_of(JOB_RESUME, due, 0);
    o.name = STR("c");
    o.until_us = due - 6;
    o.plan.turn = show(s, "c").turn;
    CHECK(give_order(s, &o) == JOB_NOT_STOPPED);
    o.until_us = due - 5;
    CHECK(give_order(s, &o) == JOB_OK && give_order(s, &o) == JOB_NOT_STOPPED);
    CHECK(show(s, "c").stop == JOB_GOES && wrongs(s) == 0);
    store_close(s);
}

/* proves: QC4 */
TEST(poison_suspends_a_job)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct err err = { 0 };
    int64_t count, oldest;
    struct job_claim c;
    bool poison = false;

    CHECK(one_job(s) && take(s, 1, &c) == 1);
    for (int i = 0; i < TASK_CRASHES_MOST; i++) {
        store_close(s); /* its claims go */
        s = open_store(&h);
        CHECK(s != NULL && !poison && task_crashed(s, &c.task, &poison, &err));
    }
    CHECK(poison && tokens(s) == 0 && show(s, "a").stop == JOB_SUSPENDED && wrongs(s) == 0);
    CHECK(task_dead_sum(s, &count, &oldest, &err) && count == 0); /* no dead letter */
    CHECK(act(s, JOB_RESUME, clock_wall_us() - 1, 0) == JOB_OK && take(s, 1, &c) == 1);
    CHECK(c.task.crashes == 0);
    store_close(s);
}

TEST(jobs_are_no_backlog_of_documents)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t now = clock_wall_us(), queue = QUEUE_JOBS;
    struct job_wanted jobs[] = { wanted("a", "1", now - 1), wanted("b", "1", now - 1),
                                 wanted("c", "1", now + DAY_US) };
    const struct job_lease lease = lease_since(60 * CLOCK_S);
    struct overdue late[OVERDUE_MOST];
    struct task_queue queues[4];
    struct err err = { 0 };
    int64_t with_work[4];
    struct job_claim c;
    size_t n;

    CHECK(s != NULL && follow(s, 1, jobs, 3) && accept_many(s, 0, 2, 2));
    CHECK(task_queues(s, queues, 4, &n, &err) && n == 1);
    CHECK(queues[0].queue == QUEUE_INTAKE && queues[0].count == 2);
    CHECK(queues_with_work(s, -1, with_work, 4, &n, &err) && n == 1 && with_work[0] == 1);
    CHECK(job_claim(s, &queue, 1, STR(""), 1, &lease, &texts, &c, &n, &err) && n == 1);
    CHECK(overdue_claims(s, late, &n, &err) && n == 0);
    CHECK(task_queues(s, queues, 4, &n, &err) && n == 1 && queues[0].count == 2);
    store_close(s);
}

/* proves: SC9 */
TEST(the_doctor_finds_what_is_wrong_with_jobs)
{
    static const char *const sql[] = {
        "DELETE FROM task_later WHERE id = (SELECT num FROM job WHERE name = 'b')",
        "DELETE FROM task_ready WHERE id = (SELECT num FROM job WHERE name = 'a')",
        "DELETE FROM job_state WHERE number = 1",
        "UPDATE job SET state_number = 3 WHERE state_number = 1",
        "INSERT INTO task_ready SELECT queue, 4, due_us + 7, num, 3, 0, 0, 0 FROM job WHERE name = "
        "'b'",
        "UPDATE job SET due_us = due_us + 1 WHERE name = 'b'",
        "DELETE FROM job WHERE name = 'b'",
    };

    for (size_t i = 0; i < sizeof sql / sizeof sql[0]; i++) {
        struct home h = fresh_home();
        struct store *s = open_store(&h);
        int64_t now = clock_wall_us();
        struct job_wanted jobs[] = { wanted("a", "1", now - 1), wanted("b", "1", now + DAY_US) };
        struct job_claim c;

        CHECK(s != NULL && follow(s, 1, jobs, 2) && take(s, 1, &c) == 1);
        struct job_end_op o = end_of(&c, "x", now - 1);

        CHECK(end(s, &o) && wrongs(s) == 0);
        CHECK(tell(&h, sql[i]));
        if (wrongs(s) == 0)
            printf("# not found: %s\n", sql[i]);
        CHECK(wrongs(s) > 0);
        store_close(s);
    }
}

/* proves: FO14 */
TEST(a_restored_store_runs_no_job)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct job_claim c;

    CHECK(one_job(s));
    CHECK(tell(&h, "INSERT INTO restore(num, made_us, taken_us, source, upto) "
                   "VALUES (1, 1, 1, 'a backup', 1)"));
    CHECK(take(s, 1, &c) == 0 && tokens(s) == 1);
    CHECK(tell(&h, "UPDATE restore SET done_us = 5"));
    CHECK(take(s, 1, &c) == 1);
    store_close(s);
}

/* Neither the time at which it was asked for nor its end are of the schedule. */
TEST(a_run_that_was_asked_for_ends_as_such_although_its_job_leaves_and_comes_back)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t due = clock_wall_us() + DAY_US;
    struct job_wanted j = wanted("a", "1", due);
    struct job_claim c;

    CHECK(s != NULL && follow(s, 1, &j, 1));
    for (int back = 0; back < 2; back++) {
        CHECK(act(s, JOB_RUN, 0, 0) == JOB_OK && take(s, 1, &c) == 1 && c.record.asked_us != 0);
        CHECK(follow(s, 2 + 3 * back, NULL, 0) && (back == 0 || follow(s, 6, &j, 1)));
        struct job_end_op e = end_of(&c, NULL, due + 99);

        e.asked = true;
        CHECK(end(s, &e) && show(s, "a").past.served == 0 && show(s, "a").past.settled_us == 0);
        CHECK(show(s, "a").next.due_us == due && show(s, "a").runs == back + 1);
        CHECK(back == 1 || (tokens(s) == 0 && follow(s, 3, &j, 1)));
        CHECK(tokens(s) == 1 && show(s, "a").due_us == due && wrongs(s) == 0);
    }
    store_close(s);
}

/* Who asks for the whole of it gets one run after the other, which a pause ends. */
TEST(a_run_that_was_asked_for_goes_on_until_it_is_paused)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t due = clock_wall_us() + DAY_US;
    struct job_wanted j = wanted("a", "1", due);
    struct job_claim c;

    CHECK(s != NULL && follow(s, 1, &j, 1) && act(s, JOB_RUN, 0, 0) == JOB_OK);
    for (int run = 1; run <= 4; run++) {
        CHECK(take(s, 1, &c) == 1 && c.record.asked_us != 0);
        if (run == 4)
            CHECK(act(s, JOB_PAUSE, 0, 0) == JOB_OK);
        struct job_end_op e = end_of(&c, NULL, due + 99);

        e.asked = true;
        e.goes_on_us = run != 2 ? e.ended_us : 0;
        CHECK(end(s, &e) && wrongs(s) == 0);
        CHECK(show(s, "a").past.served == 0 && show(s, "a").next.due_us == due);
        CHECK((show(s, "a").asked_us != 0) == (run == 1 || run == 3) &&
              tokens(s) == (run == 4 ? 0 : 1));
        CHECK(run != 2 || (show(s, "a").due_us == due && act(s, JOB_RUN, 0, 0) == JOB_OK));
    }
    /* One that failed is repeated as the same, later. */
    CHECK(act(s, JOB_RUN, 0, 0) == JOB_OK && take(s, 1, &c) == 1);
    struct job_end_op e = end_of(&c, NULL, due + 99);

    e.asked = true;
    e.outcome = JOB_FAILED;
    e.goes_on_us = e.ended_us + DAY_US;
    CHECK(end(s, &e) && wrongs(s) == 0 && tokens(s) == 1);
    CHECK(show(s, "a").asked_us == c.record.asked_us && show(s, "a").due_us == e.goes_on_us);
    store_close(s);
}

STORE_TEST_MAIN
