#include "core/regex.h"

#include "base/auto.h"
#include "base/clock.h"
#include "test.h"

static struct regex *made(const char *pattern)
{
    struct regex *r = NULL;
    struct err err;

    return regex_compile(str_of(pattern), &r, &err) ? r : NULL;
}

/* All matches, each in brackets, with its first group after a colon. */
static const char *all(const char *pattern, struct str text, char out[static 400])
{
    struct regex *r = made(pattern);
    struct regex_search s;
    enum regex_found found;
    size_t n = 0;

    out[0] = '\0';
    if (r == NULL)
        return "not compiled";
    regex_search_init(&s, r, text);
    while ((found = regex_next(&s)) == REGEX_FOUND && n < 300) {
        struct str whole = regex_group(&s, 0), first = regex_group(&s, 1);

        n += (size_t)snprintf(out + n, 400 - n, "[%.*s", STR_ARG(whole));
        if (first.ptr != NULL)
            n += (size_t)snprintf(out + n, 400 - n, ":%.*s", STR_ARG(first));
        n += (size_t)snprintf(out + n, 400 - n, "]");
    }
    if (found == REGEX_OVER)
        (void)snprintf(out + n, 400 - n, "over");
    regex_search_done(&s);
    regex_free(r);
    return out;
}

TEST(regex_finds_all_matches)
{
    static const struct {
        const char *pattern, *text, *want;
    } cases[] = {
        { "[0-9]+", "a1b22c333", "[1][22][333]" },
        { "([a-z]+)-", "acme-order-x", "[acme-:acme][order-:order]" },
        { "x", "abc", "" },
        { "x*", "axxb", "[][xx][][]" },
        { "", "abc", "not compiled" },
        { "^", "ab", "[]" },
        { "$", "ab", "[]" },
        { "(a)|b", "ab", "[a:a][b]" },
        { "\xc3\xa4.", "\xc3\xa4\xc3\xb6", "[\xc3\xa4\xc3\xb6]" },
        { "b+",
          "a\xff"
          "bb",
          "[bb]" }, /* around what is not UTF-8 */
        { "a.b",
          "a\xff"
          "b",
          "" },                                     /* which nothing matches    */
        { "(?(DEFINE)(b\\K))a(?=(?1))", "ab", "" }, /* ends before it starts    */
        { "(?<=a)b", "ab b", "[b]" },
        { ".", "", "" },
        { "\\d", "\xd9\xa3", "" }, /* an Arabic digit: ASCII only */
    };
    char out[400];

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *got = all(cases[i].pattern, str_of(cases[i].text), out);

        if (strcmp(got, cases[i].want) != 0)
            printf("# %s: %s\n", cases[i].pattern, got);
        CHECK(strcmp(got, cases[i].want) == 0);
    }
    CHECK(strcmp(all("x*", (struct str){ 0 }, out), "[]") == 0);
}

TEST(regex_says_what_is_wrong_and_where)
{
    static const struct {
        const char *pattern, *want;
    } cases[] = {
        { "a(b", "missing closing parenthesis, at character 4" },
        { "\xc3\xa4[a", "missing terminating ] for character class, at character 4" },
        { "*a", "quantifier does not follow a repeatable item, at character 1" },
        { "\\C", "using \\C is disabled by the application, at character" },
        { "\xff", "UTF-8 error" },
        { "(?:(?:a{1000}){1000}){1000}", "too large" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct regex *r = NULL;
        struct err err = { 0 };

        CHECK(!regex_compile(str_of(cases[i].pattern), &r, &err));
        if (strstr(err.text, cases[i].want) == NULL)
            printf("# %s\n", err.text);
        CHECK(err.kind == ERR_CONFIG && strstr(err.text, cases[i].want) != NULL);
        CHECK(r == NULL);
    }
    static char parentheses[REGEX_PATTERN_MOST + 2];
    struct regex *r = NULL;
    struct err err;

    memset(parentheses, '(', sizeof parentheses - 1);
    CHECK(!regex_compile(str_mem(parentheses, 1000), &r, &err));
    CHECK(strstr(err.text, "parentheses are too deeply nested") != NULL);
    CHECK(!regex_compile(str_of(parentheses), &r, &err) && strstr(err.text, "at most") != NULL);
}

/* Patterns that explode, in a text that makes them. */
TEST(regex_search_ends)
{
    static const struct {
        const char *pattern;
        size_t len;
    } cases[] = {
        { "(x+x+)+[yz]", 1000 },
        { "x*x*[yz]", 4 << 20 },
        { "x*x*x*[yz]", 100000 },
        { "(?:x*)*[yz]", 100000 },
        { "(?:x|y)+[yz]", 4 << 20 },
        { "x[xa]*[yz]", 4 << 20 },
        { "(x*)\\1\\1[yz]", 1 << 20 },
        { "^(?:(x)|(x))*[yz]", 100000 },
        { "(?R)?x[yz]|x(?R)[yz]", 100000 },
    };
    AUTO_TEXT text = malloc(4 << 20);

    CHECK(text != NULL);
    memset(text, 'x', 4 << 20);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t from_us = clock_cpu_us();
        char out[400];
        const char *got = all(cases[i].pattern, str_mem(text, cases[i].len), out);
        int64_t took_us = clock_cpu_us() - from_us;

        if (strcmp(got, "over") != 0 || took_us > 5 * CLOCK_S)
            printf("# %s: %s in %lld us\n", cases[i].pattern, got, (long long)took_us);
        CHECK(strcmp(got, "over") == 0);
        CHECK(took_us < 5 * CLOCK_S);
    }
}

TEST(regex_counts_its_groups)
{
    struct regex *r = made("(a)(b(c))"), *none = made("a");
    struct regex_search s;

    CHECK(regex_groups(r) == 3 && regex_groups(none) == 0);
    regex_search_init(&s, r, STR("abc"));
    CHECK(regex_next(&s) == REGEX_FOUND);
    CHECK(str_is(regex_group(&s, 3), "c") && regex_group(&s, 4).ptr == NULL);
    CHECK(regex_next(&s) == REGEX_NONE && regex_next(&s) == REGEX_NONE);
    regex_search_done(&s);
    regex_free(r);
    regex_free(none);
    regex_free(NULL);
}

/* Many matches in a long text: without JIT each match would look at all that is left. */
TEST(regex_many_matches_are_not_quadratic)
{
    struct regex *r = made("(*NO_JIT)ab");
    AUTO_TEXT text = malloc(1 << 20);
    struct regex_search s;
    size_t n = 0;

    CHECK(r != NULL && text != NULL);
    for (size_t i = 0; i < 1 << 20; i++)
        text[i] = i % 2 == 0 ? 'a' : 'b';
    int64_t from_us = clock_cpu_us();

    regex_search_init(&s, r, str_mem(text, 1 << 20));
    while (regex_next(&s) == REGEX_FOUND)
        n++;
    CHECK(n == 1 << 19);
    CHECK(clock_cpu_us() - from_us < CLOCK_S);
    regex_search_done(&s);
    regex_free(r);
}

TEST(regex_groups_have_names)
{
    struct regex *r = made("(?<year>\\d+)-(x)(?<month>\\d+)");
    struct regex *twice = made("(?J)(?<n>a)|(?<n>b)");
    unsigned n = 42;

    CHECK(r != NULL && twice != NULL);
    CHECK(regex_group_named(r, STR("year"), &n) && n == 1);
    CHECK(regex_group_named(r, STR("month"), &n) && n == 3);
    CHECK(!regex_group_named(r, STR("day"), &n) && n == 3);
    CHECK(!regex_group_named(r, STR(""), &n));
    CHECK(!regex_group_named(r, STR("year\0"), &n));
    CHECK(!regex_group_named(
        r, STR("a_name_that_is_longer_than_any_that_a_regular_expression_may_have"), &n));
    CHECK(!regex_group_named(twice, STR("n"), &n));
    regex_free(r);
    regex_free(twice);
}

TEST(regex_of_ecmascript)
{
    static const struct {
        const char *pattern, *text;
        bool found;
    } cases[] = {
        { "", "abc", true },
        { "a$", "a", true },
        { "a$", "a\n", false },
        { "^\\u0061\\u{62}\\x63$", "abc", true },
        { "[]", "a", false },
        { "[^]", "\n", true },
        { "^(?:(a)|b)\\1$", "b", true },
        { "^\\p{Lu}$", "\xc3\x84", true },
        { "\\d", "\xd9\xa1", false },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct regex *r = NULL;
        struct regex_search s;
        struct err err;

        CHECK(regex_compile_ecma(str_of(cases[i].pattern), &r, &err));
        regex_search_init(&s, r, str_of(cases[i].text));
        bool found = regex_next(&s) == REGEX_FOUND;

        regex_search_done(&s);
        regex_free(r);
        if (found != cases[i].found)
            printf("# %s\n", cases[i].pattern);
        CHECK(found == cases[i].found);
    }
}

int main(void)
{
    return test_main();
}
