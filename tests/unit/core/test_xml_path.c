#include "core/xml_path.h"

#include "test.h"

/* The path as it was understood: every part of it, in the order of the steps. */
static const char *shown(const struct xml_path *p, char out[static 400])
{
    size_t n = 0;

    out[0] = '\0';
    for (size_t i = 0; i < p->count; i++) {
        const struct xml_step *s = &p->steps[i];

        n += (size_t)snprintf(out + n, 400 - n, "%s%.*s", s->deep ? "//" : "/",
                              s->name.len > 0 ? (int)s->name.len : 1,
                              s->name.len > 0 ? s->name.ptr : "*");
        for (size_t t = 0; t <= s->test_count; t++) {
            if (s->nth > 0 && s->before == t)
                n += (size_t)snprintf(out + n, 400 - n, "[%u]", s->nth);
            if (t == s->test_count)
                break;
            n += (size_t)snprintf(out + n, 400 - n, "[%.*s", STR_ARG(s->tests[t].name));
            if (!s->tests[t].any)
                n += (size_t)snprintf(out + n, 400 - n, "=%.*s", STR_ARG(s->tests[t].value));
            n += (size_t)snprintf(out + n, 400 - n, "]");
        }
    }
    if (p->end == XML_END_TEXT)
        (void)snprintf(out + n, 400 - n, "/text");
    if (p->end == XML_END_ATTRIBUTE)
        (void)snprintf(out + n, 400 - n, "%s@%.*s", p->attribute_deep ? "//" : "/",
                       STR_ARG(p->attribute));
    return out;
}

TEST(xml_path_reads)
{
    static const struct {
        const char *text;
        bool relative;
        const char *want;
    } cases[] = {
        { "/Order", false, "/Order" },
        { "/Order/ShipTo/@id", false, "/Order/ShipTo/@id" },
        { "//Order", false, "//Order" },
        { "/a//b/text()", false, "/a//b/text" },
        { "/a//@id", false, "/a//@id" },
        { "//@id", false, "//@id" },
        { "/*/a", false, "/*/a" },
        { "/s:Envelope/s:Body", false, "/s:Envelope/s:Body" },
        { "/a[2]/b", false, "/a[2]/b" },
        { "/a[@t='po / no']/b", false, "/a[t=po / no]/b" },
        { "/a[@t=\"it's\"]", false, "/a[t=it's]" },
        { "/a[@t='']", false, "/a[t=]" },
        { "/a[@t]", false, "/a[t]" },
        { "/a[@x='1'][3][@y]", false, "/a[x=1][3][y]" },
        { "/a[3][@y]", false, "/a[3][y]" },
        { "/*[2]", false, "/*[2]" },
        { "/a/@xml:lang", false, "/a/@xml:lang" },
        { "/Gr\xc3\xb6\xc3\x9f"
          "e",
          false,
          "/Gr\xc3\xb6\xc3\x9f"
          "e" },
        { "/_a/b-c.d", false, "/_a/b-c.d" },
        { "@to", true, "/*/@to" },
        { "text()", true, "/*/text" },
        { "Head/Id", true, "/*/Head/Id" },
        { "/Doc/@to", true, "/Doc/@to" },
        { "//Id", true, "//Id" },
    };
    static struct xml_path path;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err err = { 0 };
        char out[400];
        bool ok = xml_path_parse(str_of(cases[i].text), cases[i].relative, &path, &err);

        if (!ok || strcmp(shown(&path, out), cases[i].want) != 0)
            printf("# %s: %s %s\n", cases[i].text, err.text, ok ? out : "");
        CHECK(ok && strcmp(out, cases[i].want) == 0);
    }
}

TEST(xml_path_says_what_is_wrong)
{
    static const struct {
        const char *text;
        bool relative;
        const char *want;
    } cases[] = {
        { "", false, "something is expected" },
        { "Order", false, "a path starts with `/`" },
        { "@to", false, "a path starts with `/`" },
        { "/", false, "a step of the path is empty" },
        { "//", false, "a step of the path is empty" },
        { "/a/", false, "a step of the path is empty" },
        { "/a///b", false, "a step of the path is empty" },
        { "/@a", false, "an attribute stands after an element" },
        { "/text()", false, "text() stands after an element" },
        { "//text()", false, "text() stands after an element" },
        { "/a//text()", false, "text() stands after an element" },
        { "/a/@", false, "a step of the path is empty" },
        { "/a/@b/c", false, "an attribute is the last step" },
        { "/a/text()/b", false, "text() is the last step" },
        { "/a b", false, "no blanks" },
        { "/a [1]", false, "no blanks" },
        { "/a[0]", false, "a number from 1 on" },
        { "/a[]", false, "a number from 1 on" },
        { "/a[last()]", false, "a number from 1 on" },
        { "/a[1", false, "a `]` is expected" },
        { "/a[12345678]", false, "a `]` is expected" },
        { "/a[1][2]", false, "one number at most" },
        { "/a[@b=c]", false, "a value stands in quotes" },
        { "/a[@b='c]", false, "a value stands in quotes" },
        { "/a[@b=", false, "a value stands in quotes" },
        { "/a[@a][@b][@c][@d][@e]", false, "at most 4 tests" },
        { "/a[@b='c'", false, "a `]` is expected" },
        { "/a]b", false, "a `/` is expected" },
        { "/a[1]b", false, "a `/` is expected" },
        { "/a=b", false, "a `/` is expected" },
        { "/../a", false, "goes down only" },
        { "/./a", false, "goes down only" },
        { "/1a", false, "starts with a letter" },
        { "/a:b:c", false, "prefix:name" },
        { "/:b", false, "prefix:name" },
        { "/a:", false, "prefix:name" },
        { "/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t/u/v/w/x/y/z/a/b/c/d/e/f/g", false,
          "at most 32 steps" },
    };
    static struct xml_path path;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err err = { 0 };
        bool ok = xml_path_parse(str_of(cases[i].text), cases[i].relative, &path, &err);

        if (ok || strstr(err.text, cases[i].want) == NULL)
            printf("# %s: %s\n", cases[i].text, err.text);
        CHECK(!ok && err.kind == ERR_CONFIG && strstr(err.text, cases[i].want) != NULL);
    }
}

TEST(xml_name_by_local_name_or_as_written)
{
    CHECK(xml_name_is(STR("a"), STR("a")) && xml_name_is(STR("p:a"), STR("a")));
    CHECK(xml_name_is(STR("p:a"), STR("p:a")) && xml_name_is(STR("p:a"), STR("")));
    CHECK(!xml_name_is(STR("a"), STR("p:a")) && !xml_name_is(STR("q:a"), STR("p:a")));
    CHECK(!xml_name_is(STR("xp:a"), STR("p:a")) && !xml_name_is(STR("ba"), STR("a")));
    CHECK(!xml_name_is(STR("b"), STR("a")) && !xml_name_is(STR("p:"), STR("p")));
}

int main(void)
{
    return test_main();
}
