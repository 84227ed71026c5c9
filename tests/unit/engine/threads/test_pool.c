#include "engine/threads/pool.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "test.h"

static atomic_int ran, at_once, most_at_once;

static void note_one(void)
{
    int now = atomic_fetch_add(&at_once, 1) + 1, most = atomic_load(&most_at_once);

    while (now > most && !atomic_compare_exchange_weak(&most_at_once, &most, now)) {
    }
}

static void forget(void)
{
    atomic_store(&ran, 0);
    atomic_store(&at_once, 0);
    atomic_store(&most_at_once, 0);
}

static void run_slow(struct pool_job *job)
{
    note_one();
    clock_sleep_us(5 * CLOCK_MS);
    atomic_fetch_sub(&at_once, 1);
    atomic_fetch_add(&ran, 1);
    free(job);
}

TEST(pool_runs_everything_on_as_many_threads_as_it_may)
{
    struct pool *p = pool_new(4);

    forget();
    for (int i = 0; i < 40; i++) {
        struct pool_job *job = NEW(struct pool_job);

        job->run = run_slow;
        pool_submit(p, job);
    }
    pool_free(p);
    CHECK(atomic_load(&ran) == 40);
    CHECK(atomic_load(&most_at_once) == 4);
}

TEST(pool_makes_no_thread_that_it_does_not_need)
{
    struct pool *p = pool_new(8);

    forget();
    for (int i = 0; i < 3; i++) {
        struct pool_job *job = NEW(struct pool_job);

        job->run = run_slow;
        pool_submit(p, job);
        while (atomic_load(&ran) <= i)
            clock_sleep_us(CLOCK_MS);
    }
    pool_free(p);
    CHECK(atomic_load(&most_at_once) == 1);
}

struct chain {
    struct pool_job job;
    struct pool *pool;
    int left;
};

static void run_chain(struct pool_job *job)
{
    struct chain *c = (struct chain *)job; /* job comes first */

    clock_sleep_us(CLOCK_MS);
    atomic_fetch_add(&ran, 1);
    if (--c->left > 0)
        pool_submit(c->pool, job);
}

TEST(pool_waits_at_its_end_for_jobs_that_submit_themselves_again)
{
    for (size_t most = 1; most <= 3; most++) {
        struct pool *p = pool_new(most);
        struct chain chains[4];

        forget();
        for (int i = 0; i < 4; i++) {
            chains[i] = (struct chain){ .job.run = run_chain, .pool = p, .left = 10 };
            pool_submit(p, &chains[i].job);
        }
        pool_free(p);
        CHECK(atomic_load(&ran) == 40);
    }
}

TEST(pool_that_had_nothing_to_do_ends)
{
    pool_free(pool_new(3));
    pool_free(NULL);
}

int main(void)
{
    return test_main();
}
