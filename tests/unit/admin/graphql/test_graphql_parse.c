#include "test.h"

#include "graphql_ask.h"

#include "admin/graphql/parse.h"

static const char *parsed(struct str source, const struct graphql_limits *limits)
{
    static char text[300];
    AUTO(arena_done) struct arena arena = ARENA_INIT(16 << 20);
    struct graphql_document *doc;
    struct err err = { 0 };
    size_t at;

    if (graphql_parse(source, limits, &arena, &doc, &at, &err))
        return "ok";
    (void)snprintf(text, sizeof text, "%s%zu: %s", err.kind == ERR_LIMIT ? "limit " : "", at,
                   err.text);
    return text;
}

TEST(parse_accepts_the_grammar)
{
    static const char *const cases[] = {
        "{a}",
        "query{a}",
        "query Q{a}",
        "mutation M($a:Int=1,$b:[[T!]!]! @x){a(b:$b){c}}",
        "{a:b(c:1,d:-2.5,e:\"x\",f:true,g:null,h:RED,i:[1,[2],[]],j:{k:{l:$m},n:{}}) @x(y:1) @z}",
        "{...f ...on T{a} ...{b} ... @x{c} ...on T @y{d}}",
        "fragment f on T{a} query{...f}",
        "fragment query on mutation{fragment on:null}",
        "query query{query mutation fragment on true}",
        "query A{a} query B{b} mutation C{c}",
    };

    for (size_t i = 0; i < COUNT(cases); i++)
        CHECK(same(parsed(str_of(cases[i]), &graphql_limits_default), "ok"));
}

TEST(parse_refuses_all_else)
{
    static const struct {
        const char *source, *want;
    } cases[] = {
        { "", "0: query, mutation or fragment expected, found the end" },
        { "{", "1: a field expected, found the end" },
        { "{}", "1: a field expected, found \"}\"" },
        { "{a{}}", "3: a field expected, found \"}\"" },
        { "{a}}", "3: query, mutation or fragment expected, found \"}\"" },
        { "{a:}", "3: a name expected, found \"}\"" },
        { "{a()}", "3: a name expected, found \")\"" },
        { "{a(b)}", "4: \":\" expected, found \")\"" },
        { "{a(b:)}", "5: a value expected, found \")\"" },
        { "{a(b:[1)}", "7: a value expected, found \")\"" },
        { "{a(b:{c})}", "7: \":\" expected, found \"}\"" },
        { "{a(b:{1:2})}", "6: a name expected, found \"1\"" },
        { "{a(b:$)}", "6: a name expected, found \")\"" },
        { "{a(b:1}", "6: a name expected, found \"}\"" },
        { "{...}", "4: \"{\" expected, found \"}\"" },
        { "{...on}", "6: a name expected, found \"}\"" },
        { "{...on T}", "8: \"{\" expected, found \"}\"" },
        { "{...f{a}}", "5: a field expected, found \"{\"" },
        { "{a @}", "4: a name expected, found \"}\"" },
        { "query Q(){a}", "8: \"$\" expected, found \")\"" },
        { "query Q($a){a}", "10: \":\" expected, found \")\"" },
        { "query Q($a:){a}", "11: a name expected, found \")\"" },
        { "query Q($a:[Int){a}", "15: \"]\" expected, found \")\"" },
        { "query Q($a:Int!!){a}", "15: \"$\" expected, found \"!\"" },
        { "query Q($a:[[[[I]]]]){a}", "14: a type with fewer lists expected, found \"[\"" },
        { "query Q($a:Int=$b){a}", "15: a value without variables expected, found \"$\"" },
        { "query Q", "7: \"{\" expected, found the end" },
        { "fragment on on T{a}", "9: a fragment's name expected, found \"on\"" },
        { "fragment f T{a}", "11: \"on\" expected, found \"T\"" },
        { "fragment f on {a}", "14: a name expected, found \"{\"" },
        { "subscription{a}", "0: query, mutation or fragment expected, found \"subscription\"" },
        { "type T{a:Int}", "0: query, mutation or fragment expected, found \"type\"" },
        { "\"text\"{a}", "0: query, mutation or fragment expected, found a string" },
        { "...", "0: query, mutation or fragment expected, found \"...\"" },
        { "{a %}", "3: unexpected character" },
    };

    for (size_t i = 0; i < COUNT(cases); i++)
        CHECK(same(parsed(str_of(cases[i].source), &graphql_limits_default), cases[i].want));
}

/* A document of `n` pieces between a head and a tail. */
static struct str many(const char *head, const char *piece, size_t n, const char *tail)
{
    static struct buf b = BUF_INIT(1 << 20);

    buf_clear(&b);
    buf_puts(&b, head);
    for (size_t i = 0; i < n; i++)
        buf_puts(&b, piece);
    buf_puts(&b, tail);
    return buf_view(&b);
}

TEST(parse_has_limits)
{
    static const struct {
        const char *head, *piece, *tail;
        size_t fits;
        const char *want; /* part of the message for one more */
    } cases[] = {
        { "{a}#", "x", "", 64 * 1024 - 4, "document over 65536 bytes" },
        { "{a", " a", "}", 5000 - 3, "document over 5000 tokens" },
        { "{a", " a:a", "}", 50, "over 50 aliases" },
        { "{a", " @a", "}", 20, "over 20 directives in one place" },
        { "{a}", "fragment f on T{a}", "", 50, "over 50 fragments" },
        { "{a(b:", "[", "", 0, "a value expected" },
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        if (cases[i].fits > 0)
            CHECK(same(parsed(many(cases[i].head, cases[i].piece, cases[i].fits, cases[i].tail),
                              &graphql_limits_default),
                       "ok"));
        CHECK(has(parsed(many(cases[i].head, cases[i].piece, cases[i].fits + 1, cases[i].tail),
                         &graphql_limits_default),
                  cases[i].want));
    }
    CHECK(has(parsed(many("{a(b:", "[", 41, ""), &graphql_limits_default),
              "limit 45: value nested deeper than 40"));
    CHECK(has(parsed(many("{a(b:", "{b:", 1000, ""), &graphql_limits_default), "nested deeper"));
    CHECK(has(parsed(many("", "{a", 41, ""), &graphql_limits_default),
              "over 40 levels of selections"));
    CHECK(has(parsed(many("{a", "{...", 1000, ""), &graphql_limits_default), "over 40 levels"));
}

int main(void)
{
    return test_main();
}
