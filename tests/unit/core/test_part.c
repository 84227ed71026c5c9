#include "core/part.h"

#include "base/auto.h"
#include "test.h"

enum { ARENA = 1 << 20 };

static struct fact of_parent[] = { { STR("region"), STR("north") },
                                   { STR("part"), STR("7") },
                                   { STR("parts"), STR("9") },
                                   { STR("po"), STR("4711") } };
static struct fact of_head[] = { { STR("po"), STR("4712") }, { STR("parts"), STR("1000000") } };

TEST(part_has_from_its_parent_what_it_does_not_say)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    struct facts parent = { .sender = STR("acme"),
                            .receiver = STR("ZZ"),
                            .type = STR("envelope"),
                            .sender_unknown = true,
                            .receiver_unknown = true,
                            .partial = true,
                            .batches = 2,
                            .attributes = of_parent,
                            .attribute_count = 4 };
    struct service_part head = { .receiver = STR("hub"),
                                 .attributes = of_head,
                                 .attribute_count = 2 };

    facts_keep_begin(&parent);
    struct facts f = part_facts(&a, &parent, &head, 3, 10);

    CHECK(str_is(f.sender, "acme") && f.sender_unknown);
    CHECK(str_is(f.receiver, "hub") && !f.receiver_unknown);
    CHECK(str_is(f.type, "envelope") && !f.type_unknown);
    CHECK(!f.begin.is && !f.partial && f.batches == 2 && f.generation == 1);
    CHECK(f.attribute_count == 4);
    CHECK(str_is(facts_attribute(&f, STR("part")), "3"));
    CHECK(str_is(facts_attribute(&f, STR("parts")), "10")); /* not what the bytes say */
    CHECK(str_is(facts_attribute(&f, STR("po")), "4712"));
    CHECK(str_is(facts_attribute(&f, STR("region")), "north"));
    CHECK(part_facts(&a, &f, &head, 1, 1).generation == 2);
}

/* How the parent came to be is nothing that a part or a copy has: an answer is read by the rule of
 * its endpoint, and what is made of it is not. */
TEST(nothing_is_made_of_how_the_parent_came_to_be)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    static struct fact all[] = { { STR("po"), STR("1") },
                                 { STR("answer from"), STR("hub-api") },
                                 { STR("region"), STR("north") } };
    struct facts parent = { .attributes = all, .attribute_count = 3 };
    struct fact own = { STR("answer from"), STR("orders:1") };
    struct facts part = part_facts(&a, &parent, &(struct service_part){ 0 }, 1, 1);
    struct facts copy = part_copy_facts(&a, &parent, STR("hub"));
    struct facts answer = answer_facts(&a, &parent, STR("hub"), STR("reply"), own);

    CHECK(facts_attribute(&part, STR("answer from")).ptr == NULL && part.attribute_count == 4);
    CHECK(facts_attribute(&copy, STR("answer from")).ptr == NULL && copy.attribute_count == 2);
    CHECK(str_is(facts_attribute(&copy, STR("region")), "north"));
    CHECK(str_is(facts_attribute(&answer, STR("answer from")), "orders:1"));
    CHECK(answer.attribute_count == 3);
}

TEST(a_copy_is_its_original_for_another_receiver)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    struct facts original = { .sender = STR("acme"),
                              .receiver = STR("ZZ"),
                              .type = STR("article"),
                              .receiver_unknown = true,
                              .type_unknown = true,
                              .partial = true,
                              .generation = 3,
                              .batches = 2,
                              .attributes = of_parent,
                              .attribute_count = 4 };

    facts_keep_begin(&original);
    struct facts f = part_copy_facts(&a, &original, STR("hub"));

    CHECK(str_is(f.sender, "acme") && str_is(f.type, "article") && f.type_unknown);
    CHECK(str_is(f.receiver, "hub") && !f.receiver_unknown);
    CHECK(!f.begin.is && !f.partial && f.batches == 2 && f.generation == 4);
    CHECK(f.attribute_count == 4 && str_is(facts_attribute(&f, STR("part")), "7"));
}

TEST(part_of_how_many_may_not_be_known_yet)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    struct facts parent = { .attributes = of_parent, .attribute_count = 4 };
    struct facts f = part_facts(&a, &parent, &(struct service_part){ 0 }, 1, 0);

    CHECK(str_is(facts_attribute(&f, STR("part")), "1"));
    CHECK(facts_attribute(&f, STR("parts")).ptr == NULL);
    CHECK(f.attribute_count == 3 && f.sender.ptr == NULL);
}

/* With as many attributes as there may be, it still has its number. */
TEST(part_number_is_never_left_out)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    AUTO(buf_done) struct buf b = BUF_INIT(FACTS_BYTES_MOST);
    struct fact many[FACTS_ATTRIBUTES_MOST + 8];
    struct facts parent = { .attributes = many, .attribute_count = FACTS_ATTRIBUTES_MOST };
    struct facts back = { 0 };

    for (size_t i = 0; i < sizeof many / sizeof many[0]; i++)
        many[i] = (struct fact){ str_of(arena_printf(&a, "name%zu", i)), STR("v") };
    struct facts f = part_facts(
        &a, &parent,
        &(struct service_part){ .attributes = many + FACTS_ATTRIBUTES_MOST, .attribute_count = 8 },
        100000, 100000);

    CHECK(f.attribute_count == FACTS_ATTRIBUTES_MOST && facts_fit(&f));
    facts_write(&f, &b);
    CHECK(facts_read(buf_view(&b), &a, &back) && back.generation == 1);
    CHECK(str_is(facts_attribute(&back, STR("part")), "100000"));
    CHECK(str_is(facts_attribute(&back, STR("name70")), "v"));
}

TEST(answer_goes_back_to_who_sent_first)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    struct facts order = { .sender = STR("acme"),
                           .receiver = STR("hub"),
                           .type = STR("order"),
                           .batches = 1,
                           .generation = 3,
                           .attributes = of_parent,
                           .attribute_count = 4 };
    struct fact own = { STR("po"), STR("4712") };

    facts_keep_begin(&order);
    order.sender = STR("broker"); /* by a step */
    struct facts f = answer_facts(&a, &order, STR("hub"), STR("reply"), own);

    CHECK(str_is(f.sender, "hub") && str_is(f.receiver, "acme") && str_is(f.type, "reply"));
    CHECK(f.generation == 4 && f.batches == 1 && !f.begin.is && !f.partial);
    CHECK(str_is(facts_attribute(&f, STR("po")), "4712"));
    CHECK(str_is(facts_attribute(&f, STR("region")), "north"));
    CHECK(facts_attribute(&f, STR("part")).ptr == NULL && f.attribute_count == 2);
    order = (struct facts){ 0 };
    f = answer_facts(&a, &order, (struct str){ 0 }, (struct str){ 0 }, own);
    CHECK(f.sender.ptr == NULL && f.receiver.ptr == NULL && f.type.ptr == NULL);
}

int main(void)
{
    return test_main();
}
