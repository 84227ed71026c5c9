/* Two links between two tables, one for each direction, with programs on both sides that change
 * rows at any moment: both become the same, nothing goes back, and no row is lost that nobody has
 * replaced knowingly. */
#include "base/clock.h"
#include "link_scene.h"

enum { KEYS = 8, VALUES = 4000, ROUNDS = 400, STEPS = 60, TURNS_MOST = 40 };

static struct way {
    struct link_spec spec;
    struct link_kept kept;
    struct link_state state;
    struct replicated done;
    int64_t sent;
    bool runs;
} ways[2];

static bool known[VALUES]; /* it was replaced by somebody who has seen it, or has lost */
static int last;           /* value that was written */
static unsigned chance;
static int depth;
static bool one_side;                    /* nobody writes on the other one */
static char newest[KEYS + 1][FAKE_NAME]; /* what was written last, on any side; "": removed */
static bool all_apart;                   /* no two changes at the same time */
static int64_t skew_us;                  /* of the clock of the destination */

static unsigned any(unsigned below)
{
    chance = chance * 1103515245 + 12345;
    return (chance >> 16) % below;
}

static void note_known(const char *name)
{
    int64_t n;

    if (str_to_i64(str_of(name), &n) && n > 0 && n < VALUES)
        known[n] = true;
}

/* The row that lost: its name stands in it as text. */
static void note_loser(struct str row)
{
    char name[FAKE_NAME];
    size_t at = row.len;

    while (at > 0 && row.ptr[at - 1] >= '0' && row.ptr[at - 1] <= '9')
        at--;
    (void)snprintf(name, sizeof name, "%.*s", (int)(row.len - at), row.ptr + at);
    note_known(name);
}

static void change(struct fake_database *f)
{
    int64_t id = 1 + any(KEYS);
    const struct fake_row *there = fake_find(f->now.rows, f->now.count, id);
    char name[FAKE_NAME];

    if (f->in || last + 1 >= VALUES)
        return;
    fake_now_us += all_apart ? 1 : any(2);
    if (there != NULL)
        note_known(there->name);
    if (there != NULL && any(4) == 0) {
        (void)fake_remove(f, id);
        newest[id][0] = '\0';
        return;
    }
    (void)snprintf(name, sizeof name, "%d", ++last);
    memcpy(newest[id], name, sizeof name);
    fake_put(f, id, name);
}

static void meanwhile(void);

/* Two databases for four connections: the one that a link calls its source is its own. */
static bool way_run(struct way *w)
{
    struct replicating r = {
        .spec = &w->spec, .kept = &w->kept, .arena = &arena, .fence = ++fence, .now_us = now_us
    };

    err = (struct err){ 0 };
    w->runs = true;
    bool ok = replicating_run(&r, &w->state, &w->done, &err);

    w->runs = false;
    if (!ok)
        printf("# %s\n", err.text);
    w->sent += w->done.written + w->done.removed;
    return ok;
}

static void step(void)
{
    unsigned what = any(6);

    if (any(2) == 0)
        (any(2) == 0 ? &fake_source : &fake_dest)->meanwhile = meanwhile;
    if (what < 3)
        change(one_side || any(2) == 0 ? &fake_source : &fake_dest);
    else if (!ways[what % 2].runs)
        CHECK(way_run(&ways[what % 2]));
}

/* Between two questions of a run. */
static void meanwhile(void)
{
    depth++;
    for (unsigned n = any(4); n > 0; n--)
        step();
    depth--;
}

static void both_begin(enum side_winner winner, enum side_winner back)
{
    begin();
    arena_reset(&arena);
    fake_source.identity = "A";
    fake_dest.identity = "B";
    fake_dest.journals = true;
    fake_dest.epoch = "two";
    fake_dest.ahead_us = skew_us;
    fake_loses = note_loser;
    fake_conflicts = 0;
    memset(known, 0, sizeof known);
    memset(newest, 0, sizeof newest);
    fake_now_us = 1000;
    last = 0;
    spec.deletes_most = INT64_MAX;
    for (size_t i = 0; i < 2; i++) {
        link_kept_done(&ways[i].kept);
        ways[i] = (struct way){ .spec = spec, .state = { .reached = { .key = STR("") } } };
        link_kept_init(&ways[i].kept);
        ways[i].spec.back = (struct link_back){ .link = i == 0 ? STR("b-a") : STR("a-b"),
                                                .table = STR("t"),
                                                .winner = i == 0 ? winner : back,
                                                .version = STR("name") };
    }
    ways[1].spec.link = STR("b-a");
    ways[1].spec.source = spec.dest;
    ways[1].spec.dest = spec.source;
}

/* Nobody writes any more. */
static bool both_settle(void)
{
    int64_t sent = -1;

    fake_source.meanwhile = fake_dest.meanwhile = NULL;
    for (int i = 0; i < TURNS_MOST && sent != ways[0].sent + ways[1].sent; i++) {
        sent = ways[0].sent + ways[1].sent;
        if (!way_run(&ways[0]) || !way_run(&ways[1]))
            return false;
    }
    return sent == ways[0].sent + ways[1].sent && ways[0].state.stands == LINK_CURRENT &&
           ways[1].state.stands == LINK_CURRENT && fake_same(&fake_source, &fake_dest);
}

static bool nothing_is_lost(void)
{
    for (size_t i = 0; i < fake_source.now.count; i++)
        note_known(fake_source.now.rows[i].name);
    for (int n = 1; n <= last; n++)
        if (!known[n]) {
            printf("# value %d is nowhere\n", n);
            return false;
        }
    return true;
}

static bool both_storm(unsigned seed, enum side_winner winner, enum side_winner back, size_t rows)
{
    chance = seed;
    both_begin(winner, back);
    for (size_t i = 0; i < rows; i++) {
        change(&fake_source);
        change(&fake_dest);
    }
    for (int i = 0; i < STEPS; i++)
        step();
    if (both_settle() && nothing_is_lost())
        return true;
    printf("# round %u, rule %d, %zu rows before\n", seed, winner, rows);
    for (size_t i = 0; i < fake_source.now.count || i < fake_dest.now.count; i++)
        printf("#   %s | %s\n", i < fake_source.now.count ? fake_source.now.rows[i].name : "",
               i < fake_dest.now.count ? fake_dest.now.rows[i].name : "");
    return false;
}

TEST(both_sides_become_the_same_and_nothing_is_lost)
{
    static const enum side_winner rules[][2] = { { SIDE_SOURCE_WINS, SIDE_DEST_WINS },
                                                 { SIDE_DEST_WINS, SIDE_SOURCE_WINS },
                                                 { SIDE_VERSION_WINS, SIDE_VERSION_WINS },
                                                 { SIDE_ORDER_WINS, SIDE_ORDER_WINS },
                                                 { SIDE_LAST_WINS, SIDE_LAST_WINS } };
    bool ok = true;

    for (unsigned n = 0; ok && n < ROUNDS; n++) {
        skew_us = n / 5 % 3 * 20; /* of the clocks: the later one is not always behind */
        ok = both_storm(n, rules[n % 5][0], rules[n % 5][1], n / 5 % 2 * 6);
        CHECK(ok);
    }
    skew_us = 0;
    link_kept_done(&kept);
}

/* Where the clocks agree, each row is in the end what was written last, on whichever side, and
 * whatever was decided on its way. */
TEST(the_later_change_stands_in_the_end)
{
    all_apart = true;
    for (unsigned n = 0; n < ROUNDS; n++) {
        CHECK(both_storm(n, SIDE_LAST_WINS, SIDE_LAST_WINS, n % 2 * 6));
        for (int64_t id = 1; id <= KEYS; id++) {
            if (strcmp(fake_name(&fake_source, id), newest[id]) != 0)
                printf("# round %u, key %d: %s, not %s\n", n, (int)id, fake_name(&fake_source, id),
                       newest[id]);
            CHECK(strcmp(fake_name(&fake_source, id), newest[id]) == 0);
        }
    }
    all_apart = false;
}

static bool clock_stops(struct way *w)
{
    return way_run(w) && w->state.stands == LINK_STOPPED && w->state.reason == LINK_CLOCK;
}

TEST(a_clock_that_is_ahead_stops_until_a_person_says_go_on)
{
    all_apart = true;
    both_begin(SIDE_LAST_WINS, SIDE_LAST_WINS);
    CHECK(both_settle());
    fake_source.ahead_us = 299 * CLOCK_S;
    fake_put(&fake_source, 1, "early");
    CHECK(both_settle() && strcmp(fake_name(&fake_dest, 1), "early") == 0);
    fake_source.ahead_us = 302 * CLOCK_S;
    fake_put(&fake_source, 1, "too early");
    CHECK(clock_stops(&ways[0]) && clock_stops(&ways[0]));
    CHECK(strstr(ways[0].state.message, "s ahead of the clock") != NULL);
    CHECK(strcmp(fake_name(&fake_dest, 1), "early") == 0);
    CHECK(way_run(&ways[1]) && ways[1].state.stands == LINK_CURRENT);
    order(REPLICA_GO_ON);
    CHECK(way_run(&ways[0]) && way_run(&ways[0]) && ways[0].state.stands == LINK_CURRENT);
    CHECK(strcmp(fake_name(&fake_dest, 1), "too early") == 0 && ways[0].state.clock_allowed == 0);
    fake_put(&fake_source, 2, "again");
    CHECK(clock_stops(&ways[0]));
    fake_now_us += 600 * CLOCK_S; /* time passes */
    CHECK(both_settle());
    all_apart = false;
}

/* proves: RP6 */
TEST(what_one_side_writes_does_not_come_back)
{
    one_side = true;
    for (unsigned n = 0; n < ROUNDS; n++) {
        chance = n;
        both_begin(SIDE_VERSION_WINS, SIDE_VERSION_WINS);
        for (int i = 0; i < STEPS; i++)
            step();
        CHECK(both_settle() && nothing_is_lost() && ways[1].sent == 0 && fake_conflicts == 0);
    }
    one_side = false;
}

int main(void)
{
    return link_tests();
}
