#include "base/loop.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "test.h"

enum { THREADS = 4, EACH = 5000 };

struct note {
    struct loop_msg msg;
    struct loop *loop;
    int thread, number;
};

static int last_seen[THREADS];
static atomic_int seen, disorder, wrong_thread, hook_calls;
static atomic_int steps[16], step_count;

static bool wait_until(atomic_int *what, int value)
{
    for (int i = 0; i < 5000 && atomic_load(what) < value; i++)
        clock_sleep_us(1000);
    return atomic_load(what) >= value;
}

static void on_note(struct loop_msg *m)
{
    struct note *n = (struct note *)m;

    if (!loop_is_current(n->loop))
        atomic_fetch_add(&wrong_thread, 1);
    if (n->number <= last_seen[n->thread])
        atomic_fetch_add(&disorder, 1);
    last_seen[n->thread] = n->number;
    free(n);
    atomic_fetch_add(&seen, 1);
}

static struct note *note_new(struct loop *l, int thread, int number)
{
    struct note *n = NEW(struct note);

    n->msg.fn = on_note;
    n->loop = l;
    n->thread = thread;
    n->number = number;
    return n;
}

struct producer {
    struct loop *loop;
    int thread;
    pthread_t id;
};

static void *produce(void *arg)
{
    struct producer *p = arg;

    for (int i = 1; i <= EACH; i++)
        loop_post(p->loop, &note_new(p->loop, p->thread, i)->msg);
    return NULL;
}

TEST(messages_of_each_thread_run_in_order)
{
    struct producer p[THREADS];
    struct err err = { 0 };
    struct loop *l;

    CHECK(loop_start("test", &l, &err));
    for (int i = 0; i < THREADS; i++) {
        p[i] = (struct producer){ .loop = l, .thread = i };
        CHECK(pthread_create(&p[i].id, NULL, produce, &p[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(p[i].id, NULL);
    loop_stop(l); /* runs what was posted */
    CHECK(atomic_load(&seen) == THREADS * EACH);
    CHECK(atomic_load(&disorder) == 0);
    CHECK(atomic_load(&wrong_thread) == 0);
}

struct round {
    struct loop_msg start, first, second;
    struct loop_hook hook;
    struct loop *loop;
};

static struct round the_round;

static void step(int what)
{
    int at = atomic_fetch_add(&step_count, 1);

    if (at < 16)
        atomic_store(&steps[at], what);
}

static void on_second(struct loop_msg *m)
{
    (void)m;
    step(3);
}

static void on_first(struct loop_msg *m)
{
    (void)m;
    step(2);
    loop_defer(the_round.loop, &the_round.second); /* runs in the same round */
}

static void on_hook(struct loop_hook *h)
{
    (void)h;
    atomic_fetch_add(&hook_calls, 1);
    if (atomic_load(&step_count) > 0 && atomic_load(&step_count) < 5)
        step(4);
}

static void on_round(struct loop_msg *m)
{
    (void)m;
    the_round.hook.fn = on_hook;
    loop_at_round_end(the_round.loop, &the_round.hook);
    loop_defer(the_round.loop, &the_round.first);
    step(1);
}

static void on_unhook(struct loop_msg *m)
{
    (void)m;
    loop_unhook(the_round.loop, &the_round.hook);
    atomic_fetch_add(&seen, 1);
}

TEST(deferred_work_and_hooks_run_before_the_loop_waits)
{
    struct err err = { 0 };
    struct loop_msg unhook = { .fn = on_unhook };

    CHECK(loop_start("a name that is longer than fifteen bytes", &the_round.loop, &err));
    the_round.start.fn = on_round;
    the_round.first.fn = on_first;
    the_round.second.fn = on_second;
    loop_post(the_round.loop, &the_round.start);
    CHECK(wait_until(&step_count, 5));
    CHECK(steps[0] == 1 && steps[1] == 2 && steps[2] == 4 && steps[3] == 3 && steps[4] == 4);
    CHECK(!loop_is_current(the_round.loop));
    atomic_store(&seen, 0);
    loop_post(the_round.loop, &unhook);
    CHECK(wait_until(&seen, 1));
    int calls = atomic_load(&hook_calls);

    clock_sleep_us(20000);
    CHECK(calls == atomic_load(&hook_calls)); /* and nothing spins */
    loop_stop(the_round.loop);
    loop_stop(NULL);
}

static struct loop_msg endless;
static struct loop *endless_loop;
static atomic_int endless_runs;

static void on_endless(struct loop_msg *m)
{
    if (atomic_fetch_add(&endless_runs, 1) < 1000)
        loop_defer(endless_loop, m);
}

static void on_endless_start(struct loop_msg *m)
{
    (void)m;
    endless.fn = on_endless;
    loop_defer(endless_loop, &endless);
}

TEST(work_that_defers_itself_does_not_stop_the_loop)
{
    struct err err = { 0 };
    struct loop_msg start = { .fn = on_endless_start };

    CHECK(loop_start("test", &endless_loop, &err));
    loop_post(endless_loop, &start);
    CHECK(wait_until(&endless_runs, 1001));
    loop_stop(endless_loop);
}

int main(void)
{
    return test_main();
}
