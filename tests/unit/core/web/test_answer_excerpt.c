#include "core/web/answer_excerpt.h"

#include "base/auto.h"
#include "test.h"

TEST(excerpt_is_what_a_person_reads)
{
    static const struct {
        const char *what;
        struct str body;
        const char *want;
    } cases[] = {
        { "nothing", STR(""), "" },
        { "blanks", STR(" \r\n\t "), "" },
        { "text", STR("  no such order\r\n 4711 \n"), "no such order 4711" },
        { "JSON", STR("{\"error\": \"a < b\"}"), "{\"error\": \"a < b\"}" },
        { "a page",
          STR("<!DOCTYPE html><html><head><title>x</title><style>p { a: b }</style></head>"
              "<body><!-- <b>no</b> --><h1>Bad  Gateway</h1><p>try&nbsp;later &amp; again</p>"
              "<SCRIPT>alert(1)</script ></body></html>"),
          "Bad Gateway try&nbsp;later & again" },
        { "a fault", STR("<f:Fault><faultstring>&lt;PO&gt; &quot;7&quot;</faultstring></f:Fault>"),
          "<PO> \"7\"" },
        { "only tags", STR("<error code=\"5\"/>"), "<error code=\"5\"/>" },
        { "a tag without end", STR("<error code=5"), "<error code=5" },
        { "a comment without end", STR("<!-- <b>x</b>"), "<!-- <b>x</b>" },
        { "a header is no head", STR("<header>x</header>"), "x" },
        { "an ampersand at the end", STR("<p>a &amp"), "a &amp" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(buf_done) struct buf b = BUF_INIT(400);

        answer_excerpt(cases[i].body, &b);
        CHECK(str_is(buf_view(&b), cases[i].want));
    }
}

TEST(excerpt_is_cut_at_a_character)
{
    struct str body = STR("1234567\xe2\x82\xac");

    for (size_t room = 0; room <= body.len; room++) {
        AUTO(buf_done) struct buf b = BUF_INIT(room);

        answer_excerpt(body, &b);
        CHECK(b.len == (room < body.len && room > 7 ? 7u : room) && str_is_utf8(buf_view(&b)));
    }
}

int main(void)
{
    return test_main();
}
