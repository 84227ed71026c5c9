#include "extract_test.h"

TEST(csv_columns)
{
    static const struct asked_case cases[] = {
        { "csv:buyer", "id,buyer\n1,acme\n2,other\n", "acme" },
        { "csv:id", "id,buyer\n1,acme", "1" },
        { "csv:buyer", "id;buyer\r\n1;acme\r\n", "acme" },
        { "csv:buyer", "id\tbuyer\r1\tacme\r", "acme" },
        { "csv:buyer", "buyer\nacme\n", "acme" },
        { "csv:buyer", "id; buyer \n1; acme \n", "acme" },
        { "csv:a,b", "\"a,b\";\"c\"\n1;2\n", "1" },
        { "csv:c", "\"a,b,x\";\"c\"\n1;2\n", "2" }, /* those in quotes are not counted */
        { "csv:say \"a\"", "x,\"say \"\"a\"\"\"\n1,\"he said \"\"b\"\"\"\n", "he said \"b\"" },
        { "csv:b", "a,b\n\"1\n,2\",\"3,4\"\n", "3,4" },
        { "csv:b", "a,b\n\n\r\n1,2\n", "2" }, /* empty lines are no rows */
        { "csv:a",
          "\xef\xbb\xbf"
          "a,b\n1,2",
          "1" },
        { "csv:b", "a,b,b\n1,2,3\n", "2" },
        { "csv:b", "a,b\n5\" pipe,6\" pipe\n", "6\" pipe" },
        { "csv:b", "a,b\n1,\n", "is empty, at byte 7, line 2" },
        { "csv:b", "a,b\n1\n", "is not there" },
        { "csv:c", "a,b\n1,2\n", "`csv:c` is not among the names in the first line" },
        { "csv:A", "a,b\n1,2\n", "is not among the names" },
        { "csv:\xc3\xa4", "\xc3\xa4,b\n\xc3\xb6,2\n", "\xc3\xb6" },
    };

    CHECK(ASKED_ALL(cases, false));
}

/* proves: EX5 */
TEST(csv_that_is_not)
{
    static const struct asked_case cases[] = {
        { "csv:a", "", "is not among the names" },
        { "csv:a", "a,b", "the body is not CSV: there is no row below the names, at byte 4" },
        { "csv:a", "a,b\n\n", "there is no row" },
        { "csv:b", "a,b\n\"1,2\n", "a quote is not closed" },
        { "csv:b", "\"a,b\n1,2\n", "a quote is not closed" },
        { "csv:b", "a,b\n\"1\"x,2\n",
          "something stands behind a closing quote, at byte 8, line 2" },
        { "csv:a", "a,b\n\"1\n2\",2\n", "has control characters, at byte 5, line 2" },
        { "csv:a", "a\n\xff\n", "is not UTF-8" },
    };

    CHECK(ASKED_ALL(cases, false));
}

/* proves: EX10 */
TEST(csv_bombs)
{
    AUTO_TEXT columns = repeated("", ",", 4000000, "\n");
    AUTO_TEXT quotes = repeated("a\n\"", "\"\"", 2000000, "\"\n");
    AUTO_TEXT odd = repeated("a\n\"", "\"\"", 2000000, "\n");
    AUTO_TEXT value = repeated("a\n", "x", 4000000, "\n");
    AUTO_TEXT lines = repeated("a", "\n", 4000000, "");

    CHECK(strstr(asked_one("csv:a", str_of(columns), true, false), "is not among") != NULL);
    CHECK(strstr(asked_one("csv:a", str_of(quotes), true, false), "is too long") != NULL);
    CHECK(strstr(asked_one("csv:a", str_of(odd), true, false), "a quote is not closed") != NULL);
    CHECK(strstr(asked_one("csv:a", str_of(value), true, false), "is too long") != NULL);
    CHECK(strstr(asked_one("csv:a", str_of(lines), true, false), "there is no row") != NULL);
}

TEST(csv_that_is_cut)
{
    static const struct {
        const char *expression, *body, *want;
    } cases[] = {
        { "csv:a", "a,b\n1,2", "1" },
        { "csv:b", "a,b\n1,2", "is not in the first" },
        { "csv:b", "a,b\n1,2\n", "is not in the first" }, /* the last byte may be a part of it */
        { "csv:b", "a,b\n1,2\n3", "2" },
        { "csv:b", "a,b\n1,\"2", "is not in the first" },
        { "csv:b", "a,b\n", "is not in the first" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *got = asked_one(cases[i].expression, str_of(cases[i].body), false, false);

        if (strstr(got, cases[i].want) == NULL)
            printf("# %s: %s\n", cases[i].body, got);
        CHECK(strstr(got, cases[i].want) != NULL);
    }
}

int main(void)
{
    return test_main();
}
