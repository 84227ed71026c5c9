#include "base/auto.h"
#include "table/postgres/postgres.h"
#include "test.h"

static struct arena arena = ARENA_INIT(1 << 20);

TEST(postgres_numbers_are_the_same_both_ways)
{
    static const struct {
        const char *text, *same;
    } cases[] = {
        { "0", "0" },
        { "-0", "0" },
        { "1", "1" },
        { "-1", "-1" },
        { "9999", "9999" },
        { "10000", "10000" },
        { "123456789012345678901234567890", "123456789012345678901234567890" },
        { "0.1", "0.1" },
        { "-0.0001", "-0.0001" },
        { "0.00000000000000000001", "0.00000000000000000001" },
        { "10000.0001", "10000.0001" },
        { "1.50", "1.5" },
        { "00012", "12" },
        { "100000000", "100000000" },
        { "100000000.00000001", "100000000.00000001" },
        { "NaN", "NaN" },
        { "Infinity", "Infinity" },
        { "-Infinity", "-Infinity" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(buf_done) struct buf b = BUF_INIT(1000);
        struct err err = { 0 };

        CHECK(postgres_numeric_put(&b, str_of(cases[i].text), &err));
        CHECK(str_is(postgres_numeric_text(buf_view(&b), &arena), cases[i].same));
    }
}

TEST(postgres_numbers_are_as_the_server_sends_them)
{
    static const char want[] = "\0\3\0\1\x40\0\0\3\0\1\x09\x29\x1a\x7c"; /* -12345.678 */
    AUTO(buf_done) struct buf b = BUF_INIT(1000);
    struct err err = { 0 };

    CHECK(postgres_numeric_put(&b, STR("-12345.678"), &err));
    CHECK(str_eq(buf_view(&b), str_mem(want, sizeof want - 1)));
}

TEST(postgres_numbers_that_are_none_are_refused)
{
    static const char *const none[] = { "", "-", "1e5", "abc", "1.2.3", "+1", " 1", "--1" };
    static const char cut[] = "\0\3\0\1\0\0\0\3\0\1";

    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        AUTO(buf_done) struct buf b = BUF_INIT(1000);
        struct err err = { 0 };

        CHECK(!postgres_numeric_put(&b, str_of(none[i]), &err));
        CHECK(err.kind == ERR_PERMANENT);
    }
    CHECK(postgres_numeric_text(str_mem(cut, sizeof cut - 1), &arena).ptr == NULL);
    CHECK(postgres_numeric_text(STR("abc"), &arena).ptr == NULL);
}

TEST(postgres_values_that_do_not_fit_their_column_are_refused)
{
    static const struct {
        Oid type;
        struct cell cell;
        bool ok;
    } cases[] = {
        { TYPE_INT2, { .type = CELL_INT, .i = 32767 }, true },
        { TYPE_INT2, { .type = CELL_INT, .i = 32768 }, false },
        { TYPE_INT2, { .type = CELL_INT, .i = -32768 }, true },
        { TYPE_INT4, { .type = CELL_INT, .i = INT64_C(1) << 31 }, false },
        { TYPE_INT8, { .type = CELL_INT, .i = INT64_MIN }, true },
        { TYPE_INT4, { .type = CELL_TEXT, .s = { "1", 1 } }, false },
        { TYPE_FLOAT4, { .type = CELL_FLOAT, .f = 1e300 }, false },
        { TYPE_DATE, { .type = CELL_DATE, .i = CELL_FOREVER }, true },
        { TYPE_DATE, { .type = CELL_DATE, .i = INT64_C(1) << 40 }, false },
        { TYPE_TIMESTAMPTZ, { .type = CELL_INSTANT, .i = CELL_NEVER }, true },
        { TYPE_TIMESTAMPTZ, { .type = CELL_INSTANT, .i = INT64_MIN + 1 }, false },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(buf_done) struct buf b = BUF_INIT(1000);
        struct err err = { 0 };

        CHECK(postgres_put(&b, cases[i].type, &cases[i].cell, &err) == cases[i].ok);
        CHECK(err.kind == (cases[i].ok ? ERR_NONE : ERR_PERMANENT));
    }
}

TEST(postgres_names_are_quoted_and_bounded)
{
    const struct shape s = {
        .schema = STR("a\"b"),
        .name = STR("a table whose name is as long as a name can be there, sixty-three")
    };
    AUTO(buf_done) struct buf part = BUF_INIT(1000), bare = BUF_INIT(1000), body = BUF_INIT(1000);

    postgres_part_bare(&bare, &s, PART_JOURNAL);
    CHECK(bare.len == 63);
    postgres_part(&part, &s, PART_JOURNAL);
    CHECK(str_starts(buf_view(&part), STR("\"a\"\"b\".\"waybill_journal_a table")));
    postgres_body(&body, STR("x $waybill$ y"));
    CHECK(str_is(buf_view(&body), "$waybill1$x $waybill$ y$waybill1$"));
    buf_clear(&body);
    postgres_literal(&body, STR("it's \\"));
    CHECK(str_is(buf_view(&body), "'it''s \\'"));
}

int main(void)
{
    int result = test_main();

    arena_done(&arena);
    return result;
}
