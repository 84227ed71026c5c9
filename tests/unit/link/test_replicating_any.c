/* Runs of a table of a link with anything happening, in any order: changes, rows that are refused
 * or cannot travel, lost answers, runs that die, runs of other nodes, orders.  In the end both are
 * equal. */
#include "link_scene.h"

enum { SOME_IDS = 60, SOME_SEEDS = 100, SOME_STEPS = 60 };

static uint64_t some_state;

static int some_below(int n)
{
    some_state = some_state * 6364136223846793005 + 1442695040888963407;
    return (int)((some_state >> 33) % (uint64_t)n);
}

/* In the middle of ours a run of another node, which has the table since, or had it before. */
static void some_other(void)
{
    struct replicated mine = done;
    struct link_state was = state;
    struct err before = err;

    (void)run_with(some_below(2) == 0 ? fence + 1 : fence - 1);
    done = mine;
    state = was;
    err = before;
}

static void some_change(void)
{
    char name[FAKE_NAME];
    int id = 1 + some_below(SOME_IDS);

    (void)snprintf(name, sizeof name, some_below(20) == 0 ? "\xff%d" : "%d", some_below(1000));
    if (some_below(3) == 0)
        (void)fake_remove(&fake_source, id);
    else
        fake_put(&fake_source, id, name);
}

static void some_step(void)
{
    struct link_state before = state;

    for (int n = some_below(10); n > 0; n--)
        some_change();
    now_us += some_below(100) * (int64_t)CLOCK_S;
    fake_dest.refused = some_below(3) == 0 ? 1 + some_below(SOME_IDS) : fake_dest.refused;
    fake_source.held_x = some_below(4) == 0 ? fake_source.now.x + 1 : 0;
    fake_dest.lose_answer = some_below(6) == 0;
    fake_source.meanwhile = some_below(8) == 0 ? some_other : NULL;
    if (some_below(15) == 0)
        order(some_below(2) == 0 ? REPLICA_RESYNC : REPLICA_GO_ON);
    if (some_below(20) == 0) { /* an extra row, or a wrong one, which only a load finds */
        fake_put(&fake_dest, 1 + some_below(2 * SOME_IDS), "stray");
        order(REPLICA_RESYNC);
    }
    bool ok = run_with(++fence);

    fence++;
    if (!ok || some_below(5) == 0) /* it died before its state was stored */
        state = before;
}

/* All that was in the way is away: it must come to rest with equal tables. */
static bool some_rest(void)
{
    fake_dest.refused = fake_source.held_x = 0;
    fake_dest.lose_answer = false;
    fake_source.meanwhile = NULL;
    for (int id = 1; id <= SOME_IDS; id++)
        if (fake_name(&fake_source, id)[0] == '\xff')
            fake_put(&fake_source, id, "well");
    for (int i = 0; i < 5; i++) {
        now_us += 2 * 3600 * (int64_t)CLOCK_S;
        if (!run())
            return false;
    }
    return state.stands == LINK_CURRENT && state.set_aside == 0 && fake_aside_count == 0 &&
           fake_same(&fake_source, &fake_dest);
}

TEST(whatever_happens_both_are_equal_in_the_end)
{
    for (int seed = 1; seed <= SOME_SEEDS; seed++) {
        some_state = (uint64_t)seed;
        begin();
        spec.deletes_most = spec.quarantine_most = 1000;
        spec.batch_bytes = 4096 / (1 + (size_t)some_below(20));
        if (some_below(2) == 0)
            fill(&fake_dest, 1, 20);
        for (int i = 0; i < SOME_STEPS; i++)
            some_step();
        if (!some_rest())
            (void)printf("# seed %d: %s %s\n", seed, link_stands[state.stands], state.message);
        CHECK(state.stands == LINK_CURRENT && fake_aside_count == 0);
        CHECK(fake_same(&fake_source, &fake_dest));
    }
}

int main(void)
{
    return link_tests();
}
