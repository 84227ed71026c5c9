/* Words of a run in texts. */
#include "job/words.h"

#include "base/auto.h"
#include "base/clock.h"
#include "core/problem.h"
#include "core/yaml.h"
#include "test.h"

TEST(words_are_filled_in)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        { "", "" },
        { "plain", "plain" },
        { "${job}", "import" },
        { "a ${job}/${run} b", "a import/17 b" },
        { "${nominal}", "1970-01-02T00:00:00.000000Z" },
        { "<${state}>", "<{\"at\": 5}>" },
        { "${state}${state}", "{\"at\": 5}{\"at\": 5}" },
        { "${other} ${env:X} ${ job} $job ${job", "${other} ${env:X} ${ job} $job ${job" },
        { "$${job}", "$import" },
    };
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    const struct job_io io = { .job = STR("import"),
                               .run = STR("17"),
                               .nominal_us = INT64_C(86400) * CLOCK_S,
                               .state = STR("{\"at\": 5}") };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct str got = STR("");

        CHECK(words_fill(&io, str_of(cases[i].text), &a, &got) && str_is(got, cases[i].want));
    }
}

TEST(a_text_that_becomes_too_large_is_refused)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(8 << 20);
    AUTO(buf_done) struct buf state = BUF_INIT(WORDS_MOST), text = BUF_INIT(1 << 10);
    struct job_io io = { .job = STR("j"), .run = STR("1") };
    struct str got;

    for (int i = 0; i < 64 << 10; i++)
        buf_puts(&state, "x");
    io.state = buf_view(&state);
    for (int i = 0; i < 16; i++)
        buf_puts(&text, "${state}");
    CHECK(words_fill(&io, buf_view(&text), &a, &got) && got.len == WORDS_MOST);
    buf_puts(&text, "${state}");
    CHECK(!words_fill(&io, buf_view(&text), &a, &got));
}

TEST(words_that_a_job_does_not_have_are_told)
{
    static const struct {
        const char *text;
        size_t plain, state; /* problems */
    } cases[] = {
        { "a: '${job} ${run} ${nominal}'", 0, 0 },
        { "a: '${state}'", 1, 0 },
        { "a: '${nope} ${state} ${jobs}'", 3, 2 },
        { "a: '${env:X} ${secret:y} ${file:z} $x {job}'", 0, 0 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
        AUTO(problem_list_done)
        struct problem_list yaml = PROBLEM_LIST_INIT, plain = PROBLEM_LIST_INIT,
                            state = PROBLEM_LIST_INIT;
        const struct yaml_node *root = yaml_load(str_of(cases[i].text), &a, &yaml);

        words_check(yaml_get(root, "a"), WORDS_PLAIN, &plain);
        words_check(yaml_get(root, "a"), WORDS_STATE, &state);
        CHECK(plain.count == cases[i].plain && state.count == cases[i].state);
    }
}

int main(void)
{
    return test_main();
}
