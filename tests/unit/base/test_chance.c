#include "test.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/chance.h"

TEST(chance_bytes_fills_exactly_what_is_asked)
{
    static const size_t sizes[] = { 0, 1, 7, 255, 256, 257, 4096, 300000 };
    static unsigned char room[300000 + 2];

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        size_t n = sizes[i], kinds = 0;
        bool seen[256] = { false };

        memset(room, 0xee, sizeof room);
        chance_bytes(room + 1, n);
        CHECK(room[0] == 0xee && room[n + 1] == 0xee);
        for (size_t k = 0; k < n; k++)
            kinds += !seen[room[k + 1]], seen[room[k + 1]] = true;
        CHECK(n < 4096 || kinds > 200); /* all of it is random, not the first part */
        if (n == 300000)
            CHECK(memcmp(room + 1, room + 200001, 99999) != 0);
    }
}

TEST(chance_u64_has_no_stuck_bit)
{
    uint64_t ones = 0, zeros = 0;

    for (int i = 0; i < 200; i++) { /* more than one pool */
        uint64_t v = chance_u64();

        ones |= v;
        zeros |= ~v;
    }
    CHECK(ones == UINT64_MAX && zeros == UINT64_MAX);
}

enum { THREADS = 4, EACH = 500 };
static uint64_t drawn[THREADS * EACH];

static void *draw(void *to)
{
    for (int i = 0; i < EACH; i++)
        ((uint64_t *)to)[i] = chance_u64();
    return NULL;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

TEST(chance_u64_gives_no_two_threads_the_same)
{
    pthread_t t[THREADS];

    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&t[i], NULL, draw, drawn + i * EACH) == 0);
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(t[i], NULL);
    qsort(drawn, THREADS * EACH, sizeof drawn[0], compare);
    for (int i = 1; i < THREADS * EACH; i++)
        CHECK(drawn[i] != drawn[i - 1]);
}

int main(void)
{
    return test_main();
}
