#include "table/cell.h"

#include <jansson.h>
#include <math.h>

#include "base/auto.h"
#include "base/buf.h"
#include "some_cells.h"
#include "test.h"

enum { ROOM = 16 << 20 };

static struct arena arena = ARENA_INIT(ROOM);
static struct err err;

static struct cell text_of(const char *z)
{
    return (struct cell){ .type = CELL_TEXT, .s = str_of(z) };
}

/* What a text is as another type, as text again; "-" if it is none. */
static const char *by(const char *z, enum cell_type type)
{
    struct cell from = text_of(z), made, back;

    memset(&err, 0, sizeof err);
    if (!cell_cast(&from, type, &arena, &made, &err))
        return err.kind == ERR_PERMANENT ? "-" : "?";
    if (made.type != type || !cell_cast(&made, CELL_TEXT, &arena, &back, &err))
        return "??";
    return arena_text(&arena, back.s);
}

#define BY(type, z, as) CHECK(strcmp(by(z, type), as) == 0)

static bool casts_to(struct cell from, enum cell_type to, struct cell *ret)
{
    return cell_cast(&from, to, &arena, ret, &err);
}

TEST(cell_types_have_names)
{
    for (enum cell_type t = CELL_NULL; t < CELL_TYPES; t++)
        CHECK(cell_type_named(str_of(cell_types[t])) == t);
    CHECK(cell_type_named(STR("number")) == CELL_TYPES);
    CHECK(cell_type_named(STR("")) == CELL_TYPES);
}

TEST(cell_dec_has_one_form)
{
    BY(CELL_DEC, "0", "0");
    BY(CELL_DEC, "-0.00", "0");
    BY(CELL_DEC, "+1.50", "1.5");
    BY(CELL_DEC, "007", "7");
    BY(CELL_DEC, ".5", "0.5");
    BY(CELL_DEC, "-5.", "-5");
    BY(CELL_DEC, "1e3", "1000");
    BY(CELL_DEC, "-12.5E-4", "-0.00125");
    BY(CELL_DEC, "1200e-2", "12");
    BY(CELL_DEC, "1.25e1", "12.5");
    BY(CELL_DEC, "0e999999999999999999999", "0");
    BY(CELL_DEC, "123456789012345678901234567890.0987654321000",
       "123456789012345678901234567890.0987654321");
    BY(CELL_DEC, "nan", "NaN");
    BY(CELL_DEC, "-NaN", "NaN");
    BY(CELL_DEC, "inf", "Infinity");
    BY(CELL_DEC, "-infinity", "-Infinity");
}

TEST(cell_dec_is_refused_if_it_is_none)
{
    static const char *const none[] = { "",          ".",        "-",
                                        "e5",        "1e",       "1 ",
                                        " 1",        "1.2.3",    "--1",
                                        "0x10",      "1e999999", "1,5",
                                        "1e-999999", "infinit",  "1e99999999999999999999" };

    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        CHECK(strcmp(by(none[i], CELL_DEC), "-") == 0);
    CHECK(strcmp(by("abc", CELL_INT), "-") == 0);
    CHECK(strcmp(err.text, "text `abc` is no int") == 0);
    CHECK(strcmp(by("a\nb, and so on until nobody reads on", CELL_INT), "-") == 0);
    CHECK(strcmp(err.text, "text `a\\nb, and so on until...` is no int") == 0);
}

TEST(cell_numbers_become_each_other_if_nothing_is_lost)
{
    struct cell c, i = { .type = CELL_INT, .i = INT64_C(1) << 53 };

    CHECK(casts_to(i, CELL_FLOAT, &c) && c.type == CELL_FLOAT && c.f == 0x1p53);
    i.i++;
    CHECK(!casts_to(i, CELL_FLOAT, &c) && err.kind == ERR_PERMANENT);
    CHECK(strcmp(err.text, "int `9007199254740993` is no float") == 0);
    i.i = INT64_MAX;
    CHECK(!casts_to(i, CELL_FLOAT, &c));
    i.i = INT64_MIN;
    CHECK(casts_to(i, CELL_FLOAT, &c) && c.f == -0x1p63);
    CHECK(casts_to(c, CELL_INT, &c) && c.i == INT64_MIN);
    c = (struct cell){ .type = CELL_FLOAT, .f = 0x1p63 };
    CHECK(!casts_to(c, CELL_INT, &c));
    c.f = 1.5;
    CHECK(!casts_to(c, CELL_INT, &c));
    c.f = NAN;
    CHECK(!casts_to(c, CELL_INT, &c));
    BY(CELL_INT, "9223372036854775807", "9223372036854775807");
    BY(CELL_INT, "-9223372036854775808", "-9223372036854775808");
    BY(CELL_INT, "9223372036854775808", "-");
    BY(CELL_INT, "7.0", "7");
    BY(CELL_INT, "7.5", "-");
    BY(CELL_INT, "1e2", "100");
    BY(CELL_BOOL, "1", "true");
    BY(CELL_BOOL, "F", "false");
    BY(CELL_BOOL, "2", "-");
    i.i = 2;
    CHECK(!casts_to(i, CELL_BOOL, &c));
    i.i = 1;
    CHECK(casts_to(i, CELL_BOOL, &c) && casts_to(c, CELL_INT, &c) && c.i == 1);
}

TEST(cell_float_is_the_shortest_number_that_reads_back)
{
    struct cell c, dec = { .type = CELL_DEC, .s = STR("0.1") };

    BY(CELL_FLOAT, "0.1", "0.1");
    BY(CELL_FLOAT, "100", "100");
    BY(CELL_FLOAT, "-0", "0");
    BY(CELL_FLOAT, "5e-324", "5e-324");
    BY(CELL_FLOAT, "1.7976931348623157e308", "1.7976931348623157e+308");
    BY(CELL_FLOAT, "1e400", "-");
    BY(CELL_FLOAT, "1e-400", "-");
    BY(CELL_FLOAT, "0.1000000000000000055", "-");
    BY(CELL_FLOAT, "9007199254740993", "-");
    BY(CELL_FLOAT, "NaN", "NaN");
    BY(CELL_FLOAT, "-inf", "-Infinity");
    CHECK(casts_to(dec, CELL_FLOAT, &c) && c.f == 0.1);
    CHECK(casts_to(c, CELL_DEC, &c) && str_is(c.s, "0.1"));
    c = (struct cell){ .type = CELL_FLOAT, .f = -0.0 };
    CHECK(casts_to(c, CELL_FLOAT, &c) && !signbit(c.f));
}

TEST(cell_text_is_utf8_without_nul)
{
    static const char *const bad[] = { "abcdefgh\xff", "\xc3", "\xed\xa0\x80",
                                       "abcdefghijklm\xc0\x80" };
    struct cell c = { .type = CELL_TEXT, .s = STR("abcdefg\0ijklmnop") };

    CHECK(!casts_to(c, CELL_TEXT, &c));
    c.s = STR("abcdefghijklmnopq\0");
    CHECK(!casts_to(c, CELL_TEXT, &c));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK(strcmp(by(bad[i], CELL_TEXT), "-") == 0);
    c = text_of("abcdefghijkl\xe2\x82\xac and so on");
    struct cell same;

    CHECK(casts_to(c, CELL_TEXT, &same) && same.s.ptr == c.s.ptr && same.s.len == c.s.len);
    CHECK(casts_to(c, CELL_BYTES, &same) && same.type == CELL_BYTES && same.s.ptr == c.s.ptr);
    CHECK(casts_to(same, CELL_TEXT, &same) && cell_same(&same, &c));
    same = (struct cell){ .type = CELL_BYTES, .s = STR("\xff\x00") };
    CHECK(!casts_to(same, CELL_TEXT, &c));
    CHECK(strcmp(err.text, "bytes `x'ff00'` is no text: it is not UTF-8, or has a NUL") == 0);
}

TEST(cell_times_are_iso_8601)
{
    BY(CELL_INSTANT, "2026-11-19T07:00:00Z", "2026-11-19T07:00:00Z");
    BY(CELL_INSTANT, "2026-11-19 08:30:00.250000+01:30", "2026-11-19T07:00:00.25Z");
    BY(CELL_INSTANT, "2026-11-19 02:00:00-05", "2026-11-19T07:00:00Z");
    BY(CELL_INSTANT, "1883-11-18 12:03:57-04:56:02", "1883-11-18T16:59:59Z");
    BY(CELL_INSTANT, "2026-11-19 07:00", "2026-11-19T07:00:00Z");
    BY(CELL_INSTANT, "1969-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.999999Z");
    BY(CELL_INSTANT, "infinity", "infinity");
    BY(CELL_INSTANT, "-Infinity", "-infinity");
    BY(CELL_INSTANT, "2026-11-19T07:00:00+25:00", "-");
    BY(CELL_INSTANT, "2026-11-19T07:00:00.1234567Z", "-");
    BY(CELL_INSTANT, "2026-11-19T07:00:00.1234560Z", "2026-11-19T07:00:00.123456Z");
    BY(CELL_INSTANT, "2026-11-19T24:00:00Z", "-");
    BY(CELL_INSTANT, "2026-02-29T00:00:00Z", "-");
    BY(CELL_INSTANT, "2026-11-19T07:60:00Z", "-");
    BY(CELL_INSTANT, "999999-01-01T00:00:00Z", "-");
    BY(CELL_LOCAL, "2026-11-19T07:00:00.5", "2026-11-19T07:00:00.5");
    BY(CELL_LOCAL, "2026-11-19", "2026-11-19T00:00:00");
    BY(CELL_LOCAL, "2026-11-19T07:00:00Z", "-");
    BY(CELL_DATE, "2024-02-29", "2024-02-29");
    BY(CELL_DATE, "0044-03-15 BC", "-0043-03-15");
    BY(CELL_DATE, "-0043-03-15", "-0043-03-15");
    BY(CELL_DATE, "5874897-12-31", "+5874897-12-31");
    BY(CELL_DATE, "9999999-12-31", "-");
    BY(CELL_DATE, "2024-2-29", "-");
    BY(CELL_DATE, "2024-13-01", "-");
    BY(CELL_DATE, "2024-02-29x", "-");
    BY(CELL_TIME, "07:00", "07:00:00");
    BY(CELL_TIME, "23:59:59.999999", "23:59:59.999999");
    BY(CELL_TIME, "24:00:00", "24:00:00");
    BY(CELL_TIME, "-838:59:59", "-838:59:59");
    BY(CELL_TIME, "839:00:00", "-");
    BY(CELL_TIME, "7:00", "-");
    BY(CELL_TIME, "07:00:00.", "-");
}

TEST(cell_times_become_each_other)
{
    const int64_t day = INT64_C(86400) * 1000000;
    struct cell c = { .type = CELL_INSTANT, .i = 3 * day };

    CHECK(casts_to(c, CELL_LOCAL, &c) && c.type == CELL_LOCAL && c.i == 3 * day);
    CHECK(casts_to(c, CELL_DATE, &c) && c.type == CELL_DATE && c.i == 3);
    CHECK(casts_to(c, CELL_LOCAL, &c) && c.i == 3 * day);
    c.i = -1;
    CHECK(!casts_to(c, CELL_DATE, &c));
    CHECK(strcmp(err.text, "local `1969-12-31T23:59:59.9...` is no date") == 0);
    c.i = CELL_NEVER;
    CHECK(casts_to(c, CELL_DATE, &c) && c.i == CELL_NEVER);
    CHECK(casts_to(c, CELL_LOCAL, &c) && c.i == CELL_NEVER);
    c = (struct cell){ .type = CELL_DATE, .i = 2000000000 };
    CHECK(!casts_to(c, CELL_LOCAL, &c));
    CHECK(casts_to(c, CELL_DATE, &c));
    c.i = INT32_MAX;
    CHECK(!casts_to(c, CELL_DATE, &c));
    c = (struct cell){ .type = CELL_INT, .i = 5 };
    CHECK(casts_to(c, CELL_INSTANT, &c) && c.type == CELL_INSTANT && c.i == 5);
    CHECK(casts_to(c, CELL_INT, &c) && c.type == CELL_INT && c.i == 5);
}

TEST(cell_uuid_is_16_bytes)
{
    struct cell c = { .type = CELL_BYTES, .s = STR("0123456789abcdef") };

    BY(CELL_UUID, "01234567-89AB-cdef-0123-456789abcdef", "01234567-89ab-cdef-0123-456789abcdef");
    BY(CELL_UUID, "0123456789abcdef0123456789ABCDEF", "01234567-89ab-cdef-0123-456789abcdef");
    BY(CELL_UUID, "01234567-89ab-cdef-0123-456789abcde", "-");
    BY(CELL_UUID, "01234567-89ab-cdef-0123-456789abcdeg", "-");
    BY(CELL_UUID, "0123456789ab-cdef-0123-456789abcdef-", "-");
    BY(CELL_UUID, "", "-");
    CHECK(casts_to(c, CELL_UUID, &c) && c.type == CELL_UUID);
    CHECK(casts_to(c, CELL_BYTES, &c) && c.s.len == 16);
    c.s.len = 15;
    CHECK(!casts_to(c, CELL_UUID, &c));
}

TEST(cell_json_has_one_form)
{
    BY(CELL_JSON, " { \"b\" : 1.0 , \"a\" : [ ] , \"aa\":{ } } ", "{\"a\":[],\"aa\":{},\"b\":1}");
    BY(CELL_JSON, "[1e2,-0.0,0.10,12345678901234567890123,true,null]",
       "[100,0,0.1,12345678901234567890123,true,null]");
    BY(CELL_JSON, "\"\\u0041\\/\\u000a\\u001F\\b\\\"\\\\\\u20ac\\ud83d\\ude00\\u007f\"",
       "\"A/\\n\\u001f\\b\\\"\\\\\xe2\x82\xac\xf0\x9f\x98\x80\x7f\"");
    BY(CELL_JSON, "[[],[[]],{\"x\":[{}]}]", "[[],[[]],{\"x\":[{}]}]");
    BY(CELL_JSON, "7", "7");
    /* The last of two stays, however it is written. */
    BY(CELL_JSON, "{\"a\":1,\"b\":2,\"\\u0061\":3,\"a\":{\"z\":1}}", "{\"a\":{\"z\":1},\"b\":2}");
    /* By UTF-16 units: U+1F600 comes before U+FB33. */
    BY(CELL_JSON, "{\"\xef\xac\xb3\":1,\"\xf0\x9f\x98\x80\":2,\"\xc3\xb6\":3,\"\\r\":4,\"1\":5}",
       "{\"\\r\":4,\"1\":5,\"\xc3\xb6\":3,\"\xf0\x9f\x98\x80\":2,\"\xef\xac\xb3\":1}");
}

TEST(cell_json_in_its_form_is_lent)
{
    static const char *const forms[] = { "{\"a\":[1,2.5,{\"b\":null}],\"aa\":\"\\n\xc3\xa9\"}",
                                         "[]", "\"\"", "{\"\":{\"\":[[],{}]}}" };
    static const char *const not [] = { "[1, 2]",     "{\"b\":1,\"a\":2}", "{\"a\":1,\"a\":1}",
                                        "1.0",        "\"\\u0041\"",       " 1",
                                        "\"\\u001F\"" };
    struct cell c;

    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        CHECK(casts_to(text_of(forms[i]), CELL_JSON, &c));
        CHECK(c.s.ptr == forms[i] && c.s.len == strlen(forms[i]));
    }
    for (size_t i = 0; i < sizeof not / sizeof not [0]; i++)
        CHECK(casts_to(text_of(not [i]), CELL_JSON, &c) && c.s.ptr != not [i]);
}

TEST(cell_json_is_refused_if_it_is_none)
{
    static const char *const none[] = { "",    "{",           "[1,]",        "{\"a\"}",
                                        "nul", "1 2",         "\"\\ud800\"", "{\"\\udc00\":1}",
                                        "'a'", "[1e9999999]", "\"\xff\"",    "\"a\nb\"" };
    struct cell deep = { .type = CELL_TEXT };
    char brackets[1200];

    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        CHECK(strcmp(by(none[i], CELL_JSON), "-") == 0);
    CHECK(strcmp(by("{x", CELL_JSON), "-") == 0);
    CHECK(strcmp(err.text, "text `{x` is no json: a name in quotes is expected") == 0);
    memset(brackets, '[', 600);
    memset(brackets + 600, ']', 600);
    deep.s = str_mem(brackets, sizeof brackets);
    CHECK(!casts_to(deep, CELL_JSON, &deep) && err.kind == ERR_PERMANENT);
    deep.s = str_mem(brackets + 100, 1000);
    CHECK(casts_to(deep, CELL_JSON, &deep) && deep.s.len == 1000);
}

TEST(cell_json_that_the_arena_has_no_room_for_is_refused)
{
    AUTO(arena_done) struct arena small = ARENA_INIT(4096);
    struct cell c = text_of("[1e2,1e3000,1e3000]"), ret;

    CHECK(!cell_cast(&c, CELL_JSON, &small, &ret, &err) && err.kind == ERR_PERMANENT);
    c = text_of("[1e2,1e300]");
    CHECK(cell_cast(&c, CELL_JSON, &small, &ret, &err));
    c = text_of("1e5000");
    CHECK(!cell_cast(&c, CELL_DEC, &small, &ret, &err));
}

/* Jansson sorts by bytes and has doubles; so this compares what both have as values. */
TEST(cell_json_means_the_same_as_it_did)
{
    static const char *const texts[] = {
        "{\"b\":[1,2,{\"y\":\"\\u00e9\",\"x\":null}],\"a\":{\"c\":false,\"b\":{}},\"\":0}",
        "[{\"a\":1,\"b\":{\"d\":[[[{\"z\":1,\"a\":2}]]],\"c\":3}},\"x\\ty\",-5]",
    };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        json_t *was = json_loads(texts[i], 0, NULL);
        json_t *is = json_loads(by(texts[i], CELL_JSON), 0, NULL);
        bool same = was != NULL && is != NULL && json_equal(was, is) == 1;

        json_decref(was);
        json_decref(is);
        CHECK(same);
    }
}

TEST(cell_null_stays_null)
{
    struct cell c = { .type = CELL_NULL }, ret = text_of("x");

    for (enum cell_type t = CELL_NULL; t < CELL_TYPES; t++)
        CHECK(casts_to(c, t, &ret) && ret.type == CELL_NULL);
}

TEST(cell_safe_casts_lose_nothing)
{
    for (enum cell_type from = CELL_INT; from < CELL_TYPES; from++)
        for (enum cell_type to = CELL_INT; to < CELL_TYPES; to++)
            for (int i = 0; cell_cast_is_safe(from, to) && i < 300; i++) {
                struct cell c = some_cell(from, &arena), made, back;

                arena_reset(&arena);
                c = some_cell(from, &arena);
                CHECK(c.type == from);
                CHECK(casts_to(c, to, &made) && made.type == to);
                CHECK(casts_to(made, from, &back) && cell_same(&back, &c));
            }
    CHECK(cell_cast_is_safe(CELL_DEC, CELL_TEXT) && !cell_cast_is_safe(CELL_TEXT, CELL_DEC));
    CHECK(cell_cast_is_safe(CELL_INT, CELL_DEC) && !cell_cast_is_safe(CELL_DEC, CELL_FLOAT));
    CHECK(!cell_cast_is_safe(CELL_JSON, CELL_UUID));
    arena_reset(&arena);
}

TEST(cell_casts_lose_nothing_or_are_refused)
{
    for (enum cell_type from = CELL_INT; from < CELL_TYPES; from++)
        for (enum cell_type to = CELL_INT; to < CELL_TYPES; to++)
            for (int i = 0; i < 100; i++) {
                arena_reset(&arena);
                struct cell c = some_cell(from, &arena), made, back;

                if (from == CELL_TEXT || !casts_to(c, to, &made))
                    continue;
                CHECK(casts_to(made, from, &back) && cell_same(&back, &c));
            }
    arena_reset(&arena);
}

TEST(cell_times_at_their_ends_come_back)
{
    static const int64_t ends[] = { INT64_MIN + 1, INT64_MAX - 1, INT64_MIN + 86400000000, -1, 0 };

    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        struct cell c = { .type = CELL_INSTANT, .i = ends[i] }, made, back;

        CHECK(casts_to(c, CELL_TEXT, &made) && casts_to(made, CELL_INSTANT, &back));
        CHECK(back.i == ends[i]);
    }
}

static const char *rounded(enum cell_type type, const char *z, int digits)
{
    struct cell from = text_of(z), c, ret, text;

    if (!casts_to(from, type, &c) || !cell_round(&c, digits, &arena, &ret, &err) ||
        !casts_to(ret, CELL_TEXT, &text))
        return "?";
    return arena_text(&arena, text.s);
}

#define ROUNDED(type, z, digits, as) CHECK(strcmp(rounded(type, z, digits), as) == 0)

TEST(cell_round_is_half_up_or_away_from_zero)
{
    ROUNDED(CELL_DEC, "1.25", 1, "1.3");
    ROUNDED(CELL_DEC, "-1.25", 1, "-1.3");
    ROUNDED(CELL_DEC, "1.2499", 1, "1.2");
    ROUNDED(CELL_DEC, "-9.995", 2, "-10");
    ROUNDED(CELL_DEC, "999.5", 0, "1000");
    ROUNDED(CELL_DEC, "-0.04", 1, "0");
    ROUNDED(CELL_DEC, "0.05", 1, "0.1");
    ROUNDED(CELL_DEC, "12", 2, "12");
    ROUNDED(CELL_DEC, "1.5", -1, "1.5");
    ROUNDED(CELL_DEC, "NaN", 2, "NaN");
    ROUNDED(CELL_FLOAT, "2.675", 2, "2.68");
    ROUNDED(CELL_FLOAT, "-0.004", 2, "0");
    ROUNDED(CELL_FLOAT, "-inf", 2, "-Infinity");
    ROUNDED(CELL_INSTANT, "2026-11-19T07:00:00.1235Z", 3, "2026-11-19T07:00:00.124Z");
    ROUNDED(CELL_INSTANT, "1969-12-31T23:59:59.9995Z", 3, "1970-01-01T00:00:00Z");
    ROUNDED(CELL_INSTANT, "1969-12-31T23:59:59.5Z", 0, "1970-01-01T00:00:00Z");
    ROUNDED(CELL_LOCAL, "infinity", 0, "infinity");
    ROUNDED(CELL_TIME, "23:59:59.7", 0, "24:00:00");
    ROUNDED(CELL_TIME, "07:00:00.123456", 6, "07:00:00.123456");
    ROUNDED(CELL_TIME, "-838:59:59.999999", 0, "-838:59:59.999999");
    ROUNDED(CELL_TEXT, "1.25", 1, "1.25");
    ROUNDED(CELL_INT, "15", 0, "15");
    struct cell last = { .type = CELL_INSTANT, .i = INT64_MAX - 1 };

    CHECK(cell_round(&last, 0, &arena, &last, &err) && last.i == INT64_MAX - 1);
}

TEST(cell_same_compares_values)
{
    struct cell nan = { .type = CELL_FLOAT, .f = NAN }, one = { .type = CELL_INT, .i = 1 };
    struct cell zero = { .type = CELL_FLOAT, .f = 0 }, minus = { .type = CELL_FLOAT, .f = -0.0 };
    struct cell a = text_of("a"), b = text_of("b"), is = { .type = CELL_BOOL, .i = 1 };

    CHECK(cell_same(&nan, &nan) && cell_same(&zero, &minus) && !cell_same(&zero, &nan));
    CHECK(cell_same(&a, &a) && !cell_same(&a, &b) && !cell_same(&one, &is));
}

static const char *shown(struct cell c, size_t most)
{
    struct str s = cell_text(&c, most, &arena);

    return s.len <= most ? arena_text(&arena, s) : "too long";
}

TEST(cell_text_is_for_people)
{
    struct cell c = { .type = CELL_NULL };

    CHECK(strcmp(shown(c, 10), "NULL") == 0);
    CHECK(strcmp(shown(c, 2), "..") == 0);
    CHECK(strcmp(shown(c, 0), "") == 0);
    CHECK(strcmp(shown((struct cell){ .type = CELL_BYTES, .s = STR("\0\xff") }, 99), "x'00ff'") ==
          0);
    CHECK(strcmp(shown((struct cell){ .type = CELL_BYTES, .s = STR("\0\xff") }, 6), "x'0...") == 0);
    CHECK(strcmp(shown((struct cell){ .type = CELL_FLOAT, .f = 12.5 }, 99), "12.5") == 0);
    CHECK(strcmp(shown((struct cell){ .type = CELL_INSTANT, .i = 0 }, 99),
                 "1970-01-01T00:00:00Z") == 0);
    CHECK(strcmp(shown((struct cell){ .type = CELL_UUID, .s = STR("0123456789abcdef") }, 99),
                 "30313233-3435-3637-3839-616263646566") == 0);
    CHECK(strcmp(shown((struct cell){ .type = CELL_BOOL, .i = 0 }, 99), "false") == 0);
    CHECK(strcmp(shown(text_of("a\tb\x1b[2J\xff\xc2\x9b\xe2\x82\xac"), 99),
                 "a\\tb\\x1b[2J\\xff\\xc2\\x9b\xe2\x82\xac") == 0);
    CHECK(strcmp(shown(text_of("\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac"), 8), "\xe2\x82\xac...") ==
          0);
}

int main(void)
{
    int result = test_main();

    arena_done(&arena);
    return result;
}
