/* What is put into an XML document means there what it meant before. */
#include "core/format/graft.h"

#include "base/auto.h"
#include "test.h"

struct graft_case {
    const char *document, *into, *value;
    const char *want; /* with `fails`: words of the message */
    bool fails;
};

static bool grafts(const struct graft_case *c)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 16);
    AUTO(buf_done) struct buf out = BUF_INIT(1 << 16);
    struct record_text value;
    struct graft_path path;
    struct err err = { 0 };
    bool ok = graft_path_read(str_of(c->into), &a, &path, &err) &&
              record_text_read(str_of(c->value), &value, &err) &&
              graft(str_of(c->document), &path, &value, &out, &err);

    if (c->fails)
        return !ok && err.kind == ERR_PERMANENT && strstr(err.text, c->want) != NULL;
    if (!ok || !str_is(buf_view(&out), c->want))
        (void)fprintf(stderr, "# %s%.*s\n", err.text, STR_ARG(buf_view(&out)));
    return ok && str_is(buf_view(&out), c->want);
}

static void check_all(const struct graft_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++)
        CHECK(grafts(&cases[i]));
}

#define CHECK_ALL(cases) check_all(cases, sizeof(cases) / sizeof(cases)[0])

TEST(an_element_goes_in_as_it_is)
{
    static const struct graft_case cases[] = {
        { "<o><b/></o>", "/o/b", "<c id='1'>x</c>", "<o><b><c id='1'>x</c></b></o>", false },
        { "<o><n/></o>", "/o/b", "<c/>", "<o><n/><b><c/></b></o>", false },
        { "<o/>", "/o/b", "<c>x</c>", "<o><b><c>x</c></b></o>", false },
        { "<o><b>old</b></o>", "/o/b", "{\"n\":1}", "<o><b><n>1</n></b></o>", false },
    };

    CHECK_ALL(cases);
}

/* Without a prefix it was in no namespace, and stays so. */
TEST(a_default_namespace_of_the_document_does_not_take_it_in)
{
    static const struct graft_case cases[] = {
        { "<o xmlns='urn:o'/>", "/o/b", "<c>x</c>",
          "<o xmlns='urn:o'><b><c xmlns=\"\">x</c></b></o>", false },
        { "<o xmlns='urn:o'/>", "/o/b", "<c/>", "<o xmlns='urn:o'><b><c xmlns=\"\"/></b></o>",
          false },
        { "<o><b xmlns='urn:o'>x</b></o>", "/o/b", "<c a='1'/>",
          "<o><b xmlns='urn:o'><c xmlns=\"\" a='1'/></b></o>", false },
        { "<o xmlns='urn:o'><b xmlns=''/></o>", "/o/b", "<c/>",
          "<o xmlns='urn:o'><b xmlns=''><c/></b></o>", false },
        { "<o><n xmlns='urn:n'/></o>", "/o/b", "<c/>", "<o><n xmlns='urn:n'/><b><c/></b></o>",
          false },
        { "<p:o xmlns:p='urn:o'/>", "/o/b", "<c/>", "<p:o xmlns:p='urn:o'><b><c/></b></p:o>",
          false },
        /* what stands in an element with a prefix may have none */
        { "<o xmlns='urn:o'/>", "/o/b", "<p:c xmlns:p='urn:c'><d/></p:c>",
          "<o xmlns='urn:o'><b><p:c xmlns=\"\" xmlns:p='urn:c'><d/></p:c></b></o>", false },
        /* what is made of JSON had no namespace before */
        { "<o xmlns='urn:o'/>", "/o/b", "{\"n\":1}", "<o xmlns='urn:o'><b><n>1</n></b></o>",
          false },
    };

    CHECK_ALL(cases);
}

TEST(declarations_of_its_own_stay)
{
    static const struct graft_case cases[] = {
        { "<o xmlns='urn:o'/>", "/o/b", "<c xmlns='urn:c'><d/></c>",
          "<o xmlns='urn:o'><b><c xmlns='urn:c'><d/></c></b></o>", false },
        { "<o xmlns='urn:o'/>", "/o/b", "<c xmlns=''/>",
          "<o xmlns='urn:o'><b><c xmlns=''/></b></o>", false },
        { "<p:o xmlns:p='urn:o'/>", "/p:o/b", "<p:c xmlns:p='urn:c' p:a='1'/>",
          "<p:o xmlns:p='urn:o'><b><p:c xmlns:p='urn:c' p:a='1'/></b></p:o>", false },
        { "<o xmlns='urn:o'/>", "/o/b", "<c><d xmlns='urn:d'/></c>",
          "<o xmlns='urn:o'><b><c xmlns=\"\"><d xmlns='urn:d'/></c></b></o>", false },
        { "<o/>", "/o/b", "<c xml:lang='de'/>", "<o><b><c xml:lang='de'/></b></o>", false },
    };

    CHECK_ALL(cases);
}

/* The document would give it a meaning, or another one. */
TEST(a_prefix_that_nothing_declares_is_refused)
{
    static const struct graft_case cases[] = {
        { "<p:o xmlns:p='urn:o'/>", "/o/b", "<p:c/>", "what is added: a namespace prefix", true },
        { "<p:o xmlns:p='urn:o'/>", "/o/b", "<c p:a='1'/>", "prefix is not declared in it", true },
        { "<o/>", "/o/b", "<c><p:d/></c>", "at byte 3 of it", true },
        { "<o><n xmlns:p='urn:p'/></o>", "/o/p:b", "<c/>", "does not declare", true },
        { "<o xmlns:p='urn:p'/>", "/o/p:b", "<c/>", "<o xmlns:p='urn:p'><p:b><c/></p:b></o>",
          false },
    };

    CHECK_ALL(cases);
}

int main(void)
{
    return test_main();
}
