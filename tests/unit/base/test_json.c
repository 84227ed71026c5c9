#include "test.h"

#include <jansson.h>

#include "base/auto.h"
#include "base/json.h"

TEST(json_escape_each_kind_of_byte)
{
    static const struct {
        struct str in;
        const char *want;
    } cases[] = {
        { STR(""), "" },
        { STR("plain text, all of it ~"), "plain text, all of it ~" },
        { STR("a\"b\\c/d"), "a\\\"b\\\\c/d" },
        { STR("\b\f\n\r\t"), "\\b\\f\\n\\r\\t" },
        { STR("\0\x01\x1f\x7f"), "\\u0000\\u0001\\u001f\\u007f" },
        { STR("\xc3\xa9\xe2\x82\xac\xf0\x9f\x93\xa6"), "\xc3\xa9\xe2\x82\xac\xf0\x9f\x93\xa6" },
        { STR("a\xff"
              "b"),
          "a\\ufffdb" },
        { STR("\xc3"), "\\ufffd" },
        { STR("\xc3("), "\\ufffd(" },
        { STR("\xe2\x82"), "\\ufffd\\ufffd" },
        { STR("\xe2\x82x"), "\\ufffd\\ufffdx" },
        { STR("\xf0\x9f\x93\xc3\xa9"), "\\ufffd\\ufffd\\ufffd\xc3\xa9" },
        { STR("\xed\xa0\x80"), "\\ufffd\\ufffd\\ufffd" },
        { STR("\xc0\x80"), "\\ufffd\\ufffd" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO(buf_done) struct buf b = BUF_INIT(200);

        json_escape(&b, cases[i].in);
        CHECK(str_is(buf_view(&b), cases[i].want));
    }
}

TEST(json_puts_the_commas)
{
    AUTO(buf_done) struct buf b = BUF_INIT(1000);
    struct json_out j = { .to = &b };

    json_open(&j, '{');
    json_key(&j, "text");
    json_str(&j, STR("a\"b"));
    json_key(&j, "list");
    json_open(&j, '[');
    json_int(&j, INT64_MIN);
    json_int(&j, INT64_MAX);
    json_bool(&j, true);
    json_bool(&j, false);
    json_none(&j);
    json_z(&j, NULL);
    json_z(&j, "z");
    json_raw(&j, STR("1.10"));
    json_open(&j, '[');
    json_close(&j, ']');
    json_open(&j, '{');
    json_close(&j, '}');
    json_close(&j, ']');
    json_key(&j, "k\n");
    json_open(&j, '{');
    json_key(&j, "x");
    json_int(&j, 0);
    json_close(&j, '}');
    json_key(&j, "end");
    json_none(&j);
    json_close(&j, '}');
    CHECK(str_is(buf_view(&b), "{\"text\":\"a\\\"b\",\"list\":[-9223372036854775808,"
                               "9223372036854775807,true,false,null,null,\"z\",1.10,[],{}],"
                               "\"k\\n\":{\"x\":0},\"end\":null}"));
}

/* Whatever bytes come in, the outcome parses and is what went in, when that was
 * text. */
TEST(json_of_any_two_bytes_parses)
{
    for (unsigned n = 0; n < 0x10000; n++) {
        const char in[2] = { (char)(n >> 8), (char)n };
        struct str s = str_mem(in, sizeof in);
        AUTO(buf_done) struct buf b = BUF_INIT(100);
        struct json_out j = { .to = &b };

        json_str(&j, s);
        json_t *v = json_loadb(b.ptr, b.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);

        CHECK(v != NULL);
        bool same = str_eq(s, str_mem(json_string_value(v), json_string_length(v)));

        json_decref(v);
        CHECK(same == str_is_utf8(s));
    }
}

int main(void)
{
    return test_main();
}
