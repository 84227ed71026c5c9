#include "core/schedule/schedule.h"

#include <stdlib.h>

#include "base/auto.h"
#include "base/clock.h"
#include "core/civil.h"
#include "core/schedule/schedule_build.h"
#include "core/steady.h"
#include "test.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define SECOND       ((int64_t)CLOCK_S)
#define MINUTE       (60 * SECOND)
#define HOUR         (60 * MINUTE)
#define DAY          (24 * HOUR)

static int64_t at(const char *text)
{
    int y, mo, d, h, mi, s = 0;
    int n = sscanf(text, "%d-%d-%d %d:%d:%d", &y, &mo, &d, &h, &mi, &s);

    return n < 5 ? 0 : CLOCK_S * (civil_day(y, mo, d) * CIVIL_DAY_S + h * 3600 + mi * 60 + s);
}

#define HOLIDAYS "calendars: { days: { dates: [ \"12-25\", 2026-07-14 ] } }\n"

/* The schedule of a job, which lives as long as the program. */
static struct schedule schedule_of(const char *keys)
{
    static struct arena arena = ARENA_INIT(64 << 20);
    AUTO(problem_list_done) struct problem_list problems = PROBLEM_LIST_INIT;
    AUTO(buf_done) struct buf text = BUF_INIT(1 << 16);
    struct schedule s = { 0 };
    struct err err = { 0 };

    buf_puts(&text, HOLIDAYS "job: { kind: note, ");
    buf_puts(&text, keys);
    buf_puts(&text, " }\n");
    const struct yaml_node *root =
        yaml_load(arena_copy(&arena, buf_view(&text)), &arena, &problems);
    struct window_maker maker = window_maker(root, &arena);

    if (root == NULL || !schedule_build(yaml_get(root, "job"), &maker, &s, &err)) {
        printf("# %s: %s\n", keys, root == NULL ? problems.items[0].message : err.text);
        exit(1);
    }
    return s;
}

/* ---- one question ---- */

struct question {
    const char *keys, *last, *now;
    const char *nominal, *due; /* nominal "": the job ends; due NULL: as nominal */
    bool late;
    struct {
        int64_t missed, too_old, holiday, window;
    } left;
};

static bool is_answered(const struct question *q)
{
    struct schedule s = schedule_of(q->keys);
    struct schedule_known k = { .last_us = at(q->last) };
    struct schedule_next n = schedule_next(&s, &k, at(q->now), 7);
    char nominal[CLOCK_TEXT], due[CLOCK_TEXT];

    if ((n.what == SCHEDULE_DUE) == (*q->nominal != '\0') && n.nominal_us == at(q->nominal) &&
        n.due_us == at(q->due != NULL ? q->due : q->nominal) && n.late == q->late &&
        n.left[SCHEDULE_MISSED].count == q->left.missed &&
        n.left[SCHEDULE_TOO_OLD].count == q->left.too_old &&
        n.left[SCHEDULE_HOLIDAY].count == q->left.holiday &&
        n.left[SCHEDULE_WINDOW].count == q->left.window && n.left[SCHEDULE_PAUSED].count == 0)
        return true;
    printf("# %s, last %s, now %s: nominal %s due %s%s, left out %lld %lld %lld %lld\n", q->keys,
           q->last, q->now, clock_utc_text(n.nominal_us, nominal), clock_utc_text(n.due_us, due),
           n.late ? " late" : "", (long long)n.left[SCHEDULE_MISSED].count,
           (long long)n.left[SCHEDULE_TOO_OLD].count, (long long)n.left[SCHEDULE_HOLIDAY].count,
           (long long)n.left[SCHEDULE_WINDOW].count);
    return false;
}

#define BERLIN "zone: Europe/Berlin, "

/* proves: SC17 */
TEST(schedule_times_follow_the_local_clock)
{
    static const struct question cases[] = {
        { "at: \"0 2 * * *\"", "2026-01-01 12:00", "2026-01-01 12:00", "2026-01-02 02:00" },
        { BERLIN "at: \"0 2 * * *\"", "2026-01-01 12:00", "2026-01-01 12:00", "2026-01-02 01:00" },
        /* 02:30 does not exist on 29 March: it is 03:00, once */
        { BERLIN "at: \"30 2 * * *\"", "2026-03-28 12:00", "2026-03-28 12:00", "2026-03-29 01:00" },
        { BERLIN "at: \"30 2 * * *\"", "2026-03-29 01:00", "2026-03-29 01:00", "2026-03-30 00:30" },
        /* 02:30 comes twice on 25 October: the first counts */
        { BERLIN "at: \"30 2 * * *\"", "2026-10-24 12:00", "2026-10-24 12:00", "2026-10-25 00:30" },
        { BERLIN "at: \"30 2 * * *\"", "2026-10-25 00:30", "2026-10-25 00:30", "2026-10-26 01:30" },
        /* A time of day is not a schedule of every hour, even in a list of many. */
        { BERLIN "at: [ \"02:30\", \"03:00\" ]", "2026-03-29 00:00", "2026-03-29 00:00",
          "2026-03-29 01:00" },
        { BERLIN "at: [ \"02:30\", \"03:00\" ]", "2026-03-29 01:00", "2026-03-29 01:00",
          "2026-03-30 00:30" },
        { "at: [ \"22:00\", \"06:15\", \"0 12 * * mon\" ]", "2026-11-16 06:15", "2026-11-16 06:15",
          "2026-11-16 12:00" },
        { BERLIN "once: 2026-07-01T08:00", "2026-01-01 00:00", "2026-01-01 00:00",
          "2026-07-01 06:00" },
        { BERLIN "once: \"2026-07-01T08:00:30-05:00\"", "2026-01-01 00:00", "2026-01-01 00:00",
          "2026-07-01 13:00:30" },
    };

    for (size_t i = 0; i < COUNT(cases); i++)
        CHECK(is_answered(&cases[i]));
}

static const struct question missed_cases[] = {
    /* hourly, nobody was there from 08:10 to 12:30 */
    { "at: \"@hourly\", catch_up: skip",
      "2026-01-01 08:00",
      "2026-01-01 12:30",
      "2026-01-01 13:00",
      NULL,
      false,
      { 4, 0, 0, 0 } },
    { "at: \"@hourly\"",
      "2026-01-01 08:00",
      "2026-01-01 12:30",
      "2026-01-01 12:00",
      NULL,
      true,
      { 3, 0, 0, 0 } },
    { "at: \"@hourly\", catch_up: all",
      "2026-01-01 08:00",
      "2026-01-01 12:30",
      "2026-01-01 09:00",
      NULL,
      true,
      { 0, 0, 0, 0 } },
    { "at: \"@hourly\", catch_up: all, catch_up_most: 3",
      "2026-01-01 08:00",
      "2026-01-01 12:30",
      "2026-01-01 10:00",
      NULL,
      true,
      { 0, 1, 0, 0 } },
    /* A minute late is on time, for `skip` too; older ones are not. */
    { "at: \"@hourly\", catch_up: skip",
      "2026-01-01 08:00",
      "2026-01-01 09:01:00",
      "2026-01-01 09:00",
      NULL,
      false,
      { 0, 0, 0, 0 } },
    { "at: \"@hourly\", catch_up: skip",
      "2026-01-01 08:00",
      "2026-01-01 09:01:01",
      "2026-01-01 10:00",
      NULL,
      false,
      { 1, 0, 0, 0 } },
    { "at: \"@hourly\", catch_up: skip",
      "2026-01-01 08:00",
      "2026-01-01 11:00:10",
      "2026-01-01 11:00",
      NULL,
      false,
      { 2, 0, 0, 0 } },
    /* years */
    { "at: \"* * * * *\"",
      "2016-01-01 00:00",
      "2026-01-01 00:00:30",
      "2026-01-01 00:00",
      NULL,
      false,
      { SCHEDULE_COUNT_MOST, 0, 0, 0 } },
    { "at: \"0 0 1 1 *\", catch_up: all",
      "2000-01-01 00:00",
      "2026-06-01 00:00",
      "2001-01-01 00:00",
      NULL,
      true,
      { 0, 0, 0, 0 } },
    { "at: \"* * * * *\", catch_up: all, catch_up_most: 2000",
      "2026-01-01 00:00",
      "2026-01-03 00:00",
      "2026-01-01 14:41",
      NULL,
      true,
      { 0, 880, 0, 0 } },
    { "once: 2026-01-01T09:00, catch_up: skip",
      "2026-01-01 08:00",
      "2026-01-01 12:00",
      "",
      NULL,
      false,
      { 1, 0, 0, 0 } },
    { "once: 2026-01-01T09:00",
      "2026-01-01 08:00",
      "2026-01-01 12:00",
      "2026-01-01 09:00",
      NULL,
      true,
      { 0, 0, 0, 0 } },
    /* before the job came, and served */
    { "once: 2026-01-01T09:00", "2026-01-01 09:00", "2026-01-01 09:00", "" },
    /* `until` is over, and still what was missed is served */
    { "at: \"@hourly\", until: 2026-01-01T10:30",
      "2026-01-01 08:00",
      "2026-01-01 12:00",
      "2026-01-01 10:00",
      NULL,
      true,
      { 1, 0, 0, 0 } },
    { "at: \"@hourly\", until: 2026-01-01T10:30", "2026-01-01 10:00", "2026-01-01 12:00", "" },
    { "at: \"@hourly\", until: 2026-01-01T10:30, catch_up: skip",
      "2026-01-01 08:00",
      "2026-01-01 12:00",
      "",
      NULL,
      false,
      { 2, 0, 0, 0 } },
};

/* proves: SC17 */
TEST(schedule_missed_times_are_caught_up_with_as_configured)
{
    for (size_t i = 0; i < COUNT(missed_cases); i++)
        CHECK(is_answered(&missed_cases[i]));
}

TEST(schedule_leaves_out_holidays_and_closed_windows)
{
    static const struct question cases[] = {
        /* not before the time has passed: a holiday may still be taken out of the calendar */
        { "at: \"0 6 * * *\", holidays: days", "2026-12-24 06:00", "2026-12-24 06:00",
          "2026-12-26 06:00" },
        { "at: \"0 6 * * *\", holidays: days",
          "2026-12-24 06:00",
          "2026-12-26 06:00",
          "2026-12-26 06:00",
          NULL,
          false,
          { 0, 0, 1, 0 } },
        /* the holiday is that of the zone: 25 December begins at 23:00 UTC */
        { BERLIN "at: \"30 0 * * *\", holidays: days", "2026-12-24 12:00", "2026-12-24 12:00",
          "2026-12-25 23:30" },
        { "at: \"@hourly\", window: { open: \"08:00\", close: \"18:00\" }", "2026-01-01 17:00",
          "2026-01-01 17:00", "2026-01-02 08:00" },
        { "at: \"@hourly\", window: { open: \"08:00\", close: \"18:00\" }",
          "2026-01-01 17:00",
          "2026-01-02 08:00",
          "2026-01-02 08:00",
          NULL,
          false,
          { 0, 0, 0, 14 } },
        /* a window without a zone is one of the job's zone */
        { BERLIN "at: \"@hourly\", window: { open: \"08:00\", close: \"18:00\" }",
          "2026-01-01 17:00", "2026-01-01 17:00", "2026-01-02 07:00" },
        { BERLIN "at: \"@hourly\", window: { open: \"08:00\", close: \"18:00\", zone: UTC }",
          "2026-01-01 17:00", "2026-01-01 17:00", "2026-01-02 08:00" },
        /* late, and the window is closed: it waits */
        { "at: \"@hourly\", window: { open: \"08:00\", close: \"18:00\" }",
          "2026-01-01 15:00",
          "2026-01-01 20:00",
          "2026-01-01 17:00",
          "2026-01-02 08:00",
          true,
          { 1, 0, 0, 0 } },
        { "at: \"@hourly\", holidays: days",
          "2026-12-24 20:00",
          "2026-12-25 10:00",
          "2026-12-24 23:00",
          "2026-12-26 00:00",
          true,
          { 2, 0, 0, 0 } },
        { "once: 2026-12-25T10:00, holidays: days", "2026-12-01 00:00", "2026-12-01 00:00",
          "2026-12-25 10:00", "2026-12-26 00:00" },
        { "every: 1h, window: { open: \"08:00\", close: \"18:00\" }", "2026-01-01 19:00",
          "2026-01-01 19:00", "2026-01-02 08:00" },
        /* both are left out, for their own reasons */
        { "at: \"0 */6 * * *\", holidays: days, window: { days: mon-fri }",
          "2026-12-24 18:00",
          "2026-12-28 06:00",
          "2026-12-28 06:00",
          NULL,
          false,
          { 1, 0, 4, 8 } },
    };

    for (size_t i = 0; i < COUNT(cases); i++)
        CHECK(is_answered(&cases[i]));
    struct schedule s = schedule_of("at: \"0 0 25 12 *\", holidays: days");
    struct schedule_known k = { .last_us = at("2026-01-01 00:00") };

    CHECK(schedule_next(&s, &k, at("2026-01-01 00:00"), 1).why == SCHEDULE_NEVER);
}

/* ---- many iterations ---- */

struct story {
    struct schedule s;
    struct schedule_known k;
    int64_t now_us;
    struct schedule_next n; /* the last answer */
    int64_t left;           /* over all */
};

static struct story story_of(const char *keys, const char *now)
{
    return (struct story){ .s = schedule_of(keys), .k = { .last_us = at(now) }, .now_us = at(now) };
}

/* As a scheduler asks: now, and again when it is due. */
static bool wait_for_due(struct story *t)
{
    for (int i = 0; i < 3; i++) {
        t->n = schedule_next(&t->s, &t->k, t->now_us, 99);
        for (size_t r = 0; r < SCHEDULE_REASONS; r++)
            t->left += t->n.left[r].count;
        t->k.last_us = t->n.settled_us;
        if (t->n.what != SCHEDULE_DUE)
            return false;
        if (t->n.due_us <= t->now_us)
            return true;
        t->now_us = t->n.due_us;
    }
    return false;
}

/* Runs the iteration that is due; false: it is repeated. */
static bool end_as(struct story *t, enum schedule_outcome outcome, int64_t takes_us)
{
    struct schedule_run run = { .nominal_us = t->n.nominal_us,
                                .began_us = t->now_us,
                                .ended_us = t->now_us + takes_us,
                                .outcome = outcome };

    t->now_us += takes_us;
    return schedule_end(&t->s, &t->k, &run, 99);
}

TEST(schedule_every_counts_from_the_end)
{
    struct story t = story_of("every: 10m", "2026-01-01 00:00");

    CHECK(wait_for_due(&t) && t.now_us == at("2026-01-01 00:00"));
    CHECK(end_as(&t, SCHEDULE_MOVED, 3 * MINUTE));
    CHECK(wait_for_due(&t) && t.now_us == at("2026-01-01 00:13"));
    CHECK(t.n.nominal_us == t.now_us && !t.n.late);
    CHECK(end_as(&t, SCHEDULE_MOVED, 0));
    t.now_us += 5 * HOUR; /* nobody was there: one run, at once */
    CHECK(wait_for_due(&t) && t.n.nominal_us == at("2026-01-01 00:23") && t.left == 0);
    CHECK(end_as(&t, SCHEDULE_MOVED, 0));
    CHECK(wait_for_due(&t) && t.now_us == at("2026-01-01 05:23"));
}

/* proves: SC11 */
TEST(schedule_at_once_only_after_progress)
{
    struct story t = story_of("every: 10m", "2026-01-01 00:00");
    int64_t nominal = 0;

    for (int i = 0; i < 100; i++) { /* a backlog, in iterations that take no time */
        CHECK(wait_for_due(&t) && t.n.nominal_us > nominal);
        CHECK(t.now_us < at("2026-01-01 00:00") + CLOCK_MS);
        nominal = t.n.nominal_us;
        CHECK(end_as(&t, SCHEDULE_FULL, 0));
    }
    /* A full batch that did not move on is the same batch again. */
    CHECK(wait_for_due(&t) && end_as(&t, SCHEDULE_MOVED, 0));
    CHECK(wait_for_due(&t) && t.now_us >= at("2026-01-01 00:10"));
    CHECK(t.k.runs == 101);
}

TEST(schedule_a_full_batch_of_a_fixed_time_goes_on_at_once)
{
    struct story t = story_of("at: \"0 2 * * *\", runs: 2", "2026-01-01 00:00");
    int64_t nominal = at("2026-01-01 02:00");

    for (int i = 0; i < 50; i++) {
        CHECK(wait_for_due(&t) && t.n.nominal_us == nominal + i);
        CHECK(end_as(&t, SCHEDULE_FULL, 1 * MINUTE));
        CHECK(t.now_us == at("2026-01-01 02:00") + (i + 1) * MINUTE);
    }
    CHECK(wait_for_due(&t) && end_as(&t, SCHEDULE_NOTHING, 0));
    CHECK(t.k.runs == 1); /* they belong to one time */
    CHECK(wait_for_due(&t) && t.n.nominal_us == at("2026-01-02 02:00") && t.left == 0);
    CHECK(end_as(&t, SCHEDULE_MOVED, 0));
    CHECK(!wait_for_due(&t) && t.n.why == SCHEDULE_RUNS_OVER);

    struct story once = story_of("once: 2026-01-01T02:00", "2026-01-01 00:00");

    CHECK(wait_for_due(&once) && end_as(&once, SCHEDULE_FULL, 0));
    CHECK(wait_for_due(&once) && once.n.nominal_us == nominal + 1);
    CHECK(end_as(&once, SCHEDULE_MOVED, 0));
    CHECK(!wait_for_due(&once) && once.n.why == SCHEDULE_ONCE_OVER && once.left == 0);
}

TEST(schedule_waits_longer_while_there_is_nothing)
{
    static const int64_t waits[] = { 1, 2, 4, 8, 10, 10 };
    struct story t = story_of("every: 1m, idle_most: 10m", "2026-01-01 00:00");

    CHECK(wait_for_due(&t));
    for (size_t i = 0; i < COUNT(waits); i++) {
        int64_t from = t.now_us;

        CHECK(end_as(&t, SCHEDULE_NOTHING, 0) && wait_for_due(&t));
        CHECK(t.now_us - from == waits[i] * MINUTE);
    }
    int64_t from = t.now_us;

    CHECK(end_as(&t, SCHEDULE_MOVED, 0) && wait_for_due(&t) && t.now_us - from == MINUTE);
    CHECK(end_as(&t, SCHEDULE_NOTHING, 0) && wait_for_due(&t) && t.now_us - from == 2 * MINUTE);
    struct story plain = story_of("every: 1m", "2026-01-01 00:00");

    CHECK(wait_for_due(&plain));
    for (int i = 0; i < 5; i++)
        CHECK(end_as(&plain, SCHEDULE_NOTHING, 0) && wait_for_due(&plain));
    CHECK(plain.now_us == at("2026-01-01 00:05"));
}

/* proves: SC5 */
TEST(schedule_a_failed_iteration_is_repeated_then_counts_then_suspends)
{
    struct story t =
        story_of("at: \"0 2 * * *\", retry: { first: 1m, most: 10m, for: 1h }, suspend: 3",
                 "2026-01-01 00:00");

    for (int day = 1; day <= 3; day++) {
        int64_t nominal = at("2026-01-01 02:00") + (day - 1) * DAY;
        int tries = 1;

        CHECK(wait_for_due(&t) && t.now_us == nominal);
        for (; !end_as(&t, SCHEDULE_FAILED, SECOND); tries++) {
            int64_t from = t.now_us;

            CHECK(t.k.failures == day - 1 && t.k.runs == day - 1);
            CHECK(wait_for_due(&t) && t.n.nominal_us == nominal);
            CHECK(t.now_us - from <= 10 * MINUTE && t.now_us <= nominal + HOUR);
        }
        CHECK(tries > 6 && t.k.failures == day && t.k.tries == 0);
    }
    CHECK(!wait_for_due(&t) && t.n.what == SCHEDULE_SUSPENDED);
    t.k.failures = 0; /* somebody resumed it */
    CHECK(wait_for_due(&t) && t.n.nominal_us == at("2026-01-04 02:00"));
    CHECK(!end_as(&t, SCHEDULE_FAILED, SECOND) && wait_for_due(&t));
    CHECK(end_as(&t, SCHEDULE_MOVED, SECOND) && t.k.failures == 0 && t.k.runs == 4);
    CHECK(wait_for_due(&t) && t.n.nominal_us == at("2026-01-05 02:00"));

    struct story never =
        story_of("every: 1s, retry: { for: 0s }, suspend: never", "2026-01-01 00:00");

    for (int i = 0; i < 100; i++)
        CHECK(wait_for_due(&never) && end_as(&never, SCHEDULE_FAILED, 0));
    CHECK(never.k.failures == 100 && wait_for_due(&never));
}

TEST(schedule_repetitions_wait_for_the_window)
{
    struct story t = story_of("at: \"59 17 * * *\", window: { open: \"08:00\", close: \"18:00\" }, "
                              "retry: { first: 5m, most: 5m, for: 1d }",
                              "2026-01-01 00:00");

    CHECK(wait_for_due(&t) && !end_as(&t, SCHEDULE_FAILED, MINUTE)); /* it is 18:00 */
    CHECK(wait_for_due(&t) && t.now_us == at("2026-01-02 08:00"));
    CHECK(t.n.nominal_us == at("2026-01-01 17:59"));
}

/* It waits for the end of the holiday, and is not missed then. */
TEST(schedule_once_on_a_holiday_is_not_skipped)
{
    struct story t =
        story_of("once: 2026-12-25T10:00, holidays: days, catch_up: skip", "2026-12-01 00:00");

    CHECK(wait_for_due(&t) && t.now_us == at("2026-12-26 00:00") && !t.n.late);
    CHECK(t.n.nominal_us == at("2026-12-25 10:00") && t.left == 0);
}

TEST(schedule_ends)
{
    struct story runs = story_of("every: 1h, runs: 3", "2026-01-01 00:00");
    struct story until = story_of("every: 1h, until: 2026-01-01T02:30", "2026-01-01 00:00");
    struct story at_until =
        story_of("at: \"@hourly\", until: 2026-01-01T02:00", "2026-01-01 00:00");
    int n = 0;

    for (; wait_for_due(&runs); n++)
        (void)end_as(&runs, SCHEDULE_FULL, 0);
    CHECK(n == 3 && runs.n.why == SCHEDULE_RUNS_OVER);
    for (n = 0; wait_for_due(&until); n++)
        (void)end_as(&until, SCHEDULE_MOVED, 0);
    CHECK(n == 3 && until.n.why == SCHEDULE_UNTIL_OVER);
    for (n = 0; wait_for_due(&at_until); n++)
        (void)end_as(&at_until, SCHEDULE_MOVED, 0);
    CHECK(n == 2 && at_until.n.why == SCHEDULE_UNTIL_OVER && at_until.left == 0);
}

/* ---- nothing twice, nothing lost ---- */

/* Iterations of any length, outages, and each catch-up: every time of the schedule is served once
 * or counted.  proves: SC17 */
TEST(schedule_each_time_is_served_once_or_counted)
{
    static const char *const keys[] = {
        BERLIN "at: \"*/10 * * * *\", catch_up: skip",
        BERLIN "at: \"*/10 * * * *\", catch_up: once, holidays: days",
        BERLIN "at: \"7 */2 * * *\", catch_up: all, catch_up_most: 5, holidays: days, "
               "window: { days: mon-sat, open: \"05:00\", close: \"03:00\" }",
        "zone: America/New_York, at: [ \"02:30\", \"*/30 1 * * *\" ], catch_up: all, "
        "catch_up_most: 2, "
        "jitter: 20m",
    };

    for (size_t i = 0; i < COUNT(keys); i++) {
        struct story t = story_of(keys[i], "2026-01-01 00:00");
        int64_t from = t.now_us, end = from + 400 * DAY, last = 0, all = 0, served = 0;
        uint64_t chance = i;

        while (t.now_us < end && wait_for_due(&t) && t.now_us < end) {
            CHECK(t.n.nominal_us > last && t.n.nominal_us <= t.n.due_us);
            last = t.n.nominal_us;
            served++;
            chance = chance * 6364136223846793005u + 1442695040888963407u;
            int64_t dice = (int64_t)(chance >> 33);
            int64_t takes = dice % 30 == 0 ? dice * 1000 % (3 * DAY) : dice % MINUTE;

            CHECK(end_as(&t, SCHEDULE_MOVED, takes));
        }
        for (int64_t time = from;
             (time = nominal_any(&t.s.times, time)) != 0 && time <= t.k.last_us;)
            all++;
        if (served + t.left != all)
            printf("# %s: %lld served, %lld left out, %lld in all\n", keys[i], (long long)served,
                   (long long)t.left, (long long)all);
        CHECK(served + t.left == all && served > 100 && t.left > 0);
    }
}

TEST(schedule_paused_time_piles_nothing_up)
{
    struct story t = story_of("at: \"@hourly\", catch_up: all", "2026-01-01 08:00");

    t.now_us = t.k.paused_us = at("2026-01-01 12:30");
    CHECK(wait_for_due(&t) && t.n.nominal_us == at("2026-01-01 13:00"));
    CHECK(t.left == 4 && t.k.last_us == at("2026-01-01 12:00"));
    struct story once = story_of("once: 2026-01-01T09:00", "2026-01-01 08:00");

    once.now_us = once.k.paused_us = at("2026-01-01 12:30");
    CHECK(!wait_for_due(&once) && once.n.left[SCHEDULE_PAUSED].count == 1);
}

/* ---- jitter ---- */

/* proves: SC19 */
TEST(schedule_jitter_spreads_what_is_due_together)
{
    struct schedule s = schedule_of("at: \"0 2 * * *\", jitter: 10m");
    struct schedule_known k = { .last_us = at("2026-01-01 00:00") };
    int64_t nominal = at("2026-01-01 02:00");
    int minutes[10] = { 0 };

    for (uint64_t job = 0; job < 10000; job++) {
        struct schedule_next n = schedule_next(&s, &k, k.last_us, job);

        CHECK(n.nominal_us == nominal && n.due_us >= nominal && n.due_us <= nominal + 10 * MINUTE);
        CHECK(schedule_next(&s, &k, n.due_us, job).due_us == n.due_us); /* asked again when due */
        CHECK(!schedule_next(&s, &k, n.due_us + SCHEDULE_LATE_US, job).late);
        minutes[(n.due_us - nominal) / MINUTE % 10]++;
    }
    for (size_t i = 0; i < COUNT(minutes); i++)
        CHECK(minutes[i] > 800 && minutes[i] < 1200);
}

TEST(schedule_jitter_stays_before_the_next_time_and_in_the_window)
{
    static const struct {
        const char *keys, *now, *before;
    } cases[] = {
        { "at: \"* * * * *\", jitter: 10m", "2026-01-01 00:00", "2026-01-01 00:02" },
        { "at: \"59 17 * * *\", jitter: 1h, window: { open: \"08:00\", close: \"18:00\" }",
          "2026-01-01 00:00", "2026-01-01 18:00" },
        { "at: \"59 23 24 12 *\", jitter: 1h, holidays: days", "2026-12-24 00:00",
          "2026-12-25 00:00" },
        { "every: 1m, jitter: 5s", "2026-01-01 00:00", "2026-01-01 00:00:06" },
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct schedule s = schedule_of(cases[i].keys);
        struct schedule_known k = { .last_us = at(cases[i].now) };

        for (uint64_t job = 0; job < 200; job++) {
            struct schedule_next n = schedule_next(&s, &k, k.last_us, job);

            CHECK(n.due_us >= n.nominal_us && n.due_us < at(cases[i].before));
        }
    }
}

/* ---- clocks that jump ---- */

/* proves: SC17 SC20 */
TEST(schedule_a_clock_that_goes_back_serves_nothing_twice)
{
    struct story t = story_of("at: \"@hourly\", catch_up: all", "2026-01-01 08:00");

    CHECK(wait_for_due(&t) && t.n.nominal_us == at("2026-01-01 09:00"));
    CHECK(end_as(&t, SCHEDULE_MOVED, 0));
    t.now_us = at("2026-01-01 03:00");
    t.n = schedule_next(&t.s, &t.k, t.now_us, 99);
    CHECK(t.n.nominal_us == at("2026-01-01 10:00") && t.n.settled_us == at("2026-01-01 09:00"));
    /* The clock was a year ahead, and that was confirmed: now it is right again. */
    t.k.last_us = t.k.ended_us = at("2027-01-01 09:00");
    t.n = schedule_next(&t.s, &t.k, at("2026-01-01 09:30"), 99);
    CHECK(t.n.nominal_us == at("2026-01-01 10:00") && t.n.left[SCHEDULE_TOO_OLD].count == 0);
    struct story every = story_of("every: 1h", "2026-01-01 08:00");

    every.k.last_us = every.k.ended_us = at("2027-01-01 09:00");
    CHECK(schedule_next(&every.s, &every.k, every.now_us, 99).due_us ==
          every.now_us + HOUR); /* not in a year */
    struct story once = story_of("once: 2027-01-01T00:00", "2026-01-01 08:00");

    once.k.last_us = once.k.ended_us = at("2027-01-01 00:00"); /* served, by that clock */
    CHECK(schedule_next(&once.s, &once.k, once.now_us, 99).what == SCHEDULE_ENDED);
}

TEST(schedule_by_a_steady_clock_a_jump_is_confirmed_first)
{
    struct story t = story_of("at: \"@hourly\", catch_up: all", "2026-01-01 08:00");
    struct steady clock = { 0 };
    int64_t step, mono = 1000 * SECOND;

    (void)steady_note(&clock, t.now_us, mono, &step);
    mono += 10 * SECOND;
    CHECK(steady_note(&clock, t.now_us + 30 * DAY, mono, &step) == STEADY_FROZE);
    t.n = schedule_next(&t.s, &t.k, steady_early_us(&clock, mono), 99);
    CHECK(t.n.due_us == at("2026-01-01 09:00") && t.n.settled_us == t.k.last_us);
    mono += 10 * SECOND; /* it was one wrong reading */
    (void)steady_note(&clock, t.now_us + 20 * SECOND, mono, &step);
    t.n = schedule_next(&t.s, &t.k, steady_early_us(&clock, mono), 99);
    CHECK(t.n.due_us == at("2026-01-01 09:00") && t.n.left[SCHEDULE_TOO_OLD].count == 0);
}

/* ---- settings ---- */

TEST(schedule_build_reads_defaults_and_settings)
{
    struct schedule plain = schedule_of("at: \"@daily\"");
    struct schedule full =
        schedule_of("every: 5s, idle_most: 1m, jitter: 2s, runs: 7, until: 2026-05-01T00:00Z, "
                    "retry: { first: 1s, most: 2s, for: 3s }, suspend: 9");

    CHECK(plain.form == SCHEDULE_AT && plain.catch_up == SCHEDULE_LATEST);
    CHECK(plain.catch_up_most == 100 && plain.suspend == 5 && plain.runs == 0);
    CHECK(plain.retry.first_us == 10 * SECOND && plain.retry.most_us == 10 * MINUTE);
    CHECK(plain.retry.for_us == HOUR && plain.idle_most_us == 0 && plain.until_us == 0);
    CHECK(plain.times.count == 1 && plain.times.window == NULL && plain.times.holiday_count == 0);
    CHECK(full.form == SCHEDULE_EVERY && full.every_us == 5 * SECOND);
    CHECK(full.idle_most_us == MINUTE && full.jitter_us == 2 * SECOND && full.runs == 7);
    CHECK(full.until_us == at("2026-05-01 00:00") && full.suspend == 9);
    CHECK(full.retry.first_us == SECOND && full.retry.for_us == 3 * SECOND);
    CHECK(schedule_of("at: \"@daily\", catch_up: skip").catch_up == SCHEDULE_SKIP);
    CHECK(schedule_of("at: \"@daily\", suspend: never").suspend == 0);
}

TEST(schedule_words_are_there)
{
    for (enum schedule_reason r = 0; r < SCHEDULE_REASONS; r++)
        CHECK(schedule_reason_word(r) != NULL);
    CHECK(strcmp(schedule_end_word(SCHEDULE_NEVER), "never") == 0);
}

int main(void)
{
    return test_main();
}
