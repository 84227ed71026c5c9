/* Jobs: runs without the token, beside others and by somebody outside. */
#include "store/job/job_run.h"

#include "store/job/job_late.h"

#include "job_scene.h"

static struct job_run_open opening(const struct job_claim *c, int64_t parallel, int64_t due_us)
{
    struct job_end_op o = end_of(c, NULL, due_us);

    return (struct job_run_open){ .task = c->task,
                                  .state_number = c->record.state_number,
                                  .parallel = parallel,
                                  .began_us = clock_wall_us(),
                                  .until_us = clock_wall_us() + DAY_US,
                                  .plan = o.plan };
}

static enum job_opened open_run(struct store *s, struct job_run_open *o)
{
    struct err err = { 0 };

    if (job_run_open(s, o, &err))
        return o->opened;
    printf("# open: %s\n", err.text);
    return JOB_OPEN_LOST;
}

static bool end_run(struct store *s, struct job_end_op *o, int64_t suspend_after, bool late)
{
    struct job_run_end e = { .end = o,
                             .suspend_after = suspend_after,
                             .suspend = o->suspend,
                             .late_us = late ? clock_wall_us() : 0 };
    struct err err = { 0 };

    do {
        if (!job_run_end(s, &e, &err)) {
            printf("# end: %s\n", err.text);
            return false;
        }
        o->plan.turn = o->record.turn;
    } while (o->result == JOB_END_PLAN);
    return o->result == JOB_END_WRITTEN;
}

static bool beat_run(struct store *s, const struct job_claim *c, int64_t until_us)
{
    struct err err = { 0 };
    bool open = false;

    if (!job_run_beat(s, c->task.id, c->task.claim, until_us, &open, &err))
        printf("# beat: %s\n", err.text);
    return open;
}

/* Behind `above` those whose time is over, and with room for more those of dead nodes. */
static size_t late_runs_behind(struct store *s, int64_t patience_us, struct job_run above,
                               size_t most, struct job_run *ret)
{
    int64_t now_us = clock_wall_us();
    struct err err = { 0 };
    size_t n = 0, left = 0;

    if (!job_run_late(s, now_us, patience_us, &above, most, ret, &n, &err) ||
        (n < most && !job_run_left(s, now_us, &above, most - n, ret + n, &left, &err)))
        printf("# late: %s\n", err.text);
    return n + left;
}

static size_t late_runs(struct store *s, struct job_run *ret)
{
    return late_runs_behind(s, 0, (struct job_run){ 0 }, 2, ret);
}

/* proves: SC3 */
TEST(so_many_run_beside_each_other)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t now = clock_wall_us() - 10;
    struct job_run runs[5];
    struct err err = { 0 };
    struct job_claim c[4];
    size_t n = 0;

    CHECK(one_job(s));
    for (int i = 0; i < 2; i++) { /* the token goes back with the next time */
        CHECK(take(s, 1, &c[i]) == 1 && c[i].record.open_runs == i);
        struct job_run_open o = opening(&c[i], 3, now + i);

        CHECK(open_run(s, &o) == JOB_OPENED && !o.waits && o.due_us == now + i);
        CHECK(show(s, "a").open_runs == i + 1 && tokens(s) == 1 && wrongs(s) == 0);
        CHECK(open_run(s, &o) == JOB_OPEN_LOST); /* the claim is used up */
    }
    CHECK(show(s, "a").past.served == 2 && show(s, "a").next.due_us == now + 1);
    CHECK(job_run_list(s, c[0].task.id, 5, runs, &n, &err) && n == 2);
    CHECK(runs[0].claim == c[0].task.claim && runs[0].nominal_us == c[0].record.next.nominal_us);
    CHECK(runs[1].nominal_us == now && !runs[1].outside && runs[1].node == store_node(s));

    /* The third one keeps the token: nothing else begins. */
    CHECK(take(s, 1, &c[2]) == 1 && c[2].record.open_runs == 2);
    struct job_run_open o = opening(&c[2], 3, now + 2);

    CHECK(open_run(s, &o) == JOB_OPEN_HELD && show(s, "a").open_runs == 2 && take(s, 1, c) == 0);
    o.parallel = 2; /* fewer are allowed by now */
    CHECK(open_run(s, &o) == JOB_OPEN_TOO_MANY && show(s, "a").running);

    /* It ends; the others end when they like, and move neither token nor schedule. */
    struct job_end_op e = end_of(&c[2], "three", now + 2);

    CHECK(end(s, &e) && tokens(s) == 1 && show(s, "a").due_us == now + 2);
    e = end_of(&c[0], NULL, 5);
    CHECK(end_run(s, &e, 0, false) && show(s, "a").runs == 2 && show(s, "a").open_runs == 1);
    CHECK(!end_run(s, &e, 0, false) && e.result == JOB_END_LOST);
    CHECK(show(s, "a").due_us == now + 2 && tokens(s) == 1 && show(s, "a").past.served == 3);
    CHECK(show(s, "a").open_runs == 1 && strcmp(state_of(&h), "three") == 0 && wrongs(s) == 0);
    store_close(s);
}

/* proves: SC10 */
TEST(of_runs_beside_each_other_one_brings_its_state)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct job_claim c[2];
    struct job_run_open o;

    CHECK(one_job(s) && take(s, 1, &c[0]) == 1);
    o = opening(&c[0], 3, clock_wall_us() - 1);
    CHECK(open_run(s, &o) == JOB_OPENED && take(s, 1, &c[1]) == 1);
    o = opening(&c[1], 3, clock_wall_us() + DAY_US);
    CHECK(open_run(s, &o) == JOB_OPENED);
    struct job_end_op first = end_of(&c[1], "second", 5), other = end_of(&c[0], "first", 5);

    other.state_number = 1; /* what the caller says does not count: the row knows */
    CHECK(end_run(s, &first, 0, false) && !first.stale);
    CHECK(end_run(s, &other, 0, false) && other.stale && !first.planned && !other.planned);
    CHECK(strcmp(state_of(&h), "second") == 0 && show(s, "a").state_number == 1);
    CHECK(show(s, "a").runs == 2 && tokens(s) == 1 && wrongs(s) == 0);
    store_close(s);
}

/* A run that is claimed has read its state; another one ends before it begins. */
TEST(a_state_that_was_replaced_between_claim_and_begin_is_not_replaced_again)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct job_claim c[2];
    struct job_run_open o;

    CHECK(one_job(s) && take(s, 1, &c[0]) == 1);
    o = opening(&c[0], 3, clock_wall_us() - 1);
    CHECK(open_run(s, &o) == JOB_OPENED && take(s, 1, &c[1]) == 1);
    struct job_end_op first = end_of(&c[0], "1", 5), second = end_of(&c[1], "1 again", 5);

    CHECK(end_run(s, &first, 0, false) && !first.stale);
    o = opening(&c[1], 3, clock_wall_us() + DAY_US);
    o.plan.turn = show(s, "a").turn;
    CHECK(open_run(s, &o) == JOB_OPENED && end_run(s, &second, 0, false) && second.stale);
    CHECK(strcmp(state_of(&h), "1") == 0 && show(s, "a").state_number == 1 && wrongs(s) == 0);
    store_close(s);
}

/* A plan of an older record is refused, as everywhere. */
TEST(a_run_beside_others_needs_a_plan_of_this_record)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct job_claim c;

    CHECK(one_job(s) && take(s, 1, &c) == 1);
    struct job_run_open o = opening(&c, 2, clock_wall_us() + DAY_US);

    CHECK(act(s, JOB_PAUSE, 0, 0) == JOB_OK);
    CHECK(open_run(s, &o) == JOB_OPEN_HELD); /* it is stopped: nothing else begins */
    CHECK(act(s, JOB_RESUME, 7, 0) == JOB_OK);
    CHECK(open_run(s, &o) == JOB_OPEN_PLAN && o.record.turn == show(s, "a").turn);
    CHECK(show(s, "a").running && show(s, "a").open_runs == 0);
    o.plan.turn = o.record.turn;
    CHECK(open_run(s, &o) == JOB_OPENED && tokens(s) == 1 && wrongs(s) == 0);
    store_close(s);
}

/* proves: SC5 */
TEST(failures_beside_each_other_suspend)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct job_claim c[2];

    CHECK(one_job(s));
    for (int i = 0; i < 2; i++) {
        CHECK(take(s, 1, &c[i]) == 1);
        struct job_run_open o = opening(&c[i], 9, clock_wall_us() - 1);

        CHECK(open_run(s, &o) == JOB_OPENED);
    }
    for (int i = 0; i < 2; i++) {
        struct job_end_op e = end_of(&c[i], NULL, 5);

        e.outcome = JOB_FAILED;
        e.message = STR("no disk");
        CHECK(end_run(s, &e, 2, false) && show(s, "a").past.failures == i + 1);
        CHECK(e.stop == (i == 0 ? JOB_GOES : JOB_SUSPENDED) && e.suspend == (i == 1));
    }
    CHECK(show(s, "a").stop == JOB_SUSPENDED);
    CHECK(str_is(show(s, "a").stop_why, "2 runs in a row failed: no disk"));
    CHECK(tokens(s) == 0 && wrongs(s) == 0);
    store_close(s);
}

/* A refused credential.  The second one finds it suspended already, and is not what did it. */
TEST(one_failure_beside_others_may_suspend_for_its_own_reason)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct job_claim c[2];

    CHECK(one_job(s));
    for (int i = 0; i < 2; i++) {
        CHECK(take(s, 1, &c[i]) == 1);
        struct job_run_open o = opening(&c[i], 9, clock_wall_us() - 1);

        CHECK(open_run(s, &o) == JOB_OPENED);
    }
    for (int i = 0; i < 2; i++) {
        struct job_end_op e = end_of(&c[i], NULL, 5);

        e.outcome = JOB_FAILED;
        e.message = i == 0 ? STR("who are you?") : STR("again");
        e.suspend = true;
        CHECK(end_run(s, &e, 0, false) && e.stop == JOB_SUSPENDED && e.suspend == (i == 0));
        CHECK(str_is(show(s, "a").stop_why, "who are you?") && show(s, "a").open_runs == 1 - i);
    }
    CHECK(tokens(s) == 0 && wrongs(s) == 0);
    store_close(s);
}

/* Its node stops: neither a failure nor a success. */
TEST(what_is_cancelled_beside_others_does_not_count)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct job_claim c[3];

    CHECK(one_job(s));
    for (int i = 0; i < 3; i++) {
        CHECK(take(s, 1, &c[i]) == 1);
        struct job_run_open o = opening(&c[i], 9, clock_wall_us() - 1);

        CHECK(open_run(s, &o) == JOB_OPENED);
    }
    for (int i = 0; i < 3; i++) {
        struct job_end_op e = end_of(&c[i], NULL, 5);

        e.outcome = i == 0 ? JOB_FAILED : JOB_CANCELLED;
        e.suspend = i == 2;
        CHECK(end_run(s, &e, 2, false) && e.stop == JOB_GOES && show(s, "a").past.failures == 1);
        CHECK(show(s, "a").outcome == e.outcome);
    }
    CHECK(tokens(s) == 1 && show(s, "a").open_runs == 0 && wrongs(s) == 0);
    store_close(s);
}

/* Nobody holds a job that somebody outside has: its token is the time-out. */
TEST(a_run_outside_is_acknowledged)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct sha256 secret = digest_of(STR("secret"));
    int64_t due = clock_wall_us() + 2 * DAY_US;
    struct err err = { 0 };
    struct job_claim c;
    struct job_run run;
    bool found = false;

    CHECK(one_job(s) && take(s, 1, &c) == 1);
    struct job_run_open o = opening(&c, 1, due);

    o.outside = true;
    o.ack = secret;
    CHECK(open_run(s, &o) == JOB_OPENED && o.waits && o.due_us == o.until_us);
    CHECK(places(s).later == 1 && !show(s, "a").running && show(s, "a").open_runs == 1);
    CHECK(show(s, "a").past.served == 0 && wrongs(s) == 0);
    CHECK(act(s, JOB_RUN, 0, 0) == JOB_IS_RUNNING && late_runs(s, &run) == 0);
    store_close(s); /* the node goes, and another one comes */
    s = open_store(&h);
    CHECK(s != NULL && late_runs(s, &run) == 0);
    CHECK(job_run_get(s, c.task.id, c.task.claim, &run, &found, &err) && found && run.waits);
    CHECK(run.outside && digest_same(&run.ack, &secret));
    CHECK(job_run_get(s, c.task.id, c.task.claim + 1, &run, &found, &err) && !found);

    /* More time, and the end. */
    CHECK(beat_run(s, &c, o.until_us + 9) && show(s, "a").due_us == o.until_us + 9);
    CHECK(places(s).later == 1 && wrongs(s) == 0);
    struct job_end_op e = end_of(&c, "far", due);

    CHECK(end_run(s, &e, 0, false) && e.due_us == due && !e.stale && e.planned);
    CHECK(strcmp(state_of(&h), "far") == 0 && show(s, "a").runs == 1 && tokens(s) == 1);
    CHECK(show(s, "a").due_us == due && show(s, "a").past.served == 1 && wrongs(s) == 0);
    CHECK(!end_run(s, &e, 0, false) && !beat_run(s, &c, due) && show(s, "a").runs == 1);
    store_close(s);
}

/* Whatever else changes, the token is the time-out of a run that somebody outside has. */
TEST(a_run_outside_keeps_its_time)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct job_wanted j = wanted("a", "2", clock_wall_us() - 1);
    struct err err = { 0 };
    struct job_claim c;

    CHECK(one_job(s) && take(s, 1, &c) == 1 && job_queue(s, STR("dmz"), &j.queue, &err));
    struct job_run_open o = opening(&c, 1, 5);

    o.outside = true;
    CHECK(open_run(s, &o) == JOB_OPENED);
    CHECK(act(s, JOB_PAUSE, 0, 0) == JOB_OK && tokens(s) == 0);
    CHECK(act(s, JOB_RESUME, 7, 0) == JOB_OK && show(s, "a").due_us == o.until_us);
    CHECK(follow(s, 2, &j, 1) && followed.changed == 1 && show(s, "a").due_us == o.until_us);
    CHECK(show(s, "a").queue == j.queue && places(s).later == 1 && wrongs(s) == 0);
    CHECK(follow(s, 3, NULL, 0) && tokens(s) == 0 && follow(s, 4, &j, 1));
    CHECK(show(s, "a").due_us == o.until_us && places(s).later == 1 && wrongs(s) == 0);
    struct job_end_op e = end_of(&c, "x", o.until_us + 5);

    e.digest = j.digest;
    e.queue = j.queue;
    CHECK(end_run(s, &e, 0, false) && show(s, "a").due_us == o.until_us + 5);
    CHECK(tokens(s) == 1 && show(s, "a").runs == 1 && wrongs(s) == 0);
    store_close(s);
}

/* It ends as the run that somebody asked for: the schedule is not moved. */
TEST(a_run_outside_that_was_asked_for_is_paused_and_resumed)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t due = clock_wall_us() + DAY_US;
    struct job_claim c;

    CHECK(one_job(s) && take(s, 1, &c) == 1);
    struct job_end_op e = end_of(&c, NULL, due);

    CHECK(end(s, &e) && act(s, JOB_RUN, 0, 0) == JOB_OK && take(s, 1, &c) == 1);
    struct job_run_open o = opening(&c, 1, due);

    o.outside = true;
    CHECK(open_run(s, &o) == JOB_OPENED && act(s, JOB_PAUSE, 0, 0) == JOB_OK);
    CHECK(show(s, "a").asked_us != 0 && places(s).later == 1 && wrongs(s) == 0);
    CHECK(act(s, JOB_RESUME, due + 7, 0) == JOB_OK && show(s, "a").asked_us != 0);
    CHECK(show(s, "a").due_us == o.until_us && tokens(s) == 1 && wrongs(s) == 0);
    e = end_of(&c, "far", due + 99);
    CHECK(end_run(s, &e, 0, false) && strcmp(state_of(&h), "far") == 0);
    CHECK(show(s, "a").due_us == due + 7 && show(s, "a").past.served == 0);
    CHECK(show(s, "a").asked_us == 0 && tokens(s) == 1 && wrongs(s) == 0);

    /* Paused at its end: no token. */
    CHECK(act(s, JOB_RUN, 0, 0) == JOB_OK && take(s, 1, &c) == 1);
    o = opening(&c, 1, due);
    o.outside = true;
    CHECK(open_run(s, &o) == JOB_OPENED && act(s, JOB_PAUSE, 0, 0) == JOB_OK);
    e = end_of(&c, NULL, due);
    CHECK(end_run(s, &e, 0, false) && show(s, "a").stop == JOB_PAUSED && tokens(s) == 0);
    CHECK(wrongs(s) == 0);
    store_close(s);
}

/* proves: SC4 */
TEST(a_run_outside_that_is_not_acknowledged_ends_once)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t due = clock_wall_us() + 2 * DAY_US;
    struct job_claim c, timeout;
    struct job_run run[2];

    CHECK(one_job(s) && take(s, 1, &c) == 1);
    struct job_run_open o = opening(&c, 1, due);

    o.outside = true;
    o.until_us = clock_wall_us() - 1;
    CHECK(open_run(s, &o) == JOB_OPENED && places(s).ready == 1);
    CHECK(late_runs(s, run) == 1 && run[0].claim == c.task.claim);

    /* A node has its time-out in hand, and ends it. */
    CHECK(take(s, 1, &timeout) == 1 && timeout.awaited == c.task.claim);
    struct job_end_op late = end_of(&c, "late", due), e = end_of(&timeout, NULL, due);

    e.outcome = JOB_FAILED;
    e.awaited = timeout.awaited;
    CHECK(end(s, &e) && !beat_run(s, &c, due) && show(s, "a").open_runs == 0 &&
          show(s, "a").runs == 1);
    CHECK(!end_run(s, &late, 0, false) && show(s, "a").state_number == 0);
    CHECK(tokens(s) == 1 && show(s, "a").due_us == due && wrongs(s) == 0);

    /* Or whoever looks for late runs is first. */
    CHECK(wake(s, due) == 1 && take(s, 1, &c) == 1 && c.awaited == 0);
    o = opening(&c, 1, due);
    o.outside = true;
    CHECK(open_run(s, &o) == JOB_OPENED);
    e = end_of(&c, NULL, due + 1);
    CHECK(!end_run(s, &e, 0, true) && e.result == JOB_END_LOST); /* not late */
    CHECK(beat_run(s, &c, clock_wall_us() - 1) && late_runs(s, run) == 1);
    CHECK(end_run(s, &e, 0, true) && show(s, "a").due_us == due + 1 && tokens(s) == 1);
    CHECK(show(s, "a").open_runs == 0 && wrongs(s) == 0);
    store_close(s);
}

/* Until that node has ended it: the node may give the time-out back. */
TEST(a_run_outside_is_acknowledged_although_its_time_out_is_claimed)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t due = clock_wall_us() - 1;
    struct job_claim c, timeout;

    CHECK(one_job(s) && take(s, 1, &c) == 1);
    struct job_run_open o = opening(&c, 1, due);

    o.outside = true;
    o.until_us = clock_wall_us() - 1;
    CHECK(open_run(s, &o) == JOB_OPENED && take(s, 1, &timeout) == 1);
    CHECK(timeout.awaited == c.task.claim);
    struct job_end_op e = end_of(&c, "far", due), late = end_of(&timeout, NULL, due);

    late.outcome = JOB_FAILED;
    late.awaited = timeout.awaited;
    CHECK(end_run(s, &e, 0, false) && strcmp(state_of(&h), "far") == 0 && tokens(s) == 1);
    CHECK(!end(s, &late) && late.result == JOB_END_LOST && show(s, "a").outcome == JOB_DONE);
    CHECK(show(s, "a").runs == 1 && show(s, "a").open_runs == 0 && wrongs(s) == 0);

    /* Its next run is claimed as any other. */
    CHECK(take(s, 1, &c) == 1 && c.awaited == 0 && c.record.state_number == 1);
    struct job_end_op next = end_of(&c, "further", clock_wall_us() + DAY_US);

    CHECK(end(s, &next) && show(s, "a").runs == 2 && tokens(s) == 1 && wrongs(s) == 0);
    store_close(s);
}

/* As an acknowledgement in that moment would be taken. */
TEST(a_beat_takes_the_time_out_from_the_node_that_has_claimed_it)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t due = clock_wall_us() + 2 * DAY_US;
    struct job_claim c, timeout;

    CHECK(one_job(s) && take(s, 1, &c) == 1);
    struct job_run_open o = opening(&c, 1, due);

    o.outside = true;
    o.until_us = clock_wall_us() - 1;
    CHECK(open_run(s, &o) == JOB_OPENED && take(s, 1, &timeout) == 1);
    struct job_end_op late = end_of(&timeout, NULL, due), e = end_of(&c, "far", due);

    late.outcome = JOB_FAILED;
    late.awaited = timeout.awaited;
    CHECK(beat_run(s, &c, due - 5) && show(s, "a").due_us == due - 5 && places(s).later == 1);
    CHECK(!end(s, &late) && late.result == JOB_END_LOST && show(s, "a").runs == 0);
    CHECK(tokens(s) == 1 && show(s, "a").open_runs == 1 && wrongs(s) == 0);

    /* The time-out comes once more, and can be claimed. */
    CHECK(wake(s, due) == 1 && take(s, 1, &timeout) == 1 && timeout.awaited == c.task.claim);
    CHECK(beat_run(s, &c, due - 1) && end_run(s, &e, 0, false) && tokens(s) == 1);
    CHECK(strcmp(state_of(&h), "far") == 0 && show(s, "a").open_runs == 0 && wrongs(s) == 0);
    store_close(s);
}

/* proves: SC4 */
TEST(the_run_of_a_dead_node_is_found)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct job_claim c;
    struct job_run run[2];

    CHECK(one_job(s) && take(s, 1, &c) == 1);
    struct job_run_open o = opening(&c, 2, clock_wall_us() + DAY_US);

    CHECK(open_run(s, &o) == JOB_OPENED && late_runs(s, run) == 0);
    CHECK(beat_run(s, &c, o.until_us + 5));
    struct job_end_op e = end_of(&c, NULL, 5);

    CHECK(!end_run(s, &e, 0, true));
    store_close(s); /* its process ends */
    s = open_store(&h);
    CHECK(s != NULL && late_runs(s, run) == 1 && run[0].until_us == o.until_us + 5);
    e.outcome = JOB_FAILED;
    CHECK(end_run(s, &e, 0, true) && late_runs(s, run) == 0 && show(s, "a").past.failures == 1);
    CHECK(tokens(s) == 1 && wrongs(s) == 0);
    store_close(s);
}

/* The clock of the store has jumped, and the caller's has not: its time seems to be over.
 * proves: QC6 */
TEST(a_run_is_late_by_the_clock_of_the_caller)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct job_run above = { 0 }, run[2];
    struct err err = { 0 };
    struct job_claim c;
    size_t n = 0;

    CHECK(one_job(s) && take(s, 1, &c) == 1);
    struct job_run_open o = opening(&c, 2, clock_wall_us() + DAY_US);

    o.until_us = clock_wall_us() - DAY_US;
    CHECK(open_run(s, &o) == JOB_OPENED);
    CHECK(job_run_late(s, o.until_us, 0, &above, 2, run, &n, &err) && n == 0);
    CHECK(job_run_left(s, o.until_us, &above, 2, run, &n, &err) && n == 0);
    struct job_end_op end = end_of(&c, NULL, 5);
    struct job_run_end e = { .end = &end, .late_us = o.until_us };

    CHECK(job_run_end(s, &e, &err) && end.result == JOB_END_LOST && show(s, "a").open_runs == 1);
    e.late_us = o.until_us + 1;
    CHECK(job_run_late(s, e.late_us, 0, &above, 2, run, &n, &err) && n == 1);
    CHECK(job_run_end(s, &e, &err) && end.result == JOB_END_WRITTEN);
    CHECK(show(s, "a").open_runs == 0 && wrongs(s) == 0);
    store_close(s);
}

/* However many there are that nobody ends. */
TEST(late_runs_come_in_pages)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t now = clock_wall_us();
    struct job_run above = { 0 }, run[2];
    struct job_claim c;

    CHECK(one_job(s));
    for (int i = 0; i < 3; i++) { /* two of them at the same time */
        CHECK(take(s, 1, &c) == 1);
        struct job_run_open o = opening(&c, 9, now - 1);

        o.until_us = now - 5 + i / 2;
        CHECK(open_run(s, &o) == JOB_OPENED);
    }
    for (int i = 0; i < 3; i++) {
        CHECK(late_runs_behind(s, DAY_US, above, 1, run) == 1 && run[0].claim > above.claim);
        above = run[0];
    }
    CHECK(above.claim == c.task.claim && late_runs_behind(s, 0, above, 1, run) == 0);
    store_close(s); /* its process ends: those whose time is not over are left */
    CHECK(ask(&h, "UPDATE job_run SET until_us = until_us + 86400000000 RETURNING job") > 0);
    s = open_store(&h);
    above = (struct job_run){ 0 };
    for (int i = 0; i < 3; i++) {
        CHECK(late_runs_behind(s, 0, above, 1, run) == 1 && run[0].claim > above.claim);
        above = run[0];
    }
    CHECK(above.claim == c.task.claim && late_runs_behind(s, 0, above, 1, run) == 0);
    store_close(s);
}

/* Its token, the time-out, was taken: nobody can claim it. */
TEST(a_run_outside_of_a_job_without_a_token_ends_in_its_time)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct job_claim c;
    struct job_run run[2];

    CHECK(one_job(s));
    for (int gone = 0; gone < 2; gone++) {
        CHECK((gone == 0 || (act(s, JOB_RESUME, clock_wall_us() - 1, 0) == JOB_OK)) &&
              take(s, 1, &c) == 1);
        struct job_run_open o = opening(&c, 1, clock_wall_us() + DAY_US);

        o.outside = true;
        CHECK(open_run(s, &o) == JOB_OPENED && o.waits);
        CHECK(gone ? follow(s, 2, NULL, 0) : act(s, JOB_PAUSE, 0, 0) == JOB_OK);
        CHECK(tokens(s) == 0 && late_runs(s, run) == 0 && beat_run(s, &c, clock_wall_us() - 1));
        CHECK(late_runs_behind(s, DAY_US, (struct job_run){ 0 }, 2, run) == 0); /* patience */
        CHECK(late_runs(s, run) == 1 && run[0].waits);
        struct job_end_op e = end_of(&c, NULL, 5);

        e.outcome = JOB_FAILED;
        CHECK(end_run(s, &e, 0, true) && show(s, "a").open_runs == 0 && tokens(s) == 0);
        CHECK(show(s, "a").outcome == JOB_FAILED && show(s, "a").runs == gone + 1);
        CHECK(!beat_run(s, &c, 5) && !end_run(s, &e, 0, false) && wrongs(s) == 0);
    }
    store_close(s);
}

/* Of the token, and of a run without it. */
TEST(a_node_learns_which_claims_still_hold)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t due = clock_wall_us() + DAY_US;
    struct err err = { 0 };
    struct job_claim c[2];

    CHECK(one_job(s) && take(s, 1, &c[0]) == 1);
    struct job_run_open o = opening(&c[0], 2, clock_wall_us() - 1);

    CHECK(open_run(s, &o) == JOB_OPENED && take(s, 1, &c[1]) == 1);
    struct task tasks[3] = { c[0].task, c[1].task, c[1].task };
    bool hold[3];

    tasks[2].claim += 1000;
    CHECK(job_claims_hold(s, tasks, 3, &texts, hold, &err) && hold[0] && hold[1] && !hold[2]);
    CHECK(act(s, JOB_CANCEL, due, 0) == JOB_OK);
    CHECK(job_claims_hold(s, tasks, 2, &texts, hold, &err) && !hold[0] && !hold[1]);
    CHECK(job_claims_hold(s, tasks, 0, &texts, hold, &err));
    store_close(s);
}

TEST(a_cancel_ends_runs_without_the_token)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t due = clock_wall_us() + DAY_US;
    struct job_claim c;
    struct job_run_open o;

    for (int outside = 0; outside < 2; outside++) {
        CHECK((outside ? act(s, JOB_RUN, 0, 0) == JOB_OK : one_job(s)) && take(s, 1, &c) == 1);
        o = opening(&c, 2, due);
        o.outside = outside;
        CHECK(open_run(s, &o) == JOB_OPENED);
        CHECK(show(s, "a").held_us == (outside ? o.began_us : 0) && !show(s, "a").running);
        CHECK((show(s, "a").awaited_nominal_us != 0) == (outside != 0));
        struct job_order order = order_of(JOB_CANCEL, due + 7, show(s, "a").turn);
        static struct job_over over;

        order.over = &over;
        CHECK(give_order(s, &order) == JOB_OK && over.count == 1);
        CHECK(over.runs[0].claim == c.task.claim && over.runs[0].began_us == o.began_us);
        struct job_end_op e = end_of(&c, "x", due);

        CHECK(!end_run(s, &e, 0, false) && show(s, "a").outcome == JOB_CANCELLED);
        CHECK(show(s, "a").due_us == due + 7 && tokens(s) == 1 && wrongs(s) == 0);
        CHECK(act(s, JOB_CANCEL, due, 0) == JOB_NOT_RUNNING);
    }
    store_close(s);
}

STORE_TEST_MAIN
