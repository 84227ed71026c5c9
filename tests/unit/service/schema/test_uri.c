#include "service/schema/uri.h"

#include "base/auto.h"
#include "test.h"

TEST(references_are_resolved_as_the_standard_says)
{
    static const struct {
        const char *base, *reference, *want;
    } cases[] = {
        { "", "", "" },
        { "", "#/a", "" },
        { "", "a.json", "a.json" },
        { "", "a.json#b", "a.json" },
        { "a.json", "#x", "a.json" },
        { "a/b.json", "c.json", "a/c.json" },
        { "urn:example:a", "#x", "urn:example:a" },
        { "urn:example:a", "urn:example:b", "urn:example:b" },
        { "http://x.example", "a", "http://x.example/a" },
        /* RFC 3986, 5.4 */
        { "http://a/b/c/d;p?q", "g", "http://a/b/c/g" },
        { "http://a/b/c/d;p?q", "./g", "http://a/b/c/g" },
        { "http://a/b/c/d;p?q", "g/", "http://a/b/c/g/" },
        { "http://a/b/c/d;p?q", "/g", "http://a/g" },
        { "http://a/b/c/d;p?q", "//g", "http://g" },
        { "http://a/b/c/d;p?q", "?y", "http://a/b/c/d;p?y" },
        { "http://a/b/c/d;p?q", "g?y", "http://a/b/c/g?y" },
        { "http://a/b/c/d;p?q", "#s", "http://a/b/c/d;p?q" },
        { "http://a/b/c/d;p?q", "", "http://a/b/c/d;p?q" },
        { "http://a/b/c/d;p?q", ".", "http://a/b/c/" },
        { "http://a/b/c/d;p?q", "..", "http://a/b/" },
        { "http://a/b/c/d;p?q", "../g", "http://a/b/g" },
        { "http://a/b/c/d;p?q", "../..", "http://a/" },
        { "http://a/b/c/d;p?q", "../../../g", "http://a/g" },
        { "http://a/b/c/d;p?q", "g;x=1/../y", "http://a/b/c/y" },
        { "http://a/b/c/d;p?q", "g:h", "g:h" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO(buf_done) struct buf to = BUF_INIT(200);
        struct err err;

        CHECK(uri_resolve(str_of(cases[i].base), str_of(cases[i].reference), &to, &err));
        if (!str_is(buf_view(&to), cases[i].want))
            printf("# %s %s: %s\n", cases[i].base, cases[i].reference, to.ptr);
        CHECK(str_is(buf_view(&to), cases[i].want));
    }
}

TEST(what_does_not_fit_is_an_error)
{
    AUTO(buf_done) struct buf to = BUF_INIT(8);
    struct err err;

    CHECK(!uri_resolve(STR("http://a/b"), STR("cdefgh"), &to, &err));
}

int main(void)
{
    return test_main();
}
