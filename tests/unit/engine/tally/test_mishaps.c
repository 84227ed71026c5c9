#include "engine/tally/mishaps.h"

#include "test.h"

static size_t said(struct mishaps *m, struct str code, int64_t object, int times, int64_t *ret_more)
{
    size_t n = 0;

    for (int i = 0; i < times; i++)
        n += mishaps_may_say(m, code, object, ret_more);
    return n;
}

/* proves: SC16 */
TEST(a_flood_of_one_kind_is_a_few_lines)
{
    struct mishaps *m = mishaps_new();
    int64_t more;

    CHECK(said(m, STR("rejected"), 7, 100000, &more) <= 6 &&
          more == 0);                                               /* one a minute from then */
    CHECK(said(m, STR("rejected"), 8, 3, &more) == 3 && more == 0); /* another receiver */
    CHECK(said(m, STR("unreached"), 7, 3, &more) == 3);             /* another code */
    mishaps_free(m);
}

TEST(many_kinds_are_kept_apart_as_far_as_there_is_room)
{
    struct mishaps *m = mishaps_new();
    int64_t more;

    for (int64_t object = 0; object < 5000; object++)
        CHECK(mishaps_may_say(m, STR("rejected"), object, &more));
    mishaps_free(m);
}

int main(void)
{
    return test_main();
}
