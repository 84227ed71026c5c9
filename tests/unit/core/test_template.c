#include "core/template.h"

#include "base/auto.h"
#include "test.h"

enum { ARENA = 1 << 20, ROOM = 200 };

static struct fact attributes[] = {
    { STR("po"), STR("4711") },
    { STR("order.line-no_1"), STR("7") },
    { STR("empty"), STR("") },
};

static const struct facts facts = {
    .sender = STR("acme"),
    .receiver = STR("salsify"),
    .type = STR("order"),
    .attributes = attributes,
    .attribute_count = 3,
};

static const struct template_values values = {
    .id = STR("0199f3b0"),
    .delivery = STR("0199f3b0.archive"),
    .name = STR("a.xml"),
    .gateway = STR("orders"),
    .endpoint = STR("archive"),
    .received_us = 1794711130123456, /* 2026-11-15T02:52:10.123456Z */
    .facts = &facts,
};

static bool make(struct str text, const struct template_values *v, struct buf *to, struct err *err)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    const struct template *t;

    return template_compile(text, &a, &t, err) && template_render(t, v, to, err);
}

TEST(template_fills_in_what_is_known)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        { "", "" },
        { "plain", "plain" },
        { "${id}", "0199f3b0" },
        { "${delivery}", "0199f3b0.archive" },
        { "${sender}/${date}/${id}.xml", "acme/2026-11-15/0199f3b0.xml" },
        { "${receiver}${type}${name}", "salsifyordera.xml" },
        { "${gateway} to ${endpoint}", "orders to archive" },
        { "${time}", "025210" },
        { "${timestamp}", "20261115T025210Z" },
        { "${date}", "2026-11-15" },
        { "${po}-${order.line-no_1}", "4711-7" },
        { "${id}${id}", "0199f3b00199f3b0" },
        { "$", "$" },
        { "a$b {c} $ {d}", "a$b {c} $ {d}" },
        { "$${po}", "$4711" },
        { "${po}}", "4711}" },
        { "${po}$", "4711$" },
        { "\xe2\x82\xac ${po}", "\xe2\x82\xac 4711" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(buf_done) struct buf b = BUF_INIT(ROOM);
        struct err err = { 0 };

        buf_puts(&b, ">");
        CHECK(make(str_of(cases[i].text), &values, &b, &err));
        CHECK(str_is(str_from(buf_view(&b), 1), cases[i].want));
    }
}

TEST(template_of_a_url_escapes_what_it_puts_in)
{
    static const struct facts odd = { .sender = STR("a/b?c&d=\xc3\xa9 %"),
                                      .type = STR("aZ09-._~") };
    const struct template_values v = { .id = STR("1"), .url = true, .facts = &odd };
    AUTO(buf_done) struct buf b = BUF_INIT(ROOM), small = BUF_INIT(24);
    struct err err = { 0 };

    CHECK(make(STR("http://h/?a=${sender}&b=${type}"), &v, &b, &err));
    CHECK(str_is(buf_view(&b), "http://h/?a=a%2Fb%3Fc%26d%3D%C3%A9%20%25&b=aZ09-._~"));
    CHECK(!make(STR("http://h/?a=${sender}"), &v, &small, &err) && err.kind == ERR_LIMIT);
    CHECK(small.len == 0);
}

/* `..` leads to another resource than the template names, and no escape changes that. */
TEST(template_of_a_url_lets_no_value_lead_elsewhere)
{
    static const struct facts odd = { .sender = STR(".."),
                                      .receiver = STR("."),
                                      .type = STR("..a") };
    const struct template_values v = { .id = STR("1"), .url = true, .facts = &odd };
    static const char *const wrong[] = { "http://h/x/${sender}", "http://h/${sender}/y",
                                         "http://h/x/${receiver}${receiver}/y",
                                         "http://h/x/.${receiver}?a=1" };
    AUTO(buf_done) struct buf b = BUF_INIT(ROOM);
    struct err err = { 0 };

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        CHECK(!make(str_of(wrong[i]), &v, &b, &err) && err.kind == ERR_PERMANENT && b.len == 0);
        CHECK(strstr(err.text, "has nothing but dots") != NULL);
    }
    CHECK(make(STR("http://h/../x/${type}?a=${sender}"), &v, &b, &err));
    CHECK(str_is(buf_view(&b), "http://h/../x/..a?a=.."));
}

TEST(template_of_a_path_makes_folders_by_its_own_text)
{
    static const struct facts odd = { .sender = STR("a/b"),
                                      .type = STR(".ssh"),
                                      .receiver = STR("a.b") };
    const struct template_values v = { .id = STR("1"), .path = true, .facts = &odd };
    AUTO(buf_done) struct buf b = BUF_INIT(ROOM);
    struct err err = { 0 };

    CHECK(make(STR(".x/${receiver}/${id}"), &v, &b, &err));
    CHECK(str_is(buf_view(&b), ".x/a.b/1"));
    CHECK(!make(STR("${sender}"), &v, &b, &err) && err.kind == ERR_PERMANENT);
    CHECK(strstr(err.text, "`sender` has a `/`") != NULL);
    CHECK(!make(STR("x${type}"), &v, &b, &err) && err.kind == ERR_PERMANENT);
    CHECK(strstr(err.text, "`type` begins with a dot") != NULL);
}

TEST(template_times_are_of_the_moment_of_accept_in_utc)
{
    static const struct {
        int64_t us;
        const char *want;
    } cases[] = {
        { 0, "1970-01-01 000000 19700101T000000Z" },
        { 951782400000000, "2000-02-29 000000 20000229T000000Z" },
        { 1798761599999999, "2026-12-31 235959 20261231T235959Z" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(buf_done) struct buf b = BUF_INIT(ROOM);
        struct template_values v = values;
        struct err err = { 0 };

        v.received_us = cases[i].us;
        CHECK(make(STR("${date} ${time} ${timestamp}"), &v, &b, &err));
        CHECK(str_is(buf_view(&b), cases[i].want));
    }
}

TEST(template_never_leaves_an_empty_place)
{
    static const char *const texts[] = { "${id}",       "${name}", "${sender}",
                                         "${receiver}", "${type}", "${gateway}",
                                         "${endpoint}", "${po}",   "${delivery}" };
    const struct facts nothing = { .type = STR("") };
    const struct template_values bare = { .facts = &nothing };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        AUTO(buf_done) struct buf b = BUF_INIT(ROOM), text = BUF_INIT(ROOM), want = BUF_INIT(ROOM);
        struct err err = { 0 };

        buf_puts(&b, "kept");
        buf_printf(&text, "begin ${date} %s end", texts[i]);
        buf_printf(&want, "the document has no `%.*s`", (int)strlen(texts[i]) - 3, texts[i] + 2);
        CHECK(!make(buf_view(&text), &bare, &b, &err));
        CHECK(err.kind == ERR_PERMANENT && str_is(buf_view(&want), err.text));
        CHECK(str_is(buf_view(&b), "kept") && b.ptr[b.len] == '\0');
    }
    AUTO(buf_done) struct buf b = BUF_INIT(ROOM);
    struct err err = { 0 };

    CHECK(!make(STR("${empty}"), &values, &b, &err) && err.kind == ERR_PERMANENT && b.len == 0);
}

/* proves: S13 */
TEST(template_refuses_what_cannot_be_one)
{
    static const char *const texts[] = {
        "${",
        "${id",
        "x ${id} ${",
        "${}",
        "${ id}",
        "${id }",
        "${secret:api}",
        "${env:HOME}",
        "${file:/etc/passwd}",
        "${../id}",
        "${a${b}}",
        "${..}",
        "${gr\xc3\xbc\xc3\x9f"
        "e}",
    };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
        const struct template *t = NULL;
        struct err err = { 0 };

        CHECK(!template_compile(str_of(texts[i]), &a, &t, &err));
        CHECK(err.kind == ERR_CONFIG && t == NULL);
        CHECK(strstr(err.text, "api") == NULL);
    }
}

TEST(template_meets_the_cap_of_the_buffer)
{
    AUTO(buf_done) struct buf b = BUF_INIT(10);
    struct err err = { 0 };

    CHECK(make(STR("12${po}"), &values, &b, &err) && b.len == 6);
    CHECK(!make(STR("1${po}"), &values, &b, &err) && err.kind == ERR_LIMIT);
    CHECK(str_is(buf_view(&b), "124711"));
}

TEST(template_outlives_the_text_it_was_made_of)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    AUTO(buf_done) struct buf b = BUF_INIT(ROOM);
    const struct template *t;
    struct err err = { 0 };
    char text[] = "${po} and ${sender}";

    CHECK(template_compile(str_of(text), &a, &t, &err));
    memset(text, 'x', sizeof text);
    CHECK(template_render(t, &values, &b, &err) && str_is(buf_view(&b), "4711 and acme"));
}

int main(void)
{
    return test_main();
}
