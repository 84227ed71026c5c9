#include "splitting.h"
#include "test.h"

TEST(split_gives_items_byte_for_byte)
{
    static const struct split_case cases[] = {
        { "split: { json: '' }", "[1,2,3]", "1|2|3" },
        { "split: { json: '' }", " [ 1.10 , -0e+5,123456789012345678901234567890 ]\n",
          "1.10|-0e+5|123456789012345678901234567890" },
        { "split: { json: '' }", "[{\"a\" : [1, {}]}, \"x,]\\\"y\", null,true , [ ] ]",
          "{\"a\" : [1, {}]}|\"x,]\\\"y\"|null|true|[ ]" },
        { "split: { json: '' }", "[]", "-" },
        { "split: { json: /orders }", "{\"n\":[9],\"orders\":[{\"id\":1},{\"id\":2}],\"m\":{}}",
          "{\"id\":1}|{\"id\":2}" },
        { "split: { json: /a/b }", "{\"b\":[0],\"a\":{\"x\":{\"b\":[7]},\"b\":[1,2]}}", "1|2" },
        { "split: { json: /a/1/c }", "{\"a\":[{\"c\":[0]},{\"c\":[\"q\"]},{\"c\":[0]}]}", "\"q\"" },
        { "split: { json: /0 }", "[[1,2],[3]]", "1|2" },
        { "split: { json: /a~1b~0 }", "{\"a/b~\":[1]}", "1" },
        { "split: { json: /\xc3\xa4 }", "{\"\\u00e4\":[1]}", "1" },
        { "split: { json: /a }", "{\"a\":[1],\"a\":[2]}", "1" }, /* the first counts */
        { "split: { json: /a }", "{\"b\":{\"a\":[0]},\"a\":[1]}", "1" },
        { "split: { json: '' }", "\xef\xbb\xbf[1,\"\xc3\xa4\"]", "1|\"\xc3\xa4\"" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK(split_is(&cases[i]));
}

TEST(split_refuses_what_is_not_json)
{
    static const struct split_case cases[] = {
        { "split: { json: '' }", "",
          "!split: this is not JSON: a value is expected, at byte 1, line 1" },
        { "split: { json: '' }", "[1,2",
          "!split: this is not JSON: a comma or `]` is expected, at byte 5" },
        { "split: { json: '' }", "[1,\n2,\n{]",
          "!split: this is not JSON: a name in quotes is expected, at "
          "byte 9, line 3" },
        { "split: { json: '' }", "[1] x",
          "!split: this is not JSON: something stands behind the end" },
        { "split: { json: '' }", "[\"\xe4\"]",
          "!split: this is not JSON: a text is not UTF-8, at byte 4" },
        { "split: { json: '' }", "[1,2,3,01]", "!split: this is not JSON: a comma or `]`" },
        { "split: { json: '' }", "[\"a\nb\"]", "!split: this is not JSON: a control character" },
        { "split: { json: '' }", "\xff\xfe[\0", "!split: this is UTF-16; put `charset: UTF-16`" },
        { "split: { json: /a }", "{\"b\":[1]}", "!split: at `/a` stands nothing" },
        { "split: { json: /a }", "{\"a\":{}}",
          "!split: at `/a` stands an object, not an array, at byte 6" },
        { "split: { json: /a }", "{\"a\":\"x\"}",
          "!split: at `/a` stands a single value, not an array, at byte 6" },
        { "split: { json: '' }", "17",
          "!split: at `` stands a single value, not an array, at byte 1" },
        { "split: { json: /a/b }", "{\"a\":[1]}", "!split: at `/a/b` stands nothing" },
        { "split: { json: /a/b }", "{\"a\":1}", "!split: at `/a/b` stands nothing" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK(split_is(&cases[i]));
}

/* Rule PR3: one document does not become millions.  Nothing of a refused one comes out. */
TEST(split_has_limits)
{
    AUTO(step_done) struct step s = step_of(&service_split, "split: { json: '' }");
    AUTO(step_done) struct step few = step_of(&service_split, "split: { json: '', most: 3 }");
    AUTO(buf_done) struct buf many = BUF_INIT(8 << 20), deep = BUF_INIT(1 << 20);

    CHECK(s.self != NULL && few.self != NULL);
    s.least = 4096;
    buf_puts(&many, "[\n");
    for (int i = 0; i < 1000000; i++)
        buf_puts(&many, i == 0 ? "1" : ",\n1");
    buf_puts(&many, "]");
    CHECK(step_fails(&s, buf_view(&many), DEAD_LIMIT,
                     "there are more than 100000 parts; `most` allows more, at byte 300003, line "
                     "100002"));
    CHECK(s.m.part_count == 0 && s.m.out.len == 0);
    CHECK(step_fails(&few, STR("[1,2,3,4]"), DEAD_LIMIT, "more than 3 parts"));
    CHECK(step_run(&few, STR("[1,2,3]")) && few.ok && few.m.part_count == 3);
    s.least = 1;
    for (int i = 0; i < 10000; i++)
        buf_putc(&deep, '[');
    CHECK(step_fails(&s, buf_view(&deep), DEAD_SERVICE_FAILED, "too deep in each other"));
}

/* An item is at most 64 MiB; a document may be larger, and takes no more memory. */
TEST(split_refuses_a_huge_item)
{
    AUTO(step_done) struct step s = step_of(&service_split, "split: { json: '' }");
    AUTO(buf_done) struct buf in = BUF_INIT((size_t)100 << 20);
    struct err err;

    CHECK(s.self != NULL);
    buf_puts(&in, "[1,\"");
    CHECK(buf_reserve(&in, (size_t)70 << 20, &err));
    memset(in.ptr + in.len, 'x', (size_t)70 << 20);
    buf_added(&in, (size_t)70 << 20);
    buf_puts(&in, "\"]");
    step_run_pieces(&s, buf_view(&in), 1 << 16);
    CHECK(!s.ok && s.failure.code == DEAD_LIMIT && s.m.part_count == 0);
    CHECK(strstr(s.failure.message, "a part is larger than 67108864 bytes, at byte 4, line 1") !=
          NULL);
}

/* ---- what is found in parts ---- */

static size_t asked;

/* The receiver is the part itself, if it is a text; else it is not found. */
static bool describe(struct service_io *io, struct str part, struct service_part *head,
                     struct service_failure *ret_failure)
{
    (void)io;
    asked++;
    if (part.ptr[0] != '"')
        return service_fail(ret_failure, DEAD_EXTRACT_FAILED, "no receiver in %.*s", STR_ARG(part));
    head->receiver = part;
    return true;
}

TEST(split_describes_parts)
{
    AUTO(step_done) struct step s = step_of(&service_split, "split: { json: /a }");

    CHECK(s.self != NULL);
    s.describe = describe;
    CHECK(step_run(&s, STR("{\"a\":[\"x\",17,\"y\"]}")) && s.ok && s.m.part_count == 3);
    CHECK(str_is(s.m.parts[0].head.receiver, "\"x\"") && s.m.parts[0].head.failure == NULL);
    CHECK(s.m.parts[1].head.receiver.ptr == NULL && s.m.parts[1].head.failure != NULL);
    CHECK(s.m.parts[1].head.failure->code == DEAD_EXTRACT_FAILED);
    CHECK(strcmp(s.m.parts[1].head.failure->message, "no receiver in 17") == 0);
    CHECK(str_is(s.m.parts[2].head.receiver, "\"y\""));
}

TEST(split_refuses_all_for_one_bad_part)
{
    AUTO(step_done) struct step s = step_of(&service_split, "split: { json: /a, bad: all }");

    CHECK(s.self != NULL);
    s.describe = describe;
    CHECK(step_fails(&s, STR("{\"a\":[\"x\",\n17,\"y\"]}"), DEAD_EXTRACT_FAILED,
                     "split: part 2: no receiver in 17, at byte 12, line 2"));
    CHECK(s.m.part_count == 0);
    asked = 0;
    step_run_pieces(&s, STR("{\"a\":[\"x\",\"y\"]}"), 0);
    CHECK(s.ok && s.m.part_count == 2 && asked == 4);
}

int main(void)
{
    return test_main();
}
