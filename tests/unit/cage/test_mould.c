/* test_mould.c - processes that are copies of one that made the step, and one that takes long. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/file.h"
#include "cage/cage.h"
#include "cage_fixture.h"
#include "test.h"

enum { LONG = 200 * CLOCK_S, SHORT = CLOCK_S };

/* ---- moulds ---- */

struct maker {
    int made, serves; /* ids of processes; 0: it did not run */
};

static struct maker ask_maker(struct cage *c)
{
    struct maker m = { 0 };
    FIXTURE_JOBS(j);

    fixture_add(j, STR("maker"));
    cage_run(c, j->jobs, 1);
    if (j->jobs[0].result == CAGE_DONE) {
        char *rest = j->memory[0].out.ptr;

        m.made = (int)strtol(rest, &rest, 10);
        m.serves = (int)strtol(rest, NULL, 10);
    }
    fixture_done(j);
    return m;
}

static void let_it_abort(struct cage *c)
{
    FIXTURE_JOBS(j);

    fixture_add(j, STR("abort"));
    cage_run(c, j->jobs, 1);
    CHECK(j->jobs[0].result == CAGE_DIED);
    fixture_done(j);
}

/* A process without a parent may stay as a zombie for a while. */
static bool is_there(int pid)
{
    AUTO(buf_done) struct buf text = BUF_INIT(4096);
    char path[64];
    struct err err;

    (void)snprintf(path, sizeof path, "/proc/%d/stat", pid);
    if (!file_read_whole(AT_FDCWD, path, &text, &err))
        return false;
    const char *name_end = strrchr(text.ptr, ')');

    return name_end != NULL && name_end[2] != 'Z' && name_end[2] != 'X';
}

static void await_end(int pid)
{
    for (int64_t until = clock_mono_us() + LONG; is_there(pid) && clock_mono_us() < until;)
        (void)usleep(1000);
    CHECK(!is_there(pid));
}

TEST(processes_are_copies_of_one_that_made_the_step)
{
    struct cage *c = fixture_cage(1, LONG);
    struct maker first = ask_maker(c), same = ask_maker(c);

    CHECK(first.made > 0 && first.serves != first.made && same.serves == first.serves);
    let_it_abort(c);
    struct maker next = ask_maker(c);

    CHECK(next.made == first.made && next.serves != first.serves);
    CHECK(is_there(next.made) && is_there(next.serves) && !is_there(first.serves));
    cage_free(c);
    CHECK(!is_there(next.made) && !is_there(next.serves));
}

/* A service that does not say that it may be copied. */
TEST(a_step_that_is_not_copied_is_made_by_each_process)
{
    struct cage *c = fixture_cage_of("alone", 1, LONG);
    struct maker first = ask_maker(c);

    CHECK(first.made > 0 && first.made == first.serves);
    let_it_abort(c);
    struct maker next = ask_maker(c);

    CHECK(next.made == next.serves && next.made != first.made);
    cage_free(c);
    CHECK(!is_there(next.made));
}

/* Its copies die with it; the next document has another one. */
TEST(a_mould_that_dies_costs_nothing)
{
    struct cage *c = fixture_cage(1, LONG);
    struct maker first = ask_maker(c);

    CHECK(kill(first.made, SIGKILL) == 0);
    await_end(first.serves);
    struct maker next = ask_maker(c);

    CHECK(next.serves > 0 && next.serves != first.serves);
    let_it_abort(c);
    next = ask_maker(c);
    CHECK(next.made > 0 && next.made != first.made && !is_there(first.serves) &&
          !is_there(first.made));
    cage_free(c);
    CHECK(!is_there(next.made) && !is_there(next.serves));
}

/* NULL if one did not run. */
static void *ask_makers(void *cage)
{
    void *all = cage;

    for (int i = 0; i < 20; i++) {
        if (ask_maker(cage).serves == 0)
            all = NULL;
        if (i % 5 == 4)
            let_it_abort(cage);
    }
    return all;
}

TEST(several_threads_start_copies)
{
    struct cage *c = fixture_cage(4, LONG);
    pthread_t threads[4];

    for (size_t i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, ask_makers, c) == 0);
    for (size_t i = 0; i < 4; i++) {
        void *all = NULL;

        CHECK(pthread_join(threads[i], &all) == 0 && all != NULL);
    }
    cage_free(c);
}

/* ---- one that takes long ---- */

struct burning {
    struct cage *cage;
    const char *what;
    _Atomic bool over;
};

static void *burn_one(void *arg)
{
    struct burning *b = arg;
    FIXTURE_JOBS(j);

    fixture_add(j, str_of(b->what));
    cage_run(b->cage, j->jobs, 1);
    fixture_done(j);
    b->over = true;
    return NULL;
}

/* Whether the process was lowered while it worked; on a busy machine its time may be over before.
 */
static bool was_lowered(struct cage *c, const char *what, int process)
{
    struct burning b = { .cage = c, .what = what };
    pthread_t thread;
    bool seen = false;

    if (pthread_create(&thread, NULL, burn_one, &b) != 0)
        return false;
    while (!b.over) {
        seen = seen || sched_getscheduler(process) == SCHED_IDLE;
        (void)usleep(1000);
    }
    (void)pthread_join(thread, NULL);
    return seen;
}

/* proves: PR8 */
TEST(one_that_takes_long_makes_way_for_others)
{
    struct cage *c = fixture_cage(1, SHORT);
    bool lowered = false;

    for (int64_t until = clock_mono_us() + LONG; !lowered && clock_mono_us() < until;) {
        struct maker first = ask_maker(c);

        lowered = was_lowered(c, "burn 400", first.serves);
        struct maker next = ask_maker(c); /* nobody else has to run so slowly */

        CHECK(!lowered || (next.serves > 0 && next.serves != first.serves));
    }
    CHECK(lowered);
    cage_free(c);
}

/* Runs one; afterwards there are so many processes: one that was lowered is not kept. */
static bool ends_with(struct cage *c, const char *what, enum cage_result want, int64_t processes)
{
    FIXTURE_JOBS(j);

    fixture_add(j, str_of(what));
    cage_run(c, j->jobs, 1);
    bool as_wanted = j->jobs[0].result == want;

    fixture_done(j);
    return as_wanted && metric_now("waybill_cage_processes") == processes;
}

/* A document that is through before it would be noticed, but not right after one that was not.  On
 * a busy machine it may take several attempts, and seconds: the one that is lowered waits for a
 * core that nobody wants. */
TEST(after_a_loop_the_next_one_is_watched_more_closely)
{
    struct cage *c = fixture_cage(1, 4 * SHORT);
    bool seen = false;

    for (int64_t until = clock_mono_us() + LONG; !seen && clock_mono_us() < until;)
        seen = ends_with(c, "burn 240", CAGE_DONE, 1) && ends_with(c, "loop", CAGE_FAILED, 0) &&
               ends_with(c, "burn 240", CAGE_DONE, 0) && ends_with(c, "burn 240", CAGE_DONE, 1);
    CHECK(seen);
    cage_free(c);
}

int main(int argc, char **argv)
{
    if (cage_main_is(argc, argv))
        return cage_main(argc, argv, &fixture_connectors);
    return test_main();
}
