#include "sql/sql_cursor.h"

#include "base/auto.h"
#include "test.h"

static struct sql_cursor cursor_of(enum datum_kind kind, const char *text)
{
    struct datum d = { .kind = kind, .bytes = str_of(text) };
    struct sql_cursor c = { 0 };
    struct err err = { 0 };

    if (!sql_cursor_add(&c, STR("x"), &d, &err))
        printf("# %s\n", err.text);
    return c;
}

TEST(numbers_and_times_have_an_order)
{
    static const struct {
        enum datum_kind a_kind;
        const char *a;
        enum datum_kind b_kind;
        const char *b;
        enum sql_order want;
    } cases[] = {
        { DATUM_INTEGER, "9", DATUM_INTEGER, "10", SQL_ORDER_BEFORE },
        { DATUM_INTEGER, "-9", DATUM_INTEGER, "-10", SQL_ORDER_BEHIND },
        { DATUM_INTEGER, "-1", DATUM_INTEGER, "0", SQL_ORDER_BEFORE },
        { DATUM_INTEGER, "0", DATUM_DECIMAL, "-0.0", SQL_ORDER_SAME },
        { DATUM_INTEGER, "12", DATUM_INTEGER, "12", SQL_ORDER_SAME },
        { DATUM_INTEGER, "9223372036854775807", DATUM_INTEGER, "9223372036854775806",
          SQL_ORDER_BEHIND },
        { DATUM_DECIMAL, "1.5", DATUM_DECIMAL, "1.50", SQL_ORDER_SAME },
        { DATUM_DECIMAL, "1.5", DATUM_DECIMAL, "1.49999", SQL_ORDER_BEHIND },
        { DATUM_DECIMAL, "-1.5", DATUM_DECIMAL, "-1.49999", SQL_ORDER_BEFORE },
        { DATUM_DECIMAL, "0.5", DATUM_INTEGER, "1", SQL_ORDER_BEFORE },
        { DATUM_DECIMAL, "00012", DATUM_INTEGER, "12", SQL_ORDER_SAME },
        { DATUM_DECIMAL, "NaN", DATUM_INTEGER, "12", SQL_ORDER_UNKNOWN },
        { DATUM_FLOAT, "1e+300", DATUM_FLOAT, "2.5", SQL_ORDER_BEHIND },
        { DATUM_FLOAT, "-0.5", DATUM_FLOAT, "0.25", SQL_ORDER_BEFORE },
        { DATUM_TIMESTAMP, "2026-03-29T02:30:00.123456", DATUM_TIMESTAMP,
          "2026-03-29T02:30:00.123457", SQL_ORDER_BEFORE },
        { DATUM_TIMESTAMP, "2026-03-29T02:30:00.123456", DATUM_TIMESTAMP,
          "2026-03-28T23:30:00.123457", SQL_ORDER_BEHIND },
        { DATUM_DATE, "2026-03-29", DATUM_DATE, "2026-03-30", SQL_ORDER_BEFORE },
        /* that of texts is the database's own */
        { DATUM_TEXT, "a", DATUM_TEXT, "b", SQL_ORDER_UNKNOWN },
        { DATUM_TEXT, "a", DATUM_TEXT, "a", SQL_ORDER_SAME },
        { DATUM_INTEGER, "0", DATUM_TIMESTAMP, "2026-03-28T23:30:00.123457", SQL_ORDER_UNKNOWN },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sql_cursor a = cursor_of(cases[i].a_kind, cases[i].a),
                          b = cursor_of(cases[i].b_kind, cases[i].b);
        enum sql_order back = sql_cursor_order(&b, &a);

        if (sql_cursor_order(&a, &b) != cases[i].want)
            printf("# %s %s\n", cases[i].a, cases[i].b);
        CHECK(sql_cursor_order(&a, &b) == cases[i].want);
        CHECK(back == (cases[i].want == SQL_ORDER_BEFORE   ? SQL_ORDER_BEHIND
                       : cases[i].want == SQL_ORDER_BEHIND ? SQL_ORDER_BEFORE
                                                           : cases[i].want));
    }
}

TEST(columns_are_compared_one_after_the_other)
{
    struct datum low = { DATUM_INTEGER, STR("1") }, high = { DATUM_INTEGER, STR("2") };
    struct sql_cursor a = { 0 }, b = { 0 };
    struct err err = { 0 };

    CHECK(sql_cursor_add(&a, STR("x"), &low, &err) && sql_cursor_add(&a, STR("y"), &high, &err));
    CHECK(sql_cursor_add(&b, STR("x"), &high, &err) && sql_cursor_add(&b, STR("y"), &low, &err));
    CHECK(sql_cursor_order(&a, &b) == SQL_ORDER_BEFORE && !sql_cursor_same(&a, &b));
    b = a;
    CHECK(sql_cursor_order(&a, &b) == SQL_ORDER_SAME && sql_cursor_same(&a, &b));
    CHECK(sql_cursor_add(&b, STR("z"), &low, &err));
    CHECK(sql_cursor_order(&a, &b) == SQL_ORDER_UNKNOWN && !sql_cursor_same(&a, &b));
}

TEST(not_every_column_can_be_one)
{
    static const struct {
        enum datum_kind kind;
        struct str bytes;
        const char *why;
    } cases[] = {
        { DATUM_NULL, { "", 0 }, "is NULL" },
        { DATUM_BYTES, { "x", 1 }, "cannot be read" },
        { DATUM_FAILED, { "x", 1 }, "cannot be read" },
        { DATUM_TEXT, { "a\nb", 3 }, "control" },
        { DATUM_TEXT, { "\xff", 1 }, "control" },
    };
    char large[SQL_CURSOR_BYTES + 1];
    struct sql_cursor c = { 0 };
    struct datum d;
    struct err err;

    memset(large, 'x', sizeof large);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        d = (struct datum){ cases[i].kind, cases[i].bytes };
        err = (struct err){ 0 };
        CHECK(!sql_cursor_add(&c, STR("x"), &d, &err) && err.kind == ERR_CONFIG);
        CHECK(strstr(err.text, cases[i].why) != NULL && c.count == 0);
    }
    d = (struct datum){ DATUM_TEXT, str_mem(large, sizeof large) };
    CHECK(!sql_cursor_add(&c, STR("x"), &d, &err) && c.count == 0);
    d.bytes.len--;
    CHECK(sql_cursor_add(&c, STR("x"), &d, &err) && c.count == 1);
    d.bytes.len = 1;
    CHECK(!sql_cursor_add(&c, STR("y"), &d, &err) && c.count == 1);
    c = (struct sql_cursor){ 0 };
    for (int i = 0; i < SQL_CURSOR_COLUMNS; i++)
        CHECK(sql_cursor_add(&c, STR("x"), &d, &err));
    CHECK(!sql_cursor_add(&c, STR("x"), &d, &err));
}

TEST(columns_are_found_by_name)
{
    struct sql_field fields[] = { { .name = STR("ID") }, { .name = STR("version") } };
    struct sql_result result = { .columns = fields, .column_count = 2 };
    struct str names[] = { STR("version"), STR("id") };
    size_t at[2];
    struct err err = { 0 };

    CHECK(sql_cursor_find(names, 2, &result, at, &err) && at[0] == 1 && at[1] == 0);
    names[1] = STR("ident");
    CHECK(!sql_cursor_find(names, 2, &result, at, &err) && err.kind == ERR_CONFIG);
    CHECK(strstr(err.text, "no column ident") != NULL);
}

int main(void)
{
    return test_main();
}
