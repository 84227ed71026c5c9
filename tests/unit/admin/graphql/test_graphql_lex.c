#include "test.h"

#include <stdio.h>

#include "admin/graphql/lex.h"
#include "base/auto.h"

/* All tokens on one line: names and numbers as they are, strings in <>. */
static const char *lexed(const char *source, size_t most)
{
    static char text[4096];
    AUTO(arena_done) struct arena arena = ARENA_INIT(1 << 20);
    struct graphql_lex lex;
    struct err err = { 0 };
    size_t n = 0;
    bool ok = graphql_lex_init(&lex, str_of(source), most, &arena, &err);

    text[0] = '\0';
    for (; ok && lex.token.kind != GRAPHQL_TOKEN_END; ok = graphql_lex_next(&lex, &err)) {
        const struct graphql_token *t = &lex.token;
        const char *form = t->kind == GRAPHQL_TOKEN_STRING  ? "<%.*s> "
                           : t->kind == GRAPHQL_TOKEN_FLOAT ? "f%.*s "
                                                            : "%.*s ";
        char one = (char)t->kind;
        struct str s = t->kind < 256                     ? str_mem(&one, 1)
                       : t->kind == GRAPHQL_TOKEN_SPREAD ? STR("...")
                                                         : t->text;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        n += (size_t)snprintf(text + n, sizeof text - n, form, STR_ARG(s));
#pragma GCC diagnostic pop
    }
    if (!ok)
        (void)snprintf(text, sizeof text, "%zu: %s", lex.fault, err.text);
    return text;
}

TEST(lex_reads_tokens)
{
    static const struct {
        const char *source, *want;
    } cases[] = {
        { "", "" },
        { " \t\r\n,,\xef\xbb\xbf", "" },
        { "\xef\xbb\xbf{a}", "{ a } " },
        { "{a,b # comment, with \"words\"\n c}", "{ a b c } " },
        { "# only a comment", "" },
        { "query Q($a:[Int!]!=1)@x{...f}", "query Q ( $ a : [ Int ! ] ! = 1 ) @ x { ... f } " },
        { "a|b&c", "a | b & c " },
        { "0 -0 12 -7 0.5 1e3 1E+3 -1.5e-2", "0 -0 12 -7 f0.5 f1e3 f1E+3 f-1.5e-2 " },
        { "01", "0: number with a leading zero" },
        { "-", "1: digit expected in a number" },
        { "1.", "2: digit expected in a number" },
        { "1e", "2: digit expected in a number" },
        { "1a", "1: number runs into what follows it" },
        { "1.5.", "3: number runs into what follows it" },
        { ". .", "0: unexpected character" },
        { "..", "0: unexpected character" },
        { "%", "0: unexpected character" },
        { "a\x01", "1: unexpected character" },
        { "\xff", "0: document is not UTF-8" },
        { "\xc3\xa9", "0: unexpected character" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *got = lexed(cases[i].source, 100);

        if (strcmp(got, cases[i].want) != 0)
            printf("# %s: %s\n", cases[i].source, got);
        CHECK(strcmp(got, cases[i].want) == 0);
    }
}

TEST(lex_reads_strings)
{
    static const struct {
        const char *source, *want;
    } cases[] = {
        { "\"\"", "<> " },
        { "\"\" \"a\"", "<> <a> " },
        { "\"a\tb\"", "<a\tb> " },
        { "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "<\"\\/\b\f\n\r\t> " },
        { "\"\\u00e9\\u{1F600}\\uD83D\\uDE00\"", "<\xc3\xa9\xf0\x9f\x98\x80\xf0\x9f\x98\x80> " },
        { "\"\\u0041\\u0800 \\u{10FFFF}\"", "<A\xe0\xa0\x80 \xf4\x8f\xbf\xbf> " },
        { "\"\\u{110000}\"", "3: unicode escape of no character" },
        { "\"\\uD83D\"", "3: unicode escape of no character" },
        { "\"\\uDE00\"", "3: unicode escape of no character" },
        { "\"\\uD83D\\u0041\"", "3: bad unicode escape" },
        { "\"\\u0000\"", "3: unicode escape of no character" },
        { "\"\\u12G4\"", "3: bad unicode escape" },
        { "\"\\u{}\"", "3: bad unicode escape" },
        { "\"\\u{1234567}\"", "3: bad unicode escape" },
        { "\"\\x\"", "1: unknown escape in a string" },
        { "\"a", "1: string without an end" },
        { "\"a\\", "2: unknown escape in a string" },
        { "\"a\\\"", "1: string without an end" },
        { "\"a\nb\"", "1: string without an end" },
        { "\"a\x01\"", "2: control character in a string" },
        { "\"\"\"a\x01\"\"\"", "4: control character in a string" },
        { "\"\"\"\"\"\"", "<> " },
        { "\"\"\"a \\\"\"\" \\n\"\"\"", "<a \"\"\" \\n> " },
        { "\"\"\"\n\n    Hello,\n      World!\n\n    Yours,\n      GraphQL.\n  \n\"\"\"",
          "<Hello,\n  World!\n\nYours,\n  GraphQL.> " },
        { "\"\"\"  first\r\n    second\r    third\"\"\"", "<  first\nsecond\nthird> " },
        { "\"\"\" \n \t\n\"\"\"", "<> " },
        { "\"\"\"a\"\"", "3: string without an end" },
        { "\"\"\"", "3: string without an end" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *got = lexed(cases[i].source, 100);

        if (strcmp(got, cases[i].want) != 0)
            printf("# %s: %s\n", cases[i].source, got);
        CHECK(strcmp(got, cases[i].want) == 0);
    }
}

TEST(lex_has_limits)
{
    char name[GRAPHQL_NAME_MAX + 2], number[GRAPHQL_NUMBER_MAX + 2];

    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    memset(number, '1', sizeof number);
    number[sizeof number - 1] = '\0';
    CHECK(strcmp(lexed("a b c", 3), "a b c ") == 0);
    CHECK(strcmp(lexed("a b c d", 3), "6: document over 3 tokens") == 0);
    CHECK(strcmp(lexed(name, 3), "0: name over 128 bytes") == 0);
    CHECK(strcmp(lexed(number, 3), "0: number over 64 bytes") == 0);
}

TEST(lex_finds_the_place)
{
    static const struct {
        size_t at, line, column;
    } cases[] = { { 0, 1, 1 }, { 1, 1, 2 }, { 2, 2, 1 }, { 4, 3, 1 }, { 6, 3, 2 }, { 8, 4, 1 } };
    struct str source = STR("a\nb\n\xc3\xa9\r\nd"); /* é is two bytes and one column */

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t line, column;

        graphql_lex_place(source, cases[i].at, &line, &column);
        CHECK(line == cases[i].line && column == cases[i].column);
    }
}

int main(void)
{
    return test_main();
}
