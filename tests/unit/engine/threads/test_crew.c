#include "engine/threads/crew.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "test.h"

enum { DEADLINE_US = 60 * CLOCK_S, PATIENCE_US = 50 * CLOCK_MS };

/* A door that hung calls stand behind. */
struct door {
    _Atomic bool open;
    atomic_int begun, paused, done, lost, committed, back, never;
};

struct visit {
    struct crew_call call;
    struct door *door;
    bool hangs, commits;
    bool pauses; /* before it hangs */
};

static void visit_run(struct crew_call *c)
{
    struct visit *v = container_of(c, struct visit, call);

    atomic_fetch_add(&v->door->begun, 1);
    if (v->commits)
        (void)call_commit(&c->call);
    if (v->pauses) {
        call_pause(&c->call);
        clock_sleep_us(3 * PATIENCE_US); /* the timekeeper looks meanwhile */
        atomic_fetch_add(&v->door->paused, 1);
        call_alive(&c->call);
    }
    while (v->hangs && !atomic_load(&v->door->open))
        clock_sleep_us(CLOCK_MS);
    if (!v->commits && !call_commit(&c->call))
        atomic_fetch_add(&v->door->never, 1);
}

static void visit_done(struct crew_call *c)
{
    struct visit *v = container_of(c, struct visit, call);

    atomic_fetch_add(&v->door->done, 1);
    free(v);
}

static void visit_lost(struct crew_call *c, bool committed)
{
    struct visit *v = container_of(c, struct visit, call);

    atomic_fetch_add(&v->door->committed, committed);
    atomic_fetch_add(&v->door->lost, 1);
}

static void visit_back(struct crew_call *c)
{
    struct visit *v = container_of(c, struct visit, call);

    atomic_fetch_add(&v->door->back, 1);
    free(v);
}

/* Calls that nobody gets back after crew_free(): they stay reachable, so they are no leaks. */
static struct visit *visits[256];
static size_t visit_count;

static struct visit *visit_new(struct door *door, bool hangs)
{
    struct visit *v = NEW(struct visit);

    *v = (struct visit){ .call = { .patience_us = hangs ? PATIENCE_US : DEADLINE_US,
                                   .whole = true,
                                   .run = visit_run,
                                   .done = visit_done,
                                   .lost = visit_lost,
                                   .back = visit_back },
                         .door = door,
                         .hangs = hangs };
    visits[visit_count++ % 256] = v;
    return v;
}

static void visit(struct crew *c, struct door *door, bool hangs)
{
    crew_submit(c, &visit_new(door, hangs)->call);
}

static bool comes_to(atomic_int *count, int want)
{
    int64_t until_us = clock_mono_us() + DEADLINE_US;

    while (atomic_load(count) != want && clock_mono_us() < until_us)
        clock_sleep_us(CLOCK_MS);
    return atomic_load(count) == want;
}

TEST(crew_runs_what_returns)
{
    struct crew *c = crew_new("test", 4, 4);
    struct door door = { 0 };

    for (int i = 0; i < 100; i++)
        visit(c, &door, false);
    CHECK(comes_to(&door.done, 100));
    crew_hurry(c, DEADLINE_US);
    CHECK(crew_free(c) == 0);
    CHECK(door.lost == 0);
}

TEST(crew_gives_up_what_hangs_and_goes_on)
{
    struct crew *c = crew_new("test", 2, 4);
    struct door door = { 0 };
    struct crew_look look;

    visit(c, &door, true);
    visit(c, &door, true);
    visit(c, &door, false); /* waits for one of the two threads, then has a new one */
    CHECK(comes_to(&door.done, 1));
    CHECK(comes_to(&door.lost, 2));
    crew_look(c, &look);
    CHECK(look.lost == 2);
    CHECK(look.most == 2);
    CHECK(door.committed == 0);

    atomic_store(&door.open, true); /* the lost ones return, without effect, and free their calls */
    CHECK(comes_to(&door.back, 2));
    CHECK(door.never == 2);
    crew_hurry(c, DEADLINE_US);
    CHECK(crew_free(c) == 0);
    CHECK(door.done == 1);
}

TEST(crew_gives_up_what_hangs_after_a_pause)
{
    struct crew *c = crew_new("test", 1, 1);
    struct door door = { 0 };
    struct visit *v = visit_new(&door, true);

    v->call.whole = false;
    v->pauses = true;
    crew_submit(c, &v->call);
    CHECK(comes_to(&door.paused, 1));
    CHECK(comes_to(&door.lost, 1));
    atomic_store(&door.open, true);
    CHECK(comes_to(&door.back, 1));
    CHECK(crew_free(c) == 0);
}

TEST(crew_says_what_may_have_happened)
{
    struct crew *c = crew_new("test", 1, 1);
    struct door door = { 0 };
    struct visit *v = visit_new(&door, true);

    v->commits = true;
    crew_submit(c, &v->call);
    CHECK(comes_to(&door.lost, 1));
    CHECK(door.committed == 1);
    atomic_store(&door.open, true);
    CHECK(comes_to(&door.back, 1));
    crew_hurry(c, DEADLINE_US);
    CHECK(crew_free(c) == 0);
}

static void run_steadily(struct crew_call *c)
{
    for (int64_t until_us = clock_mono_us() + 4 * PATIENCE_US; clock_mono_us() < until_us;) {
        clock_sleep_us(CLOCK_MS);
        call_alive(&c->call);
    }
}

TEST(crew_waits_for_what_goes_on)
{
    struct crew *c = crew_new("test", 1, 1);
    struct door door = { 0 };
    struct visit *v = visit_new(&door, false);

    v->call.patience_us = 10 * CLOCK_S; /* a busy machine may pause it */
    v->call.whole = false;
    v->call.run = run_steadily;
    crew_submit(c, &v->call);
    CHECK(comes_to(&door.done, 1));
    CHECK(door.lost == 0);
    crew_hurry(c, DEADLINE_US);
    CHECK(crew_free(c) == 0);
}

/* proves: XC3 */
TEST(crew_has_fewer_threads_when_too_many_are_lost)
{
    struct crew *c = crew_new("test", 2, 1);
    struct door door = { 0 };
    struct crew_look look;

    for (int i = 0; i < 3; i++)
        visit(c, &door, true);
    CHECK(comes_to(&door.lost, 3)); /* one was replaced, two were the crew itself */
    visit(c, &door, false);
    clock_sleep_us(2 * PATIENCE_US);
    crew_look(c, &look);
    CHECK(look.lost == 3);
    CHECK(look.waiting == 1);
    CHECK(look.waits_us > 0);
    CHECK(door.done == 0);

    crew_hurry(c, 0); /* what waits never begins */
    CHECK(comes_to(&door.lost, 4));
    CHECK(crew_free(c) == 3);
    atomic_store(&door.open, true); /* they return to a crew that is gone, and touch nothing */
    CHECK(comes_to(&door.never, 3));
    CHECK(door.back == 1);
}

TEST(crew_goes_on_when_the_lost_come_back)
{
    struct crew *c = crew_new("test", 2, 1);
    struct door door = { 0 };

    for (int i = 0; i < 3; i++)
        visit(c, &door, true);
    CHECK(comes_to(&door.lost, 3));
    visit(c, &door, false); /* no thread is left for it */
    atomic_store(&door.open, true);
    CHECK(comes_to(&door.done, 1)); /* nothing else is submitted */
    CHECK(comes_to(&door.back, 3));
    crew_hurry(c, DEADLINE_US);
    CHECK(crew_free(c) == 0);
}

TEST(crew_hurries_when_the_node_stops)
{
    struct crew *c = crew_new("test", 2, 2);
    struct door door = { 0 };
    struct visit *v = visit_new(&door, true);

    v->call.patience_us = 10 * DEADLINE_US;
    crew_submit(c, &v->call);
    CHECK(comes_to(&door.begun, 1));
    crew_hurry(c, PATIENCE_US);
    CHECK(crew_free(c) == 1);
    CHECK(door.lost == 1);
    atomic_store(&door.open, true);
    CHECK(comes_to(&door.never, 1));
}

int main(void)
{
    return test_main();
}
