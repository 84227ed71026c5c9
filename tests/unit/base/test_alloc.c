#include "test.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/require.h"
#include "dies.h"

TEST(alloc_of_nothing_is_something)
{
    AUTO_TEXT a = xmalloc(0);
    AUTO_TEXT b = xcalloc(0, SIZE_MAX);
    AUTO_TEXT c = xcalloc(5, 0);
    AUTO_TEXT d = xrealloc(NULL, 0);

    CHECK(a != NULL && b != NULL && c != NULL && d != NULL);
    CHECK(a != b && b != c && c != d);
}

TEST(alloc_zeroes_and_keeps)
{
    char *p = xcalloc(3, 5);

    for (size_t i = 0; i < 15; i++)
        CHECK(p[i] == 0);
    memcpy(p, "abc", 3);
    p = xrealloc(p, 100000);
    CHECK(memcmp(p, "abc", 4) == 0);
    p = xrealloc(p, 2);
    CHECK(memcmp(p, "ab", 2) == 0);
    free(p);

    int64_t *one = NEW(int64_t);

    CHECK(*one == 0);
    free(one);
}

TEST(alloc_copies_are_terminated)
{
    AUTO_TEXT a = xstrdup("abc");
    AUTO_TEXT b = xstrdup("");
    AUTO_TEXT c = xstrndup((struct str){ "abcdef", 2 });
    AUTO_TEXT d = xstrndup((struct str){ NULL, 0 });
    AUTO_TEXT e = xstrndup(STR("a\0b"));

    CHECK(strcmp(a, "abc") == 0 && strcmp(b, "") == 0 && strcmp(c, "ab") == 0);
    CHECK(strcmp(d, "") == 0 && memcmp(e, "a\0b", 4) == 0);
}

/* The sanitizers end the process themselves on sizes like these, with an
 * exit code instead of a signal. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static volatile size_t huge = SIZE_MAX / 4;

static void ask_malloc(void)
{
    free(xmalloc(huge));
}

static void ask_calloc(void)
{
    free(xcalloc(huge, huge));
}

static void ask_realloc(void)
{
    free(xrealloc(NULL, huge));
}

TEST(alloc_without_memory_ends_the_process)
{
    CHECK(dies(ask_malloc) && dies(ask_calloc) && dies(ask_realloc));
}
#endif

static void break_a_promise(void)
{
    const char *name = "b\\";

    require(strcmp(name, "a\"\\") == 0);
}

TEST(require_says_what_broke_in_one_json_line)
{
    CHECK(dies(break_a_promise));
    CHECK(strstr(dies_said, "{\"event\":\"require.failed\",\"cond\":\"strcmp(name, "
                            "\\\"a\\\\\\\"\\\\\\\\\\\") == 0\",\"at\":\"") != NULL);
    CHECK(strstr(dies_said, "test_alloc.c:") != NULL);
    CHECK(strstr(dies_said, "\"in\":\"break_a_promise\"}\n") != NULL);
}

int main(void)
{
    return test_main();
}
