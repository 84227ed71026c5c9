#include "engine/tally/ways.h"

#include <pthread.h>
#include <stdlib.h>

#include "test.h"

static struct way_seen seen[WAYS_MOST];

static const struct way_seen *find(size_t n, enum way_kind kind, int64_t from, int64_t to)
{
    for (size_t i = 0; i < n; i++)
        if (seen[i].kind == kind && seen[i].from == from && seen[i].to == to)
            return &seen[i];
    return NULL;
}

TEST(ways_are_counted_and_the_last_minute_is_known)
{
    struct ways *w = ways_new();

    for (int i = 0; i < 5; i++)
        ways_count(w, WAY_TAKEN, 3, 4);
    ways_count(w, WAY_MADE, 4, 3);
    ways_count(w, WAY_MADE, 4, 0); /* nowhere */
    ways_count(w, WAY_MADE, 0, 3);
    ways_count(w, WAY_MADE, -1, 3);
    ways_count(w, WAY_MADE, INT64_MAX, 3);
    CHECK(ways_list(w, seen) == 2);
    CHECK(find(2, WAY_TAKEN, 3, 4)->lately == 5 && find(2, WAY_MADE, 4, 3)->total == 1);
    for (int i = 0; i < WAYS_LOOKS - 1; i++)
        ways_look(w);
    CHECK(ways_list(w, seen) == 2 && find(2, WAY_TAKEN, 3, 4)->lately == 5);
    ways_count(w, WAY_TAKEN, 3, 4);
    ways_look(w);
    CHECK(ways_list(w, seen) == 2 && find(2, WAY_TAKEN, 3, 4)->lately == 1);
    CHECK(find(2, WAY_TAKEN, 3, 4)->total == 6);
    ways_free(w);
}

TEST(ways_are_bounded)
{
    struct ways *w = ways_new();

    for (int64_t i = 1; i <= 2 * WAYS_MOST; i++)
        ways_count(w, WAY_SENT, i, i);
    CHECK(ways_list(w, seen) == WAYS_MOST);
    ways_count(w, WAY_SENT, 1, 1); /* those that are known go on */
    CHECK(find(ways_list(w, seen), WAY_SENT, 1, 1)->total == 2);
    ways_free(w);
}

static void *count_many(void *arg)
{
    for (int64_t i = 0; i < 20000; i++)
        ways_count(arg, WAY_SENT, i % 50 + 1, 7);
    return NULL;
}

TEST(ways_are_counted_by_many_threads)
{
    struct ways *w = ways_new();
    pthread_t threads[4];
    int64_t sum = 0;
    size_t n;

    for (int i = 0; i < 4; i++)
        (void)pthread_create(&threads[i], NULL, count_many, w);
    for (int i = 0; i < 4; i++)
        (void)pthread_join(threads[i], NULL);
    n = ways_list(w, seen);
    for (size_t i = 0; i < n; i++)
        sum += seen[i].total;
    CHECK(n == 50 && sum == 80000);
    ways_free(w);
}

int main(void)
{
    return test_main();
}
