#include "core/retry.h"
#include "core/verdict.h"

#include "base/clock.h"
#include "test.h"

static const struct retry_rule usual = {
    .first_us = CLOCK_S,
    .most_us = 600ll * CLOCK_S,
    .for_us = 3 * 86400ll * CLOCK_S,
};

/* Rule G6: full jitter below a bound that doubles up to a cap. */
TEST(retry_waits_double_up_to_the_most)
{
    static const struct {
        int64_t attempts, bound_s;
    } cases[] = {
        { 1, 1 },         { 2, 2 },           { 3, 4 },    { 4, 8 },    { 9, 256 },
        { 10, 512 },      { 11, 600 },        { 12, 600 }, { 64, 600 }, { 65, 600 },
        { 1000000, 600 }, { INT64_MAX, 600 }, { 0, 1 },    { -5, 1 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t bound = cases[i].bound_s * CLOCK_S;

        CHECK(retry_wait_us(&usual, cases[i].attempts, UINT64_MAX) == bound);
        CHECK(retry_wait_us(&usual, cases[i].attempts, 0) == 0);
        CHECK(retry_wait_us(&usual, cases[i].attempts, UINT64_MAX / 2 + 1) == bound / 2);
    }
}

TEST(retry_waits_are_spread_evenly)
{
    size_t in[10] = { 0 };

    for (uint64_t i = 0; i < 10000; i++) {
        int64_t wait = retry_wait_us(&usual, 1, i * (UINT64_MAX / 10000));

        CHECK(wait >= 0 && wait <= CLOCK_S);
        in[wait == CLOCK_S ? 9 : wait * 10 / CLOCK_S]++;
    }
    for (size_t i = 0; i < 10; i++)
        CHECK(in[i] > 990 && in[i] < 1010);
}

TEST(retry_rules_at_the_edges_stay_in_bounds)
{
    static const struct {
        struct retry_rule rule;
        int64_t attempts, bound;
    } cases[] = {
        { { .first_us = 10, .most_us = 5 }, 1, 5 }, /* first over most */
        { { .first_us = 0, .most_us = 5 }, 40, 0 },
        { { .first_us = 1, .most_us = INT64_MAX }, 63, 1ll << 62 },
        { { .first_us = 1, .most_us = INT64_MAX }, 64, INT64_MAX },
        { { .first_us = 3, .most_us = INT64_MAX }, 500, INT64_MAX },
        { { .first_us = INT64_MAX, .most_us = INT64_MAX }, 2, INT64_MAX },
        { { .first_us = 3, .most_us = 7 }, 2, 6 },
        { { .first_us = 3, .most_us = 7 }, 3, 7 },
        { { .first_us = -1, .most_us = 7 }, 3, 0 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK(retry_wait_us(&cases[i].rule, cases[i].attempts, UINT64_MAX) == cases[i].bound);
}

TEST(retry_is_over_when_the_next_one_comes_too_late)
{
    const struct retry_rule never = { .for_us = INT64_MAX }, once = { .for_us = 0 };
    int64_t first = 1763175130000000;

    CHECK(!retry_is_over(&usual, first, first));
    CHECK(!retry_is_over(&usual, first, first + usual.for_us));
    CHECK(retry_is_over(&usual, first, first + usual.for_us + 1));
    CHECK(!retry_is_over(&never, first, INT64_MAX));
    CHECK(retry_is_over(&once, first, first + 1));
}

static const struct breaker_rule rule = { .failures = 3, .wait_us = 30ll * CLOCK_S };

/* The verdict of the probe, if one is on its way. */
static bool judge(struct breaker *b, const struct breaker_rule *r, enum verdict_kind kind,
                  int64_t now_us, uint64_t chance)
{
    const struct verdict v = { .kind = kind };

    return breaker_judge(b, r, &v, b->probing, now_us, chance);
}

static bool fail(struct breaker *b, const struct breaker_rule *r, int64_t now_us, uint64_t chance)
{
    return judge(b, r, VERDICT_UNREACHED, now_us, chance);
}

static bool refuse(struct breaker *b, const struct breaker_rule *r, int64_t now_us)
{
    return judge(b, r, VERDICT_CREDENTIAL, now_us, 0);
}

static bool succeed(struct breaker *b)
{
    return judge(b, &rule, VERDICT_DELIVERED, 0, 0);
}

TEST(breaker_opens_after_failures_in_a_row)
{
    struct breaker b = { 0 };

    CHECK(!fail(&b, &rule, 100, 0) && !breaker_is_open(&b));
    CHECK(!fail(&b, &rule, 101, 0));
    CHECK(!succeed(&b)); /* not in a row any more */
    CHECK(!fail(&b, &rule, 102, 0));
    CHECK(!fail(&b, &rule, 103, 0));
    CHECK(breaker_ask(&b, 103) == BREAKER_GO && !b.probing);
    CHECK(fail(&b, &rule, 104, 0));
    CHECK(breaker_is_open(&b) && b.since_us == 104 && b.failures == 3);
    CHECK(b.until_us == 104 + rule.wait_us);
}

TEST(breaker_lets_one_probe_after_the_wait)
{
    struct breaker b = { 0 };
    int64_t now = 1000;

    CHECK(refuse(&b, &rule, now));
    CHECK(breaker_ask(&b, now) == BREAKER_WAIT);
    CHECK(breaker_ask(&b, now + rule.wait_us - 1) == BREAKER_WAIT);
    now += rule.wait_us;
    CHECK(breaker_ask(&b, now) == BREAKER_PROBE);
    CHECK(breaker_ask(&b, now) == BREAKER_WAIT);
    CHECK(breaker_ask(&b, now + 100 * rule.wait_us) == BREAKER_WAIT); /* it has not reported */
    CHECK(succeed(&b));
    CHECK(!breaker_is_open(&b) && breaker_ask(&b, now) == BREAKER_GO);
    CHECK(b.failures == 0 && b.wait_us == 0 && b.since_us == 0 && !b.probing);
}

TEST(breaker_stays_open_longer_with_each_failed_probe)
{
    static const int64_t waits[] = { 2, 4, 8, 10, 10, 10 };
    struct breaker b = { 0 };
    int64_t now = 1000;

    CHECK(refuse(&b, &rule, now));
    for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++) {
        now = b.until_us;
        CHECK(breaker_ask(&b, now) == BREAKER_PROBE);
        CHECK(!fail(&b, &rule, now, 0)); /* open before, open after */
        CHECK(!b.probing && b.wait_us == waits[i] * rule.wait_us);
        CHECK(b.until_us == now + b.wait_us && b.since_us == 1000);
    }
    CHECK(breaker_ask(&b, b.until_us) == BREAKER_PROBE);
    CHECK(succeed(&b));
    CHECK(refuse(&b, &rule, now) && b.wait_us == rule.wait_us); /* from the start again */
}

TEST(breaker_opens_at_once_when_a_credential_is_refused)
{
    struct breaker b = { 0 };

    CHECK(refuse(&b, &rule, 50) && breaker_is_open(&b));
    CHECK(!refuse(&b, &rule, 60) && b.until_us == 50 + rule.wait_us); /* a late one */
    CHECK(breaker_ask(&b, b.until_us) == BREAKER_PROBE);
    CHECK(!refuse(&b, &rule, b.until_us)); /* still refused */
    CHECK(b.wait_us == 2 * rule.wait_us && !b.probing);
}

TEST(breaker_heeds_no_failure_that_was_sent_before_it_opened)
{
    struct breaker b = { 0 };

    CHECK(refuse(&b, &rule, 50));
    int64_t until = b.until_us;

    for (int i = 0; i < 20; i++)
        CHECK(!fail(&b, &rule, 60 + i, 0));
    CHECK(b.until_us == until && b.wait_us == rule.wait_us);
    CHECK(succeed(&b)); /* but a success tells that it is reached */
}

TEST(breaker_takes_no_late_failure_for_the_probe)
{
    const struct verdict late = { .kind = VERDICT_UNREACHED };
    struct breaker b = { 0 };

    CHECK(refuse(&b, &rule, 50));
    int64_t until = b.until_us;

    CHECK(breaker_ask(&b, until) == BREAKER_PROBE);
    CHECK(!breaker_judge(&b, &rule, &late, false, until + 1, 0));
    CHECK(b.probing && b.until_us == until && b.wait_us == rule.wait_us);
    CHECK(!fail(&b, &rule, until + 2, 0)); /* the probe itself */
    CHECK(!b.probing && b.wait_us == 2 * rule.wait_us);
}

TEST(breaker_opens_at_once_when_a_call_hangs)
{
    static const enum verdict_kind kinds[] = { VERDICT_UNREACHED, VERDICT_DOUBT };

    for (size_t i = 0; i < 2; i++) {
        const struct verdict hung = { .kind = kinds[i], .hung = true };
        struct breaker b = { 0 };

        CHECK(breaker_judge(&b, &rule, &hung, false, 50, 0) && breaker_is_open(&b));
    }
}

TEST(breaker_gives_the_probe_again_when_it_was_lost)
{
    struct breaker b = { 0 };

    CHECK(refuse(&b, &rule, 50));
    CHECK(breaker_ask(&b, b.until_us) == BREAKER_PROBE);
    breaker_probe_lost(&b);
    CHECK(breaker_is_open(&b) && b.wait_us == rule.wait_us);
    CHECK(breaker_ask(&b, b.until_us) == BREAKER_PROBE);
    CHECK(succeed(&b));
    breaker_probe_lost(&b);
    CHECK(!breaker_is_open(&b));
}

TEST(breaker_waits_up_to_a_tenth_more_by_chance)
{
    struct breaker b = { 0 };
    const struct breaker_rule one = { .failures = 1, .wait_us = 1000 };

    CHECK(fail(&b, &one, 5000, UINT64_MAX) && b.until_us == 5000 + 1100);
    CHECK(breaker_ask(&b, 6099) == BREAKER_WAIT);
    CHECK(breaker_ask(&b, 6100) == BREAKER_PROBE);
    CHECK(!fail(&b, &one, 6100, UINT64_MAX / 2 + 1) && b.until_us == 6100 + 2000 + 100);
}

TEST(breaker_follows_a_new_rule)
{
    struct breaker b = { 0 };
    const struct breaker_rule shorter = { .failures = 1, .wait_us = CLOCK_S };

    CHECK(refuse(&b, &rule, 50));
    CHECK(breaker_ask(&b, b.until_us) == BREAKER_PROBE);
    int64_t now = b.until_us;

    CHECK(!fail(&b, &shorter, now, 0));
    CHECK(b.until_us == now + 10 * shorter.wait_us);
}

TEST(breaker_does_not_overflow)
{
    struct breaker b = { .failures = INT64_MAX };
    const struct breaker_rule large = { .failures = INT64_MAX, .wait_us = INT64_MAX / 2 };

    CHECK(fail(&b, &large, 1763175130000000, UINT64_MAX) && b.until_us > 0);
    b.probing = true;
    CHECK(!fail(&b, &large, 1763175130000000, UINT64_MAX));
    CHECK(b.until_us == INT64_MAX && b.failures == INT64_MAX);
}

/* ---- answers that are no help ---- */

static const struct breaker_rule twenty = { .failures = 3, .wait_us = 1000, .rejections = 20 };

static bool reject(struct breaker *b, int64_t now_us)
{
    return judge(b, &twenty, VERDICT_REJECTED, now_us, 0);
}

TEST(breaker_counts_unclear_answers)
{
    const struct verdict unclear = { .kind = VERDICT_DOUBT, .status = 500 };
    const struct verdict later = { .kind = VERDICT_RETRY, .status = 503 };
    struct breaker b = { 0 };

    CHECK(!breaker_judge(&b, &rule, &unclear, false, 1, 0));
    CHECK(!breaker_judge(&b, &rule, &later, false, 2, 0)); /* neither counts nor ends the row */
    CHECK(!breaker_judge(&b, &rule, &unclear, false, 3, 0));
    CHECK(breaker_judge(&b, &rule, &unclear, false, 4, 0) && breaker_is_open(&b));
    CHECK(breaker_ask(&b, b.until_us) == BREAKER_PROBE);
    CHECK(!breaker_judge(&b, &rule, &unclear, true, b.until_us, 0) && !b.rejecting);
    CHECK(breaker_ask(&b, b.until_us) == BREAKER_PROBE);
    CHECK(breaker_judge(&b, &rule, &later, true, b.until_us, 0)); /* it works */
    CHECK(!breaker_is_open(&b) && b.failures == 0);
}

TEST(breaker_opens_after_rejections_in_a_row)
{
    struct breaker b = { 0 };

    for (int i = 1; i < 20; i++)
        CHECK(!reject(&b, i));
    CHECK(!succeed(&b) && b.rejections == 0); /* a delivery ends the row */
    for (int i = 1; i < 20; i++) {
        CHECK(!reject(&b, i));
        CHECK(!judge(&b, &twenty, i % 2 == 0 ? VERDICT_RETRY : VERDICT_UNREACHED, i, 0));
    }
    CHECK(!b.rejecting && b.rejections == 19); /* and nothing else does */
    CHECK(reject(&b, 100) && breaker_is_open(&b) && b.rejecting);
    CHECK(b.since_us == 100 && b.until_us == 100 + twenty.wait_us);
    CHECK(!reject(&b, 101) && b.until_us == 100 + twenty.wait_us); /* a late one */
}

TEST(breaker_of_a_rejecting_endpoint_closes_with_a_delivery_alone)
{
    static const enum verdict_kind kinds[] = { VERDICT_REJECTED, VERDICT_RETRY, VERDICT_DOUBT,
                                               VERDICT_UNREACHED, VERDICT_CREDENTIAL };
    struct breaker b = { .rejections = 19 };

    CHECK(reject(&b, 100));
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        int64_t now = b.until_us;

        CHECK(breaker_ask(&b, now) == BREAKER_PROBE);
        CHECK(!judge(&b, &twenty, kinds[i], now, 0));
        CHECK(b.rejecting && !b.probing && b.until_us > now);
    }
    CHECK(b.wait_us == 10 * twenty.wait_us);
    CHECK(breaker_ask(&b, b.until_us) == BREAKER_PROBE);
    CHECK(judge(&b, &twenty, VERDICT_DELIVERED, b.until_us, 0));
    CHECK(!breaker_is_open(&b) && !b.rejecting && b.rejections == 0);
}

TEST(breaker_lets_every_rejection_through_without_a_limit)
{
    struct breaker b = { 0 };

    for (int i = 0; i < 1000; i++)
        CHECK(!judge(&b, &rule, VERDICT_REJECTED, i, 0));
    b = (struct breaker){ .rejections = 19 };
    CHECK(reject(&b, 100) && b.rejecting);
    CHECK(breaker_ask(&b, b.until_us) == BREAKER_PROBE);
    CHECK(judge(&b, &rule, VERDICT_REJECTED, b.until_us, 0)); /* a new version says 0 */
    CHECK(!breaker_is_open(&b) && !b.rejecting);
}

/* ---- answers, and nothing taken ---- */

static enum refusing_change judged(struct refusing *r, enum verdict_kind kind, int64_t status,
                                   int64_t now_us)
{
    const struct verdict v = { .kind = kind, .status = status };
    const struct breaker_rule three = { .failures = 3, .wait_us = CLOCK_S };

    return refusing_judge(r, &three, &v, now_us);
}

TEST(refusing_begins_once_after_failures_in_a_row)
{
    struct refusing r = { 0 };

    CHECK(judged(&r, VERDICT_RETRY, 503, 1) == REFUSING_SAME);
    CHECK(judged(&r, VERDICT_RETRY, 503, 2) == REFUSING_SAME);
    CHECK(judged(&r, VERDICT_DOUBT, 500, 3) == REFUSING_SAME); /* the breaker counts it */
    CHECK(judged(&r, VERDICT_FAILED, 0, 3) == REFUSING_SAME);  /* our own fault */
    CHECK(judged(&r, VERDICT_RETRY, 503, 4) == REFUSING_BEGAN && r.is);
    CHECK(judged(&r, VERDICT_RETRY, 503, 5) == REFUSING_SAME && r.is);
}

TEST(refusing_ends_with_a_decision_or_where_the_breaker_takes_over)
{
    static const enum verdict_kind ends[] = { VERDICT_DELIVERED, VERDICT_REJECTED,
                                              VERDICT_UNREACHED, VERDICT_CREDENTIAL,
                                              VERDICT_STRANGE };

    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        struct refusing r = { .count = 7, .last_us = 5, .is = true };

        CHECK(judged(&r, ends[i], 0, 6) == REFUSING_ENDED && !r.is && r.count == 0);
        CHECK(judged(&r, ends[i], 0, 7) == REFUSING_SAME);
    }
    struct refusing two = { 0 };

    CHECK(judged(&two, VERDICT_RETRY, 503, 1) == REFUSING_SAME);
    CHECK(judged(&two, VERDICT_RETRY, 503, 2) == REFUSING_SAME);
    CHECK(judged(&two, VERDICT_DELIVERED, 200, 3) == REFUSING_SAME);
    CHECK(judged(&two, VERDICT_RETRY, 503, 4) == REFUSING_SAME); /* a new row */
}

TEST(refusing_ends_when_nobody_tries_any_more)
{
    struct refusing r = { .count = 3, .last_us = 100, .is = true };

    CHECK(refusing_calm(&r, 100) == REFUSING_SAME && r.is);
    CHECK(refusing_calm(&r, 101) == REFUSING_ENDED && !r.is);
    CHECK(refusing_calm(&r, 102) == REFUSING_SAME);
}

int main(void)
{
    return test_main();
}
