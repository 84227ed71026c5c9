#include "base/wait.h"

#include "base/clock.h"
#include "base/thread.h"
#include "test.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static bool said;

TEST(wait_ends_at_its_moment)
{
    int64_t until_us = clock_mono_us() + 20 * CLOCK_MS;

    (void)pthread_mutex_lock(&mutex);
    while (wait_until(&cond, &mutex, until_us)) {
    }
    CHECK(clock_mono_us() >= until_us);
    CHECK(!wait_until(&cond, &mutex, until_us)); /* a moment that has passed */
    (void)pthread_mutex_unlock(&mutex);
}

static void *say(void *arg)
{
    (void)arg;
    (void)pthread_mutex_lock(&mutex);
    said = true;
    (void)pthread_cond_signal(&cond);
    (void)pthread_mutex_unlock(&mutex);
    return NULL;
}

TEST(wait_ends_with_a_signal)
{
    int64_t until_us = clock_mono_us() + INT64_C(60) * CLOCK_S;
    pthread_t thread;

    (void)pthread_mutex_lock(&mutex);
    thread_start(&thread, "say", say, NULL);
    while (!said && wait_until(&cond, &mutex, until_us)) {
    }
    CHECK(said);
    (void)pthread_mutex_unlock(&mutex);
    (void)pthread_join(thread, NULL);
    CHECK(clock_mono_us() < until_us);
}

static void *lock_in_vain(void *arg)
{
    *(bool *)arg = wait_lock(&mutex, clock_mono_us() + 20 * CLOCK_MS);
    return NULL;
}

TEST(wait_for_a_mutex_ends_at_its_moment)
{
    pthread_t thread;
    bool locked = true;

    CHECK(wait_lock(&mutex, 0)); /* free: a moment that has passed is enough */
    thread_start(&thread, "lock", lock_in_vain, &locked);
    (void)pthread_join(thread, NULL);
    CHECK(!locked);
    (void)pthread_mutex_unlock(&mutex);
}

static void *lock_and_unlock(void *arg)
{
    *(bool *)arg = wait_lock(&mutex, clock_mono_us() + INT64_C(60) * CLOCK_S);
    (void)pthread_mutex_unlock(&mutex);
    return NULL;
}

TEST(wait_for_a_mutex_ends_when_it_is_free)
{
    pthread_t thread;
    bool locked = false;

    (void)pthread_mutex_lock(&mutex);
    thread_start(&thread, "lock", lock_and_unlock, &locked);
    clock_sleep_us(20 * CLOCK_MS);
    (void)pthread_mutex_unlock(&mutex);
    (void)pthread_join(thread, NULL);
    CHECK(locked);
}

int main(void)
{
    return test_main();
}
