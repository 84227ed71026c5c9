/* Jobs: the record, its token, and who may move them. */
#include "store/job/job.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "job_scene.h"
#include "store/job/job_forget.h"
#include "store/job/job_states.h"
#include "store/road/rescue.h"

enum { TEXTS = 4 << 20 };

/* ---- the token ---- */

TEST(a_job_waits_runs_and_waits_again)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t due = clock_wall_us() + DAY_US;
    struct job_wanted j = wanted("a", "1", due);
    struct job_claim c, none;

    CHECK(s != NULL && follow(s, 1, &j, 1) && followed.came == 1 && j.written);
    CHECK(places(s).later == 1 && tokens(s) == 1 && take(s, 1, &none) == 0);
    CHECK(wake(s, due - 1) == 0 && wake(s, due) == 1 && places(s).ready == 1);
    CHECK(take(s, 1, &c) == 1 && take(s, 1, &none) == 0);
    CHECK(c.task.kind == TASK_JOB && c.task.id == c.record.num && c.task.rank == due);
    CHECK(str_is(c.record.name, "a") && str_is(c.record.kind, "note") && c.state.len == 0);
    CHECK(c.record.next.nominal_us == due && c.record.runs == 0 && show(s, "a").running);

    struct job_end_op o = end_of(&c, "one", due + DAY_US);

    CHECK(end(s, &o) && o.due_us == due + DAY_US && !o.stale && places(s).later == 1);
    struct job_record r = show(s, "a");

    CHECK(r.runs == 1 && r.outcome == JOB_DONE && str_is(r.message, "well done") && !r.running);
    CHECK(r.state_number == 1 && r.past.settled_us == due && r.next.due_us == due + DAY_US);
    CHECK(r.ok_us == o.ended_us && r.node == store_node(s) && wrongs(s) == 0);

    /* Due at once: it is ready without being woken. */
    CHECK(wake(s, due + DAY_US) == 1 && take(s, 1, &c) == 1 && str_is(c.state, "one"));
    o = end_of(&c, NULL, clock_wall_us() - 1);
    CHECK(end(s, &o) && places(s).ready == 1 && take(s, 1, &c) == 1 && str_is(c.state, "one"));
    /* The last one. */
    o = end_of(&c, NULL, 0);
    CHECK(end(s, &o) && o.stop == JOB_AT_END && tokens(s) == 0 && wrongs(s) == 0);
    store_close(s);
}

/* proves: SC3 SC4 */
TEST(a_lost_claim_changes_nothing)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct job_claim c, later;
    int64_t due = clock_wall_us() - 1;

    CHECK(one_job(s) && take(s, 1, &c) == 1);
    struct job_end_op o = end_of(&c, "late", due);

    CHECK(act(s, JOB_CANCEL, due, 0) == JOB_OK);
    CHECK(!end(s, &o) && o.result == JOB_END_LOST);
    CHECK(take(s, 1, &later) == 1 && later.task.claim != c.task.claim);
    CHECK(!end(s, &o) && o.result == JOB_END_LOST);
    struct job_record r = show(s, "a");

    CHECK(r.runs == 0 && r.state_number == 0 && r.outcome == JOB_CANCELLED && tokens(s) == 1);
    struct job_end_op again_ = end_of(&later, "in time", due), twice = again_;

    CHECK(end(s, &again_));
    CHECK(!end(s, &twice) && twice.result == JOB_END_LOST);
    CHECK(strcmp(state_of(&h), "in time") == 0 && show(s, "a").runs == 1);
    CHECK(tokens(s) == 1 && wrongs(s) == 0);
    store_close(s);
}

/* proves: SC4 QC1 */
TEST(postgres_the_claim_of_a_dead_node_is_rescued)
{
    struct home h = fresh_home(), other = home_beside(&h);
    struct store *a = open_store(&h), *b = open_store(&other);
    struct err err = { 0 };
    struct job_claim c, again_;
    int64_t moved;

    CHECK(b != NULL && one_job(a) && take(a, 1, &c) == 1 && take(b, 1, &again_) == 0);
    CHECK(tell(&h, "UPDATE node SET alive_until_us = 0 WHERE node_id = (SELECT min(node_id) FROM "
                   "task_lease)"));
    CHECK(rescue_dead_nodes(b, &moved, &err) && moved == 1 && wrongs(b) == 0);
    CHECK(take(b, 1, &again_) == 1 && again_.task.id == c.task.id && again_.task.rescues == 1);
    struct job_end_op late = end_of(&c, "dead", 1), o = end_of(&again_, "alive", 1);

    CHECK(!writers_call(store_writers(a), &job_end_verb, &late.op, &err)); /* the fence */
    CHECK(end(b, &o) && strcmp(state_of(&h), "alive") == 0 && tokens(b) == 1);
    store_close(a);
    store_close(b);
}

/* On SQLite claims end with the process. */
TEST(a_restart_frees_what_was_claimed)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct job_claim c;

    CHECK(one_job(s) && take(s, 1, &c) == 1 && take(s, 1, &c) == 0);
    store_close(s);
    s = open_store(&h);
    CHECK(s != NULL && wrongs(s) == 0 && take(s, 1, &c) == 1);
    store_close(s);
}

enum { RACERS = 4, RACED = 40, RACES = 25 };

struct racer {
    struct store *s;
    pthread_t thread;
    int64_t runs;
    bool ok;
};

static atomic_int running_now[RACED];
static atomic_llong raced;

/* Each run adds one to the state, which is a number. */
static void *race(void *arg)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(TEXTS);
    const struct job_lease lease = lease_since(0);
    struct racer *r = arg;
    int64_t queue = QUEUE_JOBS;

    for (r->ok = true; r->ok && raced < (int64_t)RACED * RACES;) {
        struct job_claim claims[5];
        struct err err = { 0 };
        size_t n = 0;

        arena_reset(&a);
        r->ok = job_claim(r->s, &queue, 1, STR(""), 5, &lease, &a, claims, &n, &err);
        for (size_t i = 0; r->ok && i < n; i++) {
            int64_t which = 0, count = 0;
            char text[32];

            r->ok = str_to_i64(claims[i].record.name, &which) &&
                    atomic_fetch_add(&running_now[which], 1) == 0 &&
                    (claims[i].state.len == 0 || str_to_i64(claims[i].state, &count));
            (void)snprintf(text, sizeof text, "%lld", (long long)count + 1);
            struct job_end_op o = end_of(&claims[i], text, clock_wall_us() - 1);

            atomic_fetch_sub(&running_now[which], 1);
            r->ok = r->ok && end(r->s, &o) && !o.stale;
            r->runs++;
            atomic_fetch_add(&raced, 1);
        }
        if (err.kind != ERR_NONE)
            printf("# race: %s\n", err.text);
    }
    return NULL;
}

/* proves: SC3 SC10 */
TEST(of_many_claimers_one_has_the_token)
{
    struct home h = fresh_home(), other = on_postgres() ? home_beside(&h) : h;
    struct store *s = open_store(&h), *b = on_postgres() ? open_store(&other) : s;
    static struct job_wanted jobs[RACED];
    static char names[RACED][12];
    struct racer racers[RACERS];
    int64_t runs = 0;
    bool ok = true;

    for (int i = 0; i < RACED; i++) {
        (void)snprintf(names[i], sizeof names[i], "%d", i);
        jobs[i] = wanted(names[i], "1", clock_wall_us() - 1);
    }
    CHECK(s != NULL && b != NULL && follow(s, 1, jobs, RACED) && followed.came == RACED);
    for (int i = 0; i < RACERS; i++) {
        racers[i] = (struct racer){ .s = i % 2 == 0 ? s : b };
        CHECK(pthread_create(&racers[i].thread, NULL, race, &racers[i]) == 0);
    }
    for (int i = 0; i < RACERS; i++) {
        (void)pthread_join(racers[i].thread, NULL);
        ok = ok && racers[i].ok;
        runs += racers[i].runs;
    }
    CHECK(ok && ask(&h, "SELECT CAST(sum(runs) AS BIGINT) FROM job") == runs);
    CHECK(ask(&h, "SELECT count(*) FROM job WHERE state <> CAST(runs AS TEXT) OR state_number <> "
                  "runs") == 0);
    CHECK(tokens(s) == RACED && wrongs(s) == 0);
    if (b != s)
        store_close(b);
    store_close(s);
}

/* The end is in one commit: what cannot be written whole leaves the claim. */
TEST(an_end_that_fails_changes_nothing)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct err err = { 0 };
    struct job_claim c;

    CHECK(one_job(s) && take(s, 1, &c) == 1);
    struct job_end_op o = end_of(&c, "x", clock_wall_us());

    CHECK(tell(&h, "ALTER TABLE job_state RENAME TO job_state_away"));
    CHECK(!writers_call(store_writers(s), &job_end_verb, &o.op, &err));
    CHECK(tell(&h, "ALTER TABLE job_state_away RENAME TO job_state"));
    CHECK(show(s, "a").runs == 0 && show(s, "a").running && tokens(s) == 1);
    o = end_of(&c, "x", clock_wall_us());
    CHECK(end(s, &o) && show(s, "a").runs == 1 && wrongs(s) == 0);
    store_close(s);
}

TEST(what_is_given_back_is_no_run)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct err err = { 0 };
    struct job_claim c, again_;
    int64_t due = clock_wall_us() + DAY_US;
    enum job_end_result back;

    CHECK(one_job(s) && take(s, 1, &c) == 1);
    CHECK(job_give_back(s, &c.task, due, NULL, STR(""), &back, &err) && back == JOB_END_WRITTEN);
    CHECK(places(s).later == 1);
    CHECK(show(s, "a").runs == 0 && show(s, "a").due_us == due && wrongs(s) == 0);
    CHECK(show(s, "a").next.nominal_us == c.record.next.nominal_us);
    CHECK(job_give_back(s, &c.task, 1, NULL, STR(""), &back, &err) && back == JOB_END_LOST);
    CHECK(places(s).later == 1);
    CHECK(wake(s, due) == 1 && take(s, 1, &again_) == 1);
    /* Stopped meanwhile: it is removed. */
    CHECK(act(s, JOB_PAUSE, 0, 0) == JOB_OK && show(s, "a").running);
    CHECK(job_give_back(s, &again_.task, 1, NULL, STR(""), &back, &err) && back == JOB_END_WRITTEN);
    CHECK(tokens(s) == 0);
    store_close(s);
}

/* ---- the configuration ---- */

TEST(jobs_follow_the_configuration)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t now = clock_wall_us(), due = now + DAY_US;
    struct job_wanted jobs[] = { wanted("a", "1", now - 1), wanted("b", "1", due),
                                 wanted("c", "1", due) };
    struct job_claim c;

    CHECK(s != NULL && follow(s, 4, jobs, 3) && followed.came == 3 && tokens(s) == 3);
    CHECK(take(s, 1, &c) == 1);
    struct job_end_op o = end_of(&c, "how far", due);

    CHECK(end(s, &o));
    CHECK(!follow(s, 4, jobs, 2) && !follow(s, 3, jobs, 0) && tokens(s) == 3); /* not the first */

    /* a has other settings, b is as it was, c left, d came. */
    int64_t turn = show(s, "a").turn;

    jobs[0] = wanted("a", "2", due + 5);
    jobs[0].plan.turn = turn;
    jobs[2] = wanted("d", "1", due);
    agains = 0;
    CHECK(follow(s, 5, jobs, 3) && followed.came == 1 && followed.changed == 1 &&
          followed.left == 1 && agains == 0);
    struct job_record a = show(s, "a"), gone = show(s, "c");

    CHECK(a.due_us == due + 5 && a.state_number == 1 && a.runs == 1 && a.version == 5);
    CHECK(strcmp(state_of(&h), "how far") == 0 && show(s, "b").version == 4);
    CHECK(gone.gone_us >= now && tokens(s) == 3 && wrongs(s) == 0);

    /* a came to an end between the look and the commit: its time is computed again. */
    jobs[0] = wanted("a", "3", due + 6);
    jobs[0].plan.turn = turn;
    CHECK(follow(s, 6, jobs, 3) && agains == 1 && show(s, "a").due_us == due + 6);

    /* c comes back, and goes on where it was. */
    jobs[1] = wanted("c", "1", due);
    CHECK(follow(s, 7, jobs, 3) && show(s, "c").num == gone.num && show(s, "c").gone_us == 0);
    CHECK(show(s, "b").gone_us != 0 && tokens(s) == 3 && wrongs(s) == 0);

    store_close(s);
}

/* By any node, without a new version. */
TEST(a_job_that_is_gone_for_long_is_forgotten)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t now = clock_wall_us(), gone_us = JOB_GONE_DAYS * DAY_US;
    struct job_wanted jobs[] = { wanted("a", "1", now - 1), wanted("b", "1", now + DAY_US) };
    struct err err = { 0 };
    struct job_claim c;
    size_t n = 0;

    CHECK(s != NULL && follow(s, 1, jobs, 2) && take(s, 1, &c) == 1 && follow(s, 2, NULL, 0));
    gone_us += show(s, "b").gone_us;
    CHECK(job_forget(s, gone_us, &n, &err) && n == 0 && show(s, "b").num != 0);
    CHECK(job_forget(s, gone_us + CLOCK_S, &n, &err) && n == 1 && show(s, "b").num == 0);
    CHECK(show(s, "a").running); /* it stays until its run is over */
    struct job_end_op o = end_of(&c, "x", now);

    CHECK(end(s, &o) && ask(&h, "SELECT count(*) FROM job_state") == 1);
    CHECK(job_forget(s, gone_us + CLOCK_S, &n, &err) && n == 1 && show(s, "a").num == 0);
    CHECK(ask(&h, "SELECT count(*) FROM job_state") == 0 && tokens(s) == 0 && wrongs(s) == 0);
    store_close(s);
}

/* As many records as there may be, which left the configuration then. */
static bool full_of_gone(const struct home *h, int64_t gone_us)
{
    char sql[800];

    (void)snprintf(
        sql, sizeof sql,
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) "
        "INSERT INTO job(num, name, kind, area, queue, digest, version, turn, due_us, next_us, "
        "nominal_us, settled_us, paused_us, last_end_us, served, failures, idle, more, tries, "
        "tried_us, first_us, left_out, gone_us) SELECT 1000000 + i, 'gone' || i, 'note', '', -1, "
        "%s, 1, 1, 5, 5, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, %lld FROM n",
        JOB_RECORDS_MOST, on_postgres() ? "decode(repeat('00', 32), 'hex')" : "zeroblob(32)",
        (long long)gone_us);
    return tell(h, sql);
}

/* A run of each of these jobs is outside. */
static bool open_runs(const struct home *h, const char *where)
{
    char sql[300];

    (void)snprintf(sql, sizeof sql,
                   "INSERT INTO job_run(job, claim, node_id, nominal_us, began_us, until_us, "
                   "state_number, waits, outside, ack) SELECT num, 1, 1, 1, 1, 1, 0, 0, 1, %s FROM "
                   "job %s",
                   on_postgres() ? "''::bytea" : "x''", where);
    return tell(h, sql);
}

TEST(jobs_that_left_first_make_room)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct job_wanted jobs[] = { wanted("a", "1", clock_wall_us() + DAY_US),
                                 wanted("gone7", "1", clock_wall_us() + DAY_US),
                                 wanted("b", "1", clock_wall_us() + DAY_US) };
    struct err err = { 0 };
    size_t n = JOB_FORGET_MOST, all = 0;

    CHECK(s != NULL && full_of_gone(&h, clock_wall_us()));
    CHECK(tell(&h, "UPDATE job SET gone_us = 5 WHERE num IN (1000007, 1000008, 1000009)"));
    CHECK(tell(&h, "UPDATE job SET gone_us = 6 WHERE num = 1000005"));
    CHECK(open_runs(&h, "WHERE num = 1000008")); /* it stays as long as something runs */
    CHECK(follow(s, 3, jobs, 3) && followed.came == 2 && followed.changed == 1);
    CHECK(followed.crowded_out == 2 && ask(&h, "SELECT count(*) FROM job") == JOB_RECORDS_MOST);
    CHECK(show(s, "gone7").num == 1000007); /* it was wanted again */
    CHECK(show(s, "gone8").num == 1000008 && show(s, "gone9").num == 0);
    CHECK(show(s, "gone5").num == 0 && show(s, "gone4").num == 1000004);
    CHECK(follow(s, 4, jobs, 2) && followed.left == 1 && followed.crowded_out == 0);
    CHECK(tell(&h, "DELETE FROM job_run") &&
          tell(&h, "UPDATE job SET gone_us = 5 WHERE num < 1001400 AND gone_us > 0"));
    for (; n == JOB_FORGET_MOST; all += n)
        CHECK(job_forget(s, clock_wall_us(), &n, &err));
    CHECK(all >= 1396 && ask(&h, "SELECT count(*) FROM job") == JOB_RECORDS_MOST - (int64_t)all);
    CHECK(tokens(s) == 2 && wrongs(s) == 0);
    store_close(s);
}

TEST(too_many_jobs_change_nothing)
{
    static struct job_wanted many[JOBS_MOST + 1];
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct job_wanted job = wanted("a", "1", clock_wall_us() + DAY_US);
    struct job_follow f = { .version = 3, .jobs = many, .count = JOBS_MOST + 1, .again = again };
    struct err err = { 0 };

    CHECK(s != NULL && !job_follow(s, &f, &err) && err.kind == ERR_LIMIT);
    /* Of all that are there something runs. */
    CHECK(full_of_gone(&h, 5) && open_runs(&h, ""));
    f.jobs = &job;
    f.count = 1;
    CHECK(!job_follow(s, &f, &err) && err.kind == ERR_LIMIT);
    CHECK(ask(&h, "SELECT count(*) FROM job") == JOB_RECORDS_MOST && tokens(s) == 0);
    CHECK(ask(&h, "SELECT value FROM mark WHERE name = 'jobs'") == 0);
    /* The same version is followed when there is room. */
    CHECK(tell(&h, "DELETE FROM job_run WHERE job = 1000002"));
    CHECK(job_follow(s, &f, &err) && f.first && f.crowded_out == 1 && show(s, "a").num != 0);
    CHECK(show(s, "gone2").num == 0 && tokens(s) == 1);
    store_close(s);
}

/* proves: SC3 */
TEST(a_version_that_comes_while_a_job_runs)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct err err = { 0 };
    int64_t due = clock_wall_us() + DAY_US, queue = 0;
    struct job_wanted j = wanted("a", "2", due);
    struct job_claim c;

    CHECK(one_job(s) && take(s, 1, &c) == 1 && job_queue(s, STR("dmz"), &queue, &err));
    CHECK(queue < QUEUE_JOBS);
    j.area = STR("dmz");
    j.queue = queue;
    CHECK(follow(s, 2, &j, 1) && followed.changed == 1 && tokens(s) == 1 && wrongs(s) == 0);
    /* Its next time was computed from the old settings. */
    struct job_end_op o = end_of(&c, "x", due);

    CHECK(!end(s, &o) && o.result == JOB_END_SETTINGS && show(s, "a").running);
    o = end_of(&c, "x", clock_wall_us() - 1);
    o.digest = j.digest;
    o.queue = queue;
    CHECK(end(s, &o) && show(s, "a").runs == 1 && wrongs(s) == 0);
    /* Nodes of other areas do not get it. */
    CHECK(take(s, 1, &c) == 0);
    size_t n = 0;
    int64_t queues[] = { QUEUE_JOBS, queue };
    const struct job_lease lease = lease_since(0);

    CHECK(job_claim(s, queues, 2, STR(""), 5, &lease, &texts, &c, &n, &err) && n == 1);
    /* It leaves while it runs: its result is there, and no token. */
    CHECK(follow(s, 3, NULL, 0) && followed.left == 1 && show(s, "a").running);
    o = end_of(&c, "y", due);
    o.digest = digest_of(STR("whatever"));
    CHECK(end(s, &o) && o.due_us == 0 && show(s, "a").runs == 2);
    CHECK(strcmp(state_of(&h), "y") == 0 && tokens(s) == 0 && wrongs(s) == 0);
    store_close(s);
}

struct follower {
    struct store *s;
    pthread_t thread;
    struct job_follow f;
    bool ok;
};

static void *follow_too(void *arg)
{
    struct follower *f = arg;
    struct err err = { 0 };

    f->ok = job_follow(f->s, &f->f, &err);
    return NULL;
}

TEST(of_two_nodes_one_is_the_first_to_follow)
{
    enum { JOBS = 50, VERSIONS = 8 };
    struct home h = fresh_home(), other = on_postgres() ? home_beside(&h) : h;
    struct store *s = open_store(&h), *b = on_postgres() ? open_store(&other) : s;
    static struct job_wanted jobs[2][JOBS];
    static char names[2][JOBS][12];

    CHECK(s != NULL && b != NULL);
    for (int v = 1; v <= VERSIONS; v++) {
        struct follower two[2];
        char settings[12];
        int came = 0, firsts = 0;

        (void)snprintf(settings, sizeof settings, "%d", v);
        for (int k = 0; k < 2; k++) {
            for (int i = 0; i < JOBS; i++) {
                (void)snprintf(names[k][i], sizeof names[k][i], "%d", i);
                jobs[k][i] = wanted(names[k][i], settings, clock_wall_us() + DAY_US);
            }
            two[k] = (struct follower){
                .s = k == 0 ? s : b,
                .f = { .version = v, .jobs = jobs[k], .count = JOBS, .again = again }
            };
            CHECK(pthread_create(&two[k].thread, NULL, follow_too, &two[k]) == 0);
        }
        for (int k = 0; k < 2; k++) {
            (void)pthread_join(two[k].thread, NULL);
            CHECK(two[k].ok);
            firsts += two[k].f.first;
            came += (int)two[k].f.came;
        }
        CHECK(firsts == 1 && came == (v == 1 ? JOBS : 0));
    }
    CHECK(ask(&h, "SELECT count(*) FROM job") == JOBS && tokens(s) == JOBS && wrongs(s) == 0);
    if (b != s)
        store_close(b);
    store_close(s);
}

/* ---- states ---- */

static int64_t kept(const struct home *h, const char *what)
{
    char sql[100];

    (void)snprintf(sql, sizeof sql, "SELECT %s FROM job_state", what);
    return ask(h, sql);
}

/* The kept state `at`, newest first, has this number and text; its time is not over. */
static bool shown_state(struct store *s, size_t at, int64_t number, const char *text)
{
    struct job_state states[JOB_STATES_KEPT];
    struct err err = { 0 };
    size_t n = 0;

    if (!job_states(s, show(s, "a").num, &texts, states, &n, &err))
        printf("# states: %s\n", err.text);
    return n == JOB_STATES_KEPT && states[at].number == number && str_is(states[at].text, text) &&
           states[at].at_us > clock_wall_us() - DAY_US &&
           states[at].at_us <= clock_wall_us() + DAY_US;
}

static int64_t mark_of(struct store *s)
{
    struct err err = { 0 };
    int64_t mark = -1;

    if (!job_mark(s, &mark, &err))
        printf("# mark: %s\n", err.text);
    return mark;
}

TEST(a_mark_tells_that_jobs_have_changed)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct job_end_op o;
    struct job_claim c;
    int64_t before = mark_of(s), now;

    CHECK(before == 0 && one_job(s) && (now = mark_of(s)) != before);
    before = now;
    CHECK(take(s, 1, &c) == 1);
    o = end_of(&c, "one", clock_wall_us() - 1);
    CHECK(end(s, &o) && (now = mark_of(s)) != before);
    before = now;
    CHECK(act(s, JOB_PAUSE, 0, 0) == JOB_OK && (now = mark_of(s)) != before);
    before = now;
    CHECK(act(s, JOB_RESET, 0, 1) == JOB_OK && mark_of(s) != before);
    store_close(s);
}

/* proves: SC9 */
TEST(an_earlier_state_is_restored)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct job_end_op o;
    struct job_claim c;
    char text[16];

    CHECK(one_job(s));
    for (int i = 1; i <= 25; i++) {
        (void)snprintf(text, sizeof text, "s%d", i);
        CHECK(take(s, 1, &c) == 1);
        o = end_of(&c, text, clock_wall_us() - 1);
        CHECK(end(s, &o));
    }
    CHECK(kept(&h, "count(*)") == JOB_STATES_KEPT && kept(&h, "min(number)") == 6 &&
          kept(&h, "max(number)") == 25);
    CHECK(act(s, JOB_RESET, 0, 5) == JOB_NOT_KEPT && act(s, JOB_RESET, 0, 26) == JOB_NOT_KEPT);
    CHECK(show(s, "a").state_number == 25 && strcmp(state_of(&h), "s25") == 0);
    CHECK(shown_state(s, 0, 25, "s25") && shown_state(s, 18, 7, "s7"));
    CHECK(shown_state(s, 19, 6, "s6"));
    CHECK(act(s, JOB_RESET, 0, 7) == JOB_OK && strcmp(state_of(&h), "s7") == 0);
    CHECK(shown_state(s, 0, 26, "s7") && shown_state(s, 1, 25, "s25"));
    CHECK(show(s, "a").state_number == 26 && kept(&h, "count(*)") == JOB_STATES_KEPT);
    CHECK(kept(&h, "max(number)") == 26 && kept(&h, "min(number)") == 7 && wrongs(s) == 0);

    /* While it runs: what the run brings is of the state before. */
    CHECK(take(s, 1, &c) == 1 && str_is(c.state, "s7"));
    CHECK(act(s, JOB_RESET, 0, 10) == JOB_OK);
    o = end_of(&c, "s8", clock_wall_us() - 1);
    CHECK(end(s, &o) && o.stale && strcmp(state_of(&h), "s10") == 0);
    CHECK(show(s, "a").runs == 26 && show(s, "a").state_number == 27 && tokens(s) == 1);
    CHECK(take(s, 1, &c) == 1 && str_is(c.state, "s10") && wrongs(s) == 0);
    store_close(s);
}

TEST(a_state_may_be_large)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    static char large[JOB_STATE_MOST + 1];
    struct job_claim c;

    memset(large, 'x', JOB_STATE_MOST);
    CHECK(one_job(s) && take(s, 1, &c) == 1);
    struct job_end_op o = end_of(&c, large, clock_wall_us() - 1);

    CHECK(end(s, &o) && take(s, 1, &c) == 1 && c.state.len == JOB_STATE_MOST);
    CHECK(str_eq(c.state, str_of(large)));
    store_close(s);
}

STORE_TEST_MAIN
