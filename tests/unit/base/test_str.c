#include "test.h"

#include "base/str.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const struct str nothing = { NULL, 0 };

TEST(str_compares_bytes)
{
    static const struct {
        const char *a, *b;
        bool eq, eq_nocase;
        int order;
    } cases[] = {
        { "", "", true, true, 0 },        { "a", "a", true, true, 0 },
        { "a", "A", false, true, 1 },     { "a", "b", false, false, -1 },
        { "a", "ab", false, false, -1 },  { "ab", "a", false, false, 1 },
        { "", "a", false, false, -1 },    { "[", "{", false, false, -1 },
        { "Z", "z", false, true, -1 },    { "@", "`", false, false, -1 },
        { "\xc3", "z", false, false, 1 }, /* bytes are unsigned */
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct str a = str_of(cases[i].a), b = str_of(cases[i].b);
        int order = str_cmp(a, b);

        CHECK(str_eq(a, b) == cases[i].eq);
        CHECK(str_is(a, cases[i].b) == cases[i].eq);
        CHECK(str_eq_nocase(a, b) == cases[i].eq_nocase);
        CHECK((order > 0) - (order < 0) == cases[i].order);
    }
    CHECK(!str_eq(STR("a\0b"), STR("a\0c")));
    CHECK(STR("a\0b").len == 3);
}

TEST(str_nothing_is_an_ordinary_empty_view)
{
    struct str head = STR("x");

    CHECK(str_eq(nothing, STR("")) && str_eq_nocase(nothing, STR("")));
    CHECK(str_cmp(nothing, STR("")) == 0 && str_cmp(nothing, STR("a")) < 0);
    CHECK(str_starts(nothing, nothing) && str_starts(STR("a"), nothing));
    CHECK(!str_starts(nothing, STR("a")));
    CHECK(str_trim(nothing).len == 0);
    CHECK(str_from(nothing, 0).len == 0 && str_from(nothing, 3).len == 0);
    CHECK(str_find(nothing, 'a') == -1);
    CHECK(str_cut(nothing, ',', &head).len == 0 && head.len == 0);
    CHECK(str_is_utf8(nothing));
    CHECK(str_distance(nothing, nothing) == 0);
    CHECK(str_mem(NULL, 0).len == 0);
}

TEST(str_starts_from_and_find)
{
    CHECK(str_starts(STR("abc"), STR("ab")) && str_starts(STR("abc"), STR("abc")));
    CHECK(!str_starts(STR("abc"), STR("abcd")) && !str_starts(STR("abc"), STR("b")));
    CHECK(str_is(str_from(STR("abc"), 1), "bc"));
    CHECK(str_is(str_from(STR("abc"), 3), "") && str_is(str_from(STR("abc"), 99), ""));
    CHECK(str_find(STR("abcb"), 'b') == 1 && str_find(STR("abc"), 'x') == -1);
    CHECK(str_find(STR("a\0b"), 'b') == 2);
}

TEST(str_trim_takes_blanks_and_tabs_only)
{
    static const struct {
        const char *in, *want;
    } cases[] = {
        { "", "" },     { "a", "a" },       { " a", "a" },        { "a\t", "a" },
        { " \t ", "" }, { " a b ", "a b" }, { "\na\n", "\na\n" },
    };

    for (size_t i = 0; i < COUNT(cases); i++)
        CHECK(str_is(str_trim(str_of(cases[i].in)), cases[i].want));
}

TEST(str_cut_splits_at_the_first)
{
    static const struct {
        const char *in, *head, *rest;
    } cases[] = {
        { "", "", "" },    { "a", "a", "" },  { "a,b", "a", "b" }, { "a,b,c", "a", "b,c" },
        { ",b", "", "b" }, { "a,", "a", "" }, { ",", "", "" },
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct str head, rest = str_cut(str_of(cases[i].in), ',', &head);

        CHECK(str_is(head, cases[i].head));
        CHECK(str_is(rest, cases[i].rest));
    }
}

TEST(str_numbers_take_the_whole_view_or_fail)
{
    static const struct {
        const char *in;
        bool u_ok;
        uint64_t u;
        bool i_ok;
        int64_t i;
    } cases[] = {
        { "0", true, 0, true, 0 },
        { "007", true, 7, true, 7 },
        { "42", true, 42, true, 42 },
        { "-42", false, 0, true, -42 },
        { "-0", false, 0, true, 0 },
        { "9223372036854775807", true, INT64_MAX, true, INT64_MAX },
        { "9223372036854775808", true, (uint64_t)INT64_MAX + 1, false, 0 },
        { "-9223372036854775808", false, 0, true, INT64_MIN },
        { "-9223372036854775809", false, 0, false, 0 },
        { "18446744073709551615", true, UINT64_MAX, false, 0 },
        { "18446744073709551616", false, 0, false, 0 },
        { "99999999999999999999999", false, 0, false, 0 },
        { "", false, 0, false, 0 },
        { "-", false, 0, false, 0 },
        { "--1", false, 0, false, 0 },
        { "+1", false, 0, false, 0 },
        { " 1", false, 0, false, 0 },
        { "1 ", false, 0, false, 0 },
        { "1.0", false, 0, false, 0 },
        { "0x1", false, 0, false, 0 },
        { "\xd9\xa1", false, 0, false, 0 }, /* an Arabic digit */
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        uint64_t u = 77;
        int64_t v = 77;

        CHECK(str_to_u64(str_of(cases[i].in), &u) == cases[i].u_ok);
        CHECK(u == (cases[i].u_ok ? cases[i].u : 77));
        CHECK(str_to_i64(str_of(cases[i].in), &v) == cases[i].i_ok);
        CHECK(v == (cases[i].i_ok ? cases[i].i : 77));
    }
    uint64_t u;

    CHECK(!str_to_u64(STR("1\0"), &u));
}

TEST(str_utf8_well_formed_only)
{
    static const struct {
        struct str in;
        bool ok;
    } cases[] = {
        { STR("plain"), true },
        { STR("nul \0 inside"), true },
        { STR("\x7f"), true },
        { STR("\xc3\xa9"), true },
        { STR("\xe2\x82\xac"), true },
        { STR("\xf0\x9f\x93\xa6"), true },
        { STR("\xed\x9f\xbf"), true },      /* U+D7FF, last before the surrogates */
        { STR("\xee\x80\x80"), true },      /* U+E000, first after them */
        { STR("\xf4\x8f\xbf\xbf"), true },  /* U+10FFFF */
        { STR("\xf4\x90\x80\x80"), false }, /* one above */
        { STR("\xed\xa0\x80"), false },     /* a surrogate */
        { STR("\xc0\x80"), false },         /* overlong NUL */
        { STR("\xc1\xbf"), false },
        { STR("\xe0\x9f\xbf"), false },
        { STR("\xf0\x8f\xbf\xbf"), false },
        { STR("\x80"), false },
        { STR("\xbf\xbf"), false },
        { STR("\xc3"), false },
        { STR("\xe2\x82"), false },
        { STR("\xf0\x9f\x93"), false },
        { STR("\xc3("), false },
        { STR("a\xff"
              "b"),
          false },
        { STR("\xf8\x88\x80\x80\x80"), false },
    };

    for (size_t i = 0; i < COUNT(cases); i++)
        CHECK(str_is_utf8(cases[i].in) == cases[i].ok);
}

TEST(str_distance_counts_edits)
{
    static const struct {
        const char *a, *b;
        size_t want;
    } cases[] = {
        { "", "", 0 },
        { "abc", "", 3 },
        { "abc", "abc", 0 },
        { "abc", "abd", 1 },
        { "abc", "ab", 1 },
        { "abc", "xabc", 1 },
        { "kitten", "sitting", 3 },
        { "lisetn", "listen", 2 },
        { "abc", "xyz", 3 },
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        CHECK(str_distance(str_of(cases[i].a), str_of(cases[i].b)) == cases[i].want);
        CHECK(str_distance(str_of(cases[i].b), str_of(cases[i].a)) == cases[i].want);
    }
    char word[65];

    memset(word, 'a', sizeof word);
    CHECK(str_distance(str_mem(word, 64), str_mem(word, 64)) == 0);
    CHECK(str_distance(str_mem(word, 64), STR("")) == 64);
    CHECK(str_distance(str_mem(word, 65), str_mem(word, 65)) == 65); /* too long to compare */
    CHECK(str_distance(STR("a"), str_mem(word, 65)) == 65);
}

TEST(str_first_never_cuts_a_character_in_two)
{
    static const struct {
        const char *in;
        size_t most;
        const char *want;
    } cases[] = {
        { "", 0, "" },
        { "abc", 3, "abc" },
        { "abc", 2, "ab" },
        { "abc", 0, "" },
        { "a\xe2\x82\xac"
          "b",
          4, "a\xe2\x82\xac" },
        { "a\xe2\x82\xac"
          "b",
          3, "a" },
        { "a\xe2\x82\xac"
          "b",
          2, "a" },
        { "a\xe2\x82\xac"
          "b",
          1, "a" },
        { "\xf0\x9f\x98\x80", 3, "" },
        { "\x80\x80\x80\x80\x80\x80", 5, "\x80\x80" }, /* no text at all: three bytes, no more */
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK(str_is(str_first(str_of(cases[i].in), cases[i].most), cases[i].want));
}

int main(void)
{
    return test_main();
}
