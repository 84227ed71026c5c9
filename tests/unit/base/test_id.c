#include "test.h"

#include "base/chance.h"
#include "base/id.h"
#include "dies.h"

#define WALL_US INT64_C(1794711130123456) /* 2026-11-15T02:52:10.123456Z */

/* To the millisecond: the first 48 bits. */
static int64_t wall_us_of(const struct id *id)
{
    int64_t ms = 0;

    for (int i = 0; i < 6; i++)
        ms = ms << 8 | id->bytes[i];
    return ms * 1000;
}

TEST(id_carries_time_and_row)
{
    static const struct {
        int64_t wall_us, row;
        uint64_t random;
    } cases[] = {
        { 0, 0, 0 },
        { WALL_US, 1, 0 },
        { WALL_US, ID_ROW_MOST, UINT64_MAX },
        { WALL_US, INT64_C(0x5555555555), UINT64_C(0xaaaaaaaaaaaaaaaa) },
        { INT64_C(281474976710655) * 1000, 77, 1 }, /* the last millisecond that fits */
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct id id = id_make(cases[i].wall_us, cases[i].row, cases[i].random), back;
        char text[ID_TEXT];

        CHECK(id_row(&id) == cases[i].row);
        CHECK(wall_us_of(&id) == cases[i].wall_us / 1000 * 1000);
        CHECK(id.bytes[6] >> 4 == 7 && id.bytes[8] >> 6 == 2);
        CHECK(strlen(id_text(&id, text)) == ID_TEXT - 1);
        CHECK(id_parse(str_of(text), &back) && id_eq(&id, &back));
    }
}

TEST(id_round_trips_whatever_chance_gives)
{
    for (int i = 0; i < 10000; i++) {
        int64_t row = (int64_t)(chance_u64() & (uint64_t)ID_ROW_MOST);
        int64_t wall_us = (int64_t)(chance_u64() >> 16) * 1000;
        struct id id = id_make(wall_us, row, chance_u64()), back;
        char text[ID_TEXT];

        CHECK(id_row(&id) == row && wall_us_of(&id) == wall_us);
        CHECK(id_parse(str_of(id_text(&id, text)), &back) && id_eq(&id, &back));
    }
}

TEST(id_text_is_as_the_rfc_writes_it)
{
    struct id id = id_make(INT64_C(0x0123456789ab) * 1000, 0, 0);
    char text[ID_TEXT];

    CHECK(strcmp(id_text(&id, text), "01234567-89ab-7000-8000-000000000000") == 0);
    id = id_make(0, 0, 0x3ffff << 12 | 0xfff);
    CHECK(strcmp(id_text(&id, text), "00000000-0000-7fff-8000-00000003ffff") == 0);
    id = id_make(0, ID_ROW_MOST, 0);
    CHECK(strcmp(id_text(&id, text), "00000000-0000-7000-bfff-fffffffc0000") == 0);
}

TEST(id_sorts_by_time)
{
    char last[ID_TEXT] = "", text[ID_TEXT];

    for (int i = 0; i < 1000; i++) {
        struct id id = id_make(WALL_US + i * 1000, (int64_t)(chance_u64() >> 20), chance_u64());

        CHECK(strcmp(last, id_text(&id, text)) < 0);
        memcpy(last, text, sizeof last);
    }
}

TEST(id_parse_refuses_every_other_form)
{
    static const char *const wrong[] = {
        "",
        "0191",
        "01234567-89ab-7000-8000-00000000000",   /* short */
        "01234567-89ab-7000-8000-0000000000000", /* long */
        "01234567-89AB-7000-8000-000000000000",  /* upper case */
        "01234567-89ab-4000-8000-000000000000",  /* version 4 */
        "01234567-89ab-7000-0000-000000000000",  /* variant */
        "01234567-89ab-7000-c000-000000000000",
        "0123456789ab-7000-8000-0000000000000", /* hyphens elsewhere */
        "01234567089ab070000800000000000000000",
        "01234567089ab07000080000000000000000",
        "g1234567-89ab-7000-8000-000000000000",
        "01234567-89ab-7000-8000-00000000000/",
        "01234567-89ab-7000-8000-00000000000:",
        "01234567-89ab-7000-8000-00000000000`",
        "{1234567-89ab-7000-8000-00000000000}",
    };
    struct id untouched = id_make(WALL_US, 5, 5), id = untouched;

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        CHECK(!id_parse(str_of(wrong[i]), &id) && id_eq(&id, &untouched));
    CHECK(!id_parse(STR("01234567-89ab-7000-8000-0000000000\0000"), &id));
    CHECK(id_parse(STR("01234567-89ab-7000-8000-000000000000"), &id));
}

static void row_too_large(void)
{
    (void)id_make(0, ID_ROW_MOST + 1, 0);
}

static void row_below_zero(void)
{
    (void)id_make(0, -1, 0);
}

static void time_too_late(void)
{
    (void)id_make(INT64_C(281474976710656) * 1000, 0, 0);
}

TEST(id_make_wants_what_fits)
{
    CHECK(dies(row_too_large));
    CHECK(dies(row_below_zero));
    CHECK(dies(time_too_late));
}

int main(void)
{
    return test_main();
}
