/* What notices say. */
#include "engine/watch/notice_text.h"

#include "base/auto.h"
#include "base/clock.h"
#include "test.h"

static const struct alert opened = { .num = 7,
                                     .count = 12,
                                     .raised_us = CLOCK_S,
                                     .last_us = 2 * CLOCK_S,
                                     .cleared_us = 3 * CLOCK_S,
                                     .code = { "dead_letters", 12 },
                                     .object = { "store", 5 },
                                     .message = { "12 wait", 7 },
                                     .ended = { "gone", 4 } };

static bool lines_are(enum notice_kind kind, const char *want)
{
    AUTO(buf_done) struct buf b = BUF_INIT(NOTICE_TEXT_MOST);

    notice_put_lines(&b, &(struct notice){ .kind = kind }, &opened);
    if (!str_is(buf_view(&b), want))
        (void)printf("# %.*s\n", STR_ARG(buf_view(&b)));
    return str_is(buf_view(&b), want);
}

TEST(lines_say_what_is_when_and_where_to_look)
{
    CHECK(lines_are(NOTICE_RAISED, "Waybill: dead_letters raised (store)\n\n12 wait\n\n"
                                   "raised   1970-01-01T00:00:01.000000Z\n"
                                   "last     1970-01-01T00:00:02.000000Z\n"
                                   "count    12\nmore     waybill alerts show 7\n"));
    CHECK(lines_are(NOTICE_CLEARED, "Waybill: dead_letters cleared (store)\n\ngone\n\n"
                                    "raised   1970-01-01T00:00:01.000000Z\n"
                                    "last     1970-01-01T00:00:02.000000Z\n"
                                    "cleared  1970-01-01T00:00:03.000000Z\n"
                                    "count    12\nmore     waybill alerts show 7\n"));
    CHECK(lines_are(NOTICE_REMINDER, "Waybill: dead_letters lasts (store)\n\n12 wait\n\n"
                                     "raised   1970-01-01T00:00:01.000000Z\n"
                                     "last     1970-01-01T00:00:02.000000Z\n"
                                     "count    12\nmore     waybill alerts show 7\n"));
}

TEST(long_texts_are_cut)
{
    static char many[NOTICE_TEXT_MOST * 2];
    AUTO(buf_done) struct buf lines = BUF_INIT(NOTICE_TEXT_MOST), json = BUF_INIT(NOTICE_TEXT_MOST);
    struct alert a = opened;

    memset(many, 'x', sizeof many);
    a.message = str_mem(many, sizeof many);
    notice_put_lines(&lines, &(struct notice){ .kind = NOTICE_RAISED }, &a);
    notice_put_json(&json, &(struct notice){ .kind = NOTICE_RAISED }, &a);
    CHECK(lines.len < 2000 && json.len < 4000);
    CHECK(json.ptr[json.len - 1] == '}');
}

int main(void)
{
    return test_main();
}
