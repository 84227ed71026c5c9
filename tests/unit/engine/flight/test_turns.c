/* Turns at records: one at a time, in order, over many threads, and the end of the node. */
#include "engine/flight/turns.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "engine/flight/flight.h"
#include "test.h"

enum { FLIGHTS = 64, ROUNDS = 200 };

static struct turns *turns;
static struct flight flights[FLIGHTS];
static struct flight *went[FLIGHTS * 2];
static size_t went_count;

static void note_went(struct flight *f)
{
    went[went_count++] = f;
}

static void open_turns(void (*go_on)(struct flight *f))
{
    went_count = 0;
    turns = turns_new(FLIGHTS, go_on);
    for (size_t i = 0; i < FLIGHTS; i++)
        flights[i] = (struct flight){ .arena = ARENA_INIT(1 << 20) };
}

static void close_turns(void)
{
    turns_free(turns);
    for (size_t i = 0; i < FLIGHTS; i++)
        arena_done(&flights[i].arena);
}

TEST(a_record_has_one_turn_at_a_time)
{
    open_turns(note_went);
    CHECK(turns_take(turns, &flights[0], STR("a"), STR("1")));
    CHECK(turns_take(turns, &flights[0], STR("a"), STR("1"))); /* it has it already */
    CHECK(turns_take(turns, &flights[1], STR("b"), STR("1")) &&
          turns_take(turns, &flights[2], STR("a"), STR("2")));
    for (size_t i = 3; i < 6; i++)
        CHECK(!turns_take(turns, &flights[i], STR("a"), STR("1")) &&
              turns_wait(turns, &flights[i]) == TURN_LATER);
    CHECK(went_count == 0);
    turns_leave(turns, &flights[0]);
    CHECK(went_count == 1 && went[0] == &flights[3] && flights[3].turn != NULL);
    turns_leave(turns, &flights[0]); /* it has none any more */
    turns_leave(turns, &flights[3]);
    turns_leave(turns, &flights[4]);
    CHECK(went_count == 3 && went[1] == &flights[4] && went[2] == &flights[5]);
    turns_leave(turns, &flights[5]);
    CHECK(turns_take(turns, &flights[6], STR("a"), STR("1")));
    turns_leave(turns, &flights[6]);
    turns_leave(turns, &flights[1]);
    turns_leave(turns, &flights[2]);
    close_turns();
}

/* So that no two wait for each other. */
TEST(who_has_a_turn_waits_for_no_other)
{
    open_turns(note_went);
    CHECK(turns_take(turns, &flights[0], STR("a"), STR("1")) &&
          turns_take(turns, &flights[1], STR("a"), STR("2")));
    CHECK(turns_take(turns, &flights[0], STR("a"), STR("2")) &&
          turns_take(turns, &flights[1], STR("a"), STR("1")));
    turns_leave(turns, &flights[0]);
    turns_leave(turns, &flights[1]);
    close_turns();
}

/* Between the question and the wait the turn may have become free. */
TEST(a_turn_that_is_free_is_taken_at_once)
{
    open_turns(note_went);
    CHECK(turns_take(turns, &flights[0], STR("a"), STR("1")) &&
          !turns_take(turns, &flights[1], STR("a"), STR("1")));
    turns_leave(turns, &flights[0]);
    CHECK(turns_wait(turns, &flights[1]) == TURN_IS_NOW && flights[1].turn != NULL &&
          went_count == 0);
    turns_leave(turns, &flights[1]);
    close_turns();
}

TEST(the_end_of_the_node_gives_back_who_waits)
{
    size_t n = 0;

    open_turns(note_went);
    CHECK(turns_take(turns, &flights[0], STR("a"), STR("1")));
    for (size_t i = 1; i < 4; i++)
        CHECK(!turns_take(turns, &flights[i], STR("a"), STR("1")) &&
              turns_wait(turns, &flights[i]) == TURN_LATER);
    for (struct flight *f = turns_close(turns); f != NULL; f = f->next)
        CHECK(f == &flights[++n]);
    CHECK(n == 3 && !turns_take(turns, &flights[4], STR("a"), STR("1")));
    CHECK(turns_wait(turns, &flights[4]) == TURN_FULL);
    turns_leave(turns, &flights[0]);
    CHECK(went_count == 0);
    close_turns();
}

/* ---- many threads ---- */

static _Atomic int inside, most_inside, passed;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool is_on[FLIGHTS];

static void wake_flight(struct flight *f)
{
    (void)pthread_mutex_lock(&gate);
    is_on[f - flights] = true;
    (void)pthread_cond_broadcast(&changed);
    (void)pthread_mutex_unlock(&gate);
}

static void await_turn(size_t i)
{
    (void)pthread_mutex_lock(&gate);
    while (!is_on[i])
        (void)pthread_cond_wait(&changed, &gate);
    is_on[i] = false;
    (void)pthread_mutex_unlock(&gate);
}

static void *take_turns(void *arg)
{
    struct flight *f = arg;
    size_t i = (size_t)(f - flights);

    for (int round = 0; round < ROUNDS; round++) {
        if (!turns_take(turns, f, STR("a"), STR("1")) && turns_wait(turns, f) == TURN_LATER)
            await_turn(i);
        int now = ++inside;

        if (now > most_inside)
            most_inside = now;
        passed++;
        inside--;
        turns_leave(turns, f);
    }
    return NULL;
}

TEST(many_threads_take_turns)
{
    enum { THREADS = 8 };
    pthread_t threads[THREADS];

    open_turns(wake_flight);
    for (size_t i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, take_turns, &flights[i]) == 0);
    for (size_t i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    CHECK(passed == THREADS * ROUNDS && most_inside == 1);
    close_turns();
}

int main(void)
{
    return test_main();
}
