#include "core/facts.h"

#include "base/auto.h"
#include "test.h"

enum { ROOM = FACTS_BYTES_MOST, ARENA = 1 << 20 };

static struct fact some[] = {
    { STR("region"), STR("north") },
    { STR("po"), STR("4711") },
    { STR("note"), STR("") },
    { STR("bytes"), STR("a\0b") },
};

TEST(facts_attributes_are_found_by_name)
{
    const struct facts f = { .attributes = some, .attribute_count = 4 };

    CHECK(str_is(facts_attribute(&f, STR("po")), "4711"));
    CHECK(facts_attribute(&f, STR("note")).ptr != NULL &&
          facts_attribute(&f, STR("note")).len == 0);
    CHECK(facts_attribute(&f, STR("p")).ptr == NULL);
    CHECK(facts_attribute(&(struct facts){ 0 }, STR("po")).ptr == NULL);
}

TEST(facts_without_anything_to_keep_take_no_bytes)
{
    AUTO(buf_done) struct buf b = BUF_INIT(ROOM);
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    const struct facts f = { .sender = STR("acme"),
                             .receiver = STR("salsify"),
                             .type = STR("order") };
    struct facts back = f;

    facts_write(&f, &b);
    CHECK(b.len == 0);
    CHECK(facts_read(buf_view(&b), &a, &back));
    CHECK(str_is(back.sender, "acme") && !back.sender_unknown && back.attribute_count == 0);
}

TEST(facts_come_back_as_they_were)
{
    for (unsigned unknown = 0; unknown < 8; unknown++) {
        for (size_t n = 0; n <= 4; n++) {
            AUTO(buf_done) struct buf b = BUF_INIT(ROOM);
            AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
            const struct facts f = { .sender = STR("0012345678"),
                                     .receiver = STR("ZZ:ACME"),
                                     .type = STR(""),
                                     .sender_unknown = unknown & 1,
                                     .receiver_unknown = unknown & 2,
                                     .type_unknown = unknown & 4,
                                     .attributes = some,
                                     .attribute_count = n };
            struct facts back = { .sender = STR("word"),
                                  .receiver = STR("word"),
                                  .type = STR("word") };

            CHECK(facts_fit(&f));
            facts_write(&f, &b);
            CHECK((b.len == 0) == (unknown == 0 && n == 0));
            CHECK(facts_read(buf_view(&b), &a, &back));
            CHECK(back.sender_unknown == f.sender_unknown);
            CHECK(back.receiver_unknown == f.receiver_unknown);
            CHECK(back.type_unknown == f.type_unknown);
            CHECK(str_eq(back.sender, f.sender_unknown ? f.sender : STR("word")));
            CHECK(str_eq(back.receiver, f.receiver_unknown ? f.receiver : STR("word")));
            CHECK(str_eq(back.type, f.type_unknown ? f.type : STR("word")));
            CHECK(back.type.ptr != NULL);
            CHECK(back.attribute_count == n);
            for (size_t i = 0; i < n; i++)
                CHECK(str_eq(back.attributes[i].name, some[i].name) &&
                      str_eq(back.attributes[i].value, some[i].value));
        }
    }
}

TEST(facts_begin_again_as_they_began)
{
    AUTO(buf_done) struct buf b = BUF_INIT(ROOM);
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    struct facts f = {
        .sender = STR("acme"), .type = STR("envelope"), .attributes = some, .attribute_count = 2
    };
    struct facts back = { .sender = STR("acme"), .receiver = STR("hub") };

    facts_begin_again(&f);
    CHECK(str_is(f.type, "envelope") && f.attribute_count == 2);
    facts_keep_begin(&f);
    f.receiver = STR("hub");
    f.type = STR("inner");
    f.type_unknown = true;
    f.attribute_count = 4;
    f.batches = 300;
    facts_keep_begin(&f);
    CHECK(facts_fit(&f));
    facts_write(&f, &b);
    CHECK(facts_read(buf_view(&b), &a, &back));
    CHECK(str_is(back.type, "inner") && back.type_unknown && back.attribute_count == 4);
    CHECK(back.batches == 300);
    facts_begin_again(&back);
    CHECK(str_is(back.sender, "acme") && back.receiver.ptr == NULL);
    CHECK(str_is(back.type, "envelope") && !back.type_unknown && back.attribute_count == 2);
    CHECK(!back.begin.is);
    for (size_t cut = 1; cut < b.len; cut++)
        CHECK(!facts_read(str_first(buf_view(&b), cut), &a, &back));
}

TEST(facts_have_the_number_of_forefathers)
{
    AUTO(buf_done) struct buf b = BUF_INIT(ROOM);
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    const struct facts f = { .generation = 15, .batches = 1 };
    struct facts back = { .generation = 7 }, none = { .generation = 7 };

    CHECK(facts_read(STR(""), &a, &none) && none.generation == 7);
    facts_write(&f, &b);
    CHECK(facts_read(buf_view(&b), &a, &back) && back.generation == 15 && back.batches == 1);
    b.len = 0;
    facts_write(&(struct facts){ .batches = 1 }, &b);
    CHECK(facts_read(buf_view(&b), &a, &back) && back.generation == 0);
}

TEST(facts_may_be_nothing_but_a_number_of_batches)
{
    AUTO(buf_done) struct buf b = BUF_INIT(ROOM);
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    const struct facts f = { .batches = 2 };
    struct facts back = { .batches = 7 };

    facts_write(&(struct facts){ 0 }, &b);
    CHECK(b.len == 0);
    facts_write(&f, &b);
    CHECK(facts_read(buf_view(&b), &a, &back) && back.batches == 2 && back.attribute_count == 0);
}

TEST(facts_that_are_unknown_and_missing_come_back_empty)
{
    AUTO(buf_done) struct buf b = BUF_INIT(ROOM);
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    const struct facts f = { .sender_unknown = true };
    struct facts back = { 0 };

    facts_write(&f, &b);
    CHECK(facts_read(buf_view(&b), &a, &back) && back.sender_unknown && back.sender.len == 0);
}

TEST(facts_over_the_limits_are_told_and_bounded)
{
    char text[FACTS_VALUE_MOST + 4];
    struct fact many[FACTS_ATTRIBUTES_MOST + 1];
    struct facts f = { .attributes = many };

    memset(text, 'x', sizeof text);
    for (size_t i = 0; i <= FACTS_ATTRIBUTES_MOST; i++)
        many[i] = (struct fact){ STR("name"), str_mem(text, FACTS_VALUE_MOST) };

    static const struct {
        size_t count, value;
        bool fits;
    } cases[] = {
        { 15, FACTS_VALUE_MOST, true },
        { 16, FACTS_VALUE_MOST, false },     /* all of them: too many bytes */
        { 1, FACTS_VALUE_MOST + 1, false },  /* one value too long */
        { FACTS_ATTRIBUTES_MOST, 10, true }, /* many short ones */
        { FACTS_ATTRIBUTES_MOST + 1, 10, false },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(buf_done) struct buf b = BUF_INIT(ROOM);
        AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
        struct facts back = { 0 };

        for (size_t k = 0; k <= FACTS_ATTRIBUTES_MOST; k++)
            many[k].value.len = cases[i].value;
        f.attribute_count = cases[i].count;
        CHECK(facts_fit(&f) == cases[i].fits);
        facts_write(&f, &b);
        CHECK(b.len <= FACTS_BYTES_MOST);
        CHECK(facts_read(buf_view(&b), &a, &back));
        CHECK((back.attribute_count == f.attribute_count) == cases[i].fits);
    }
}

TEST(facts_names_too_long_are_cut_at_a_character)
{
    char text[FACTS_VALUE_MOST + 4];
    AUTO(buf_done) struct buf b = BUF_INIT(ROOM);
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    struct facts back = { 0 };

    memset(text, 'x', sizeof text);
    memcpy(text + FACTS_VALUE_MOST - 1, "\xe2\x82\xac", 3);
    const struct facts f = { .sender = str_mem(text, sizeof text), .sender_unknown = true };

    CHECK(!facts_fit(&f));
    facts_write(&f, &b);
    CHECK(facts_read(buf_view(&b), &a, &back));
    CHECK(back.sender.len == FACTS_VALUE_MOST - 1 && str_is_utf8(back.sender));
}

TEST(facts_cut_anywhere_are_refused_and_change_nothing)
{
    AUTO(buf_done) struct buf b = BUF_INIT(ROOM);
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    const struct facts f = {
        .sender = STR("nobody"), .sender_unknown = true, .attributes = some, .attribute_count = 4
    };

    facts_write(&f, &b);
    for (size_t n = 1; n < b.len; n++) {
        AUTO(buf_done) struct buf copy = BUF_INIT(ROOM);
        struct facts back = { .sender = STR("word") };

        buf_put(&copy, str_mem(b.ptr, n));
        CHECK(!facts_read(buf_view(&copy), &a, &back));
        CHECK(str_is(back.sender, "word") && !back.sender_unknown && back.attributes == NULL);
    }
    buf_putc(&b, 'x');
    struct facts back = { 0 };

    CHECK(!facts_read(buf_view(&b), &a, &back)); /* something behind it */
}

TEST(facts_of_others_are_refused)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    static char large[FACTS_BYTES_MOST + 1] = { 1 };
    struct facts back = { 0 };

    CHECK(!facts_read(STR("\x02\x00\x00"), &a, &back)); /* a later format */
    CHECK(!facts_read(STR("\x01\x08\x00"), &a, &back)); /* an unknown kind of name */
    CHECK(!facts_read(STR("\x01\x00\x41"), &a, &back)); /* 65 attributes */
    CHECK(!facts_read(STR("\x01"), &a, &back));
    CHECK(!facts_read(str_mem(large, sizeof large), &a, &back));
    CHECK(facts_read(STR("\x01\x00\x00"), &a, &back) && back.attribute_count == 0);
}

TEST(partial_facts_are_marked)
{
    AUTO(buf_done) struct buf b = BUF_INIT(ROOM);
    AUTO(buf_done) struct buf whole = BUF_INIT(ROOM);
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    struct facts back = { .sender = STR("acme") };

    facts_write(&(struct facts){ .sender = STR("acme"), .partial = true }, &b);
    CHECK(b.len > 0 && facts_are_partial(buf_view(&b)));
    CHECK(facts_read(buf_view(&b), &a, &back) && back.partial && str_is(back.sender, "acme"));
    facts_write(&(struct facts){ .attributes = some, .attribute_count = 2 }, &whole);
    CHECK(!facts_are_partial(buf_view(&whole)) && !facts_are_partial(STR("")));
    CHECK(facts_read(buf_view(&whole), &a, &back) && !back.partial);
}

int main(void)
{
    return test_main();
}
