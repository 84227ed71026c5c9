#include "core/calendar.h"

#include "base/auto.h"
#include "core/civil.h"
#include "test.h"

static const struct calendar *calendar(const char *text, struct arena *a)
{
    AUTO(problem_list_done) struct problem_list problems = PROBLEM_LIST_INIT;
    const struct yaml_node *node = yaml_load(str_of(text), a, &problems);

    return calendar_build(node, a);
}

TEST(calendar_has_its_dates)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    const struct calendar *c =
        calendar("dates: [ 2027-05-01, 2026-04-03, 12-25, 02-29, \"2026-12-24\" ]", &a);

    CHECK(calendar_has(c, civil_day(2026, 4, 3)) && !calendar_has(c, civil_day(2027, 4, 3)));
    CHECK(calendar_has(c, civil_day(2027, 5, 1)) && !calendar_has(c, civil_day(2026, 5, 1)));
    CHECK(calendar_has(c, civil_day(2026, 12, 24)) && !calendar_has(c, civil_day(2027, 12, 24)));
    CHECK(calendar_has(c, civil_day(1999, 12, 25)) && calendar_has(c, civil_day(2500, 12, 25)));
    CHECK(calendar_has(c, civil_day(2028, 2, 29)) && !calendar_has(c, civil_day(2027, 3, 1)));
}

TEST(calendar_without_dates_has_none)
{
    static const char *const texts[] = { "", "dates: []", "dates:", "title: x" };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);

        CHECK(!calendar_has(calendar(texts[i], &a), 20000));
    }
    AUTO(arena_done) struct arena b = ARENA_INIT(1 << 20);

    CHECK(!calendar_has(calendar_build(NULL, &b), 0));
}

int main(void)
{
    return test_main();
}
