#include "core/stages.h"

#include "base/auto.h"
#include "test.h"

struct told {
    const char *what;
    enum timeline_stage stage;
    int64_t bytes;  /* the size of stored bytes; 0: none */
    int64_t number; /* the step's number, as recorded */
};

static void write_lines(const struct told *lines, size_t count, struct buf *to)
{
    for (size_t i = 0; i < count; i++)
        timeline_add(to, &(struct timeline_line){ .at_us = (int64_t)i + 1,
                                                  .stage = lines[i].stage,
                                                  .took_us = -1,
                                                  .attempt = lines[i].number,
                                                  .what = str_of(lines[i].what),
                                                  .has_bytes = lines[i].bytes != 0,
                                                  .size = lines[i].bytes });
}

/* Stages as text: "replace replace=7", the size of those that are stored. */
static bool stages_are(const struct told *lines, size_t count, const char *want)
{
    AUTO(buf_done) struct buf timeline = BUF_INIT(TIMELINE_MOST), text = BUF_INIT(1000);
    AUTO(arena_done) struct arena a = ARENA_INIT(STAGES_ARENA_MOST);
    size_t n;

    write_lines(lines, count, &timeline);
    const struct stage *all = stages_read(buf_view(&timeline), &a, &n);

    for (size_t i = 0; i < n; i++) {
        buf_printf(&text, "%s%.*s", i > 0 ? " " : "", STR_ARG(all[i].step));
        if (all[i].number != (int64_t)i + 1)
            return false;
        if (all[i].is_stored)
            buf_printf(&text, "=%lld", (long long)all[i].bytes.size);
    }
    return str_is(buf_view(&text), want);
}

#define STAGES_ARE(want, ...)                              \
    CHECK(stages_are((const struct told[]){ __VA_ARGS__ }, \
                     sizeof((const struct told[]){ __VA_ARGS__ }) / sizeof(struct told), want))

TEST(stages_are_the_steps_that_ran)
{
    STAGES_ARE("", { "orders", TIMELINE_ROUTE, 0, 0 });
    STAGES_ARE("a b", { "orders", TIMELINE_ROUTE, 0, 0 }, { "a", TIMELINE_STEP, 0, 0 },
               { "b", TIMELINE_STEP, 0, 0 }, { "hub", TIMELINE_DELIVERY, 0, 1 });
}

TEST(stages_know_their_bytes_by_number)
{
    STAGES_ARE("a=7 a a=9", { "a", TIMELINE_STEP, 7, 1 }, { "a", TIMELINE_STEP, 9, 3 },
               { "orders", TIMELINE_ROUTE, 0, 0 }, { "a", TIMELINE_STEP, 0, 0 },
               { "a", TIMELINE_STEP, 0, 0 }, { "a", TIMELINE_STEP, 0, 0 });
}

TEST(stages_are_counted_over_all_runs)
{
    STAGES_ARE("a b=7 a=8 b", { "b", TIMELINE_STEP, 7, 2 }, { "a", TIMELINE_STEP, 0, 0 },
               { "b", TIMELINE_STEP, 0, 0 }, { "hub", TIMELINE_DELIVERY, 0, 1 },
               { "ann", TIMELINE_OPERATOR, 0, 0 }, { "a", TIMELINE_STEP, 8, 1 },
               { "a", TIMELINE_STEP, 0, 0 }, { "b", TIMELINE_STEP, 0, 0 });
    STAGES_ARE("a=7 a=8", { "a", TIMELINE_STEP, 7, 1 }, { "a", TIMELINE_STEP, 0, 0 },
               { "a", TIMELINE_STEP, 8, 1 }, { "a", TIMELINE_STEP, 0, 0 });
}

TEST(stages_without_recorded_numbers_are_matched_from_the_last)
{
    STAGES_ARE("a a=7", { "a", TIMELINE_STEP, 7, 0 }, { "a", TIMELINE_STEP, 0, 0 },
               { "a", TIMELINE_STEP, 0, 0 }, { "hub", TIMELINE_DELIVERY, 0, 1 });
    STAGES_ARE("a=7 b a=8", { "a", TIMELINE_STEP, 7, 0 }, { "a", TIMELINE_STEP, 8, 0 },
               { "a", TIMELINE_STEP, 0, 0 }, { "b", TIMELINE_STEP, 0, 0 },
               { "a", TIMELINE_STEP, 0, 0 });
}

TEST(stages_keep_bytes_whose_step_was_left_out)
{
    STAGES_ARE("a=7", { "a", TIMELINE_STEP, 7, 3 }, { "hub", TIMELINE_DELIVERY, 0, 1 });
    STAGES_ARE("b a=7", { "a", TIMELINE_STEP, 7, INT64_MAX }, { "b", TIMELINE_STEP, 0, 0 });
    STAGES_ARE("b a=7", { "a", TIMELINE_STEP, 7, -1 }, { "b", TIMELINE_STEP, 0, 0 });
}

TEST(stages_whose_steps_were_left_out_keep_their_order)
{
    STAGES_ARE("a=7 a=8", { "a", TIMELINE_STEP, 7, 0 }, { "a", TIMELINE_STEP, 8, 0 });
}

TEST(stages_are_found_by_their_lines)
{
    static const struct told lines[] = { { "b", TIMELINE_STEP, 7, 2 },
                                         { "a", TIMELINE_STEP, 0, 0 },
                                         { "b", TIMELINE_STEP, 0, 0 },
                                         { "hub", TIMELINE_DELIVERY, 0, 1 } };
    AUTO(buf_done) struct buf timeline = BUF_INIT(TIMELINE_MOST);
    AUTO(arena_done) struct arena a = ARENA_INIT(STAGES_ARENA_MOST);
    size_t n;

    write_lines(lines, 4, &timeline);
    const struct stage *all = stages_read(buf_view(&timeline), &a, &n);

    CHECK(n == 2);
    CHECK(stages_of_line(all, n, 0) == &all[1] && stages_of_line(all, n, 2) == &all[1]);
    CHECK(stages_of_line(all, n, 1) == &all[0] && stages_of_line(all, n, 3) == NULL);
}

static void leave_out(int64_t attempts, int64_t others, struct buf *to)
{
    timeline_add(to, &(struct timeline_line){ .stage = TIMELINE_DOCUMENT,
                                              .took_us = -1,
                                              .left_attempts = attempts,
                                              .left_others = others });
}

TEST(stages_know_a_gap_behind_them)
{
    static const struct told one[] = { { "a", TIMELINE_STEP, 7, 1 }, { "a", TIMELINE_STEP, 0, 0 } };
    static const struct told two[] = { { "b", TIMELINE_STEP, 0, 0 } };
    AUTO(buf_done) struct buf timeline = BUF_INIT(TIMELINE_MOST);
    AUTO(arena_done) struct arena a = ARENA_INIT(STAGES_ARENA_MOST);
    size_t n;

    write_lines(one, 2, &timeline);
    leave_out(9, 0, &timeline);
    CHECK(!stages_gap_behind(buf_view(&timeline), stages_read(buf_view(&timeline), &a, &n)));
    leave_out(9, 1, &timeline);
    write_lines(two, 1, &timeline);
    const struct stage *all = stages_read(buf_view(&timeline), &a, &n);

    CHECK(n == 2);
    CHECK(stages_gap_behind(buf_view(&timeline), &all[0]));
    CHECK(!stages_gap_behind(buf_view(&timeline), &all[1]));
}

int main(void)
{
    return test_main();
}
