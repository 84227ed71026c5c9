#include "core/json_scan.h"

#include "test.h"

static bool check(const char *text, size_t piece)
{
    struct json_scan c = { 0 };
    struct str all = str_of(text);
    struct err err = { 0 };

    for (; all.len > 0; all = str_from(all, piece < all.len ? piece : all.len))
        if (!json_scan_check(&c, str_mem(all.ptr, piece < all.len ? piece : all.len), &err))
            return false;
    return json_scan_check_end(&c, &err);
}

TEST(json_scan_knows_json)
{
    static const char *const good[] = {
        "0",
        "-0",
        "1",
        "10",
        "-1.5e+10",
        "1E5",
        "0.1",
        "true",
        "false",
        "null",
        "\"\"",
        "[]",
        "{}",
        " [ ] ",
        "[1,2]",
        "[[],{}]",
        "{\"a\":1}",
        "{\"a\":[1,{\"b\":null}],\"c\":\"\\u00e4\\n\\\\\"}",
        "\"\xc3\xa4\xe2\x82\xac\"",
        "\"\xe0\xa0\x80\xed\x9f\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\"",
        "[1 , 2 ]",
        "\t\r\n1\n",
        "\"\\\"\"",
        "[true,false]",
    };
    static const char *const bad[] = {
        "",
        " ",
        "01",
        "1.",
        "-",
        "1e",
        "+1",
        "tru",
        "nulll",
        "[",
        "[1",
        "[1,]",
        "{",
        "{\"a\"}",
        "{a:1}",
        "{\"a\":}",
        "{\"a\":1,}",
        "]",
        "\"",
        "\"\\x\"",
        "\"\\u12g4\"",
        "\"\n\"",
        "1 2",
        "\"\xff\"",
        "\"\xc3\"",
        "[1}",
        "{\"a\":1]",
        "'a'",
        "{,}",
        "--1",
        "1.e5",
        "\"\xc3(\"",
        "\"\xe0\x80\x80\"",
        "\"\xed\xa0\x80\"",
        "\"\xf0\x80\x80\x80\"",
        "\"\xf4\x90\x80\x80\"",
    };

    for (size_t piece = 1; piece < 5; piece++) {
        for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
            if (!check(good[i], piece))
                printf("# %s\n", good[i]);
            CHECK(check(good[i], piece));
        }
        for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
            if (check(bad[i], piece))
                printf("# %s\n", bad[i]);
            CHECK(!check(bad[i], piece));
        }
    }
}

TEST(json_scan_has_a_depth)
{
    char text[JSON_SCAN_DEPTH * 2 + 3];

    memset(text, '[', JSON_SCAN_DEPTH);
    memset(text + JSON_SCAN_DEPTH, ']', JSON_SCAN_DEPTH);
    text[JSON_SCAN_DEPTH * 2] = '\0';
    CHECK(check(text, 100));
    memset(text, '[', JSON_SCAN_DEPTH + 1);
    memset(text + JSON_SCAN_DEPTH + 1, ']', JSON_SCAN_DEPTH + 1);
    text[JSON_SCAN_DEPTH * 2 + 2] = '\0';
    CHECK(!check(text, 100));
}

TEST(json_scan_tells_what_it_meets)
{
    static const struct {
        enum json_event event;
        const char *text;
    } want[] = {
        { JSON_OPEN, "" },  { JSON_KEY, "a\\u00e4" }, { JSON_OPEN, "" },  { JSON_SCALAR, "-1.5e3" },
        { JSON_TEXT, "x" }, { JSON_SCALAR, "null" },  { JSON_CLOSE, "" }, { JSON_KEY, "b" },
        { JSON_OPEN, "" },  { JSON_CLOSE, "" },       { JSON_CLOSE, "" }, { JSON_END, "" },
    };
    struct json_scan s = { 0 };

    json_scan_give(&s, STR("{\"a\\u00e4\":[-1.5e3,\"x\" ,null],\"b\":{}} "), true);
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        enum json_event got = json_scan_next(&s);

        CHECK(got == want[i].event);
        if (got == JSON_KEY || got == JSON_TEXT || got == JSON_SCALAR)
            CHECK(str_is(s.text, want[i].text));
        if (got == JSON_KEY)
            CHECK(s.escapes == (i == 1));
    }
    CHECK(json_scan_is_over(&s));
}

int main(void)
{
    return test_main();
}
