/* `limits:` of a step. */
#include "base/auto.h"
#include "cage/cage.h"
#include "core/grammar.h"
#include "test.h"

static bool limits_in(const struct option *keys, const char *yaml, struct cage_limits *ret,
                      struct err *err)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct problem_list problems = PROBLEM_LIST_INIT;
    struct settings s = { .node = yaml_load(str_of(yaml), &a, &problems),
                          .own = keys,
                          .arena = &a };

    problem_list_done(&problems);
    return cage_limits_read(&s, ret, err);
}

static bool limits_of(const char *yaml, struct cage_limits *ret, struct err *err)
{
    return limits_in(grammar_limits, yaml, ret, err);
}

TEST(cage_limits_have_defaults)
{
    struct cage_limits l;
    struct err err = { 0 };

    CHECK(limits_of("{}", &l, &err));
    CHECK(l.time_us == 2000000 && l.memory == 256 << 20 && l.output == 64 << 20);
    CHECK(l.concurrency == 0);
}

TEST(cage_limits_are_read)
{
    struct cage_limits l;
    struct err err = { 0 };

    CHECK(limits_of("limits: { time: 500ms, memory: 1 GiB, output: 4 KiB, concurrency: 3 }", &l,
                    &err));
    CHECK(l.time_us == 500000 && l.memory == 1 << 30 && l.output == 4096 && l.concurrency == 3);
    CHECK(limits_of("limits: { output: 1 MiB }", &l, &err) && l.time_us == 2000000);
    CHECK(!limits_of("limits: { time: soon }", &l, &err) && err.kind == ERR_CONFIG);
    CHECK(strstr(err.text, "`limits`: `time`") != NULL);
}

/* What may come out is then as much as may come in, which the plan knows. */
TEST(cage_limits_of_streams_have_no_output)
{
    struct cage_limits l;
    struct err err = { 0 };

    CHECK(limits_in(grammar_stream_limits, "{}", &l, &err));
    CHECK(l.time_us == 2000000 && l.memory == 256 << 20 && l.output == 0);
    CHECK(limits_in(grammar_stream_limits, "limits: { output: 1 GiB }", &l, &err));
    CHECK(l.output == 1 << 30);
}

int main(void)
{
    return test_main();
}
