#include "base/spare.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "test.h"

TEST(pieces_are_aligned_and_hold_their_bytes)
{
    char *pieces[300];

    for (size_t i = 0; i < 300; i++) {
        pieces[i] = spare_malloc(i * 17);
        CHECK(pieces[i] != NULL && (uintptr_t)pieces[i] % 16 == 0);
        memset(pieces[i], (int)(i & 0xff), i * 17);
    }
    for (size_t i = 0; i < 300; i++) {
        for (size_t k = 0; k < i * 17; k++)
            CHECK(pieces[i][k] == (char)(i & 0xff));
        spare_free(pieces[i]);
    }
    spare_free(NULL);
}

TEST(a_piece_says_what_it_can_hold)
{
    for (size_t size = 1; size < 5000; size = size * 2 + 1) {
        void *p = spare_malloc(size);

        CHECK(p != NULL && spare_size(p) >= size);
        memset(p, 1, spare_size(p));
        spare_free(p);
    }
}

TEST(growing_keeps_what_is_there)
{
    char *p = NULL;

    for (size_t size = 1; size < 20000; size = size * 3 / 2 + 1) {
        p = spare_realloc(p, size);
        CHECK(p != NULL);
        p[size - 1] = (char)(size % 100);
        if (size > 1)
            CHECK(p[0] == 1);
        p[0] = 1;
    }
    p = spare_realloc(p, 10);
    CHECK(p[0] == 1);
    spare_free(p);
}

TEST(zeroed_also_when_it_was_used_before)
{
    for (int i = 0; i < 3; i++) {
        unsigned char *p = spare_calloc(10, 10);

        for (size_t k = 0; k < 100; k++)
            CHECK(p[k] == 0);
        memset(p, 0xff, 100);
        spare_free(p);
    }
#ifndef __SANITIZE_ADDRESS__ /* which ends the process at such a wish */
    CHECK(spare_calloc(SIZE_MAX, 2) == NULL);
#endif
}

static void *give(void *p)
{
    spare_free(p);
    return NULL;
}

TEST(pieces_change_threads)
{
    for (int i = 0; i < 100; i++) {
        pthread_t t;
        char *text = spare_strdup("some text of no importance");

        CHECK(strcmp(text, "some text of no importance") == 0);
        CHECK(pthread_create(&t, NULL, give, text) == 0);
        CHECK(pthread_join(t, NULL) == 0);
    }
}

int main(void)
{
    return test_main();
}
