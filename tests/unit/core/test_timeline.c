#include "core/timeline.h"

#include "base/auto.h"
#include "test.h"

static bool same(const struct timeline_line *a, const struct timeline_line *b)
{
    return a->at_us == b->at_us && a->node == b->node && a->stage == b->stage &&
           a->outcome == b->outcome && a->took_us == b->took_us && a->attempt == b->attempt &&
           a->status == b->status && a->config == b->config && str_eq(a->what, b->what) &&
           str_eq(a->message, b->message) && a->has_bytes == b->has_bytes && a->seg == b->seg &&
           a->pos == b->pos && a->num == b->num && a->size == b->size &&
           memcmp(&a->sha256, &b->sha256, sizeof a->sha256) == 0;
}

static const struct timeline_line samples[] = {
    { .at_us = 1763175130123456, .node = 3, .stage = TIMELINE_ACCEPT, .took_us = 812, .config = 7 },
    { .at_us = 1763175130123999,
      .node = 3,
      .stage = TIMELINE_STEP,
      .outcome = TIMELINE_DONE,
      .took_us = 0,
      .what = { "replace", 7 },
      .has_bytes = true,
      .seg = 12,
      .pos = 1 << 30,
      .num = 99,
      .size = 1024,
      .sha256 = { { 1, 2, 3, 255, 0, 9 } } },
    { .at_us = 1763175131000000,
      .node = 300,
      .stage = TIMELINE_DELIVERY,
      .outcome = TIMELINE_RETRY,
      .took_us = 30000000,
      .attempt = 17,
      .status = 503,
      .what = { "salsify-api", 11 },
      .message = { "the receiver says later\n\0x", 26 } },
    { .took_us = -1, .stage = TIMELINE_DOCUMENT, .outcome = TIMELINE_UNKNOWN },
    { .at_us = INT64_MIN,
      .node = -1,
      .took_us = INT64_MAX,
      .attempt = INT64_MAX,
      .status = INT64_MIN,
      .config = -1,
      .has_bytes = true,
      .seg = -1,
      .pos = INT64_MAX,
      .num = INT64_MIN,
      .size = -1 },
};

enum { SAMPLES = sizeof samples / sizeof samples[0] };

TEST(trail_lines_come_back_as_they_were)
{
    AUTO(buf_done) struct buf b = BUF_INIT(TIMELINE_MOST);
    struct timeline_line line;
    bool damaged = true;

    for (size_t i = 0; i < SAMPLES; i++)
        timeline_add(&b, &samples[i]);
    struct timeline_reader r = timeline_read(buf_view(&b));

    for (size_t i = 0; i < SAMPLES; i++) {
        CHECK(timeline_next(&r, &line, &damaged) && !damaged);
        CHECK(same(&line, &samples[i]));
    }
    CHECK(!timeline_next(&r, &line, &damaged) && !damaged);
    CHECK(!timeline_next(&r, &line, &damaged) && !damaged);
}

TEST(trail_of_nothing_is_empty)
{
    struct timeline_reader r = timeline_read((struct str){ 0 });
    struct timeline_line line;
    bool damaged = true;

    CHECK(!timeline_next(&r, &line, &damaged) && !damaged);
}

TEST(trail_of_an_ordinary_delivery_is_small)
{
    AUTO(buf_done) struct buf b = BUF_INIT(TIMELINE_MOST);

    timeline_add(&b, &samples[0]);
    CHECK(b.len <= 24);
}

TEST(trails_joined_are_a_trail)
{
    AUTO(buf_done) struct buf a = BUF_INIT(TIMELINE_MOST), b = BUF_INIT(TIMELINE_MOST);
    struct timeline_line line;
    bool damaged;

    timeline_add(&a, &samples[0]);
    timeline_add(&b, &samples[1]);
    timeline_add(&b, &samples[2]);
    buf_put(&a, buf_view(&b));
    struct timeline_reader r = timeline_read(buf_view(&a));

    for (size_t i = 0; i < 3; i++)
        CHECK(timeline_next(&r, &line, &damaged) && same(&line, &samples[i]));
    CHECK(!timeline_next(&r, &line, &damaged) && !damaged);
}

TEST(trail_words_are_all_there)
{
    for (size_t i = 0; i < TIMELINE_STAGES; i++)
        CHECK(timeline_stages[i] != NULL && timeline_stages[i][0] != '\0');
    for (size_t i = 0; i < TIMELINE_OUTCOMES; i++)
        CHECK(timeline_outcomes[i] != NULL && timeline_outcomes[i][0] != '\0');
}

/* Both lengths of the length in front: bodies of 127, 128 and more bytes. */
TEST(trail_lines_of_every_length_come_back)
{
    char text[TIMELINE_TEXT_MOST];

    memset(text, 'x', sizeof text);
    for (size_t n = 0; n <= sizeof text; n++) {
        AUTO(buf_done) struct buf b = BUF_INIT(TIMELINE_MOST);
        struct timeline_line in = { .took_us = -1, .message = str_mem(text, n) }, out;
        bool damaged;

        timeline_add(&b, &in);
        timeline_add(&b, &samples[1]);
        struct timeline_reader r = timeline_read(buf_view(&b));

        CHECK(timeline_next(&r, &out, &damaged) && same(&in, &out));
        CHECK(timeline_next(&r, &out, &damaged) && same(&samples[1], &out));
        CHECK(!timeline_next(&r, &out, &damaged) && !damaged);
    }
}

TEST(trail_texts_are_cut_at_a_character)
{
    char text[TIMELINE_TEXT_MOST + 8];
    AUTO(buf_done) struct buf b = BUF_INIT(TIMELINE_MOST);
    struct timeline_line line;
    bool damaged;

    memset(text, 'x', sizeof text);
    memcpy(text + TIMELINE_TEXT_MOST - 2, "\xe2\x82\xac", 3); /* one character over the edge */
    timeline_add(&b, &(struct timeline_line){ .what = str_mem(text, sizeof text),
                                              .message = str_mem(text + 1, sizeof text - 1) });
    struct timeline_reader r = timeline_read(buf_view(&b));

    CHECK(timeline_next(&r, &line, &damaged));
    CHECK(line.what.len == TIMELINE_TEXT_MOST - 2 && str_is_utf8(line.what));
    CHECK(line.message.len == TIMELINE_TEXT_MOST && str_is_utf8(line.message));
}

static const struct timeline_line answered = {
    .at_us = 1763175131000000,
    .node = 300,
    .stage = TIMELINE_DELIVERY,
    .outcome = TIMELINE_DEAD,
    .took_us = 3000,
    .attempt = 2,
    .status = 422,
    .what = { "hub", 3 },
    .message = { "no such order", 13 },
    .has_delivery = true,
    .id_end = { ".2.again1", 9 },
    .system = { "archive", 7 },
    .has_bytes = true,
    .is_answer = true,
    .seg = 3,
    .pos = 8,
    .num = 9,
    .size = 1024,
    .came = 2048,
    .ctype = { "text/plain", 10 },
};

TEST(trail_lines_of_answers_come_back_as_they_were)
{
    AUTO(buf_done) struct buf b = BUF_INIT(TIMELINE_MOST);
    struct timeline_line line, plain = answered;
    bool damaged;

    plain.has_bytes = plain.is_answer = false;
    timeline_add(&b, &answered);
    timeline_add(&b, &plain);
    struct timeline_reader r = timeline_read(buf_view(&b));

    CHECK(timeline_next(&r, &line, &damaged) && same(&line, &answered));
    CHECK(line.is_answer && line.came == 2048 && str_is(line.ctype, "text/plain"));
    CHECK(line.has_delivery && str_is(line.id_end, ".2.again1") && str_is(line.system, "archive"));
    CHECK(timeline_next(&r, &line, &damaged) && !line.has_bytes && !line.is_answer);
    CHECK(line.has_delivery && str_is(line.system, "archive"));
}

/* However many lines of whatever length: it has room for more, and the last line is the last. */
TEST(trail_keeps_its_end)
{
    static const size_t sizes[] = { 0, 1, 40, 333, TIMELINE_TEXT_MOST };
    char text[TIMELINE_TEXT_MOST];

    memset(text, 'x', sizeof text);
    for (size_t i = 0; i < 2 * sizeof sizes / sizeof sizes[0]; i++) {
        AUTO(buf_done) struct buf b = BUF_INIT(TIMELINE_MOST);
        struct timeline_line add = { .stage = TIMELINE_DELIVERY,
                                     .outcome = TIMELINE_RETRY,
                                     .has_bytes = i % 2 != 0,
                                     .what = STR("hub"),
                                     .message = str_mem(text, sizes[i / 2]) },
                             line = { 0 };
        int64_t count = 0, left = 0, sums = 0;
        bool damaged;

        for (add.attempt = 1; add.attempt <= 9000; add.attempt++)
            timeline_add(&b, &add);
        CHECK(b.len <= TIMELINE_MOST);
        struct timeline_reader r = timeline_read(buf_view(&b));

        CHECK(timeline_next(&r, &line, &damaged) && line.attempt == 1);
        for (count = 1; timeline_next(&r, &line, &damaged);) {
            count += line.stage == TIMELINE_DELIVERY;
            left += line.left_attempts;
            sums += line.stage == TIMELINE_DOCUMENT;
        }
        CHECK(!damaged && line.attempt == 9000);
        CHECK(sums == 1 && count + left == 9000);
    }
}

/* What ended a delivery and what a person did outlasts attempts. */
TEST(trail_leaves_attempts_out_first)
{
    AUTO(buf_done) struct buf b = BUF_INIT(TIMELINE_MOST);
    struct timeline_line retry = samples[2], done = samples[2], line;
    size_t delivered = 0, people = 0;
    bool damaged;

    done.outcome = TIMELINE_DELIVERED;
    for (int i = 0; i < 5000; i++) {
        timeline_add(&b, &retry);
        if (i == 300)
            timeline_add(&b, &done);
        if (i == 400)
            timeline_add(&b, &(struct timeline_line){ .stage = TIMELINE_OPERATOR });
    }
    for (struct timeline_reader r = timeline_read(buf_view(&b));
         timeline_next(&r, &line, &damaged);) {
        delivered += line.outcome == TIMELINE_DELIVERED;
        people += line.stage == TIMELINE_OPERATOR;
        CHECK(line.left_others == 0);
        CHECK(line.stage != TIMELINE_DOCUMENT || str_find(line.message, '&') < 0);
    }
    CHECK(delivered == 1 && people == 1);
}

/* The next run goes by a line of a step that has a number; other notes are told to people. */
TEST(trail_keeps_what_the_next_run_needs)
{
    AUTO(buf_done) struct buf b = BUF_INIT(TIMELINE_MOST);
    struct timeline_line note = { .stage = TIMELINE_STEP, .outcome = TIMELINE_NOTED }, line;
    size_t kept = 0;
    bool damaged;

    for (int i = 0; i < 9000; i++) {
        note.attempt = i == 700;
        note.message = STR("a line of a script, long enough");
        timeline_add(&b, &note);
    }
    for (struct timeline_reader r = timeline_read(buf_view(&b));
         timeline_next(&r, &line, &damaged);)
        kept += line.attempt == 1;
    CHECK(kept == 1);
}

/* Bytes that cannot be read are not touched, and nothing is written behind them. */
TEST(trail_that_is_damaged_stays)
{
    AUTO(buf_done) struct buf b = BUF_INIT(TIMELINE_MOST);

    while (b.len <= TIMELINE_FULL)
        buf_put(&b, STR("\x7f\x01"));
    size_t len = b.len;

    timeline_add(&b, &samples[0]);
    timeline_trim(&b);
    CHECK(b.len == len);
}

TEST(trail_too_long_is_made_to_fit)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(1 << 20);
    AUTO(buf_done) struct buf b = BUF_INIT(4 * TIMELINE_MOST), one = BUF_INIT(TIMELINE_MOST);

    timeline_add(&one, &samples[2]);
    CHECK(str_eq(timeline_fit(buf_view(&one), &arena), buf_view(&one)));
    while (b.len < 3 * TIMELINE_MOST)
        buf_put(&b, buf_view(&one));
    struct str fits = timeline_fit(buf_view(&b), &arena);

    CHECK(fits.len <= TIMELINE_MOST && fits.len > TIMELINE_MOST / 4);
}

/* Programs before it skip the line. */
TEST(trail_of_notes_has_a_format_of_its_own)
{
    AUTO(buf_done) struct buf b = BUF_INIT(TIMELINE_MOST);
    struct timeline_line note = { .stage = TIMELINE_STEP,
                                  .outcome = TIMELINE_NOTED,
                                  .took_us = -1,
                                  .what = STR("lua"),
                                  .message = STR("7 lines") };
    struct timeline_line line;
    bool damaged;

    timeline_add(&b, &note);
    CHECK(b.ptr[1] == 3);
    struct timeline_reader r = timeline_read(buf_view(&b));

    CHECK(timeline_next(&r, &line, &damaged) && line.outcome == TIMELINE_NOTED);
    CHECK(str_is(line.message, "7 lines") && !timeline_next(&r, &line, &damaged) && !damaged);
}

TEST(trail_skips_lines_of_later_programs)
{
    AUTO(buf_done) struct buf b = BUF_INIT(TIMELINE_MOST);
    struct timeline_line line;
    bool damaged;

    buf_put(&b, STR("\x01\x04"));
    timeline_add(&b, &samples[0]);
    buf_put(&b, STR("\x05\xff"
                    "abcd"));
    timeline_add(&b, &samples[2]);
    buf_put(&b, STR("\x02\x09x"));
    struct timeline_reader r = timeline_read(buf_view(&b));

    CHECK(timeline_next(&r, &line, &damaged) && same(&line, &samples[0]));
    CHECK(timeline_next(&r, &line, &damaged) && same(&line, &samples[2]));
    CHECK(!timeline_next(&r, &line, &damaged) && !damaged);
}

TEST(trail_cut_anywhere_is_damaged_and_gives_what_stood_before)
{
    AUTO(buf_done) struct buf b = BUF_INIT(TIMELINE_MOST);

    timeline_add(&b, &samples[2]);
    size_t first = b.len;

    timeline_add(&b, &samples[1]);
    for (size_t n = 0; n <= b.len; n++) {
        /* A copy of its own, so that reading one byte too far is found. */
        AUTO(buf_done) struct buf copy = BUF_INIT(TIMELINE_MOST);
        struct timeline_line line;
        bool damaged;
        size_t count = 0;

        buf_put(&copy, str_mem(b.ptr, n));
        struct timeline_reader r = timeline_read(buf_view(&copy));

        while (timeline_next(&r, &line, &damaged))
            count++;
        CHECK(count == (n == b.len ? 2u : n >= first ? 1u : 0u));
        CHECK(damaged == (n != 0 && n != first && n != b.len));
        CHECK(!timeline_next(&r, &line, &damaged) && !damaged);
    }
}

TEST(trail_refuses_what_it_did_not_write)
{
    static const struct {
        const char *what;
        struct str bytes;
    } cases[] = {
        { "a line of no length", STR("\x00") },
        { "a length without end", STR("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff") },
        { "more than there is", STR("\x7f\x01") },
        { "a huge length", STR("\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x01") },
        { "only a format", STR("\x01\x01") },
        { "no such stage", STR("\x0c\x01\x08\x00\x00\x01\x01\x00\x00\x00\x00\x00\x00") },
        { "no such outcome", STR("\x0c\x01\x00\x0b\x00\x01\x01\x00\x00\x00\x00\x00\x00") },
        { "no such flag", STR("\x0c\x01\x00\x00\x02\x01\x01\x00\x00\x00\x00\x00\x00") },
        { "flagged bytes without a place",
          STR("\x0c\x01\x00\x00\x01\x01\x01\x00\x00\x00\x00\x00\x00") },
        { "more than the line", STR("\x0d\x01\x00\x00\x00\x01\x01\x00\x00\x00\x00\x00\x00x") },
        { "a text beyond the line", STR("\x0c\x01\x00\x00\x00\x01\x01\x00\x00\x00\x00\x01\x00") },
    };
    static const struct str good = STR("\x0c\x01\x00\x00\x00\x01\x01\x00\x00\x00\x00\x00\x00");
    struct timeline_line line;
    bool damaged;
    struct timeline_reader fine = timeline_read(good);

    CHECK(timeline_next(&fine, &line, &damaged) && line.at_us == 1 && line.took_us == -1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct timeline_reader r = timeline_read(cases[i].bytes);

        line = samples[0];
        CHECK(!timeline_next(&r, &line, &damaged) && damaged);
        CHECK(same(&line, &samples[0])); /* untouched */
    }
}

int main(void)
{
    return test_main();
}
