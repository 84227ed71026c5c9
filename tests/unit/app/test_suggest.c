#include "app/suggest.h"

#include "test.h"

static const char *nearest(const char *word)
{
    static const char *const known[] = {
        "apply", "check", "config", "docs", "doctor", "ls", "send"
    };
    struct suggestion s = { .word = str_of(word) };

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        suggest(&s, known[i]);
    return s.best != NULL ? s.best : "nothing";
}

TEST(suggest_the_nearest_word_that_is_near_enough)
{
    static const struct {
        const char *word, *want;
    } cases[] = {
        { "aply", "apply" },   { "chekc", "check" },
        { "confg", "config" }, { "dcos", "docs" },
        { "doctr", "doctor" }, { "sned", "send" },
        { "l", "ls" },         { "", "nothing" },
        { "xyz", "nothing" },  { "frobnicate", "nothing" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (strcmp(nearest(cases[i].word), cases[i].want) != 0)
            printf("# %s: %s\n", cases[i].word, nearest(cases[i].word));
        CHECK(strcmp(nearest(cases[i].word), cases[i].want) == 0);
    }
}

int main(void)
{
    return test_main();
}
