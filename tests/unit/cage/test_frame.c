/* test_frame.c - frames and heads, there and back, and every cut of them. */
#include "cage/frame.h"

#include "base/auto.h"
#include "test.h"

TEST(a_frame_comes_back)
{
    AUTO(buf_done) struct buf b = BUF_INIT(1 << 20);
    struct frame f;

    frame_put(&b, FRAME_OUT, true, STR("hello"));
    frame_put(&b, FRAME_END, false, STR(""));
    struct str rest = buf_view(&b);

    CHECK(frame_take(&rest, &f) == FRAME_TAKEN);
    CHECK(f.kind == FRAME_OUT && f.last && str_is(f.body, "hello"));
    CHECK(frame_take(&rest, &f) == FRAME_TAKEN && f.kind == FRAME_END && !f.last);
    CHECK(f.body.len == 0 && rest.len == 0 && frame_take(&rest, &f) == FRAME_INCOMPLETE);
    for (size_t n = 0; n < FRAME_HEADER + 5; n++) {
        rest = str_mem(b.ptr, n);
        CHECK(frame_take(&rest, &f) == FRAME_INCOMPLETE && rest.len == n);
    }
}

/* proves: S5 */
TEST(a_length_over_the_limit_is_refused_before_it_came)
{
    AUTO(buf_done) struct buf b = BUF_INIT(1 << 20);
    struct str rest;
    struct frame f;

    frame_put(&b, FRAME_OUT, false, STR(""));
    static const struct {
        size_t at;
        unsigned char value;
    } bad[] = { { 2, 3 },  { 3, 0x80 }, { 4, 0 }, { 4, 6 }, { 4, 15 },
                { 4, 26 }, { 4, 255 },  { 5, 2 }, { 6, 1 }, { 7, 1 } };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char was = b.ptr[bad[i].at];

        b.ptr[bad[i].at] = (char)bad[i].value;
        rest = buf_view(&b);
        CHECK(frame_take(&rest, &f) == FRAME_MALFORMED);
        b.ptr[bad[i].at] = was;
    }
}

static const struct fact two[] = { { STR("colour"), STR("red") }, { STR("empty"), STR("") } };

TEST(the_head_of_a_document_comes_back)
{
    AUTO(buf_done) struct buf b = BUF_INIT(1 << 20);
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct fact attributes[2] = { two[0], two[1] };
    struct facts facts = { .sender = STR("shop"),
                           .type = STR("order"),
                           .type_unknown = true,
                           .attributes = attributes,
                           .attribute_count = 2 };
    struct service_document d = { .id = id_make(1, 2, 3),
                                  .received_us = -5,
                                  .facts = &facts,
                                  .name = STR("n"),
                                  .gateway = STR("g") },
                            back;

    CHECK(frame_put_document(&b, &d));
    size_t head = b.len;

    buf_puts(&b, "bytes");
    struct str rest = buf_view(&b);

    CHECK(frame_take_document(&rest, &a, &back) && str_is(rest, "bytes"));
    CHECK(id_eq(&back.id, &d.id) && back.received_us == -5 && str_is(back.name, "n"));
    CHECK(back.ctype.ptr == NULL && str_is(back.gateway, "g"));
    CHECK(str_is(back.facts->sender, "shop") && back.facts->receiver.ptr == NULL);
    CHECK(back.facts->type_unknown && !back.facts->sender_unknown);
    CHECK(back.facts->attribute_count == 2 && str_is(back.facts->attributes[0].value, "red"));
    CHECK(back.facts->attributes[1].value.ptr != NULL && back.facts->attributes[1].value.len == 0);
    for (size_t n = 0; n < head; n++) {
        rest = str_mem(b.ptr, n);
        CHECK(!frame_take_document(&rest, &a, &back) && rest.len == n);
    }
}

TEST(the_head_of_a_part_comes_back)
{
    AUTO(buf_done) struct buf b = BUF_INIT(1 << 20);
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct service_part p = { .receiver = STR("erp"),
                              .name = STR(""),
                              .attributes = two,
                              .attribute_count = 2,
                              .parts = 12 },
                        back;

    CHECK(frame_put_part(&b, &p) && frame_take_part(buf_view(&b), &a, &back));
    CHECK(back.sender.ptr == NULL && str_is(back.receiver, "erp") && back.name.ptr != NULL);
    CHECK(back.parts == 12 && back.attribute_count == 2);
    CHECK(str_is(back.attributes[0].name, "colour"));
    for (size_t n = 0; n < b.len; n++)
        CHECK(!frame_take_part(str_mem(b.ptr, n), &a, &back));
    buf_putc(&b, 0);
    CHECK(!frame_take_part(buf_view(&b), &a, &back));
}

TEST(a_head_has_a_limit)
{
    static char long_text[FRAME_HEAD_MOST];
    AUTO(buf_done) struct buf b = BUF_INIT(1 << 20);
    struct facts facts = { .sender = str_mem(long_text, sizeof long_text) };
    struct service_document d = { .facts = &facts };
    struct service_part p = { .name = str_mem(long_text, sizeof long_text) };

    CHECK(!frame_put_document(&b, &d) && !frame_put_part(&b, &p) && b.len == 0);
}

int main(void)
{
    return test_main();
}
