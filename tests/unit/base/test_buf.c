#include "test.h"

#include <stdlib.h>

#include "base/auto.h"
#include "base/buf.h"
#include "dies.h"

TEST(buf_append_meets_its_cap)
{
    static const struct {
        const char *what, *first, *second, *want;
        bool ok;
    } cases[] = {
        { "fits", "abc", "de", "abcde", true },
        { "exactly full", "abcd", "efgh", "abcdefgh", true },
        { "one byte over", "abcd", "efghi", "abcd", false },
        { "nothing to add", "abc", "", "abc", true },
        { "full at once", "", "abcdefgh", "abcdefgh", true },
        { "too much at once", "", "abcdefghi", "", false },
        { "nothing at all", "", "", "", true },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err err = { 0 };
        AUTO(buf_done) struct buf b = BUF_INIT(8);

        CHECK(buf_append(&b, str_of(cases[i].first), &err));
        CHECK(buf_append(&b, str_of(cases[i].second), &err) == cases[i].ok);
        CHECK(err.kind == (cases[i].ok ? ERR_NONE : ERR_LIMIT));
        CHECK(str_eq(buf_view(&b), str_of(cases[i].want))); /* invariant (3) */
        CHECK(b.ptr[b.len] == '\0');                        /* invariant (1) */
        CHECK(b.size <= b.cap + 1);
    }
}

TEST(buf_starts_empty_and_terminated)
{
    AUTO(buf_done) struct buf b = BUF_INIT(8);

    CHECK(b.ptr != NULL && b.ptr[0] == '\0' && b.len == 0);
    buf_clear(&b);
    CHECK(buf_view(&b).len == 0);
}

TEST(buf_takes_any_byte)
{
    struct err err = { 0 };
    AUTO(buf_done) struct buf b = BUF_INIT(1000);
    char all[256];

    for (size_t i = 0; i < sizeof all; i++)
        all[i] = (char)i;
    CHECK(buf_append(&b, str_mem(all, sizeof all), &err));
    CHECK(buf_append(&b, str_mem(NULL, 0), &err));
    CHECK(str_eq(buf_view(&b), str_mem(all, sizeof all)));
}

TEST(buf_grows_byte_by_byte_to_its_cap)
{
    enum { CAP = 5000 };
    struct err err = { 0 };
    AUTO(buf_done) struct buf b = BUF_INIT(CAP);

    for (size_t i = 0; i < CAP; i++) {
        buf_putc(&b, (char)('a' + i % 26));
        CHECK(b.len == i + 1 && b.ptr[b.len] == '\0' && b.size <= CAP + 1);
    }
    CHECK(!buf_append(&b, STR("x"), &err) && err.kind == ERR_LIMIT);
    CHECK(strstr(err.text, "5000") != NULL);
    for (size_t i = 0; i < CAP; i++)
        CHECK(b.ptr[i] == (char)('a' + i % 26));
}

TEST(buf_reserve_then_added)
{
    struct err err = { 0 };
    AUTO(buf_done) struct buf b = BUF_INIT(8);

    CHECK(buf_reserve(&b, 8, &err));
    memcpy(b.ptr, "abcdxxxx", 8);
    buf_added(&b, 4);
    CHECK(str_is(buf_view(&b), "abcd") && b.ptr[4] == '\0');
    CHECK(!buf_reserve(&b, 5, &err) && err.kind == ERR_LIMIT);
    CHECK(!buf_reserve(&b, (size_t)-1, &err));
    CHECK(buf_reserve(&b, 4, &err));
    buf_added(&b, 0);
    CHECK(str_is(buf_view(&b), "abcd"));
}

TEST(buf_printf_fills_to_the_last_byte)
{
    AUTO(buf_done) struct buf b = BUF_INIT(8);

    buf_printf(&b, "%s", "");
    CHECK(b.len == 0 && b.ptr[0] == '\0');
    buf_printf(&b, "%d-%s", 12, "ab");
    buf_printf(&b, "%c", 'c');
    buf_printf(&b, "%02x", 0xef);
    CHECK(str_is(buf_view(&b), "12-abcef") && b.ptr[8] == '\0');
}

TEST(buf_clear_keeps_memory_done_gives_it_back)
{
    AUTO(buf_done) struct buf b = BUF_INIT(100), zero = { 0 };

    buf_puts(&b, "abc");
    char *was = b.ptr;

    buf_clear(&b);
    CHECK(b.len == 0 && b.ptr == was && b.ptr[0] == '\0');
    buf_put(&b, STR("de"));
    CHECK(b.ptr == was && str_is(buf_view(&b), "de"));
    buf_done(&b);
    CHECK(b.len == 0 && b.size == 0 && b.cap == 100 && b.ptr[0] == '\0');
    buf_done(&b);
    buf_puts(&b, "again");
    CHECK(str_is(buf_view(&b), "again"));
    buf_done(&zero);
    buf_done(&zero);
}

static void put_over_the_cap(void)
{
    struct buf b = BUF_INIT(3);

    buf_puts(&b, "abcd");
}

static void print_over_the_cap(void)
{
    struct buf b = BUF_INIT(3);

    buf_printf(&b, "%d", 1234);
}

static void add_more_than_reserved(void)
{
    struct buf b = BUF_INIT(100);

    buf_added(&b, 1);
}

static void have_no_cap(void)
{
    struct buf b = BUF_INIT((size_t)-1);

    buf_puts(&b, "a");
}

TEST(buf_mistakes_of_ours_end_the_process)
{
    CHECK(dies(put_over_the_cap));
    CHECK(dies(print_over_the_cap));
    CHECK(dies(add_more_than_reserved));
    CHECK(dies(have_no_cap));
}

int main(void)
{
    return test_main();
}
