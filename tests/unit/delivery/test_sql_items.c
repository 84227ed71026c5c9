/* Items of a JSON document as values. */
#include "base/auto.h"
#include "delivery/sql_items.h"
#include "test.h"

static bool finds(const char *at, const char *document, const char *items)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct sql_items_at place;
    struct err err = { 0 };
    char all[300] = "";
    struct str *found;
    size_t count;

    if (!sql_items_at_read(str_of(at), &a, &place, &err) ||
        !sql_items_find(&place, str_of(document), &a, &found, &count, &err)) {
        (void)snprintf(all, sizeof all, "%s", err.text);
        return strstr(all, items) != NULL && err.kind == ERR_PERMANENT;
    }
    for (size_t i = 0; i < count; i++)
        (void)snprintf(all + strlen(all), sizeof all - strlen(all), "%.*s|", STR_ARG(found[i]));
    if (strcmp(all, items) != 0)
        printf("# %s\n", all);
    return strcmp(all, items) == 0;
}

TEST(sql_items_are_found_as_they_stand)
{
    CHECK(finds("json:", "[1, {\"a\": [2]} ,[], \"x\"]", "1|{\"a\": [2]}|[]|\"x\"|"));
    CHECK(finds("json:/a/b", "{\"c\": [9], \"a\": {\"b\": [1,2]}, \"a\": {\"b\": [3]}}", "1|2|"));
    CHECK(finds("json:/0/x~1y", "[{\"x/y\": [1]}]", "1|"));
    CHECK(finds("json:/a", "{\"\\u0061\": [true]}", "true|"));
    CHECK(finds("json:/a", "{\"a\": []}", ""));
    CHECK(finds("json:/a", "\xef\xbb\xbf{\"a\": [1]}", "1|"));
}

TEST(sql_items_that_are_none)
{
    CHECK(finds("json:/a", "{}", "nothing at"));
    CHECK(finds("json:/a/b", "{\"a\": 5}", "nothing at"));
    CHECK(finds("json:/a", "{\"a\": {}}", "no list"));
    CHECK(finds("json:", "5", "no list"));
    CHECK(finds("json:/a", "{\"a\": [1]", "JSON"));
    CHECK(finds("json:/a", "{\"a\": [1]} x", "JSON"));
}

static bool field_is(const char *item, const char *name, enum datum_kind kind, const char *text)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct datum d;

    return sql_items_field(str_of(item), str_of(name), &a, &d) && d.kind == kind &&
           str_is(d.bytes, text);
}

TEST(sql_items_have_fields_of_their_kinds)
{
    static const char item[] =
        "{ \"t\": \"a\\\"\\u00e9\\n\", \"i\": -9007199254740993, \"d\": 1.50, "
        "\"f\": 1e5, \"b\": true, \"n\": null, \"o\": {\"x\": [1, 2]}, "
        "\"s\": \"\\ud800\", \"t\": 7 }";
    struct datum d;

    CHECK(field_is(item, "t", DATUM_TEXT, "a\"\xc3\xa9\n"));
    CHECK(field_is(item, "i", DATUM_INTEGER, "-9007199254740993"));
    CHECK(field_is(item, "d", DATUM_DECIMAL, "1.50"));
    CHECK(field_is(item, "f", DATUM_FLOAT, "1e5"));
    CHECK(field_is(item, "b", DATUM_BOOL, "true"));
    CHECK(field_is(item, "n", DATUM_NULL, ""));
    CHECK(field_is(item, "o", DATUM_TEXT, "{\"x\": [1, 2]}"));
    CHECK(field_is(item, "s", DATUM_TEXT, "\xef\xbf\xbd"));
    CHECK(!sql_items_field(str_of(item), STR("x"), NULL, &d));
    CHECK(!sql_items_field(STR("[1]"), STR("0"), NULL, &d));
    CHECK(!sql_items_field(STR("5"), STR("0"), NULL, &d));
}

TEST(sql_items_places_are_checked)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct sql_items_at place;
    struct err err = { 0 };

    CHECK(!sql_items_at_read(STR("items"), &a, &place, &err) && err.kind == ERR_CONFIG);
    CHECK(!sql_items_at_read(STR("json:items"), &a, &place, &err));
    CHECK(!sql_items_at_read(STR("xml:/a"), &a, &place, &err));
    CHECK(sql_items_at_read(STR("json:/a//b"), &a, &place, &err) && place.count == 3);
}

int main(void)
{
    return test_main();
}
