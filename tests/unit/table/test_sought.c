/* What is looked for in tables, and what is shown of it. */
#include "table/sought.h"

#include "base/auto.h"
#include "table/cell_time.h"
#include "test.h"

static struct shape_column columns[] = {
    { .name = { "b", 1 }, .native = { "text", 4 }, .natural = CELL_TEXT, .key_place = 2 },
    { .name = { "a", 1 }, .natural = CELL_INT, .key_place = 1 },
    { .name = { "at", 2 }, .natural = CELL_INSTANT },
    { .name = { "local", 5 }, .natural = CELL_LOCAL },
    { .name = { "day", 3 }, .natural = CELL_DATE },
    { .name = { "odd", 3 }, .native = { "tsvector", 8 } },
};
static const struct shape shape = {
    .name = { "t", 1 }, .columns = columns, .count = 6, .key_count = 2
};

TEST(sought_shows_the_key_and_what_is_looked_at)
{
    struct sought s = { .kind = SOUGHT_ORPHANS, .shape = &shape, .columns = { 4, 0 }, .count = 2 };
    size_t places[SOUGHT_SHOWN_MOST];

    CHECK(sought_shown(&s, places) == 3 && places[0] == 1 && places[1] == 0 && places[2] == 4);
    s.kind = SOUGHT_DUPLICATES;
    CHECK(sought_shown(&s, places) == 2 && places[0] == 4 && places[1] == 0);
}

TEST(sought_names_that_are_not_there_are_told_with_those_that_are)
{
    const struct str names[] = { STR("at"), STR("att") };
    struct err err = { 0 };
    size_t places[2];

    CHECK(sought_places(&shape, names, 1, places, &err) && places[0] == 2);
    CHECK(!sought_places(&shape, names, 2, places, &err) && err.kind == ERR_CONFIG);
    CHECK(strcmp(err.text, "table t has no column att; it has b, a, at, local, day, odd") == 0);
}

TEST(sought_values_have_the_type_of_the_column)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct sought_value v;
    struct err err = { 0 };

    CHECK(sought_value_of(&shape, STR("a"), STR("12"), &a, &v, &err));
    CHECK(v.column == 1 && v.value.type == CELL_INT && v.value.i == 12);
    CHECK(sought_value_of(&shape, STR("day"), STR("1970-01-03"), &a, &v, &err) && v.value.i == 2);
    CHECK(!sought_value_of(&shape, STR("a"), STR("x"), &a, &v, &err) && err.kind == ERR_CONFIG);
    CHECK(!sought_value_of(&shape, STR("odd"), STR("x"), &a, &v, &err));
    CHECK(strstr(err.text, "tsvector") != NULL && err.kind == ERR_CONFIG);
}

TEST(sought_before_is_in_the_form_of_the_column)
{
    struct sought s = { .kind = SOUGHT_OLDER,
                        .shape = &shape,
                        .count = 1,
                        .before_us = 5,
                        .before_local_us = CELL_DAY_US * 3 + 7 };
    struct cell c;
    struct err err = { 0 };

    s.columns[0] = 2;
    CHECK(sought_before(&s, &c, &err) && c.type == CELL_INSTANT && c.i == 5);
    s.columns[0] = 3;
    CHECK(sought_before(&s, &c, &err) && c.type == CELL_LOCAL && c.i == s.before_local_us);
    s.columns[0] = 4;
    CHECK(sought_before(&s, &c, &err) && c.type == CELL_DATE && c.i == 3);
    s.before_local_us = -1;
    CHECK(sought_before(&s, &c, &err) && c.i == -1);
    s.before_local_us = -CELL_DAY_US;
    CHECK(sought_before(&s, &c, &err) && c.i == -1);
    s.columns[0] = 0;
    CHECK(!sought_before(&s, &c, &err) && err.kind == ERR_CONFIG);
    CHECK(strstr(err.text, "column b is of type text, and no date") != NULL);
}

TEST(found_examples_are_few_short_and_clean)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct sought s = {
        .kind = SOUGHT_DUPLICATES, .shape = &shape, .columns = { 0 }, .count = 1, .shown = 4
    };
    const struct str texts[][2] = {
        { STR("x\x1b[2J\ny\x7f"), STR("2") },
        { STR("\xff\xfe"
              "a"),
          STR("3") },
        { STR("\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
              "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
              "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
              "012345678901234567890123456789Z"),
          STR("4") },
        { { 0 }, STR("5") },
        { STR("one more"), STR("6") },
    };
    struct found f = { 0 };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        found_add(&f, &s, texts[i], &a);
    CHECK(f.count == 5 && f.example_count == 4);
    CHECK(str_is(f.examples[0], "b = x?[2J?y? (2 rows)"));
    CHECK(str_is(f.examples[1], "b = ??a (3 rows)"));
    CHECK(str_starts(f.examples[2], STR("b = \xc3\xa4")));
    CHECK(memmem(f.examples[2].ptr, f.examples[2].len, "89... (4 rows)", 14) != NULL);
    CHECK(str_is(f.examples[3], "b = NULL (5 rows)"));
}

int main(void)
{
    return test_main();
}
