#include "extract_test.h"

TEST(json_values)
{
    static const struct asked_case cases[] = {
        { "json:/a", "{\"a\":\"x\"}", "x" },
        { "json:/a/b", "{\"z\":[1,{\"b\":2}],\"a\":{\"c\":[],\"b\":\"x\"}}", "x" },
        { "json:/a/1/b", "{\"a\":[{\"b\":1},{\"b\":2}]}", "2" },
        { "json:/a/01", "{\"a\":[1,2]}", "is not there" },
        { "json:/a/-", "{\"a\":[1,2]}", "is not there" },
        { "json:/a/2", "{\"a\":[1,2]}", "is not there" },
        { "json:/0", "{\"0\":\"in an object\"}", "in an object" },
        { "json:/a~1b/~0", "{\"a/b\":{\"~\":\"x\"}}", "x" },
        { "json:/", "{\"\":\"empty name\"}", "empty name" },
        { "json:/a//b", "{\"a\":{\"\":{\"b\":1}}}", "1" },
        { "json:", "\"whole\"", "whole" },
        { "json:", "{}", "`json:` is an object, not a value, at byte 1, line 1" },
        { "json:/a", "{\"a\":1.50}", "1.50" },
        { "json:/a", "{\"a\":-0}", "-0" },
        { "json:/a", "{\"a\":12345678901234567890123456789}", "12345678901234567890123456789" },
        { "json:/a", "{\"a\":1E+400}", "1E+400" },
        { "json:/a", "{\"a\":true}", "true" },
        { "json:/a", "{\"a\":false}", "false" },
        { "json:/a", "{\"a\":null}", "is null" },
        { "json:/a", "{\"a\":\"  x y\\t\\n\"}", "x y" },
        { "json:/a", "{\"a\":\"\"}", "is empty" },
        { "json:/a", "{\"a\":\" \\t \"}", "is empty" },
        { "json:/a", "{\"a\":{}}", "is an object" },
        { "json:/a", "{\"a\":[1]}", "is a list" },
        { "json:/a", "{\"a\":1,\"a\":2}", "1" }, /* the first counts */
        { "json:/a", "\xef\xbb\xbf{\"a\":1}", "1" },
        { "json:/a", " \n\t\r{ \"a\" : 1 } ", "1" },
        { "json:/a", "{\"a\":\"q\\\"b\\\\s\\/x\"}", "q\"b\\s/x" },
        { "json:/a", "{\"a\":\"\\u00e4\\u20ac\\ud83d\\ude00\"}",
          "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80" },
        { "json:/a", "{\"a\":\"\\u00E4\"}", "\xc3\xa4" },
        { "json:/\xc3\xa4", "{\"\\u00e4\":\"key\"}", "key" },
        { "json:/ab", "{\"\\u0061b\":\"key\"}", "key" },
        { "json:/ab", "{\"\\u0061c\":1,\"ab\\u0063\":2,\"a\\ud800\":3}", "is not there" },
        { "json:/a", "{\"b\":{\"a\":1},\"a\":2}", "2" },
        { "json:/a/b", "{\"a\":1}", "is not there" },
        { "json:/a/b", "[{\"a\":{\"b\":1}}]", "is not there" },
    };

    CHECK(ASKED_ALL(cases, false));
}

/* proves: EX5 */
TEST(json_values_that_are_none_for_us)
{
    static const struct asked_case cases[] = {
        { "json:/a", "{\"a\":\"x\\u0000y\"}", "has control characters, at byte 6, line 1" },
        { "json:/a", "{\"a\":\"x\\ny\"}", "has control characters" },
        { "json:/a", "{\"a\":\"x\x7fy\"}", "has control characters" },
        { "json:/a", "{\"a\":\"\\ud800\"}", "half of a pair of surrogates" },
        { "json:/a", "{\"a\":\"\\ud800\\u0041\"}", "half of a pair of surrogates" },
        { "json:/a", "{\"a\":\"\\ude00\\ud83d\"}", "half of a pair of surrogates" },
        { "json:/a", "{\"a\":\"\\ud83d\\\\ude00\"}", "half of a pair of surrogates" },
    };

    CHECK(ASKED_ALL(cases, false));
    for (size_t len = FACTS_VALUE_MOST; len <= FACTS_VALUE_MOST + 1; len++) {
        AUTO_TEXT plain = repeated("{\"a\":\" ", "x", len, " \"}");
        AUTO_TEXT escaped = repeated("{\"a\":\" \\u0079", "x", len - 1, " \"}");
        bool fits = len == FACTS_VALUE_MOST;

        CHECK((strstr(asked_one("json:/a", str_of(plain), true, false), "is too long") == NULL) ==
              fits);
        CHECK((strstr(asked_one("json:/a", str_of(escaped), true, false), "is too long") == NULL) ==
              fits);
    }
    AUTO_TEXT huge = repeated("{\"a\":\"", "\\u0041", 600000, "\"}");

    CHECK(strstr(asked_one("json:/a", str_of(huge), true, false), "is too long") != NULL);
    CHECK(strstr(asked_one("json:/b", str_of(huge), true, false), "is not there") != NULL);
}

/* Each must be refused with its place, whatever is asked.
 * proves: EX5 */
TEST(json_that_is_not)
{
    static const struct asked_case cases[] = {
        { "json:/a", "", "the body is not JSON: a value is expected, at byte 1, line 1" },
        { "json:/a", "  \n ", "a value is expected, at byte 5, line 2" },
        { "json:/a", "{", "a name in quotes is expected, at byte 2" },
        { "json:/a", "{\"b\"", "a colon is expected" },
        { "json:/a", "{\"b\" 1}", "a colon is expected, at byte 6" },
        { "json:/a", "{\"b\":", "a value is expected" },
        { "json:/a", "{\"b\":}", "a value is expected" },
        { "json:/a", "{\"b\":1", "a comma or `}` is expected" },
        { "json:/a", "{\"b\":1,}", "a name in quotes is expected" },
        { "json:/a", "{\"b\":1 \"c\":2}", "a comma or `}` is expected" },
        { "json:/a", "{,}", "a name in quotes is expected" },
        { "json:/a", "{b:1}", "a name in quotes is expected" },
        { "json:/a", "{'b':1}", "a name in quotes is expected" },
        { "json:/a", "[1,]", "a value is expected" },
        { "json:/a", "[1 2]", "a comma or `]` is expected" },
        { "json:/a", "[1}", "a comma or `]` is expected" },
        { "json:/a", "{\"b\":1]", "a comma or `}` is expected" },
        { "json:/a", "[", "a value is expected" },
        { "json:/a", "[[[", "a value is expected" },
        { "json:/a", "1 2", "something stands behind the end, at byte 3" },
        { "json:/a", "{}{}", "something stands behind the end" },
        { "json:/a", "{\"b\":01}", "a comma or `}` is expected" },
        { "json:/a", "[+1]", "a value is expected" },
        { "json:/a", "[.5]", "a value is expected" },
        { "json:/a", "[1.]", "a digit is expected" },
        { "json:/a", "[1e]", "a digit is expected" },
        { "json:/a", "[-]", "a digit is expected" },
        { "json:/a", "[-a]", "a digit is expected" },
        { "json:/a", "[1e+]", "a digit is expected" },
        { "json:/a", "[NaN]", "a value is expected" },
        { "json:/a", "[tru]", "a value is expected" },
        { "json:/a", "[truely]", "a comma or `]` is expected" },
        { "json:/a", "[\"x]", "a text is not closed" },
        { "json:/a", "[\"x\\", "a text is not closed" },
        { "json:/a", "[\"x\\\"]", "a text is not closed" },
        { "json:/a", "[\"\\x41\"]", "after a backslash" },
        { "json:/a", "[\"\\u12g4\"]", "after a backslash" },
        { "json:/a", "[\"\\u12", "after a backslash" },
        { "json:/a", "[\"a\nb\"]", "a control character stands in a text, at byte 4, line 1" },
        { "json:/a", "[\"a\tb\"]", "a control character" },
        { "json:/a", "[\"\xff\"]", "a text is not UTF-8" },
        { "json:/a", "[\"\xc0\xaf\"]", "a text is not UTF-8" },
        { "json:/a", "[\"\xed\xa0\x80\"]", "a text is not UTF-8" },
        { "json:/a", "<a>1</a>", "a value is expected" },
        { "json:/a", "// c\n{}", "a value is expected" },
        { "json:/a", "\xff\xfe{", "a value is expected" },
        { "json:/a", "{\"a\"\v:1}", "a colon is expected" },
    };

    CHECK(ASKED_ALL(cases, false));
}

/* Bombs: deep nesting, with everything in it checked on the way.
 * proves: EX10 */
TEST(json_depth_has_a_limit)
{
    AUTO_TEXT lists = repeated("", "[", 2000000, "");
    AUTO_TEXT objects = repeated("", "{\"a\":", 400000, "1");
    AUTO_TEXT fits = repeated("", "[", 256, "1");
    AUTO_TEXT deep = repeated("", "[", 257, "1");

    CHECK(strcmp(asked_one("json:/a", str_of(lists), true, false),
                 "budget: sender: `json:/a`: objects and lists stand too deep in each other, at "
                 "byte 257, line 1") == 0);
    CHECK(strstr(asked_one("json:/a/b", str_of(objects), true, false), "budget: ") != NULL);
    CHECK(strstr(asked_one("json:/a", str_of(deep), true, false), "budget: ") != NULL);
    CHECK(strstr(asked_one("json:/a", str_of(fits), true, false), "extract_failed: ") != NULL);
}

/* What follows the last answer is not read. */
TEST(json_stops_when_it_knows_enough)
{
    static const struct asked_case cases[] = {
        { "json:/a", "{\"a\":1, this is no JSON", "1" },
        { "json:/a/b", "{\"a\":{\"b\":\"x\"]]]", "x" },
    };

    CHECK(ASKED_ALL(cases, false));
}

/* A body of which only the first part is there. */
TEST(json_that_is_cut)
{
    static const struct {
        const char *body, *want;
    } cases[] = {
        { "{\"a\":\"x\",\"b", "x" },
        { "{\"a\":12", "not in the first 4194304 bytes" },
        { "{\"a\":12,", "12" },
        { "{\"a\":tr", "not in the first" },
        { "{\"a\":true", "not in the first" },
        { "{\"a\":\"x", "not in the first" },
        { "{\"b\":\"\\u1", "not in the first" },
        { "{\"b\":1", "not in the first" },
        { "{\"b\":1}", "is not there" },
        { "{\"b\" 1, 2, 3, 4, 5, 6", "a colon is expected" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *got = asked_one("json:/a", str_of(cases[i].body), false, false);

        if (strstr(got, cases[i].want) == NULL)
            printf("# %s: %s\n", cases[i].body, got);
        CHECK(strstr(got, cases[i].want) != NULL);
        CHECK((strstr(got, "budget") != NULL) == (strstr(cases[i].want, "first") != NULL));
    }
}

TEST(json_many_pointers_in_one_pass)
{
    struct err err;
    struct extractor *x = extractor_of("sender: json:/h/from\n"
                                       "receiver: [json:/h/to, json:/h/from]\n"
                                       "type: json:/h/type/0\n"
                                       "attributes: { n: json:/n, m: json:/h/m, k: json:/h/from, "
                                       "none: json:/none, h: json:/h }\n",
                                       false, &err);
    struct extract_source s = {
        .body = STR("{\"n\":[{}],\"h\":{\"type\":[\"t\",\"u\"],\"m\":7,\"from\":\"a\"},\"n\":1}"),
        .whole = true
    };

    CHECK(x != NULL);
    CHECK(strcmp(asked(x, &s), "a|a|t m=7 k=a") == 0);
    s.body = STR("{\"h\":{\"type\":[\"t\"],\"from\":\"a\"},");
    CHECK(strcmp(asked(x, &s), "a|a|t k=a") == 0); /* broken behind what must be there */
    extractor_free(x);
}

int main(void)
{
    return test_main();
}
