#include "base/glob.h"

#include "test.h"

TEST(glob_stars_and_question_marks)
{
    static const struct {
        const char *pattern, *name;
        bool matches;
    } cases[] = {
        { "*", "", true },
        { "*", "a.xml", true },
        { "*.xml", "a.xml", true },
        { "*.xml", ".xml", true },
        { "*.xml", "a.xml.bak", false },
        { "*.xml", "a.XML", false },
        { "a*b*c", "aXXbYYbZc", true },
        { "a*b*c", "aXXbYYbZ", false },
        { "order-????.edi", "order-4711.edi", true },
        { "order-????.edi", "order-471.edi", false },
        { "?", "\xc3\xbc", true },
        { "??", "\xc3\xbc", false },
        { "*?", "\xc3\xbc", true },
        { "a", "a", true },
        { "a", "b", false },
        { "a", "ab", false },
        { "", "", true },
        { "", "a", false },
        { "[a]", "a", false },
        { "[a]", "[a]", true },
        { "**", "x", true },
        { "a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK(glob_match(str_of(cases[i].pattern), str_of(cases[i].name)) == cases[i].matches);
}

int main(void)
{
    return test_main();
}
