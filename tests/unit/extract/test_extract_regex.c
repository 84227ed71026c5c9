#include "base/clock.h"
#include "extract_test.h"

TEST(regex_first_group_or_match)
{
    static const struct asked_case cases[] = {
        { "regex:id=(\\d+)", "x id=47 id=48", "47" },
        { "regex:[A-Z]{3}", "ab ABC DEF", "ABC" },
        { "regex:a=(\\w+)|b=(\\w+)", "b=two", "two" }, /* the one that took part */
        { "regex:(x)?y", "y", "y" },
        { "regex:id=(\\s*)", "id=  ", "is empty, at byte 4, line 1" },
        { "regex:nope", "body", "`regex:nope` is not there" },
        { "regex:a", "", "is not there" },
        { "regex:(?s)a(.*)c", "a\nb\nc", "b" },
        { "regex:(?s)a(.*)d", "a\nb\nc\nd", "has control characters, at byte 2, line 1" },
        { "regex:\xc3\xa4(.)", "\xc3\xa4\xc3\xb6", "\xc3\xb6" },
        { "regex:n=(\\w+)", "\xff\xfe n=1", "1" },
    };

    CHECK(ASKED_ALL(cases, false));
    AUTO_TEXT body = repeated("id=", "7", FACTS_VALUE_MOST + 1, "");

    CHECK(strstr(asked_one("regex:id=(\\d+)", str_of(body), true, false), "is too long") != NULL);
    CHECK(strstr(asked_one("regex:id", STR("x"), false, false), "budget: no sender") != NULL);
}

TEST(regex_trusts_no_match_at_a_cut)
{
    static const char *const patterns[] = { "regex:id=(\\d+)", "regex:([A-Z]+)\\s*$",
                                            "regex:id=(\\d+)\\b" };
    static const char *const bodies[] = { "x id=12", "x NAME ", "id=12" };

    for (size_t i = 0; i < 3; i++) {
        CHECK(strstr(asked_one(patterns[i], str_of(bodies[i]), true, false), "budget") == NULL);
        CHECK(strstr(asked_one(patterns[i], str_of(bodies[i]), false, false),
                     "budget: no sender: ") != NULL);
    }
    CHECK(strcmp(asked_one("regex:id=(\\d+)", STR("id=12 "), false, false), "12") == 0);
}

/* A pattern that explodes in this body.
 * proves: EX10 */
TEST(regex_that_explodes_is_given_up)
{
    AUTO_TEXT body = repeated("", "x", 4 << 20, "");
    int64_t from_us = clock_cpu_us();

    CHECK(strcmp(asked_one("regex:(x+x+)+[yz]", str_of(body), true, false),
                 "budget: sender: `regex:(x+x+)+[yz]`: the search was given up: the regular "
                 "expression takes too long on this text") == 0);
    CHECK(strstr(asked_one("regex:x*x*x*[yz]", str_of(body), true, false), "budget: ") != NULL);
    CHECK(clock_cpu_us() - from_us < 10 * (int64_t)CLOCK_S);
}

TEST(regex_of_the_name)
{
    struct err err;
    struct extractor *x = extractor_of("sender: 'name:^([a-z]+)-'", false, &err);
    struct extract_source s = { .body = STR("b-"), .whole = true, .name = STR("acme-1.xml") };

    CHECK(x != NULL && strcmp(asked(x, &s), "acme|-|-") == 0);
    s.name = STR("1.xml");
    CHECK(strcmp(asked(x, &s), "extract_failed: no sender: `name:^([a-z]+)-` is not there") == 0);
    s.name = (struct str){ 0 };
    CHECK(strstr(asked(x, &s), "the document has no name") != NULL);
    extractor_free(x);
}

int main(void)
{
    return test_main();
}
