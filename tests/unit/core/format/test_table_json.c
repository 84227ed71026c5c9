#include "base/auto.h"
#include "core/format/table_json.h"
#include "test.h"

enum { MOST = 8 << 20 };

static const struct table_column columns[] = { { STR("id"), 3 }, { STR("name"), 5 } };
static const struct table_rule csv = { .header = true };
static const struct table_rule bare = { .header = false };
static const struct table_rule pipes = { .header = true, .separator = '|' };
static const struct table_rule fixed = { .fixed = true, .columns = columns, .column_count = 2 };

static bool goes_round(const struct table_rule *rule, struct str text)
{
    AUTO(buf_done) struct buf json = BUF_INIT(MOST);
    AUTO(buf_done) struct buf back = BUF_INIT(MOST);
    struct err err = { 0 };
    bool ok = table_to_json(rule, text, MOST, &json, &err) &&
              table_from_json(rule, buf_view(&json), MOST, &back, &err) &&
              str_eq(buf_view(&back), text);

    if (!ok)
        printf("# %.*s: %s\n# %s# %s\n", STR_ARG(text), err.text, json.ptr, back.ptr);
    return ok;
}

TEST(table_json_gives_the_same_bytes_back)
{
    static const struct {
        const struct table_rule *rule;
        struct str text;
    } cases[] = {
        { &csv, STR("") },
        { &csv, STR("a,b\n") },
        { &csv, STR("a,b") },
        { &csv, STR("a,b\n1,2\n") },
        { &csv, STR("a,b\n1,2") },
        { &csv, STR("a;b\r\n1.10;000012345678901234567890\r\n") },
        { &csv, STR("\xef\xbb\xbf"
                    "a\tb\r1\t\r\r") },
        { &csv, STR("\"a\",\"b\"\n\"1\",\"\"\n") },
        { &csv, STR("a,b\n\"1\",2\n3,\"4\"\n") },
        { &csv, STR("\"a\",b\n\"1\",\"2\"\n3,\"4\"") },
        { &csv, STR("a,b\n5\" pipe,\"x \"\"y\"\", z\"\n\"two\r\nlines\",\n") },
        { &csv, STR("a,b\n1\n\n1,\n,\r\n2,3\r\n") },
        { &csv, STR("a,b\n caf\xc3\xa9 ,\t\n") },
        { &bare, STR("1,2\n3\n\n4,5,6") },
        { &bare, STR("x,x\n") },
        { &pipes, STR("a,b|c\n\"x|y\"|z\n") },
        { &fixed, STR("") },
        { &fixed, STR("001Ada  \n002Bob  \n") },
        { &fixed, STR("001Ada\r\n002\r\n  3\r\n\r\n004Grace") },
        { &fixed, STR("001caf\xc3\xa9 \n1  \xe2\x82\xac\n") },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK(goes_round(cases[i].rule, cases[i].text));
}

TEST(table_json_keeps_every_text)
{
    AUTO(buf_done) struct buf json = BUF_INIT(MOST);
    struct err err = { 0 };

    CHECK(table_to_json(&csv, STR("id;price\n1;1.10\n\"2\";\n"), MOST, &json, &err));
    CHECK(str_is(buf_view(&json),
                 "{\"format\":\"csv\",\"separator\":\";\",\"quotes\":\"needed\",\"end\":\"\\n\","
                 "\"columns\":[\"id\",\"price\"],\"rows\":[\n{\"id\":\"1\",\"price\":\"1.10\"},\n"
                 "{\"id\":\"2\",\"price\":\"\"}\n],\"written\":[\n[3,\"\\\"2\\\";\\n\"]]}\n"));
    buf_clear(&json);
    CHECK(table_to_json(&fixed, STR("1  Ada  \n"), MOST, &json, &err));
    CHECK(str_is(buf_view(&json), "{\"format\":\"fixed\",\"end\":\"\\n\",\"rows\":[\n"
                                  "{\"id\":\"1\",\"name\":\"Ada\"}\n]}\n"));
}

TEST(table_json_back_from_what_a_program_made)
{
    static const struct {
        const struct table_rule *rule;
        const char *json, *want; /* the table, or a part of the failure */
        bool ok;
    } cases[] = {
        { &csv, "[{\"a\":1.10,\"b\":null},{\"b\":true,\"a\":\"x,y\"}]",
          "a,b\n1.10,\n\"x,y\",true\n", true },
        { &pipes, "[{\"a\":\"1\"}]", "a\n1\n", true },
        { &bare, "{\"rows\":[[1,\"2\"],[]]}", "1,2\n\n", true },
        { &csv, "{\"rows\":[[1]],\"columns\":[\"a\"],\"quotes\":\"all\"}", "\"a\"\n\"1\"\n", true },
        { &csv, "{\"rows\":[{\"a\":3}],\"columns\":[\"a\"],\"written\":[[2,\"\\\"1\\\"\\n\"]]}",
          "a\n3\n", true },
        { &csv, "{\"rows\":[{\"a\":1},{\"a\":2}],\"columns\":[\"a\"],\"written\":[[2,\"1\"]]}",
          "a\n1\n2\n", true },
        { &fixed, "[{\"name\":\"Ada\",\"id\":1}]", "1  Ada  \n", true },
        { &fixed, "[[1]]", "1       \n", true },
        { &csv, "1", "JSON: byte 1: a list of rows", false },
        { &csv, "{}", "the list `rows` is missing", false },
        { &csv, "[1]", "a row is an object or a list", false },
        { &csv, "[{\"a\":[]}]", "a cell is a text or a number", false },
        { &csv, "[{\"a\":1},{\"b\":1}]", "JSON: row 2, byte 13: `b` is not among the columns",
          false },
        { &csv, "[{\"a\":1,\"a\":1}]", "`a` stands twice in the row", false },
        { &csv, "{\"format\":\"hl7\",\"rows\":[]}", "its format is `hl7`, not csv", false },
        { &csv, "{\"separator\":\"\",\"rows\":[]}", "`separator` is one byte", false },
        { &csv, "{\"end\":\"x\",\"rows\":[]}", "`end` is a line break", false },
        { &csv, "[{\"a\":\"\\ud800\"}]", "surrogates", false },
        { &csv, "{\"rows\":[[1]],\"columns\":[\"a\"],\"written\":[[\"2\",1]]}",
          "an entry of `written`", false },
        { &fixed, "[{\"id\":1234}]", "`1234` is wider than the 3 characters of `id`", false },
        { &fixed, "[{\"id\":\"a\\nb\"}]", "`id` has a line break in it", false },
        { &fixed, "[[1,2,3]]", "too many cells", false },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(buf_done) struct buf back = BUF_INIT(MOST);
        struct err err = { 0 };
        bool ok = table_from_json(cases[i].rule, str_of(cases[i].json), MOST, &back, &err);
        bool right = ok == cases[i].ok && (ok ? str_is(buf_view(&back), cases[i].want)
                                              : strstr(err.text, cases[i].want) != NULL);

        if (!right)
            printf("# %s: %s\n", cases[i].json, ok ? back.ptr : err.text);
        CHECK(right);
    }
}

TEST(table_json_says_where_a_table_is_wrong)
{
    static const struct {
        const struct table_rule *rule;
        const char *text, *want;
    } cases[] = {
        { &csv, "a,b\n1,\"2\n", "CSV: row 2, line 3, byte 10: a quote is not closed" },
        { &csv, "a,b\n\"1\"x,2\n",
          "CSV: row 2, line 2, byte 8: something stands behind a closing quote" },
        { &csv, "a,b\n1,2,3\n", "CSV: row 2 has 3 cells, but there are 2 names" },
        { &csv, "a,a\n", "columns 1 and 2 are both `a`" },
        { &csv, "a,\n", "column 2 has no name" },
        { &csv, "a\n\xe4\n", "CSV: row 2, line 2, byte 3: this is not UTF-8" },
        { &fixed, "001Ada  x\n", "fixed-width: row 1, line 1, byte 9: the row is longer" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(buf_done) struct buf json = BUF_INIT(MOST);
        struct err err = { 0 };

        CHECK(!table_to_json(cases[i].rule, str_of(cases[i].text), MOST, &json, &err));
        if (strstr(err.text, cases[i].want) == NULL)
            printf("# %s\n", err.text);
        CHECK(strstr(err.text, cases[i].want) != NULL && json.len == 0);
    }
}

TEST(table_json_has_limits)
{
    AUTO(buf_done) struct buf text = BUF_INIT(MOST);
    AUTO(buf_done) struct buf json = BUF_INIT(MOST);
    struct err err = { 0 };

    for (int i = 0; i < TABLE_CELLS_MOST; i++)
        buf_putc(&text, ',');
    CHECK(!table_to_json(&bare, buf_view(&text), MOST, &json, &err) && err.kind == ERR_LIMIT);
    CHECK(strstr(err.text, "more than 4096 cells") != NULL);
    buf_clear(&text);
    buf_puts(&text, "a\n1\n2\n");
    for (size_t most = 0; most < 60; most++)
        CHECK(!table_to_json(&csv, buf_view(&text), most, &json, &err) && err.kind == ERR_LIMIT &&
              json.len == 0);
}

int main(void)
{
    return test_main();
}
