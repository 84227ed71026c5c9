#include "core/pickup/sighting.h"

#include <stdio.h>

#include "base/auto.h"
#include "test.h"

TEST(a_sighting_ages_while_nothing_changes)
{
    AUTO(sightings_done) struct sightings s = { 0 };

    CHECK(!sightings_has(&s, STR("a"), 1, 10, 5));
    CHECK(sightings_age_us(&s, STR("a"), 1, 10, 5, 1000) == 0);
    CHECK(sightings_has(&s, STR("a"), 1, 10, 5) && !sightings_has(&s, STR("b"), 1, 10, 5));
    CHECK(!sightings_has(&s, STR("a"), 1, 11, 5) && !sightings_has(&s, STR("a"), 2, 10, 5));
    CHECK(sightings_age_us(&s, STR("a"), 1, 10, 5, 1700) == 700);
    CHECK(sightings_age_us(&s, STR("a"), 1, 11, 5, 1800) == 0);
    CHECK(sightings_age_us(&s, STR("a"), 1, 11, 6, 1900) == 0);
    CHECK(sightings_age_us(&s, STR("a"), 2, 11, 6, 2000) == 0);
    CHECK(sightings_age_us(&s, STR("b"), 2, 11, 6, 2000) == 0);
    sightings_turn(&s);
    CHECK(sightings_age_us(&s, STR("a"), 2, 11, 6, 3000) == 1000);
    sightings_turn(&s); /* b was not met */
    CHECK(s.count == 1 && sightings_age_us(&s, STR("b"), 2, 11, 6, 4000) == 0);
    sightings_turn(&s);
    sightings_turn(&s);
    CHECK(s.count == 0);
}

/* proves: FI13 */
TEST(sightings_are_bounded)
{
    AUTO(sightings_done) struct sightings s = { 0 };
    int known = 0;

    for (int64_t round = 0; round < 2; round++)
        for (int i = 0; i < SIGHTINGS_MOST + 1000; i++) {
            char name[32];

            (void)snprintf(name, sizeof name, "file %d", i);
            known += sightings_age_us(&s, str_of(name), 1, 1, 1, 1 + round) == 1;
        }
    CHECK(known == SIGHTINGS_MOST && s.count == SIGHTINGS_MOST);
    CHECK(sightings_age_us(&s, STR("one more"), 1, 1, 1, 3) == -1);
    CHECK(!sightings_has(&s, STR("one more"), 1, 1, 1));
}

int main(void)
{
    return test_main();
}
