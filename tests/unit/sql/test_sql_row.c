#include "sql/sql_row.h"

#include "base/auto.h"
#include "test.h"

static bool row_is(enum datum_kind kind, struct str bytes, const char *want)
{
    AUTO(buf_done) struct buf out = BUF_INIT(1 << 20);
    struct sql_field column = { .name = STR("a"), .kind = kind };
    struct datum d = { .kind = kind, .bytes = bytes };
    struct err err = { 0 };

    if (sql_row_json(&column, &d, 1, &out, &err) && str_is(buf_view(&out), want))
        return true;
    printf("# %.*s: %s %s\n", STR_ARG(bytes), out.ptr, err.text);
    return false;
}

TEST(values_keep_their_text)
{
    static const struct {
        enum datum_kind kind;
        const char *bytes, *want;
    } cases[] = {
        { DATUM_NULL, "", "{\"a\":null}" },
        { DATUM_INTEGER, "-9223372036854775808", "{\"a\":-9223372036854775808}" },
        { DATUM_INTEGER, "0", "{\"a\":0}" },
        { DATUM_DECIMAL, "12345678901234567890.1234500000",
          "{\"a\":12345678901234567890.1234500000}" },
        { DATUM_DECIMAL, "10.50", "{\"a\":10.50}" },
        { DATUM_DECIMAL, ".5", "{\"a\":\".5\"}" }, /* no number in JSON: a text */
        { DATUM_DECIMAL, "007", "{\"a\":\"007\"}" },
        { DATUM_DECIMAL, "1.", "{\"a\":\"1.\"}" },
        { DATUM_DECIMAL, "-", "{\"a\":\"-\"}" },
        { DATUM_FLOAT, "1e+300", "{\"a\":1e+300}" },
        { DATUM_FLOAT, "1e", "{\"a\":\"1e\"}" },
        { DATUM_FLOAT, "NaN", "{\"a\":\"NaN\"}" },
        { DATUM_FLOAT, "-Infinity", "{\"a\":\"-Infinity\"}" },
        { DATUM_BOOL, "true", "{\"a\":true}" },
        { DATUM_BOOL, "false", "{\"a\":false}" },
        { DATUM_TEXT, "a \"b\"\n", "{\"a\":\"a \\\"b\\\"\\n\"}" },
        { DATUM_TEXT, "12", "{\"a\":\"12\"}" },
        { DATUM_BYTES, "hello", "{\"a\":\"aGVsbG8=\"}" },
        { DATUM_BYTES, "", "{\"a\":\"\"}" },
        { DATUM_DATE, "2026-03-29", "{\"a\":\"2026-03-29\"}" },
        { DATUM_TIMESTAMP, "2026-03-29T02:30:00.123456", "{\"a\":\"2026-03-29T02:30:00.123456\"}" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK(row_is(cases[i].kind, str_of(cases[i].bytes), cases[i].want));
    CHECK(row_is(DATUM_BYTES, str_mem("\0\xff", 2), "{\"a\":\"AP8=\"}"));
}

TEST(a_row_has_its_columns_in_order)
{
    AUTO(buf_done) struct buf out = BUF_INIT(1 << 20);
    struct sql_field columns[] = { { .name = STR("id") }, { .name = STR("\xc3\xa9 \"x\"") } };
    struct datum row[] = { { DATUM_INTEGER, STR("1") }, { DATUM_TEXT, STR("two") } };
    struct err err = { 0 };

    buf_puts(&out, "[");
    CHECK(sql_row_json(columns, row, 2, &out, &err));
    CHECK(str_is(buf_view(&out), "[{\"id\":1,\"\xc3\xa9 \\\"x\\\"\":\"two\"}"));
    CHECK(sql_row_check(columns, 2, &err));
    columns[1].name = STR("id");
    CHECK(!sql_row_check(columns, 2, &err) && err.kind == ERR_CONFIG);
}

TEST(what_cannot_be_told_is_taken_back)
{
    AUTO(buf_done) struct buf out = BUF_INIT(1000);
    struct sql_field columns[] = { { .name = STR("id") }, { .name = STR("b") } };
    struct datum row[] = { { DATUM_INTEGER, STR("1") }, { DATUM_FAILED, STR("too long") } };
    char large[400] = "";
    struct err err = { 0 };

    buf_puts(&out, "before");
    CHECK(!sql_row_json(columns, row, 2, &out, &err) && err.kind == ERR_PERMANENT);
    CHECK(strstr(err.text, "b cannot be read: too long") != NULL);
    row[1] = (struct datum){ DATUM_TEXT, STR("\xff") };
    CHECK(!sql_row_json(columns, row, 2, &out, &err) && err.kind == ERR_PERMANENT);
    row[1] = (struct datum){ DATUM_TEXT, str_mem(large, sizeof large) };
    CHECK(!sql_row_json(columns, row, 2, &out, &err) && err.kind == ERR_LIMIT);
    CHECK(str_is(buf_view(&out), "before"));
}

int main(void)
{
    return test_main();
}
