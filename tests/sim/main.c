/* main.c - the simulator.
 *
 *     sim --seeds N [--from K]        runs, until one breaks an invariant
 *     sim --seed K [--trace]          one run, told line by line
 *     sim ... --bug NAME              with a planted bug, which must be found
 *     sim --all N                     N seeds, then every bug
 *     sim --tap                       a few fixed seeds and every bug, for the tests
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "sim.h"

enum { FIXED = 300, BUG_SEEDS = 3000 };

static const char *const bugs[BUGS] = {
    [BUG_NONE] = "none",         [BUG_FENCE] = "missing-fence", [BUG_RELEASE] = "lost-release",
    [BUG_TOKEN] = "token-twice", [BUG_HEAD] = "early-head",     [BUG_BACKOFF] = "no-backoff",
    [BUG_OWNERS] = "two-owners", [BUG_TAKER] = "late-taker",    [BUG_STATE] = "state-back",
    [BUG_SLOT] = "lost-slot",    [BUG_TIME] = "lost-time",      [BUG_LEFT] = "left-run",
};

static struct world world;
static const char *self;

/* The first seed that fails; 0: none. */
static uint64_t search(uint64_t from, uint64_t count, enum bug bug)
{
    for (uint64_t seed = from; seed < from + count; seed++)
        if (!world_run(&world, seed, bug, false))
            return seed;
    return 0;
}

static void say_broken(uint64_t seed, enum bug bug)
{
    printf("sim: seed %llu: %s: %s\n", (unsigned long long)seed, world.invariant, world.why);
    printf("sim: replay with: %s --seed %llu --trace%s%s\n", self, (unsigned long long)seed,
           bug != BUG_NONE ? " --bug " : "", bug != BUG_NONE ? bugs[bug] : "");
}

static double seconds_since(int64_t start_us)
{
    return (double)(clock_mono_us() - start_us) / CLOCK_S;
}

static int run_seeds(uint64_t from, uint64_t count)
{
    int64_t start = clock_mono_us();
    uint64_t bad = search(from, count, BUG_NONE);

    if (bad != 0)
        say_broken(bad, BUG_NONE);
    else
        printf("sim: %llu seeds clean in %.1f s\n", (unsigned long long)count,
               seconds_since(start));
    return bad != 0;
}

static int find_bug(uint64_t from, uint64_t count, enum bug bug)
{
    uint64_t seed = search(from, count, bug);

    if (seed != 0)
        printf("sim: bug %s found at seed %llu\n", bugs[bug], (unsigned long long)seed);
    else
        printf("sim: bug %s NOT found in %llu seeds\n", bugs[bug], (unsigned long long)count);
    return seed == 0;
}

static int run_all(uint64_t count)
{
    int bad = run_seeds(1, count);

    for (enum bug b = BUG_NONE + 1; b < BUGS; b++)
        bad |= find_bug(1, BUG_SEEDS, b);
    return bad;
}

static int run_tap(void)
{
    int bad = 0;

    for (enum bug b = BUG_NONE; b < BUGS; b++) {
        uint64_t seed = search(1, b == BUG_NONE ? FIXED : BUG_SEEDS, b);
        bool ok = (seed == 0) == (b == BUG_NONE);

        if (seed != 0 && b == BUG_NONE)
            printf("# seed %llu: %s: %s\n", (unsigned long long)seed, world.invariant, world.why);
        printf("%sok %d - sim_%s%s\n", ok ? "" : "not ", (int)b + 1,
               b == BUG_NONE ? "runs_clean" : "finds_", b == BUG_NONE ? "" : bugs[b]);
        bad |= !ok;
    }
    printf("1..%d\n", BUGS);
    return bad;
}

static bool take_number(const char *text, uint64_t *ret)
{
    int64_t n;

    if (text == NULL || !str_to_i64(str_of(text), &n) || n < 1)
        return false;
    *ret = (uint64_t)n;
    return true;
}

static bool take_bug(const char *text, enum bug *ret)
{
    for (enum bug b = BUG_NONE; text != NULL && b < BUGS; b++)
        if (strcmp(text, bugs[b]) == 0) {
            *ret = b;
            return true;
        }
    return false;
}

static int usage(void)
{
    (void)fprintf(stderr, "usage: sim --seeds N [--from K] | --seed K [--trace] | --all N | --tap\n"
                          "           [--bug NAME]\nbugs:");
    for (enum bug b = BUG_NONE + 1; b < BUGS; b++)
        (void)fprintf(stderr, " %s", bugs[b]);
    (void)fprintf(stderr, "\n");
    return 2;
}

int main(int argc, char **argv)
{
    uint64_t seeds = 0, from = 1, seed = 0, all = 0;
    enum bug bug = BUG_NONE;
    bool trace = false, tap = false, ok = argc > 1;

    self = argv[0];
    for (int i = 1; i < argc && ok; i++) {
        if (strcmp(argv[i], "--trace") == 0)
            trace = true;
        else if (strcmp(argv[i], "--tap") == 0)
            tap = true;
        else if (strcmp(argv[i], "--seeds") == 0)
            ok = take_number(argv[++i], &seeds);
        else if (strcmp(argv[i], "--from") == 0)
            ok = take_number(argv[++i], &from);
        else if (strcmp(argv[i], "--seed") == 0)
            ok = take_number(argv[++i], &seed);
        else if (strcmp(argv[i], "--all") == 0)
            ok = take_number(argv[++i], &all);
        else if (strcmp(argv[i], "--bug") == 0)
            ok = take_bug(argv[++i], &bug);
        else
            ok = false;
    }
    if (!ok)
        return usage();
    if (tap)
        return run_tap();
    if (all != 0)
        return run_all(all);
    if (seed != 0) {
        bool clean = world_run(&world, seed, bug, trace);

        printf("sim: seed %llu: %llu steps, %s\n", (unsigned long long)seed,
               (unsigned long long)world.steps, clean ? "clean" : world.invariant);
        if (!clean)
            say_broken(seed, bug);
        return clean ? 0 : 1;
    }
    if (seeds == 0)
        return usage();
    if (bug == BUG_NONE)
        return run_seeds(from, seeds);
    int missed = find_bug(from, seeds, bug);

    if (!missed)
        say_broken(world.seed, bug);
    return missed;
}
