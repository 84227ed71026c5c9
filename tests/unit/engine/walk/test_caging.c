/* Walks that wait for a step in a process: groups, limits, deaths, and the end of the node.  The
 * processes are played by a function that waits at a gate. */
#include "engine/walk/caging.h"

#include <pthread.h>

#include "walk_scene.h"

enum { SECONDS = 30 };

/* ---- the processes ---- */

static struct gate {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool open;
    int let;                   /* groups that may pass although it is shut */
    const struct cage *marked; /* ... and is counted apart */
    int inside, ran, inside_marked;
    size_t largest; /* group */
    enum cage_result result;
    int times; /* that it is the result; then CAGE_DONE */
    int64_t waited_us;
} gate = { .mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void gate_set(bool open, enum cage_result result, int times)
{
    (void)pthread_mutex_lock(&gate.mutex);
    gate.open = open;
    gate.let = 0;
    gate.result = result;
    gate.times = times;
    (void)pthread_cond_broadcast(&gate.changed);
    (void)pthread_mutex_unlock(&gate.mutex);
}

static void play_job(struct cage_job *job)
{
    struct str piece;

    job->result = gate.times-- > 0 ? gate.result : CAGE_DONE;
    if (job->result == CAGE_DONE) {
        if (!job->io->put(job->io, STR("<"), &job->failure) ||
            !job->io->next(job->io, &piece, &job->failure) ||
            !job->io->put(job->io, piece, &job->failure))
            job->result = CAGE_FAILED;
        job->io->note(job->io, STR("in a process"));
    } else {
        (void)service_fail(&job->failure, DEAD_BUDGET, "it took too long");
    }
    gate.ran++;
}

static void play_cage(struct cage *c, struct cage_job *jobs, size_t count)
{
    (void)pthread_mutex_lock(&gate.mutex);
    gate.inside++;
    gate.inside_marked += c == gate.marked;
    gate.largest = count > gate.largest ? count : gate.largest;
    (void)pthread_cond_broadcast(&gate.changed);
    while (!gate.open && gate.let == 0)
        (void)pthread_cond_wait(&gate.changed, &gate.mutex);
    gate.let -= gate.let > 0;
    jobs[0].waited_us = gate.waited_us;
    for (size_t i = 0; i < count; i++)
        play_job(&jobs[i]);
    gate.inside--;
    (void)pthread_mutex_unlock(&gate.mutex);
}

/* One group of those that wait passes, and the gate stays shut. */
static void gate_let_one(void)
{
    (void)pthread_mutex_lock(&gate.mutex);
    gate.let++;
    (void)pthread_cond_broadcast(&gate.changed);
    (void)pthread_mutex_unlock(&gate.mutex);
}

static bool gate_reaches(const int *what, int least)
{
    bool there = false;

    for (int64_t until = clock_mono_us() + SECONDS * CLOCK_S; !there && clock_mono_us() < until;) {
        (void)pthread_mutex_lock(&gate.mutex);
        there = *what >= least;
        (void)pthread_mutex_unlock(&gate.mutex);
        clock_sleep_us(1000);
    }
    return there;
}

/* ---- those whose walk goes on ---- */

enum { FLIGHTS = 200 };

static struct flight *went_on[FLIGHTS];
static _Atomic int gone_on;

static void note_gone_on(struct road *r, struct flight **flights, size_t count)
{
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;

    (void)r;
    (void)pthread_mutex_lock(&one);
    for (size_t i = 0; i < count; i++) {
        went_on[gone_on] = flights[i];
        gone_on++;
    }
    (void)pthread_mutex_unlock(&one);
}

static bool all_went_on(int count)
{
    for (int64_t until = clock_mono_us() + SECONDS * CLOCK_S; clock_mono_us() < until;) {
        if (gone_on >= count)
            return true;
        clock_sleep_us(1000);
    }
    return false;
}

struct caged_scene {
    struct scene s;
    struct caging *own, *roads;
};

static struct caged_scene caged_open(const char *steps)
{
    struct caged_scene c = { .s = scene_open_with(steps, play_cage) };

    gone_on = 0;
    gate.ran = gate.inside_marked = 0;
    gate.marked = NULL;
    gate.largest = 0;
    c.roads = c.s.road->caging;
    c.own = caging_new(c.s.road, &(struct caging_calls){ .run = play_cage, .go_on = note_gone_on });
    c.s.road->caging = c.own;
    return c;
}

static void caged_close(struct caged_scene *c)
{
    caging_stop(c->own);
    caging_free(c->own);
    c->s.road->caging = c->roads;
    scene_close(&c->s);
}

static struct flight *waiting_flight(struct caged_scene *c)
{
    struct flight *f = scene_flight(&c->s, "hi", 0);

    require(walk(f) == WALK_WAITS && f->walk.need == WALK_NEEDS_CAGE && f->caged != NULL);
    return f;
}

TEST(a_walk_waits_for_its_process_and_goes_on)
{
    struct caged_scene c = caged_open("{ bang: {} }, { caged: { limits: { concurrency: 1 } } }, { "
                                      "caged: { limits: { concurrency: 1 } } }, { deliver: out }");
    struct flight *f = waiting_flight(&c);
    int64_t wait_us;

    gate_set(true, CAGE_DONE, 0);
    CHECK(caging_put(f, &wait_us) && all_went_on(1) && went_on[0] == f);
    CHECK(walk(f) == WALK_WAITS && f->step_count == 2 && f->walk.step == 2); /* for the second */
    CHECK(caging_put(f, &wait_us) && all_went_on(2));
    CHECK(walk(f) == WALK_SENDS && f->caged == NULL && bangs == 1);
    CHECK(str_is(scene_sent(f, 0), "<<hi!") && scene_says(f, "in a process"));
    scene_end(f);
    caged_close(&c);
}

TEST(those_that_wait_are_taken_in_groups_and_in_order)
{
    struct caged_scene c =
        caged_open("{ caged: { limits: { concurrency: 1 } } }, { deliver: out }");
    struct flight *all[FLIGHTS], *in_line[FLIGHTS];
    int64_t wait_us = 0;
    int taken = 0;

    gate_set(false, CAGE_DONE, 0);
    for (int i = 0; i < FLIGHTS; i++) {
        all[i] = waiting_flight(&c);
        if (caging_put(all[i], &wait_us))
            in_line[taken++] = all[i];
    }
    CHECK(taken > FLIGHTS_MOST / 16 && taken < FLIGHTS); /* what a step takes is not known yet */
    CHECK(wait_us >= CLOCK_S && wait_us <= 60 * CLOCK_S);
    gate_set(true, CAGE_DONE, 0);
    CHECK(all_went_on(taken) && gate.largest <= CAGE_JOBS_MOST);
    for (int i = 0; i < taken; i++)
        CHECK(went_on[i] == in_line[i]);
    for (int i = 0; i < FLIGHTS; i++) {
        step_drop(all[i]);
        scene_end(all[i]);
    }
    caged_close(&c);
}

/* Those that find no room come back one after the other, and not as a whole. */
TEST(those_that_are_sent_away_have_a_turn_each)
{
    enum { WORK_US = 500 * CLOCK_MS, LATE = 10 };
    struct caged_scene c =
        caged_open("{ caged: { limits: { concurrency: 1 } } }, { deliver: out }");
    struct flight *all[FLIGHTS], *late[LATE];
    int64_t wait_us, from, least = 0; /* the turn of the one before, not earlier than this */
    int taken = 0;

    gate_set(false, CAGE_DONE, 0);
    all[taken] = waiting_flight(&c);
    CHECK(caging_put(all[taken++], &wait_us) && gate_reaches(&gate.inside, 1));
    all[taken] = waiting_flight(&c);
    CHECK(caging_put(all[taken++], &wait_us));
    clock_sleep_us(WORK_US); /* what a document takes, as far as anybody knows */
    gate_let_one();
    CHECK(all_went_on(1) && gate_reaches(&gate.inside, 1));
    while (all[taken] = waiting_flight(&c), caging_put(all[taken], &wait_us))
        taken++;
    CHECK(taken < FLIGHTS / 2 && wait_us >= taken / 2 * (int64_t)WORK_US);
    for (int i = 0; i < LATE; i++) {
        late[i] = waiting_flight(&c);
        from = clock_mono_us();
        CHECK(!caging_put(late[i], &wait_us));
        CHECK(i == 0 || clock_mono_us() + wait_us >= least + WORK_US);
        least = from + wait_us;
    }
    gate_set(true, CAGE_DONE, 0);
    CHECK(all_went_on(taken));
    for (int i = 0; i <= taken; i++) {
        step_drop(all[i]);
        scene_end(all[i]);
    }
    for (int i = 0; i < LATE; i++) {
        step_drop(late[i]);
        scene_end(late[i]);
    }
    caged_close(&c);
}

/* One has run and taken so long, one runs, one waits: how many count as waiting for a fast step. */
static size_t counted_after(struct caged_scene *c, int64_t work_us)
{
    struct flight *all[3];
    int64_t wait_us;

    gone_on = 0;
    gate_set(false, CAGE_DONE, 0);
    for (int i = 0; i < 3; i++)
        all[i] = waiting_flight(c);
    require(caging_put(all[0], &wait_us) && gate_reaches(&gate.inside, 1));
    require(caging_put(all[1], &wait_us) && caging_waiting_fast(c->own) == 0);
    clock_sleep_us(work_us);
    gate_let_one();
    require(all_went_on(1) && gate_reaches(&gate.inside, 1) && caging_put(all[2], &wait_us));
    size_t counted = caging_waiting_fast(c->own);

    gate_set(true, CAGE_DONE, 0);
    require(all_went_on(3) && caging_waiting_fast(c->own) == 0);
    for (int i = 0; i < 3; i++) {
        step_drop(all[i]);
        scene_end(all[i]);
    }
    return counted;
}

/* A gateway that sends more than a fast step takes is slowed down; a slow step is no reason. */
TEST(who_waits_for_a_fast_step_makes_the_node_busy)
{
    struct caged_scene c =
        caged_open("{ caged: { limits: { concurrency: 1 } } }, { deliver: out }");
    size_t counted = 0;

    CHECK(counted_after(&c, 50 * CLOCK_MS) == 0);
    /* On a busy machine it may be slow now and then. */
    for (int64_t until = clock_mono_us() + SECONDS * CLOCK_S;
         counted == 0 && clock_mono_us() < until;)
        counted = counted_after(&c, 0);
    CHECK(counted == 1);
    caged_close(&c);
}

/* The first document of a step waits for its process to start, which takes long; the next do not.
 */
TEST(a_start_does_not_make_a_step_slow)
{
    struct caged_scene c =
        caged_open("{ caged: { limits: { concurrency: 1 } } }, { deliver: out }");

    gate.waited_us = 50 * CLOCK_MS;
    size_t counted = 0;

    for (int64_t until = clock_mono_us() + SECONDS * CLOCK_S;
         counted == 0 && clock_mono_us() < until;)
        counted = counted_after(&c, 50 * CLOCK_MS);
    gate.waited_us = 0;
    CHECK(counted == 1);
    caged_close(&c);
}

/* A thread takes one group and queues up again: a busy step cannot keep all of them. */
TEST(a_busy_step_leaves_threads_to_others)
{
    enum { THREADS = 64, BUSY = THREADS + 60 };
    struct caged_scene c =
        caged_open("{ caged: { limits: { concurrency: 64 } } }, "
                   "{ caged: { limits: { concurrency: 1 } } }, { deliver: out }");
    struct flight *other = waiting_flight(&c), *busy[BUSY];
    int64_t wait_us;

    gate_set(true, CAGE_DONE, 0);
    CHECK(caging_put(other, &wait_us) && all_went_on(1) && walk(other) == WALK_WAITS);
    gate_set(false, CAGE_DONE, 0);
    gate.marked = c.s.plan->routes[0].steps[1].cage;
    for (int i = 0; i < BUSY; i++) {
        busy[i] = waiting_flight(&c);
        CHECK(caging_put(busy[i], &wait_us));
        CHECK(i >= THREADS || gate_reaches(&gate.inside, i + 1));
    }
    CHECK(caging_put(other, &wait_us)); /* it has no thread yet */
    gate_let_one();
    CHECK(gate_reaches(&gate.inside_marked, 1) && gone_on == 2);
    gate_set(true, CAGE_DONE, 0);
    CHECK(all_went_on(BUSY + 2));
    for (int i = 0; i < BUSY; i++) {
        step_drop(busy[i]);
        scene_end(busy[i]);
    }
    step_drop(other);
    scene_end(other);
    caged_close(&c);
}

TEST(a_process_that_dies_costs_an_attempt_and_the_third_is_dead)
{
    struct caged_scene c =
        caged_open("{ caged: { limits: { concurrency: 1 } } }, { deliver: out }");

    for (int attempt = 1; attempt <= 3; attempt++) {
        struct flight *f = waiting_flight(&c);

        f->settle.task.attempts = attempt;
        f->caged->job.result = CAGE_DIED;
        (void)service_fail(&f->caged->job.failure, DEAD_BUDGET, "it took too long");
        CHECK(walk(f) == WALK_ENDS && f->caged == NULL);
        CHECK(f->settle.end == (attempt < 3 ? SETTLE_AGAIN : SETTLE_DEAD));
        CHECK(f->settle.task.attempts == attempt && strstr(f->message, "too long") != NULL);
        CHECK(attempt < 3 || f->dead == DEAD_BUDGET);
        scene_end(f);
    }
    caged_close(&c);
}

TEST(a_step_that_fails_is_dead_with_its_words)
{
    struct caged_scene c =
        caged_open("{ caged: { limits: { concurrency: 1 } } }, { deliver: out }");
    struct flight *f = waiting_flight(&c);

    f->caged->job.result = CAGE_FAILED;
    (void)service_fail(&f->caged->job.failure, DEAD_SERVICE_FAILED, "line 3: no such field");
    CHECK(walk(f) == WALK_ENDS && f->dead == DEAD_SERVICE_FAILED && f->leg_count == 0);
    CHECK(str_is(f->settle.message, "line 3: no such field"));
    scene_end(f);
    caged_close(&c);
}

TEST(a_turn_that_does_not_come_costs_nothing_and_ends)
{
    struct caged_scene c =
        caged_open("{ caged: { limits: { concurrency: 1 } } }, { deliver: out }");
    struct flight *f = waiting_flight(&c);
    int turns = 1;

    while (f->caged->job.result = CAGE_NOT_RUN, walk(f) == WALK_WAITS)
        turns++;
    CHECK(turns == 5 && f->settle.end == SETTLE_AGAIN && f->settle.task.attempts == 0);
    CHECK(f->delayed && f->settle.due_us > 0);
    scene_end(f);
    caged_close(&c);
}

TEST(a_node_that_stops_gets_back_those_that_wait)
{
    struct caged_scene c =
        caged_open("{ caged: { limits: { concurrency: 1 } } }, { deliver: out }");
    struct flight *first = waiting_flight(&c), *second = waiting_flight(&c);
    int64_t wait_us = -1;

    gate_set(false, CAGE_DONE, 0);
    CHECK(caging_put(first, &wait_us) && gate_reaches(&gate.inside, 1));
    CHECK(caging_put(second, &wait_us));
    CHECK(caging_close(c.own) == second && second->next == NULL);
    CHECK(!caging_put(second, &wait_us) && wait_us == 0);
    gate_set(true, CAGE_DONE, 0);
    CHECK(all_went_on(1) && went_on[0] == first);
    step_drop(second);
    scene_end(second);
    step_drop(first);
    scene_end(first);
    caged_close(&c);
}

static void see_one(void *arg, struct walking_place *p)
{
    *(int *)arg += str_is(p->facts.receiver, "hub");
}

TEST(a_walk_that_waits_is_still_seen)
{
    struct caged_scene c =
        caged_open("{ caged: { limits: { concurrency: 1 } } }, { deliver: out }");
    struct flight *f = waiting_flight(&c);
    int seen = 0;

    walking_wait(f);
    walking_each_old(c.s.road, f->began_us + 1, see_one, &seen);
    CHECK(seen == 1);
    walking_each_old(c.s.road, f->began_us, see_one, &seen); /* it is not that old */
    walking_begin(f, NULL);
    walking_each_old(c.s.road, f->began_us + 1, see_one, &seen);
    CHECK(seen == 1);
    step_drop(f);
    scene_end(f);
    caged_close(&c);
}

TEST(a_dry_walk_runs_it_at_once)
{
    struct caged_scene c =
        caged_open("{ caged: { limits: { concurrency: 1 } } }, { deliver: out }");
    struct flight *f = scene_flight(&c.s, "hi", 0);

    f->dry = true;
    gate_set(true, CAGE_NOT_RUN, 2);
    CHECK(walk_only(f) && gate.ran == 3 && str_is(scene_sent(f, 0), "<hi"));
    scene_end(f);
    gate_set(true, CAGE_DIED, 1);
    f = scene_flight(&c.s, "hi", 0);
    f->dry = true;
    CHECK(!walk_only(f) && f->settle.end == SETTLE_DEAD && f->dead == DEAD_BUDGET);
    scene_end(f);
    caged_close(&c);
}

int main(void)
{
    return test_main();
}
