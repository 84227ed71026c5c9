#include "core/rate.h"

#include "test.h"

static const int64_t ms = 1000000, s = 1000000000, start = INT64_C(1763175130) * 1000000000;

static uint64_t next_chance(uint64_t *seed)
{
    uint64_t z = *seed += 0x9e3779b97f4a7c15;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

TEST(rate_rule_rounds_the_interval_up)
{
    static const struct {
        uint64_t count;
        int64_t per_us;
        uint64_t burst;
        struct rate_rule want;
    } cases[] = {
        { 1, 1000000, 1, { 1000000000, 1 } },
        { 3, 1000000, 3, { 333333334, 3 } },
        { 1000000, 1000000, 5, { 1000, 5 } },
        { 1, 86400000000, 0, { 86400000000000, 1 } },
        { 999999999, 1, 1, { 1, 1 } },
        { UINT64_MAX, 1, UINT64_MAX, { 1, INT64_MAX } },
        { 1, INT64_MAX, 1, { INT64_C(1) << 60, 1 } },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rate_rule r = rate_rule(cases[i].count, cases[i].per_us, cases[i].burst);

        CHECK(r.interval_ns == cases[i].want.interval_ns && r.burst == cases[i].want.burst);
    }
}

TEST(rate_gate_passes_a_burst_and_then_evenly)
{
    struct rate r = { 0 };
    int64_t now = start / 1000, wait = 0;

    for (int i = 0; i < 5; i++)
        CHECK(rate_pass(&r, 10, s / 1000, 5, now, &wait));
    CHECK(!rate_pass(&r, 10, s / 1000, 5, now, &wait));
    CHECK(wait == 100001);
    CHECK(!rate_pass(&r, 10, s / 1000, 5, now - 50000, &wait)); /* the clock goes back */
    CHECK(wait == 150001);
    CHECK(rate_pass(&r, 10, s / 1000, 5, now + 100000, &wait));
    CHECK(!rate_pass(&r, 10, s / 1000, 5, now + 100000, &wait));
    CHECK(rate_pass(&r, 0, 0, 0, now, &wait)); /* no limit */
}

/* A burst so large that it is longer than time itself. */
TEST(rate_gate_with_the_largest_burst_always_passes)
{
    struct rate r = { 0 };
    int64_t wait = 0;

    for (int i = 0; i < 1000; i++)
        CHECK(rate_pass(&r, 1, 86400000000, 1000000000, start / 1000, &wait));
}

TEST(rate_piece_is_empty_at_first_and_reserved)
{
    struct rate_rule r = rate_rule(10, s / 1000, 3);
    struct rate_piece p = { 0 };
    struct rate_row row = { 0 };
    int64_t wait = 0;

    CHECK(rate_take(&p, &r, start, &wait) == RATE_RESERVE);
    CHECK(rate_reserve(&row, &r, start, &p, &wait));
    CHECK(p.next_ns == start && p.until_ns == start + 200 * ms && row.next_ns == p.until_ns);
    CHECK(rate_take(&p, &r, start, &wait) == RATE_GO);
    CHECK(rate_take(&p, &r, start, &wait) == RATE_GO);
    CHECK(rate_take(&p, &r, start, &wait) == RATE_RESERVE);
    CHECK(rate_reserve(&row, &r, start, &p, &wait));
    CHECK(p.next_ns == start + 200 * ms && p.until_ns == start + 400 * ms);
    CHECK(rate_take(&p, &r, start, &wait) == RATE_GO); /* the third of the burst */
    CHECK(rate_take(&p, &r, start, &wait) == RATE_WAIT && wait == start + 100 * ms);
    CHECK(rate_take(&p, &r, start + 100 * ms - 1, &wait) == RATE_WAIT);
    CHECK(rate_take(&p, &r, start + 100 * ms, &wait) == RATE_GO);
    CHECK(!rate_reserve(&row, &r, start + 100 * ms, &p, &wait) && wait == start + 200 * ms);
    CHECK(row.next_ns == start + 400 * ms && p.until_ns == row.next_ns);
    CHECK(rate_reserve(&row, &r, start + 200 * ms, &p, &wait));
}

TEST(rate_piece_that_the_clock_has_passed_is_worthless)
{
    struct rate_rule r = rate_rule(10, s / 1000, 1);
    struct rate_piece p = { 0 };
    struct rate_row row = { 0 };
    int64_t wait = 0;

    CHECK(rate_reserve(&row, &r, start, &p, &wait));
    CHECK(rate_take(&p, &r, start + 100 * ms + 1, &wait) == RATE_RESERVE);
    CHECK(rate_reserve(&row, &r, start + 500 * ms, &p, &wait));
    CHECK(p.next_ns == start + 500 * ms); /* the time that passed is not made up for */
}

/* An hour back: nothing of what was given comes again, and nobody waits for an hour. */
TEST(rate_clock_that_goes_back_gives_nothing_twice)
{
    struct rate_rule r = rate_rule(4, s / 1000, 2);
    struct rate_piece p = { 0 }, other = { 0 };
    struct rate_row row = { 0 };
    int64_t wait = 0, back = start - 3600 * s;

    CHECK(rate_reserve(&row, &r, start, &p, &wait));
    CHECK(rate_take(&p, &r, start, &wait) == RATE_GO);
    CHECK(!rate_reserve(&row, &r, start - 100 * ms, &other, &wait)); /* a little: wait */
    CHECK(wait == row.next_ns - 250 * ms);
    CHECK(!rate_reserve(&row, &r, back, &other, &wait) && wait == back + 250 * ms);
    CHECK(rate_reserve(&row, &r, wait, &other, &wait));
    CHECK(other.next_ns == back + 500 * ms); /* behind the first piece */
    CHECK(row.next_ns == other.until_ns);
    CHECK(!rate_reserve(&row, &r, back + 250 * ms, &p, &wait)); /* not once more */
    CHECK(rate_take(&other, &r, back + 250 * ms, &wait) == RATE_GO);
    CHECK(rate_take(&p, &r, back, &wait) == RATE_RESERVE); /* a piece of another time */
}

/* Rates from one a day to a million a second, bursts up to 1e9: nothing overflows, and something
 * may always begin. */
TEST(rate_extremes_stay_in_bounds)
{
    static const uint64_t bursts[] = { 1, 2, 1000, 1000000000, UINT64_MAX };
    static const struct {
        uint64_t count;
        int64_t per_us;
    } rates[] = { { 1, 86400000000 }, { 7, 86400000000 }, { 1, 1000000 }, { 1000000, 1000000 } };

    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < 5; k++) {
            struct rate_rule r = rate_rule(rates[i].count, rates[i].per_us, bursts[k]);
            struct rate_piece p = { 0 };
            struct rate_row row = { 0 };
            int64_t wait = 0, now = start;

            for (int n = 0; n < 3000; n++) {
                enum rate_answer a = rate_take(&p, &r, now, &wait);

                if (a == RATE_RESERVE && rate_reserve(&row, &r, now, &p, &wait)) {
                    CHECK(row.next_ns > now && p.until_ns - p.next_ns >= r.interval_ns);
                    CHECK(rate_take(&p, &r, now, &wait) == RATE_GO);
                } else if (a != RATE_GO) {
                    CHECK(wait > now && wait - now <= r.interval_ns + RATE_SLACK_NS);
                    now = wait;
                }
            }
        }
}

/* ---- many nodes: in any time w at most w / T + burst ---- */

enum { BEGUN_MOST = 4000, NODES = 4 };

struct field {
    struct rate_rule rule;
    struct rate_row row;
    int64_t begun[BEGUN_MOST];
    size_t count;
    struct rate_piece piece[NODES];
    int64_t ready_ns[NODES]; /* the answer to its reservation is there */
};

static bool is_kept(const struct field *f)
{
    int64_t t = 0;

    /* Played again on one timeline: each must be allowed at its time. */
    for (size_t i = 0; i < f->count; i++) {
        t = t > f->begun[i] ? t : f->begun[i];
        if (t - f->begun[i] > (f->rule.burst - 1) * f->rule.interval_ns)
            return false;
        t += f->rule.interval_ns;
    }
    return true;
}

static void step(struct field *f, size_t node, int64_t now, int64_t latency)
{
    int64_t wait;

    if (now < f->ready_ns[node])
        return;
    enum rate_answer a = rate_take(&f->piece[node], &f->rule, now, &wait);

    if (a == RATE_RESERVE) {
        (void)rate_reserve(&f->row, &f->rule, now, &f->piece[node], &wait);
        f->ready_ns[node] = now + latency;
    } else if (a == RATE_GO) {
        f->begun[f->count++] = now;
    }
}

TEST(rate_of_many_nodes_keeps_the_bound)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        uint64_t chance = seed;
        struct field f = { .rule = rate_rule(1 + next_chance(&chance) % 200, s / 1000,
                                             1 + next_chance(&chance) % 20) };
        int64_t now = start;

        while (f.count < BEGUN_MOST && now < start + 20 * s) {
            size_t node = next_chance(&chance) % NODES;

            if (next_chance(&chance) % 1000 == 0)
                f.piece[node] = (struct rate_piece){ 0 }; /* it died, and came back */
            if (next_chance(&chance) % 2000 == 0)
                now += (int64_t)(next_chance(&chance) % (uint64_t)(2 * s));
            step(&f, node, now, (int64_t)(next_chance(&chance) % (uint64_t)(5 * ms)));
            now += (int64_t)(next_chance(&chance) % (uint64_t)ms);
        }
        CHECK(f.count > 5);
        CHECK(is_kept(&f));
    }
}

/* The clock of the store is set back again and again, by much and by little.  Each node goes on
 * with the time of its reservation, so nothing may begin that elapsed time does not allow. */
TEST(rate_of_many_nodes_keeps_the_bound_whenever_the_clock_is_set_back)
{
    for (uint64_t seed = 1; seed <= 300; seed++) {
        uint64_t chance = seed;
        struct field f = { .rule = rate_rule(1 + next_chance(&chance) % 200, s / 1000,
                                             1 + next_chance(&chance) % 20) };
        int64_t off[NODES] = { 0 }, back = 0;

        for (int64_t now = start; f.count < BEGUN_MOST && now < start + 20 * s;
             now += (int64_t)(next_chance(&chance) % (uint64_t)ms)) {
            size_t node = next_chance(&chance) % NODES;
            int64_t wait;

            if (next_chance(&chance) % 1500 == 0)
                back += (int64_t)(next_chance(&chance) % (uint64_t)(20 * s));
            switch (rate_take(&f.piece[node], &f.rule, now - off[node], &wait)) {
            case RATE_GO:
                f.begun[f.count++] = now;
                break;
            case RATE_RESERVE:
                if (rate_reserve(&f.row, &f.rule, now - back, &f.piece[node], &wait))
                    off[node] = back;
                break;
            case RATE_WAIT:
                break;
            }
        }
        CHECK(f.count > 5);
        CHECK(is_kept(&f));
    }
}

/* With a burst of 1 a time must be taken when it comes, and the answer of the store takes a
 * while: a node on its own still comes near its rate, and never stands still. */
TEST(rate_without_a_burst_is_nearly_reached)
{
    static const struct {
        int64_t interval_ns, latency_ns;
        int percent;
    } cases[] = {
        { 1000000000, 2000000, 95 }, { 1000000000, 100000000, 70 }, { 60000000000, 900000000, 95 },
        { 250000000, 5000000, 90 },  { 100000000, 3000000, 95 },    { 10000000, 2000000, 85 },
        { 1000000, 2000000, 90 },    { 250000000, 400000000, 20 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct field f = { .rule = { .interval_ns = cases[i].interval_ns, .burst = 1 } };
        int64_t now = start, end = start + 100 * cases[i].interval_ns, wait = 0;

        while (now < end) {
            enum rate_answer a = rate_take(&f.piece[0], &f.rule, now, &wait);

            if (a == RATE_GO)
                f.begun[f.count++] = now;
            else if (a == RATE_WAIT)
                now = wait + ms / 10;
            else if (rate_reserve(&f.row, &f.rule, now, &f.piece[0], &wait))
                now += cases[i].latency_ns;
            else
                now = wait + ms / 10;
        }
        CHECK(is_kept(&f));
        CHECK((int)f.count >= cases[i].percent);
    }
}

int main(void)
{
    return test_main();
}
