/* Past times of a job that are served beside its schedule. */
#include "store/job/job_backfill.h"

#include "job_scene.h"
#include "store/road/rescue.h"

enum { HOUR = 3600 };

static enum job_answer backfill(struct store *s, const int64_t *times, size_t count)
{
    struct job_order o = order_of(JOB_BACKFILL, 0, 0);

    o.times = times;
    o.time_count = count;
    return give_order(s, &o);
}

static struct job_backfill left_of(struct store *s)
{
    struct job_backfill b = { .left = -1 };
    struct err err = { 0 };

    if (!job_backfill_get(s, show(s, "a").num, &texts, &b, &err))
        (void)printf("# backfill: %s\n", err.text);
    return b;
}

/* The run that was taken ends so; the schedule stays at `due`. */
static bool end_so(struct store *s, const struct job_claim *c, enum job_outcome outcome,
                   const char *state)
{
    struct job_end_op o = end_of(c, state, clock_wall_us());

    o.outcome = outcome;
    o.again_us = clock_wall_us() + (int64_t)HOUR * CLOCK_S;
    return end(s, &o);
}

static struct store *die(const struct home *h, struct store *s)
{
    struct err err = { 0 };
    int64_t moved = 0;

    if (on_postgres()) {
        if (!tell(h, "UPDATE task_lease SET node_id = 5") || !rescue_dead_nodes(s, &moved, &err) ||
            moved != 1)
            (void)printf("# %lld moved: %s\n", (long long)moved, err.text);
        return s;
    }
    store_close(s);
    return open_store(h);
}

/* proves: SC17 */
TEST(past_times_are_served_in_order_and_the_schedule_stays)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t due = clock_wall_us() + DAY_US, times[] = { 100, 200, 300 };
    struct job_wanted jobs[] = { wanted("a", "1", due) };
    struct job_claim c;

    CHECK(follow(s, 1, jobs, 1) && left_of(s).left == 0);
    CHECK(act(s, JOB_NEXT, 0, 0) == JOB_NOT_RUNNING);
    CHECK(backfill(s, times, 3) == JOB_OK && backfill(s, times, 1) == JOB_HAS_BACKFILL);
    CHECK(backfill(s, times, 0) == JOB_OLD_PLAN);
    CHECK(left_of(s).left == 3 && left_of(s).next_us == 100 && left_of(s).last_us == 300);
    for (int i = 0; i < 3; i++) {
        CHECK(act(s, JOB_NEXT, 0, 0) == JOB_OK && act(s, JOB_NEXT, 0, 0) == JOB_NOT_RUNNING);
        CHECK(take(s, 1, &c) == 1 && c.record.asked_us == times[i] && left_of(s).left == 3 - i);
        CHECK(c.backfill == left_of(s).number && c.backfill > 0);
        if (i == 1) { /* its node dies: the same time again, of the same backfill */
            s = die(&h, s);
            CHECK(take(s, 1, &c) == 1 && c.record.asked_us == times[i]);
            CHECK(c.backfill == left_of(s).number);
        }
        CHECK(end_so(s, &c, JOB_DONE, "x") && left_of(s).left == 2 - i);
        CHECK(show(s, "a").due_us == due && show(s, "a").next.due_us == due && wrongs(s) == 0);
    }
    CHECK(act(s, JOB_NEXT, 0, 0) == JOB_NOT_RUNNING && show(s, "a").runs == 3);
    CHECK(show(s, "a").state_number == 3 && show(s, "a").past.served == 0);
    store_close(s);
}

TEST(each_backfill_has_a_number_of_its_own_and_other_runs_have_none)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t times[] = { 100 };
    struct job_wanted jobs[] = { wanted("a", "1", clock_wall_us() - 1) };
    struct job_claim c;

    CHECK(follow(s, 1, jobs, 1) && take(s, 1, &c) == 1 && c.backfill == 0);
    struct job_end_op o = end_of(&c, NULL, clock_wall_us() + DAY_US);

    CHECK(end(s, &o) && backfill(s, times, 1) == JOB_OK);
    int64_t first = left_of(s).number;

    CHECK(act(s, JOB_RUN, 0, 0) == JOB_OK && take(s, 1, &c) == 1 && c.backfill == 0);
    CHECK(end_so(s, &c, JOB_DONE, NULL) && act(s, JOB_NEXT, 0, 0) == JOB_OK);
    CHECK(take(s, 1, &c) == 1 && c.backfill == first && end_so(s, &c, JOB_DONE, NULL));
    CHECK(backfill(s, times, 1) == JOB_OK && left_of(s).number > first);
    store_close(s);
}

TEST(what_fails_is_tried_again_later_and_given_up)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t times[] = { 100, 200 }, left = 0;
    struct job_wanted jobs[] = { wanted("a", "1", clock_wall_us() + DAY_US) };
    struct job_backfill list[2];
    struct err err = { 0 };
    struct job_claim c;
    size_t n = 0;

    CHECK(follow(s, 1, jobs, 1) && backfill(s, times, 2) == JOB_OK);
    CHECK(act(s, JOB_NEXT, 0, 0) == JOB_OK && take(s, 1, &c) == 1);
    CHECK(end_so(s, &c, JOB_FAILED, NULL) && left_of(s).left == 2 && left_of(s).tries == 1);
    CHECK(left_of(s).after_us > clock_wall_us() && act(s, JOB_NEXT, 0, 0) == JOB_NOT_RUNNING);
    CHECK(job_backfill_list(s, 0, 2, &texts, list, &n, &err) && n == 1 &&
          str_is(list[0].name, "a"));
    CHECK(tell(&h, "UPDATE job_backfill SET after_us = 0") && act(s, JOB_NEXT, 0, 0) == JOB_OK);
    CHECK(take(s, 1, &c) == 1 && c.record.asked_us == 100 && end_so(s, &c, JOB_DONE, NULL));
    CHECK(left_of(s).left == 1 && left_of(s).tries == 0);
    int64_t num = list[0].job, number = list[0].number;

    CHECK(job_backfill_drop(s, num, number, &left, &err) && left == 1 && left_of(s).left == 0);
    CHECK(job_backfill_drop(s, num, number, &left, &err) && left == 0 && wrongs(s) == 0);
    /* Another one was asked for before a node gives the first one up that it had read. */
    CHECK(backfill(s, times, 2) == JOB_OK && left_of(s).number != number);
    CHECK(job_backfill_drop(s, num, number, &left, &err) && left == 0 && left_of(s).left == 2);
    store_close(s);
}

TEST(what_would_fail_again_is_not_tried_again)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t times[] = { 100 };
    struct job_wanted jobs[] = { wanted("a", "1", clock_wall_us() + DAY_US) };
    struct job_claim c;

    CHECK(follow(s, 1, jobs, 1) && backfill(s, times, 1) == JOB_OK);
    CHECK(act(s, JOB_NEXT, 0, 0) == JOB_OK && take(s, 1, &c) == 1);
    struct job_end_op o = end_of(&c, NULL, clock_wall_us());

    o.outcome = JOB_FAILED;
    o.final = true;
    CHECK(end(s, &o) && left_of(s).left == 1 && left_of(s).tries == BACKFILL_TRIES);
    store_close(s);
}

TEST(the_schedule_has_the_first_right_and_a_pause_keeps_what_is_left)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t times[] = { 100, 200 }, due = clock_wall_us() + DAY_US;
    struct job_wanted jobs[] = { wanted("a", "1", clock_wall_us() - 1) };
    struct job_claim c;

    CHECK(follow(s, 1, jobs, 1) && backfill(s, times, 2) == JOB_OK);
    CHECK(act(s, JOB_NEXT, 0, 0) == JOB_NOT_RUNNING); /* its schedule is due */
    CHECK(take(s, 1, &c) == 1 && c.record.asked_us == 0 &&
          act(s, JOB_NEXT, 0, 0) == JOB_NOT_RUNNING);
    struct job_end_op o = end_of(&c, "x", due);

    CHECK(end(s, &o) && act(s, JOB_NEXT, 0, 0) == JOB_OK);
    /* Paused before it is claimed: its time is still to be served. */
    CHECK(act(s, JOB_PAUSE, 0, 0) == JOB_OK && tokens(s) == 0 && left_of(s).left == 2);
    CHECK(act(s, JOB_NEXT, 0, 0) == JOB_NOT_RUNNING && act(s, JOB_RESUME, due, 0) == JOB_OK);
    CHECK(act(s, JOB_NEXT, 0, 0) == JOB_OK && take(s, 1, &c) == 1 && c.record.asked_us == 100);
    store_close(s);
}

TEST(a_cancel_ends_a_backfill)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t times[] = { 100, 200 }, due = clock_wall_us() + DAY_US;
    struct job_wanted jobs[] = { wanted("a", "1", due) };
    struct job_claim c;

    CHECK(follow(s, 1, jobs, 1) && act(s, JOB_CANCEL, due, 0) == JOB_NOT_RUNNING);
    CHECK(backfill(s, times, 2) == JOB_OK && act(s, JOB_CANCEL, due, 0) == JOB_OK);
    CHECK(left_of(s).left == 0 && tokens(s) == 1 && show(s, "a").due_us == due);
    /* Its next run has a token. */
    CHECK(backfill(s, times, 2) == JOB_OK && act(s, JOB_NEXT, 0, 0) == JOB_OK);
    CHECK(act(s, JOB_CANCEL, due, 0) == JOB_OK && left_of(s).left == 0 && tokens(s) == 1);
    CHECK(show(s, "a").due_us == due && show(s, "a").asked_us == 0 && wrongs(s) == 0);
    /* It runs. */
    CHECK(backfill(s, times, 2) == JOB_OK && act(s, JOB_NEXT, 0, 0) == JOB_OK);
    CHECK(take(s, 1, &c) == 1 && act(s, JOB_CANCEL, due, 0) == JOB_OK && left_of(s).left == 0);
    CHECK(!end_so(s, &c, JOB_DONE, "x") && tokens(s) == 1 && wrongs(s) == 0);
    CHECK(act(s, JOB_CANCEL, due, 0) == JOB_NOT_RUNNING);
    store_close(s);
}

STORE_TEST_MAIN
