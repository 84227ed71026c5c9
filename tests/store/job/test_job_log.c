/* Jobs: the log of runs, and what the queue check asks. */
#include "store/job/job_log.h"

#include "job_scene.h"
#include "store/job/job_late.h"
#include "store/job/job_run.h"

/* ---- the log ---- */

static struct job_log_line line_of(int64_t job, int64_t ended_us)
{
    return (struct job_log_line){ .job = job,
                                  .claim = ended_us + 1,
                                  .node = 9,
                                  .nominal_us = 1,
                                  .due_us = 2,
                                  .claimed_us = 3,
                                  .began_us = 4,
                                  .ended_us = ended_us,
                                  .outcome = JOB_FAILED,
                                  .message = STR("refused"),
                                  .steps = STR("connect 3 ms") };
}

static bool log_lines(struct store *s, const struct job_log_line *lines, size_t count)
{
    struct err err = { 0 };

    if (job_log_add(s, lines, count, &err))
        return true;
    printf("# log: %s\n", err.text);
    return false;
}

/* How many lines a page has, -1 on an error. */
static int page(struct store *s, int64_t job, size_t most, struct job_log_line *ret,
                struct job_log_place *io_place)
{
    struct err err = { 0 };
    size_t n = 0;

    if (job_log_list(s, job, most, &texts, ret, &n, io_place, &err))
        return (int)n;
    printf("# page: %s\n", err.text);
    return -1;
}

TEST(runs_are_logged_and_read_newest_first)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct job_log_line lines[30], got[30];
    struct job_log_place at = { 0 };

    CHECK(s != NULL && page(s, 0, 5, got, &at) == 0 && at.day == 0);
    for (int i = 0; i < 30; i++)
        lines[i] = line_of(i % 3, 100 + i);
    lines[29].is_stale = true;
    lines[29].stale = STR("7");
    CHECK(log_lines(s, lines, 30) && log_lines(s, lines, 30)); /* the same again: once */
    CHECK(log_lines(s, lines, 0));

    for (int i = 0; i < 30; i += 7) {
        int n = i + 7 <= 30 ? 7 : 30 - i;

        CHECK(page(s, 0, 7, got, &at) == n && got[0].ended_us == 129 - i);
        CHECK(got[n - 1].ended_us == 129 - i - n + 1 && (at.day != 0) == (n == 7));
    }
    CHECK(page(s, 2, 6, got, &at) == 6 && at.day != 0 && got[0].ended_us == 129);
    CHECK(got[0].is_stale && str_is(got[0].stale, "7") && str_is(got[0].message, "refused"));
    CHECK(got[0].nominal_us == 1 && got[0].due_us == 2 && got[0].claimed_us == 3);
    CHECK(got[0].began_us == 4 && got[0].node == 9 && got[0].claim == 130 && got[0].job == 2);
    CHECK(got[0].outcome == JOB_FAILED && str_is(got[0].steps, "connect 3 ms"));
    CHECK(got[1].ended_us == 126 && !got[1].is_stale);
    CHECK(page(s, 2, 6, got, &at) == 4 && at.day == 0 && got[3].ended_us == 102);
    CHECK(page(s, 77, 6, got, &at) == 0);
    store_close(s);
}

TEST(what_is_too_long_for_the_log_is_cut)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    static char large[JOB_STEPS_MOST + 2];
    struct job_log_line line = line_of(1, 5), got;
    struct job_log_place at = { 0 };

    memset(large, 'x', sizeof large - 2);
    memcpy(large + JOB_STEPS_MOST - 1, "\xc3\xa4", 2); /* a letter over the limit */
    line.steps = str_mem(large, JOB_STEPS_MOST + 1);
    line.message = str_mem(large, JOB_TEXT_MOST + 5);
    CHECK(s != NULL && log_lines(s, &line, 1) && page(s, 1, 1, &got, &at) == 1);
    CHECK(got.steps.len == JOB_STEPS_MOST - 1 && got.message.len == JOB_TEXT_MOST);
    store_close(s);
}

/* Whoever writes finds such a line and drops it (job/journal.c). */
TEST(postgres_what_is_no_text_is_refused_for_good)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct job_log_line lines[] = { line_of(1, 5), line_of(1, 6) };
    struct err err = { 0 };

    lines[1].steps = STR("gr\xfc\xdf");
    CHECK(s != NULL && !job_log_add(s, lines, 2, &err) && err.kind == ERR_PERMANENT);
    CHECK(log_lines(s, lines, 1));
    store_close(s);
}

TEST(a_level_says_what_is_logged)
{
    CHECK(!job_log_wants(JOB_LOG_OFF, JOB_FAILED, true));
    CHECK(!job_log_wants(JOB_LOG_ERRORS, JOB_DONE, false));
    CHECK(job_log_wants(JOB_LOG_ERRORS, JOB_DONE, true));
    CHECK(job_log_wants(JOB_LOG_ERRORS, JOB_FAILED, false));
    CHECK(job_log_wants(JOB_LOG_ERRORS, JOB_CANCELLED, false));
    CHECK(job_log_wants(JOB_LOG_ALL, JOB_DONE, false));
}

/* The table of today becomes that of another day. */
static bool age_log(const struct home *h, int64_t days)
{
    int64_t day = ask(h, "SELECT max(slot) FROM part WHERE family = 6");
    char sql[200];

    (void)snprintf(sql, sizeof sql, "ALTER TABLE job_log_%lld RENAME TO job_log_%lld",
                   (long long)day, (long long)(day - days));
    if (!tell(h, sql))
        return false;
    (void)snprintf(sql, sizeof sql, "DROP INDEX job_log_by_job_%lld", (long long)day);
    if (!tell(h, sql))
        return false;
    (void)snprintf(sql, sizeof sql, "UPDATE part SET slot = %lld WHERE family = 6 AND slot = %lld",
                   (long long)(day - days), (long long)day);
    return tell(h, sql);
}

TEST(a_day_of_the_log_is_dropped_whole)
{
    static const int64_t ages[] = { 40, 17, 13, 1 };
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct job_log_place at = { 0 };
    struct job_log_line line, got[10];
    struct err err = { 0 };
    int64_t dropped = -1;

    CHECK(s != NULL && job_log_drop(s, &dropped, &err) && dropped == 0);
    for (size_t i = 0; i < 4; i++) {
        line = line_of(1, 100 + (int64_t)i);
        CHECK(log_lines(s, &line, 1) && age_log(&h, ages[i]));
    }
    line = line_of(1, 104);
    CHECK(log_lines(s, &line, 1));
    /* What is too old is not read any more, over the borders of days. */
    CHECK(page(s, 1, 2, got, &at) == 2 && got[0].ended_us == 104 && got[1].ended_us == 103);
    CHECK(page(s, 1, 2, got, &at) == 1 && got[0].ended_us == 102 && at.day == 0);
    CHECK(page(s, 0, 10, got, &at) == 3);
    CHECK(job_log_drop(s, &dropped, &err) && dropped == 2);
    CHECK(ask(&h, "SELECT count(*) FROM part WHERE family = 6") == 3);
    CHECK(job_log_drop(s, &dropped, &err) && dropped == 0 && page(s, 0, 10, got, &at) == 3);
    store_close(s);
}

/* A log that cannot be written ends no work. */
TEST(a_log_that_fails_leaves_the_store_in_order)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct job_log_line line = line_of(1, 5);
    struct err err = { 0 };
    struct job_claim c;
    char sql[100];

    CHECK(one_job(s) && take(s, 1, &c) == 1 && log_lines(s, &line, 1));
    (void)snprintf(sql, sizeof sql, "DROP TABLE job_log_%lld",
                   (long long)ask(&h, "SELECT max(slot) FROM part WHERE family = 6"));
    CHECK(tell(&h, sql) && !job_log_add(s, &line, 1, &err));
    struct job_end_op o = end_of(&c, "x", 5);

    CHECK(end(s, &o) && wrongs(s) == 0);
    store_close(s);
}

/* ---- the queue check ---- */

static struct job_waiting waiting[JOB_LATE_MOST];

static int unclaimed(struct store *s, int64_t before_us)
{
    struct err err = { 0 };
    size_t n = 0;

    if (job_unclaimed(s, before_us, 10, &texts, waiting, &n, &err))
        return (int)n;
    printf("# unclaimed: %s\n", err.text);
    return -1;
}

static int tokenless(struct store *s)
{
    struct err err = { 0 };
    int64_t above = 0;
    size_t all = 0, n = 0;

    do {
        if (!job_tokenless(s, &above, &texts, waiting, &n, &err)) {
            printf("# tokenless: %s\n", err.text);
            return -1;
        }
        all += n;
    } while (above != 0);
    return (int)all;
}

/* How many claims are over for so long; -1 on an error. */
static int claims_over(struct store *s, int64_t now_us, int64_t least_us, struct job_held held[5])
{
    struct err err = { 0 };
    size_t n = 0;

    if (job_claims(s, now_us, least_us, 5, &texts, held, &n, &err))
        return (int)n;
    printf("# claims: %s\n", err.text);
    return -1;
}

/* proves: QC2 */
TEST(a_claim_that_lasts_is_seen)
{
    const struct job_lease lease = lease_since(60 * CLOCK_S);
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t now = clock_wall_us(), queue = QUEUE_JOBS;
    struct job_wanted jobs[] = { wanted("a", "1", now - 9), wanted("b", "1", now - 8) };
    struct job_held held[5];
    struct err err = { 0 };
    struct job_claim c;
    size_t n = 0;

    CHECK(s != NULL && follow(s, 1, jobs, 2) && accept_many(s, 0, 2, 2));
    struct task documents[2];

    CHECK(claim(s, 2, documents) == 2 && claims_over(s, now, INT64_MIN, held) == 0);
    lasts_us = DAY_US;
    CHECK(take(s, 1, &c) == 1);
    lasts_us = 40 * CLOCK_S;
    CHECK(job_claim(s, &queue, 1, STR(""), 1, &lease, &texts, &c, &n, &err) && n == 1);
    now = clock_wall_us();
    CHECK(claims_over(s, now, INT64_MIN, held) == 2 && str_eq(held[0].name, c.record.name));
    CHECK(held[0].job == c.task.id && held[0].claim == c.task.claim);
    CHECK(held[0].lasts_us == 40 * CLOCK_S && held[0].held_us >= 60 * CLOCK_S);
    CHECK(held[0].over_us >= 20 * CLOCK_S && held[0].node == store_node(s));
    CHECK(held[1].lasts_us == DAY_US && held[1].over_us < 0);
    CHECK(job_claims(s, now, INT64_MIN, 1, &texts, held, &n, &err) && n == 1);
    CHECK(claims_over(s, now, CLOCK_S, held) == 1);
    if (on_postgres()) { /* that of a dead node is rescued */
        CHECK(tell(&h, "UPDATE task_lease SET node_id = 5 WHERE queue < 0"));
        CHECK(claims_over(s, now, INT64_MIN, held) == 0);
    }
    store_close(s);
}

/* A version with another time-out comes, and one without the job.
 * proves: QC2 */
TEST(a_claim_lasts_as_long_as_its_run_may_take_whatever_the_job_has_become)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct job_wanted j = wanted("a", "2", clock_wall_us() + DAY_US);
    struct job_held held[5];
    struct job_claim c;

    lasts_us = DAY_US;
    CHECK(one_job(s) && take(s, 1, &c) == 1);
    lasts_us = CLOCK_S;
    CHECK(follow(s, 2, &j, 1) && followed.changed == 1);
    CHECK(claims_over(s, clock_wall_us(), INT64_MIN, held) == 1 && held[0].lasts_us == DAY_US);
    CHECK(follow(s, 3, NULL, 0) && followed.left == 1);
    CHECK(claims_over(s, clock_wall_us(), INT64_MIN, held) == 1 && held[0].lasts_us == DAY_US);
    CHECK(held[0].over_us < 0 && str_is(held[0].name, "a"));
    store_close(s);
}

/* The clock of the database goes forward and back while the caller's does not.
 * proves: QC6 */
TEST(postgres_claims_are_as_old_as_the_clock_of_the_caller_says)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t now = clock_wall_us() + DAY_US, queue = QUEUE_JOBS;
    struct job_lease lease = lease_since(0);
    struct job_held held[5];
    struct err err = { 0 };
    struct job_claim c;
    size_t n = 0;

    lasts_us = CLOCK_S;
    lease.now_us = now;
    CHECK(one_job(s) && job_claim(s, &queue, 1, STR(""), 1, &lease, &texts, &c, &n, &err));
    int64_t since = show(s, "a").held_us; /* and as long as the writer took */

    CHECK(n == 1 && since >= now && since < now + DAY_US && claims_over(s, since, 0, held) == 0);
    CHECK(claims_over(s, since + 2 * CLOCK_S, CLOCK_S, held) == 1);
    CHECK(held[0].held_us == 2 * CLOCK_S && held[0].over_us == CLOCK_S);
    store_close(s);
}

/* proves: QC2 */
TEST(a_token_that_nobody_claims_is_seen)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t now = clock_wall_us();
    struct job_wanted jobs[] = { wanted("a", "1", now - 50), wanted("b", "1", now - 60),
                                 wanted("c", "1", now + DAY_US), wanted("d", "1", now - 5) };
    struct err err = { 0 };
    struct job_claim c;

    CHECK(s != NULL && job_queue(s, STR("dmz"), &jobs[1].queue, &err));
    jobs[1].area = STR("dmz");
    CHECK(follow(s, 1, jobs, 4) && unclaimed(s, now - 20) == 2);
    CHECK(str_is(waiting[0].name, "b") && str_is(waiting[0].area, "dmz"));
    CHECK(waiting[0].due_us == now - 60 && waiting[0].job != 0);
    CHECK(str_is(waiting[1].name, "a") && unclaimed(s, now - 70) == 0);
    CHECK(unclaimed(s, now) == 3); /* what is not due does not count */
    CHECK(take(s, 1, &c) == 1 && str_is(c.record.name, "a") && unclaimed(s, now - 20) == 1);
    store_close(s);
}

/* By nodes that cannot run it now: it is due all the same.
 * proves: QC5 */
TEST(a_token_that_is_given_back_again_and_again_is_seen)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t due = clock_wall_us() - 50;
    struct job_wanted j = wanted("a", "1", due);
    enum job_end_result result;
    struct err err = { 0 };
    struct job_claim c;

    CHECK(s != NULL && follow(s, 1, &j, 1) && take(s, 1, &c) == 1);
    CHECK(job_give_back(s, &c.task, due + DAY_US, NULL, STR(""), &result, &err));
    CHECK(result == JOB_END_WRITTEN && unclaimed(s, due + 1) == 1 && waiting[0].due_us == due);

    /* A token that is the time-out of a run outside is not, nor is that of a run asked for. */
    CHECK(wake(s, due + DAY_US) == 1 && take(s, 1, &c) == 1);
    struct job_run_open o = { .task = c.task,
                              .parallel = 1,
                              .began_us = due,
                              .until_us = due + DAY_US,
                              .outside = true,
                              .plan = { .turn = c.record.turn } };

    CHECK(job_run_open(s, &o, &err) && o.opened == JOB_OPENED && o.waits);
    CHECK(unclaimed(s, due + 1) == 0 && unclaimed(s, due + 2 * DAY_US) == 1);
    CHECK(act(s, JOB_CANCEL, due, 0) == JOB_OK && unclaimed(s, due + 1) == 1);
    CHECK(act(s, JOB_RUN, 0, 0) == JOB_OK && unclaimed(s, due + 1) == 0);
    store_close(s);
}

/* proves: SC9 */
TEST(a_job_without_its_token_is_seen)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t now = clock_wall_us();
    struct job_wanted jobs[] = { wanted("a", "1", now - 50), wanted("b", "1", now + DAY_US),
                                 wanted("c", "1", 0), wanted("d", "1", now - 1) };
    struct job_claim c;

    CHECK(s != NULL && follow(s, 1, jobs, 4) && tokenless(s) == 0);
    CHECK(act(s, JOB_PAUSE, 0, 0) == JOB_OK && tokenless(s) == 0);
    CHECK(take(s, 1, &c) == 1 && tokenless(s) == 0);
    CHECK(tell(&h, "DELETE FROM task_later") && tokenless(s) == 1 && wrongs(s) > 0);
    store_close(s);
}

STORE_TEST_MAIN
