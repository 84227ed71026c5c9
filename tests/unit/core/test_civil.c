#include "core/civil.h"

#include "test.h"

TEST(civil_days_and_dates)
{
    static const struct {
        int64_t day, year;
        int month, of_month, weekday;
    } cases[] = {
        { 0, 1970, 1, 1, 3 },         { -1, 1969, 12, 31, 2 },    { 19782, 2024, 2, 29, 3 },
        { 20772, 2026, 11, 15, 6 },   { 47540, 2100, 2, 28, 6 },  { 47541, 2100, 3, 1, 0 },
        { 11016, 2000, 2, 29, 1 },    { -719162, 1, 1, 1, 0 },    { -719528, 0, 1, 1, 5 },
        { 2932896, 9999, 12, 31, 4 }, { -719529, -1, 12, 31, 4 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct civil_date d = civil_date(cases[i].day);

        CHECK(civil_day(cases[i].year, cases[i].month, cases[i].of_month) == cases[i].day);
        CHECK(d.year == cases[i].year && d.month == cases[i].month && d.day == cases[i].of_month);
        CHECK(civil_weekday(cases[i].day) == cases[i].weekday);
    }
}

/* Every day of a thousand years, one after the other. */
TEST(civil_days_follow_each_other)
{
    struct civil_date d = { 1600, 1, 1 };
    int64_t day = civil_day(1600, 1, 1);
    int weekday = 5;

    for (; d.year < 2600; day++, weekday = (weekday + 1) % 7) {
        struct civil_date got = civil_date(day);

        CHECK(got.year == d.year && got.month == d.month && got.day == d.day);
        CHECK(civil_day(d.year, d.month, d.day) == day && civil_weekday(day) == weekday);
        if (++d.day <= civil_month_days(d.year, d.month))
            continue;
        d.day = 1;
        if (++d.month > 12) {
            d.month = 1;
            d.year++;
        }
    }
}

int main(void)
{
    return test_main();
}
