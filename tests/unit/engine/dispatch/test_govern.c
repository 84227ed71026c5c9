/* Why nothing of a system may begin now; the clocks are arguments. */
#include "engine/dispatch/govern.h"

#include "base/clock.h"
#include "test.h"

enum { SALES = 11, STOCK = 12 };

static const int64_t noon = INT64_C(1800000000) * CLOCK_S, minute = INT64_C(60) * CLOCK_S;

/* A governor whose clock says noon when the monotonic one says 0. */
static struct govern *at_noon(void)
{
    struct govern *g = govern_new();
    int64_t step;

    (void)govern_note_clock(g, noon, 0, &step);
    return g;
}

static unsigned why_at(struct govern *g, int64_t system, int64_t mono_us)
{
    int64_t ask;

    return govern_why(g, system, mono_us, &ask);
}

/* proves: HO5 */
TEST(reasons_are_a_set_and_evaluated)
{
    static const struct {
        const char *what;
        struct govern_hold holds[3];
        size_t count;
        bool held[5]; /* at noon, and each minute after it */
    } cases[] = {
        { "none", .count = 0 },
        { "one", { { SALES, noon - 1, noon + 90 * CLOCK_S } }, 1, { 1, 1, 0, 0, 0 } },
        { "later", { { SALES, noon + 60 * CLOCK_S, noon + 180 * CLOCK_S } }, 1, { 0, 1, 1, 0, 0 } },
        { "no end", { { SALES, noon, 0 } }, 1, { 1, 1, 1, 1, 1 } },
        { "another system", { { STOCK, noon, 0 } }, 1, { 0 } },
        { "overlapping",
          { { SALES, noon, noon + 90 * CLOCK_S },
            { SALES, noon + 30 * CLOCK_S, noon + 150 * CLOCK_S } },
          2,
          { 1, 1, 1, 0, 0 } },
        { "one inside the other",
          { { SALES, noon, noon + 150 * CLOCK_S }, { SALES, noon, noon + 30 * CLOCK_S } },
          2,
          { 1, 1, 1, 0, 0 } },
        { "twice the same",
          { { SALES, noon, noon + 90 * CLOCK_S }, { SALES, noon, noon + 90 * CLOCK_S } },
          2,
          { 1, 1, 0, 0, 0 } },
        { "with a gap",
          { { SALES, noon + 180 * CLOCK_S, 0 },
            { STOCK, noon, 0 },
            { SALES, noon, noon + 60 * CLOCK_S } },
          3,
          { 1, 0, 0, 1, 1 } },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct govern *g = at_noon();

        govern_set_holds(g, cases[i].holds, cases[i].count);
        for (int m = 0; m < 5; m++) {
            bool ok = (why_at(g, SALES, m * minute) == HELD_HOLD) == cases[i].held[m];

            if (!ok)
                (void)printf("# %s, minute %d\n", cases[i].what, m);
            CHECK(ok);
        }
        govern_set_holds(g, NULL, 0); /* removed */
        for (int m = 0; m < 5; m++)
            CHECK(why_at(g, SALES, m * minute) == 0);
        govern_free(g);
    }
}

TEST(an_answer_says_how_long_it_is_good)
{
    struct govern *g = at_noon();
    struct govern_hold h[] = { { SALES, noon + 300 * CLOCK_MS, noon + 500 * CLOCK_MS } };
    uint64_t before = govern_generation(g);
    int64_t ask;

    CHECK(govern_why(g, SALES, 0, &ask) == 0 && ask == CLOCK_S);
    govern_set_holds(g, h, 1);
    CHECK(govern_generation(g) != before);
    CHECK(govern_why(g, SALES, 0, &ask) == 0 && ask == 300 * CLOCK_MS);
    CHECK(govern_why(g, SALES, ask, &ask) == HELD_HOLD && ask == 500 * CLOCK_MS);
    CHECK(govern_why(g, SALES, ask, &ask) == 0 && ask == 1500 * CLOCK_MS);
    CHECK(govern_why(g, STOCK, 0, &ask) == 0 && ask == CLOCK_S);
    govern_free(g);
}

TEST(a_pause_is_a_reason_of_every_system)
{
    struct govern *g = at_noon();
    struct govern_hold h = { SALES, noon, 0 };

    govern_set_holds(g, &h, 1);
    govern_set_pause(g, true);
    CHECK(why_at(g, SALES, 0) == (HELD_HOLD | HELD_PAUSE) && why_at(g, STOCK, 0) == HELD_PAUSE);
    govern_set_pause(g, false);
    CHECK(why_at(g, SALES, 0) == HELD_HOLD && why_at(g, STOCK, 0) == 0);
    govern_free(g);
}

/* proves: FO14 */
TEST(a_restore_is_a_reason_of_every_system)
{
    struct govern *g = at_noon();
    uint64_t before = govern_generation(g);

    govern_set_restored(g, true);
    CHECK(govern_generation(g) != before);
    CHECK(why_at(g, SALES, 0) == HELD_RESTORE && why_at(g, STOCK, 0) == HELD_RESTORE);
    govern_set_pause(g, true);
    govern_set_pause(g, false);
    CHECK(why_at(g, SALES, 0) == HELD_RESTORE); /* who resumes releases nothing */
    govern_set_restored(g, false);
    CHECK(why_at(g, SALES, 0) == 0);
    govern_free(g);
}

/* proves: HO9 QC6 */
TEST(a_jump_of_the_clock_ends_no_hold)
{
    struct govern *g = at_noon();
    struct govern_hold h[] = { { SALES, noon, noon + 30 * minute },
                               { STOCK, noon + 40 * minute, 0 } };
    int64_t step, hour = 60 * minute;

    govern_set_holds(g, h, 2);
    CHECK(why_at(g, SALES, 1 * CLOCK_S) == HELD_HOLD && why_at(g, STOCK, 1 * CLOCK_S) == 0);
    CHECK(govern_note_clock(g, noon + hour, 2 * CLOCK_S, &step) == STEADY_FROZE);
    CHECK(why_at(g, SALES, 3 * CLOCK_S) == HELD_HOLD && why_at(g, STOCK, 3 * CLOCK_S) == HELD_HOLD);
    CHECK(govern_time(g).frozen);
    govern_set_holds(g, h + 1, 1); /* a person ends it: that counts */
    CHECK(why_at(g, SALES, 3 * CLOCK_S) == 0);
    govern_set_holds(g, h, 2);
    CHECK(govern_note_clock(g, noon + 4 * CLOCK_S, 4 * CLOCK_S, &step) == STEADY_SAME);
    CHECK(govern_note_clock(g, noon + 10 * CLOCK_S, 10 * CLOCK_S, &step) == STEADY_WENT_ON);
    CHECK(why_at(g, SALES, 11 * CLOCK_S) == HELD_HOLD && why_at(g, STOCK, 11 * CLOCK_S) == 0);
    govern_free(g);
}

/* proves: QC2 FO3 */
TEST(a_node_whose_heartbeat_is_overdue_begins_nothing)
{
    struct govern *g = at_noon();
    int64_t now = clock_mono_us(), ask;

    govern_set_lease(g, now + 100 * CLOCK_MS);
    CHECK(govern_why(g, SALES, now, &ask) == 0 && ask == now + 100 * CLOCK_MS);
    CHECK(why_at(g, SALES, ask) == HELD_PAUSE);
    govern_set_lease(g, now + 500 * CLOCK_MS);
    CHECK(why_at(g, SALES, ask) == 0);
    govern_set_lease(g, now - 1);
    uint64_t before = govern_generation(g);

    govern_set_lease(g, now + CLOCK_S); /* what was over counts again: everybody asks anew */
    CHECK(govern_generation(g) != before && why_at(g, SALES, now) == 0);
    govern_free(g);
}

int main(void)
{
    return test_main();
}
