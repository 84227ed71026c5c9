#include "service/schema/json_tree.h"

#include "base/auto.h"
#include "core/json_scan.h"
#include "service/schema/json_equal.h"
#include "test.h"

static bool reads(struct json_tree *t, const char *text)
{
    struct err err;

    return json_tree_read(str_of(text), t, &err);
}

TEST(values_names_and_texts_are_found)
{
    AUTO(json_tree_done) struct json_tree t = { 0 };

    CHECK(reads(&t, "{ \"b\": [1.10, \"x\\n\\u00e4\\ud83d\\ude00\"], \"a\\/\": null, \"\": {} }"));
    CHECK(t.count == 6 && t.nodes[0].kind == TREE_OBJECT && t.nodes[0].count == 3);
    uint32_t list = json_tree_member(&t, 0, STR("b")), first = json_tree_first(&t, list);

    CHECK(list == 1 && t.nodes[list].kind == TREE_LIST && t.nodes[list].count == 2);
    CHECK(str_is(json_tree_text(&t, first), "1.10"));
    CHECK(str_is(json_tree_text(&t, t.nodes[first].next), "x\n\xc3\xa4\xf0\x9f\x98\x80"));
    CHECK(t.nodes[json_tree_member(&t, 0, STR("a/"))].kind == TREE_NULL);
    CHECK(t.nodes[json_tree_member(&t, 0, STR(""))].kind == TREE_OBJECT);
    CHECK(json_tree_first(&t, json_tree_member(&t, 0, STR(""))) == JSON_TREE_NONE);
    CHECK(json_tree_member(&t, 0, STR("c")) == JSON_TREE_NONE);
    CHECK(json_tree_member(&t, list, STR("b")) == JSON_TREE_NONE);
    uint32_t name = json_tree_name_node(&t, list);

    CHECK(t.nodes[name].kind == TREE_TEXT && str_is(json_tree_text(&t, name), "b"));
}

TEST(places_are_pointers_and_lines)
{
    static const char text[] = "{\"a~b/c\": [0,\n {\"d\": [\n1, 2]}],\n \"\\u0001\": 3}";
    AUTO(json_tree_done) struct json_tree t = { 0 };
    AUTO(buf_done) struct buf b = BUF_INIT(1000);

    CHECK(reads(&t, text));
    for (uint32_t i = 0; i < t.count; i++) {
        json_tree_pointer(&t, i, 100, &b);
        buf_printf(&b, ":%zu ", json_tree_line(&t, i));
    }
    CHECK(str_is(buf_view(&b), ":1 /a~0b~1c:1 /a~0b~1c/0:1 /a~0b~1c/1:2 /a~0b~1c/1/d:2 "
                               "/a~0b~1c/1/d/0:3 /a~0b~1c/1/d/1:3 / :4 "));
    buf_clear(&b);
    json_tree_pointer(&t, 5, 6, &b);
    CHECK(str_is(buf_view(&b), ".../1/d/0"));
}

TEST(what_is_not_json_is_refused_with_its_place)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        { "", "line 1: not JSON: a value is expected, at byte 0" },
        { "{\"a\":1,\n\"a\":2}", "line 2: not JSON: a name stands twice in an object, at byte 12" },
        { "{\"a\":1,\"\\u0061\":2}", "a name stands twice" },
        { "[\"\\ud800\"]", "half of a surrogate pair" },
        { "{\"\\udc00\":1}", "half of a surrogate pair" },
        { "[1,\n2", "line 2: not JSON: " },
        { "[1] 2", "something stands behind the end" },
        { "\xef\xbb\xbf[1]", "a value is expected" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO(json_tree_done) struct json_tree t = { 0 };
        struct err err = { 0 };

        CHECK(!json_tree_read(str_of(cases[i].text), &t, &err) && err.kind == ERR_PERMANENT);
        if (strstr(err.text, cases[i].why) == NULL)
            printf("# %s\n", err.text);
        CHECK(strstr(err.text, cases[i].why) != NULL);
    }
}

TEST(depth_and_number_of_values_are_limited)
{
    AUTO(buf_done) struct buf deep = BUF_INIT(1 << 20), many = BUF_INIT((size_t)8 << 20);
    AUTO(json_tree_done) struct json_tree t = { 0 };
    struct err err = { 0 };

    for (int i = 0; i < JSON_SCAN_DEPTH; i++)
        buf_puts(&deep, "[");
    for (int i = 0; i < JSON_SCAN_DEPTH; i++)
        buf_puts(&deep, "]");
    CHECK(json_tree_read(buf_view(&deep), &t, &err) && t.count == JSON_SCAN_DEPTH);
    CHECK(json_equal_prepare(&t, &err));
    int64_t work = 0;

    CHECK(json_tree_equal(&t, 0, &t, 0, &work) && work == JSON_SCAN_DEPTH);
    json_tree_done(&t);
    buf_puts(&many, "[0");
    for (int i = 0; i < JSON_TREE_VALUES; i++)
        buf_puts(&many, ",0");
    buf_puts(&many, "]");
    CHECK(!json_tree_read(buf_view(&many), &t, &err) && err.kind == ERR_LIMIT);
}

TEST(equal_is_by_value)
{
    static const struct {
        const char *a, *b;
        bool equal;
    } cases[] = {
        { "1", "1.0", true },
        { "1", "true", false },
        { "0", "false", false },
        { "\"1\"", "1", false },
        { "\"a\"", "\"\\u0061\"", true },
        { "null", "false", false },
        { "[]", "{}", false },
        { "[1,2]", "[2,1]", false },
        { "[1,[2,{}],3]", "[1.0,[2e0,{}],3]", true },
        { "[1,[2,{}],3]", "[1,[2,{}],4]", false },
        { "{\"a\":1,\"b\":[2]}", "{\"b\":[2.0],\"a\":1}", true },
        { "{\"a\":1,\"b\":2}", "{\"a\":2,\"b\":1}", false },
        { "{\"a\":1}", "{\"a\":1,\"b\":2}", false },
        { "{\"a\":{\"x\":[{\"y\":1}]},\"b\":0}", "{\"b\":-0,\"a\":{\"x\":[{\"y\":1}]}}", true },
        { "123456789012345678901234567890", "123456789012345678901234567891", false },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO(json_tree_done) struct json_tree a = { 0 }, b = { 0 };
        struct err err;
        int64_t work = 0;

        CHECK(reads(&a, cases[i].a) && reads(&b, cases[i].b));
        CHECK(json_equal_prepare(&a, &err) && json_equal_prepare(&b, &err));
        CHECK(json_tree_equal(&a, 0, &b, 0, &work) == cases[i].equal);
        CHECK(json_tree_equal(&b, 0, &a, 0, &work) == cases[i].equal);
    }
}

int main(void)
{
    return test_main();
}
