#include "base/http_target.h"

#include "base/auto.h"
#include "test.h"

TEST(paths_are_decoded_or_refused)
{
    static const struct {
        const char *raw, *want;
    } cases[] = {
        { "/", "/" },
        { "/in/gw", "/in/gw" },
        { "/in/a%20b%2Bc", "/in/a b+c" },
        { "/a+b", "/a+b" },
        { "/%c3%a4", "/\xc3\xa4" },
        { "/a..b/.c/...", "/a..b/.c/..." },
        { "/a%", NULL },
        { "/a%4", NULL },
        { "/a%4g", NULL },
        { "/a%00b", NULL },
        { "/a%0d%0a", NULL },
        { "/a%7f", NULL },
        { "/a%2fb", NULL },
        { "/a%5Cb", NULL },
        { "/../etc", NULL },
        { "/a/%2e%2e/b", NULL },
        { "/a/.", NULL },
        { "/%ff", NULL },
        { "/%c3", NULL },
        { "/%c0%af", NULL },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(buf_done) struct buf b = BUF_INIT(100);
        struct err err = { 0 };
        bool ok = http_decode_path(str_of(cases[i].raw), &b, &err);

        CHECK(ok == (cases[i].want != NULL));
        CHECK(!ok || str_is(buf_view(&b), cases[i].want));
        CHECK(ok || err.kind == ERR_PERMANENT);
    }
}

TEST(a_path_over_the_cap_is_a_limit)
{
    AUTO(buf_done) struct buf b = BUF_INIT(4);
    struct err err = { 0 };

    CHECK(!http_decode_path(STR("/abcd"), &b, &err));
    CHECK(err.kind == ERR_LIMIT);
}

TEST(query_values_are_found_and_decoded)
{
    static const struct {
        const char *query, *name, *want; /* want NULL: not there; "!": refused */
    } cases[] = {
        { "stage=2", "stage", "2" }, { "a=1&stage=2&stage=3", "stage", "2" },
        { "stage", "stage", "" },    { "stages=2", "stage", NULL },
        { "", "stage", NULL },       { "q=a+b%2Bc", "q", "a b+c" },
        { "q=%zz", "q", "!" },       { "q=%00", "q", "!" },
        { "q=%ff", "q", "!" },       { "q=a=b", "q", "a=b" },
        { "&&q=%2f..", "q", "/.." },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(buf_done) struct buf b = BUF_INIT(100);
        struct err err = { 0 };
        bool found = false;
        bool ok =
            http_decode_query(str_of(cases[i].query), str_of(cases[i].name), &b, &found, &err);
        const char *want = cases[i].want;

        CHECK(ok == (want == NULL || strcmp(want, "!") != 0));
        CHECK(!ok || found == (want != NULL));
        CHECK(!ok || !found || str_is(buf_view(&b), want));
    }
}

TEST(field_values_cannot_end_their_line)
{
    AUTO(buf_done) struct buf b = BUF_INIT(100);
    struct err err = { 0 };

    CHECK(http_put_field(&b, "Location", STR("/documents/1"), &err));
    CHECK(str_is(buf_view(&b), "Location: /documents/1\r\n"));
    CHECK(!http_put_field(&b, "X", STR("a\r\nSet-Cookie: b"), &err));
    CHECK(!http_put_field(&b, "X", str_mem("a\0b", 3), &err));
    CHECK(str_is(buf_view(&b), "Location: /documents/1\r\n"));
}

int main(void)
{
    return test_main();
}
