#include "test.h"

#include <stdint.h>

#include "base/arena.h"
#include "base/auto.h"
#include "dies.h"

static bool is_zero(const char *p, size_t n)
{
    while (n > 0 && p[n - 1] == 0)
        n--;
    return n == 0;
}

TEST(arena_pieces_are_aligned_zeroed_and_apart)
{
    static const size_t sizes[] = { 1, 15, 16, 17, 0, 100, 8191, 8192, 8193, 50000, 3, 8000, 200 };
    enum { PIECES = sizeof sizes / sizeof *sizes };
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    char *piece[PIECES];

    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < PIECES; i++) {
            piece[i] = arena_alloc(&a, sizes[i]);
            CHECK((uintptr_t)piece[i] % 16 == 0); /* (1) */
            CHECK(is_zero(piece[i], sizes[i]));   /* also after a reset */
            memset(piece[i], (int)i + 1, sizes[i]);
        }
        for (size_t i = 0; i < PIECES; i++)
            for (size_t k = 0; k < sizes[i]; k++)
                CHECK(piece[i][k] == (char)(i + 1));
        arena_reset(&a);
        CHECK(a.used == 0);
    }
}

TEST(arena_reset_keeps_one_block_that_takes_it_all)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);

    arena_reset(&a); /* nothing there yet */
    (void)arena_alloc(&a, 8000);
    (void)arena_alloc(&a, 7000); /* a second block */
    arena_reset(&a);
    char *first = arena_alloc(&a, 8000), *second = arena_alloc(&a, 7000);

    CHECK(second == first + 8000);
    arena_reset(&a);
    CHECK((char *)arena_alloc(&a, 10) == first);
    arena_done(&a);
    arena_done(&a);
    CHECK(a.cap == 1 << 20 && a.used == 0);
    CHECK(arena_alloc(&a, 10) != NULL);
}

TEST(arena_reset_does_not_keep_much)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);

    (void)arena_alloc(&a, 10);
    (void)arena_alloc(&a, 500000);
    arena_reset(&a);
    char *first = arena_alloc(&a, 8000), *second = arena_alloc(&a, 8000);

    CHECK(second == first + 8000); /* 16 KiB are kept */
    CHECK((char *)arena_alloc(&a, 8000) != second + 8000);
}

TEST(arena_cap_counts_what_is_handed_out)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(64), zero = { 0 };

    (void)arena_alloc(&a, 33); /* 48 with alignment */
    CHECK(a.used == 48);
    (void)arena_alloc(&a, 16);
    CHECK(a.used == a.cap);
    (void)arena_alloc(&a, 0);
    arena_reset(&a);
    (void)arena_alloc(&a, 64);
    arena_done(&zero);
}

TEST(arena_copies_are_terminated)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 16);
    struct str none = { NULL, 0 }, copy = arena_copy(&a, STR("a\0b"));

    CHECK(copy.len == 3 && memcmp(copy.ptr, "a\0b", 4) == 0);
    CHECK(strcmp(arena_text(&a, STR("abc")), "abc") == 0);
    CHECK(strcmp(arena_text(&a, none), "") == 0);
    CHECK(arena_copy(&a, none).len == 0 && arena_copy(&a, none).ptr != NULL);
}

TEST(arena_printf_of_any_length)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 16);
    const char *p = arena_printf(&a, "%0*d", 10000, 7);

    CHECK(strlen(p) == 10000 && p[9999] == '7' && p[0] == '0');
    CHECK(strcmp(arena_printf(&a, "%s/%d", "x", 5), "x/5") == 0);
    CHECK(strcmp(arena_printf(&a, "%s", ""), "") == 0);
}

TEST(arena_new_and_array)
{
    struct pair {
        int64_t a, b;
    };
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 16);
    struct pair *one = ARENA_NEW(&a, struct pair), *ten = ARENA_ARRAY(&a, struct pair, 10);

    CHECK(one->a == 0 && one->b == 0 && ten[9].b == 0);
    CHECK(a.used == 11 * sizeof(struct pair));
    CHECK(ARENA_ARRAY(&a, struct pair, 0) != NULL);
}

static void go_over_the_cap(void)
{
    struct arena a = ARENA_INIT(100);

    (void)arena_alloc(&a, 50);
    (void)arena_alloc(&a, 50);
}

static void ask_for_everything(void)
{
    struct arena a = ARENA_INIT((size_t)-1);

    (void)arena_alloc(&a, (size_t)-1);
}

static void overflow_an_array(void)
{
    struct arena a = ARENA_INIT(1 << 16);

    (void)arena_array(&a, (size_t)-1 / 8 + 2, 8); /* 8 bytes, if it wrapped */
}

TEST(arena_mistakes_of_ours_end_the_process)
{
    CHECK(dies(go_over_the_cap));
    CHECK(dies(ask_for_everything));
    CHECK(dies(overflow_an_array));
}

int main(void)
{
    return test_main();
}
