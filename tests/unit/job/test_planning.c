/* What follows from a record and its schedule, moment by moment. */
#include "job/planning.h"

#include <stdlib.h>

#include "base/auto.h"
#include "base/clock.h"
#include "core/civil.h"
#include "core/schedule/schedule_build.h"
#include "job/book.h"
#include "test.h"

#define SECOND ((int64_t)CLOCK_S)
#define MINUTE (60 * SECOND)
#define HOUR   (60 * MINUTE)

static int64_t at(const char *text)
{
    int y, mo, d, h, mi, s = 0;
    int n = sscanf(text, "%d-%d-%d %d:%d:%d", &y, &mo, &d, &h, &mi, &s);

    return n < 5 ? 0 : CLOCK_S * (civil_day(y, mo, d) * CIVIL_DAY_S + h * 3600 + mi * 60 + s);
}

static struct book_job job_of(const char *keys)
{
    static struct arena arena = ARENA_INIT(64 << 20);
    AUTO(problem_list_done) struct problem_list problems = PROBLEM_LIST_INIT;
    AUTO(buf_done) struct buf text = BUF_INIT(1 << 16);
    struct book_job j = { .name = STR("job"), .seed = 5 };
    struct err err = { 0 };

    buf_printf(&text, "job: { kind: note, %s }\n", keys);
    const struct yaml_node *root =
        yaml_load(arena_copy(&arena, buf_view(&text)), &arena, &problems);
    struct window_maker maker = window_maker(root, &arena);

    if (root == NULL || !schedule_build(yaml_get(root, "job"), &maker, &j.schedule, &err)) {
        printf("# %s: %s\n", keys, root == NULL ? problems.items[0].message : err.text);
        exit(1);
    }
    return j;
}

/* The record after a plan was written. */
static struct job_record record_of(const struct job_plan *p, int64_t turn)
{
    return (struct job_record){ .num = 1, .turn = turn, .next = p->next, .past = p->past };
}

/* The same, with a run that was claimed then. */
static struct job_record held_of(const struct job_plan *p, int64_t turn, int64_t us)
{
    struct job_record r = record_of(p, turn);

    r.running = true;
    r.held_us = us;
    return r;
}

static struct planning_run run_at(int64_t nominal_us, int64_t us, enum schedule_outcome outcome)
{
    return (struct planning_run){ .nominal_us = nominal_us,
                                  .began_us = us,
                                  .ended_us = us,
                                  .planned_us = us,
                                  .outcome = outcome };
}

TEST(a_new_job_of_every_is_due_at_once_and_then_after_its_end)
{
    struct book_job j = job_of("every: 10m");
    int64_t now = at("2026-05-01 12:00");
    struct planning p;

    planning_new(&j, now, &p);
    CHECK(p.what == SCHEDULE_DUE && p.plan.next.due_us == now && p.plan.turn == 0);
    struct job_record r = record_of(&p.plan, 4);

    planning_now(&j, &r, now + SECOND, &p);
    CHECK(p.plan.next.nominal_us == now && p.plan.turn == 4);
    struct planning_run run = run_at(now, now + MINUTE, SCHEDULE_MOVED);

    planning_end(&j, &r, &run, now + MINUTE, &p);
    CHECK(!p.again && p.plan.next.due_us == now + 11 * MINUTE && p.plan.turn == 4);
    CHECK(p.plan.past.served == 1 && p.plan.past.ended_us == now + MINUTE);
}

TEST(missed_times_are_counted_once_at_the_end_of_the_run_that_caught_up)
{
    struct book_job j = job_of("at: \"@hourly\"");
    struct planning p;

    planning_new(&j, at("2026-05-01 12:30"), &p);
    CHECK(p.plan.next.nominal_us == at("2026-05-01 13:00"));
    struct job_record r = record_of(&p.plan, 1);

    /* Nobody was there until 16:20. */
    planning_now(&j, &r, at("2026-05-01 16:20"), &p);
    CHECK(p.what == SCHEDULE_DUE && p.late && p.plan.next.nominal_us == at("2026-05-01 16:00"));
    CHECK(p.plan.left_out == 3 && p.left[SCHEDULE_MISSED].count == 3);
    struct planning_run run =
        run_at(at("2026-05-01 16:00"), at("2026-05-01 16:20"), SCHEDULE_MOVED);

    run.ended_us += MINUTE;
    planning_end(&j, &r, &run, run.ended_us, &p);
    CHECK(p.plan.left_out == 3 && p.plan.next.nominal_us == at("2026-05-01 17:00"));
    CHECK(p.plan.past.settled_us == at("2026-05-01 16:00") && p.plan.past.served == 1);
    r = record_of(&p.plan, 2);
    planning_now(&j, &r, at("2026-05-01 17:00"), &p);
    CHECK(p.plan.left_out == 0 && p.plan.next.nominal_us == at("2026-05-01 17:00"));
}

/* The run waited for its slot while another time came: it serves the time it was planned for. */
TEST(the_time_of_a_run_is_the_one_it_was_planned_for)
{
    struct book_job j = job_of("at: \"* * * * *\"");
    struct planning p;

    planning_new(&j, at("2026-05-01 12:00:30"), &p);
    struct job_record r = record_of(&p.plan, 1);
    struct planning_run run =
        run_at(at("2026-05-01 12:01"), at("2026-05-01 12:01"), SCHEDULE_MOVED);

    run.began_us = run.ended_us = at("2026-05-01 12:03:10");
    planning_end(&j, &r, &run, run.ended_us, &p);
    /* 12:02 is missed, 12:03 comes */
    CHECK(p.plan.next.nominal_us == at("2026-05-01 12:03") && p.plan.left_out == 1);
}

TEST(a_failed_run_is_repeated_under_its_time_then_counts_then_suspends)
{
    struct book_job j =
        job_of("at: \"@hourly\", retry: { first: 10s, most: 10s, for: 1m }, suspend: 2");
    int64_t one = at("2026-05-01 13:00"), two = at("2026-05-01 14:00");
    struct planning p;

    planning_new(&j, at("2026-05-01 12:30"), &p);
    struct job_record r = record_of(&p.plan, 1);
    struct planning_run run = run_at(one, one, SCHEDULE_FAILED);

    planning_end(&j, &r, &run, one, &p);
    CHECK(p.again && p.plan.next.nominal_us == one && p.plan.past.tries == 1);
    CHECK(p.plan.next.due_us >= one && p.plan.next.due_us <= one + 10 * SECOND);
    r = record_of(&p.plan, 2);
    run.ended_us = run.planned_us = one + 2 * MINUTE; /* `for` is over */
    planning_end(&j, &r, &run, run.ended_us, &p);
    CHECK(!p.again && p.plan.past.failures == 1 && p.plan.past.tries == 0);
    CHECK(p.what == SCHEDULE_DUE && p.plan.next.nominal_us == two);
    r = record_of(&p.plan, 3);
    run = run_at(two, two, SCHEDULE_FAILED);
    run.final = true; /* nobody tries that again */
    planning_end(&j, &r, &run, two, &p);
    CHECK(!p.again && p.what == SCHEDULE_SUSPENDED && p.plan.past.failures == 2);
    CHECK(p.plan.next.due_us == 0);

    /* Somebody resumes it; what passed meanwhile is left out as paused. */
    r = record_of(&p.plan, 4);
    r.stop = JOB_SUSPENDED;
    planning_resumed(&j, &r, at("2026-05-01 17:30"), &p);
    CHECK(p.what == SCHEDULE_DUE && p.plan.next.nominal_us == at("2026-05-01 18:00"));
    CHECK(p.left[SCHEDULE_PAUSED].count == 3 && p.plan.past.failures == 0);
}

TEST(resuming_a_job_that_runs_leaves_its_time_to_its_end)
{
    struct book_job j = job_of("at: \"@hourly\"");
    struct planning p;

    planning_new(&j, at("2026-05-01 12:30"), &p);
    struct job_record r = record_of(&p.plan, 1);

    r.stop = JOB_PAUSED;
    r.running = true;
    planning_resumed(&j, &r, at("2026-05-01 13:10"), &p);
    CHECK(p.plan.left_out == 0 && p.plan.next.nominal_us == at("2026-05-01 13:00"));
    r = record_of(&p.plan, 2);
    struct planning_run run =
        run_at(at("2026-05-01 13:00"), at("2026-05-01 13:00"), SCHEDULE_MOVED);

    planning_end(&j, &r, &run, at("2026-05-01 13:20"), &p);
    CHECK(p.plan.left_out == 0 && p.plan.past.served == 1);
    CHECK(p.plan.next.nominal_us == at("2026-05-01 14:00"));
}

/* The times that passed while it was paused are not served after the run that went on. */
TEST(what_is_paused_during_a_run_is_left_out)
{
    struct book_job j = job_of("at: \"@hourly\", catch_up: all");
    struct planning p;

    planning_new(&j, at("2026-05-01 12:30"), &p);
    struct job_record r = record_of(&p.plan, 1);

    r.stop = JOB_PAUSED; /* it runs since 13:00 */
    r.running = true;
    planning_resumed(&j, &r, at("2026-05-01 16:10"), &p);
    r = record_of(&p.plan, 2);
    struct planning_run run =
        run_at(at("2026-05-01 13:00"), at("2026-05-01 13:00"), SCHEDULE_MOVED);

    planning_end(&j, &r, &run, at("2026-05-01 16:20"), &p);
    CHECK(p.left[SCHEDULE_PAUSED].count == 3 && p.plan.left_out == 3);
    CHECK(p.plan.past.served == 1 && p.plan.next.nominal_us == at("2026-05-01 17:00"));
}

/* Its settings have changed while it ran: what was settled by the new ones stays so. */
TEST(cancelling_the_repetition_of_an_older_time_settles_nothing_twice)
{
    struct book_job old = job_of("at: \"15 * * * *\", catch_up: all"),
                    other = job_of("at: \"30 * * * *\", catch_up: all");
    struct planning p;

    planning_new(&old, at("2026-05-01 12:00"), &p);
    struct job_record r = record_of(&p.plan, 1);

    r.running = true; /* for 12:15 */
    planning_changed(&other, &r, at("2026-05-01 14:00"), &p);
    CHECK(p.left[SCHEDULE_CHANGED].count == 2); /* 12:30 and 13:30 */
    r = record_of(&p.plan, 2);
    struct planning_run run =
        run_at(at("2026-05-01 12:15"), at("2026-05-01 14:01"), SCHEDULE_FAILED);

    planning_end(&other, &r, &run, at("2026-05-01 14:01"), &p);
    CHECK(p.again && p.plan.next.nominal_us == at("2026-05-01 12:15"));
    r = held_of(&p.plan, 3, p.plan.next.due_us);
    planning_cancelled(&other, &r, at("2026-05-01 14:02"), &p);
    CHECK(p.served_us == at("2026-05-01 12:15") && p.plan.left_out == 0 &&
          p.plan.next.nominal_us == at("2026-05-01 14:30"));
}

TEST(new_settings_do_not_take_away_the_time_that_was_due)
{
    struct book_job old = job_of("at: \"@hourly\""), same = job_of("at: \"0 * * * *\""),
                    other = job_of("at: \"30 * * * *\"");
    struct planning p;

    planning_new(&old, at("2026-05-01 12:30"), &p);
    struct job_record r = record_of(&p.plan, 3);

    /* 13:00 is due, and not claimed yet */
    planning_changed(&same, &r, at("2026-05-01 13:00:01"), &p);
    CHECK(p.plan.next.nominal_us == at("2026-05-01 13:00") && p.plan.left_out == 0);
    CHECK(p.plan.turn == 3);
    /* ... which is no time of this one: what is over was not its to serve */
    planning_changed(&other, &r, at("2026-05-01 13:40"), &p);
    CHECK(p.plan.next.nominal_us == at("2026-05-01 14:30"));
    CHECK(p.left[SCHEDULE_MISSED].count == 0);
    /* It was gone for a day. */
    r.gone_us = at("2026-05-01 12:45");
    planning_changed(&same, &r, at("2026-05-02 12:50"), &p);
    CHECK(p.plan.next.nominal_us == at("2026-05-02 13:00"));
    CHECK(p.left[SCHEDULE_CHANGED].count == 24 && p.left[SCHEDULE_MISSED].count == 0);
    /* Or somebody had paused it. */
    r.gone_us = 0;
    r.stop = JOB_PAUSED;
    planning_changed(&other, &r, at("2026-05-02 12:50"), &p);
    CHECK(p.left[SCHEDULE_PAUSED].count == 24 && p.left[SCHEDULE_CHANGED].count == 0);
}

TEST(beside_a_run_the_next_one_has_the_next_time)
{
    struct book_job j = job_of("at: \"@hourly\"");
    struct planning p;

    planning_new(&j, at("2026-05-01 12:30"), &p);
    struct job_record r = record_of(&p.plan, 1);

    r.past.failures = 3;
    planning_beside(&j, &r, at("2026-05-01 13:00:05"), &p);
    CHECK(p.plan.next.nominal_us == at("2026-05-01 14:00") && p.plan.past.served == 1);
    CHECK(p.plan.past.failures == 3 && p.plan.left_out == 0);
}

TEST(a_cancelled_run_has_served_its_time)
{
    struct book_job j = job_of("at: \"@hourly\"");
    struct planning p;

    planning_new(&j, at("2026-05-01 12:30"), &p);
    struct job_record r = held_of(&p.plan, 1, at("2026-05-01 13:00"));

    planning_cancelled(&j, &r, at("2026-05-01 13:20"), &p);
    CHECK(p.plan.next.nominal_us == at("2026-05-01 14:00") && p.plan.past.served == 1);
    CHECK(p.served_us == at("2026-05-01 13:00"));
}

/* It ran for longer than its interval: the times that came meanwhile are still to be served, or to
 * be counted. */
TEST(a_cancelled_run_serves_the_time_of_its_claim)
{
    static const struct {
        const char *keys, *next;
        int64_t left_out;
    } all[] = { { "at: \"* * * * *\", catch_up: once", "2026-05-01 10:03", 2 },
                { "at: \"* * * * *\", catch_up: all", "2026-05-01 10:01", 0 },
                { "at: \"* * * * *\", catch_up: skip", "2026-05-01 10:03", 2 },
                { "at: \"*/2 * * * *\", catch_up: skip", "2026-05-01 10:04", 1 } };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct book_job j = job_of(all[i].keys);
        struct planning p;

        planning_new(&j, at("2026-05-01 09:59:30"), &p);
        struct job_record r = held_of(&p.plan, 1, at("2026-05-01 10:00"));

        planning_cancelled(&j, &r, at("2026-05-01 10:03:30"), &p);
        CHECK(p.served_us == at("2026-05-01 10:00") && p.plan.past.served == 1);
        CHECK(p.plan.next.nominal_us == at(all[i].next) && p.plan.left_out == all[i].left_out);
        CHECK(p.left[SCHEDULE_MISSED].count == all[i].left_out);
        CHECK(p.left[SCHEDULE_MISSED].count == 0 ||
              p.left[SCHEDULE_MISSED].first_us > at("2026-05-01 10:00"));
    }
}

/* The clock by which it was claimed is a little behind that of its plan. */
TEST(a_cancelled_run_that_caught_up_serves_the_time_that_it_had)
{
    struct book_job j = job_of("at: \"@hourly\", catch_up: once");
    struct planning p;

    planning_new(&j, at("2026-05-01 12:30"), &p);
    struct job_record r = held_of(&p.plan, 1, at("2026-05-01 13:00") - SECOND / 10);

    planning_cancelled(&j, &r, at("2026-05-01 13:20"), &p);
    CHECK(p.served_us == at("2026-05-01 13:00") && p.plan.left_out == 0);
    /* Nobody was there until 16:20: it ran for 16:00. */
    r.held_us = at("2026-05-01 16:20");
    planning_cancelled(&j, &r, at("2026-05-01 17:30"), &p);
    CHECK(p.served_us == at("2026-05-01 16:00") && p.plan.left_out == 3);
    CHECK(p.plan.next.nominal_us == at("2026-05-01 17:00"));
}

/* Paused and resumed while it ran: only what came after its time is left out as paused. */
TEST(a_cancelled_run_serves_its_time_although_the_job_was_paused_meanwhile)
{
    struct book_job j = job_of("at: \"@hourly\", catch_up: all");
    struct planning p;

    planning_new(&j, at("2026-05-01 12:30"), &p);
    struct job_record r = held_of(&p.plan, 1, at("2026-05-01 13:00"));

    r.stop = JOB_PAUSED;
    planning_resumed(&j, &r, at("2026-05-01 15:10"), &p);
    r = held_of(&p.plan, 2, at("2026-05-01 13:00"));
    planning_cancelled(&j, &r, at("2026-05-01 16:20"), &p);
    CHECK(p.served_us == at("2026-05-01 13:00") && p.left[SCHEDULE_PAUSED].count == 2);
    CHECK(p.plan.left_out == 2 && p.plan.next.nominal_us == at("2026-05-01 16:00"));
}

/* It began by settings that it has no more: the time that is due by the others is theirs. */
TEST(a_cancelled_run_of_older_settings_serves_no_time_of_the_new_ones)
{
    struct book_job old = job_of("at: \"@hourly\""), other = job_of("at: \"30 * * * *\"");
    struct planning p;

    planning_new(&old, at("2026-05-01 12:40"), &p);
    struct job_record r = held_of(&p.plan, 1, at("2026-05-01 13:00"));

    planning_changed(&other, &r, at("2026-05-01 13:10"), &p);
    r = held_of(&p.plan, 2, at("2026-05-01 13:00"));
    planning_cancelled(&other, &r, at("2026-05-01 13:40"), &p);
    CHECK(p.served_us == 0 && p.plan.past.served == 0 && p.plan.left_out == 0);
    CHECK(p.plan.next.nominal_us == at("2026-05-01 13:30"));
}

/* Somebody outside goes on with it, its token is the time-out. */
TEST(a_cancelled_run_outside_serves_its_own_time)
{
    struct book_job j = job_of("at: \"* * * * *\", catch_up: all");
    struct planning p;

    planning_new(&j, at("2026-05-01 12:00:30"), &p);
    struct job_record r = record_of(&p.plan, 1);

    r.open_runs = 1;
    r.held_us = at("2026-05-01 12:01");
    r.awaited_nominal_us = at("2026-05-01 12:01");
    planning_cancelled(&j, &r, at("2026-05-01 12:03:10"), &p);
    CHECK(p.served_us == at("2026-05-01 12:01") && p.plan.left_out == 0);
    CHECK(p.plan.next.nominal_us == at("2026-05-01 12:02"));
}

/* What waits for a slot, for its jitter or to be repeated is not the run that is cancelled. */
TEST(cancelling_runs_beside_the_token_serves_nothing)
{
    struct book_job j = job_of("at: \"* * * * *\"");
    struct planning p;

    planning_new(&j, at("2026-05-01 12:00:30"), &p);
    struct job_record r = record_of(&p.plan, 7);

    r.open_runs = 2;
    planning_cancelled(&j, &r, at("2026-05-01 12:03:10"), &p);
    CHECK(p.served_us == 0 && p.plan.past.served == 0 && p.plan.left_out == 0);
    CHECK(p.plan.next.nominal_us == at("2026-05-01 12:01") && p.plan.turn == 7);
    /* Nor is the time of the schedule that of a run which a person asked for. */
    r = held_of(&p.plan, 8, at("2026-05-01 12:02"));
    r.asked_us = at("2026-05-01 12:02");
    planning_cancelled(&j, &r, at("2026-05-01 12:03:10"), &p);
    CHECK(p.served_us == 0 && p.plan.left_out == 0);
    CHECK(p.plan.next.nominal_us == at("2026-05-01 12:01"));
}

TEST(a_job_ends_when_its_schedule_does)
{
    struct book_job runs = job_of("at: \"@hourly\", runs: 1"),
                    once = job_of("once: 2026-05-01T13:00, "
                                  "catch_up: skip");
    struct planning p;

    planning_new(&runs, at("2026-05-01 12:30"), &p);
    struct job_record r = record_of(&p.plan, 1);
    struct planning_run run =
        run_at(at("2026-05-01 13:00"), at("2026-05-01 13:00"), SCHEDULE_MOVED);

    planning_end(&runs, &r, &run, run.ended_us, &p);
    CHECK(p.what == SCHEDULE_ENDED && p.why == SCHEDULE_RUNS_OVER && p.plan.next.due_us == 0);
    /* Its only time was missed: found at the claim. */
    planning_new(&once, at("2026-05-01 12:30"), &p);
    r = record_of(&p.plan, 1);
    planning_now(&once, &r, at("2026-05-01 13:30"), &p);
    CHECK(p.what == SCHEDULE_ENDED && p.plan.next.due_us == 0 && p.plan.left_out == 1);
}

TEST(a_forecast_follows_the_schedule)
{
    struct book_job j = job_of("at: \"@hourly\""), every = job_of("every: 10m, runs: 3");
    struct planning_coming c[5];
    struct planning p;

    planning_new(&j, at("2026-05-01 12:30"), &p);
    struct job_record r = record_of(&p.plan, 1);

    CHECK(planning_forecast(&j, &r, at("2026-05-01 12:40"), 3, c) == 3);
    CHECK(c[0].nominal_us == at("2026-05-01 13:00") && c[2].nominal_us == at("2026-05-01 15:00"));
    CHECK(c[0].due_us == c[0].nominal_us && !c[0].late && c[0].left[SCHEDULE_MISSED].count == 0);
    r.stop = JOB_PAUSED; /* as if it were resumed now: what has passed is left out */
    CHECK(planning_forecast(&j, &r, at("2026-05-01 20:40"), 2, c) == 2);
    CHECK(c[0].nominal_us == at("2026-05-01 21:00") && c[0].left[SCHEDULE_PAUSED].count == 8);
    CHECK(c[1].left[SCHEDULE_PAUSED].count == 0);
    planning_new(&every, at("2026-05-01 12:30"), &p);
    r = record_of(&p.plan, 1);
    CHECK(planning_forecast(&every, &r, at("2026-05-01 12:30"), 5, c) == 4);
    CHECK(c[0].due_us == 0 && c[1].nominal_us == at("2026-05-01 12:40"));
    CHECK(c[3].what == SCHEDULE_ENDED && c[3].why == SCHEDULE_RUNS_OVER);
}

TEST(a_forecast_says_what_is_caught_up_with_and_what_is_left_out)
{
    struct book_job j = job_of("at: \"@hourly\", window: { open: \"08:00\", close: \"18:00\" }"),
                    gap = job_of("at: \"30 2 * * *\", zone: Europe/Berlin");
    struct planning_coming c[3];
    struct planning p;

    planning_new(&j, at("2026-05-01 12:30"), &p);
    struct job_record r = record_of(&p.plan, 1);

    CHECK(planning_forecast(&j, &r, at("2026-05-01 16:20"), 3, c) == 3);
    CHECK(c[0].late && c[0].due_us == 0 && c[0].nominal_us == at("2026-05-01 16:00"));
    CHECK(c[0].left[SCHEDULE_MISSED].count == 3 && c[0].clock == NOMINAL_PLAIN);
    CHECK(!c[1].late && c[1].nominal_us == at("2026-05-01 17:00"));
    CHECK(c[2].nominal_us == at("2026-05-02 08:00") && c[2].left[SCHEDULE_WINDOW].count == 14);
    planning_new(&gap, at("2026-03-28 12:00"), &p);
    r = record_of(&p.plan, 1);
    CHECK(planning_forecast(&gap, &r, at("2026-03-28 12:00"), 1, c) == 1);
    CHECK(c[0].clock == NOMINAL_SKIPPED && c[0].nominal_us == at("2026-03-29 01:00"));
}

/* The zone of the job is not known on this node: that of its own times is on another one. */
static struct book_job unknown(const struct book_job *j)
{
    struct book_job u = *j;

    u.times_unknown = true;
    return u;
}

TEST(where_the_zone_is_not_known_a_job_is_left_to_whoever_knows_it)
{
    struct book_job j = job_of("at: \"*/5 * * * *\", zone: Europe/Berlin"), u = unknown(&j);
    int64_t now = at("2026-05-01 12:02"), five = at("2026-05-01 12:05"), six = five + MINUTE;
    struct planning_coming c[2];
    struct planning p;

    planning_new(&u, now, &p);
    CHECK(p.what == SCHEDULE_DUE && p.plan.next.due_us == now && p.plan.left_out == 0);
    struct job_record r = record_of(&p.plan, 3);

    CHECK(planning_forecast(&u, &r, now, 2, c) == 0);
    planning_now(&j, &r, now + SECOND, &p);
    CHECK(p.plan.next.due_us == five && p.plan.left_out == 0 && p.plan.turn == 3);
    r = record_of(&p.plan, 4);

    /* Its run ends there: that time is served, and no other one is settled. */
    struct planning_run run = run_at(five, six, SCHEDULE_MOVED);

    planning_end(&u, &r, &run, six, &p);
    CHECK(p.plan.past.settled_us == five && p.plan.past.served == 1 && p.plan.next.due_us == six);
    r = record_of(&p.plan, 5);
    planning_now(&j, &r, six + SECOND, &p);
    CHECK(p.plan.next.nominal_us == at("2026-05-01 12:10") && p.plan.left_out == 0);
    CHECK(p.plan.past.served == 1 && p.plan.past.settled_us == five);
}

TEST(where_the_zone_is_not_known_failures_count_as_anywhere)
{
    struct book_job j = job_of("at: \"@hourly\", zone: Europe/Berlin, suspend: 2,"
                               "retry: { first: 10s, most: 10s, for: 1m }");
    struct book_job u = unknown(&j);
    int64_t one = at("2026-05-01 13:00");
    struct planning p;

    planning_new(&j, at("2026-05-01 12:30"), &p);
    struct job_record r = record_of(&p.plan, 1);
    struct planning_run run = run_at(one, one, SCHEDULE_FAILED);

    planning_end(&u, &r, &run, one, &p);
    CHECK(p.again && p.plan.next.due_us == one);
    r = record_of(&p.plan, 2);
    planning_now(&j, &r, one + SECOND, &p); /* the same time again, when its wait is over */
    CHECK(p.plan.next.nominal_us == one && p.plan.next.due_us >= one && p.plan.past.tries == 1);
    run.final = true;
    planning_end(&u, &r, &run, one, &p);
    CHECK(!p.again && p.what == SCHEDULE_DUE && p.plan.past.failures == 1);
    r = record_of(&p.plan, 3);
    run = run_at(one + HOUR, one + HOUR, SCHEDULE_FAILED);
    run.final = true;
    planning_end(&u, &r, &run, one + HOUR, &p);
    CHECK(p.what == SCHEDULE_SUSPENDED && p.plan.next.due_us == 0);
}

TEST(where_the_zone_is_not_known_orders_leave_no_time_out)
{
    struct book_job j = job_of("at: \"*/5 * * * *\", zone: Europe/Berlin"), u = unknown(&j);
    int64_t five = at("2026-05-01 12:05"), six = five + MINUTE;
    struct planning p;

    planning_new(&j, five - MINUTE, &p);
    struct job_record r = record_of(&p.plan, 1);

    /* A version that this node is the first to follow: what was due is due. */
    planning_changed(&u, &r, six, &p);
    CHECK(p.plan.next.due_us == six && p.plan.left_out == 0 && p.plan.past.settled_us < five);
    r = record_of(&p.plan, 2);
    planning_now(&j, &r, six + SECOND, &p);
    CHECK(p.plan.next.nominal_us == five);

    /* Somebody resumes it: what has passed is left out, by whoever knows what that was. */
    planning_resumed(&u, &r, six + 5 * MINUTE, &p);
    CHECK(p.plan.next.due_us == six + 5 * MINUTE && p.plan.left_out == 0);
    r = record_of(&p.plan, 3);
    planning_now(&j, &r, six + 5 * MINUTE, &p);
    CHECK(p.plan.next.nominal_us == at("2026-05-01 12:15") && p.left[SCHEDULE_PAUSED].count == 2);

    /* A run is cancelled: the time that it was for is served. */
    r = held_of(&p.plan, 4, at("2026-05-01 12:15:01"));
    planning_cancelled(&u, &r, at("2026-05-01 12:16"), &p);
    CHECK(p.served_us == at("2026-05-01 12:15") && p.plan.past.settled_us == p.served_us);
    CHECK(p.plan.past.failures == 0 && p.plan.next.due_us == at("2026-05-01 12:16"));
}

int main(void)
{
    return test_main();
}
