/* retry.c - the back-off of deliveries and the circuit breaker of endpoints.
 *
 * Problem: a receiver that fails must be tried again, without a flood of repetitions when it
 * recovers and without one attempt of every waiting delivery against a dead endpoint.
 *
 * Method.  A delivery waits a random time between 0 and min(most, first * 2^(n-1)) after attempt n
 * (full jitter), until `for` has passed since its first attempt.  An endpoint has a breaker:
 *
 *     closed   ──► open      after `failures` failures in a row, one refused credential, or one
 *                            call that had to be given up; after `rejections` in a row it is also
 *                            *rejecting*
 *     open     ──► probing   `until_us` has passed: breaker_ask() lets exactly one delivery begin
 *     probing  ──► closed    the endpoint answered; one that is rejecting: it took the document
 *     probing  ──► open      anything else: the wait doubles, up to WAIT_GROWS times that of the
 *                            rule
 *     probing  ──► open      the probe says nothing (breaker_probe_lost()): until_us stays in the
 *                            past, so that the next delivery may probe at once
 *
 * A failure is a send without an answer or with an unclear one: VERDICT_UNREACHED, and
 * VERDICT_DOUBT with or without a status.  A receiver that answers 500 to everything would
 * otherwise put a whole night's documents in doubt.  A request to retry (VERDICT_RETRY) neither
 * counts nor ends a row of failures, so that 500 and 503 in turn open the breaker too; it closes an
 * open one, because the endpoint works.  VERDICT_FAILED is about our own bytes and changes nothing.
 *
 * A rejection is a final answer: the endpoint works, and the document is dead.  One rejection says
 * something about its document, a row of them about the receiver (a wrong deploy, a wrong URL).
 * Only a delivery ends that row: a receiver that is restarted between two rejections is not mended.
 * Each probe of a rejecting endpoint may cost one more dead letter; everything else waits.
 *
 * Invariants
 *   (1) until_us == 0 means closed; probing implies open.
 *   (2) At most one delivery is given BREAKER_PROBE until its verdict is judged or it is reported
 *       as lost.
 *   (3) wait_us <= WAIT_GROWS * rule->wait_us after every failure that is counted.
 *   (4) rejecting implies open.
 *
 * Races.  Attempts that began before the breaker opened report later.  Their failures say nothing
 * new and are ignored, also while a probe is on its way.  A late success closes the breaker, which
 * is right: the endpoint answers.  The probe then reports to a breaker that is closed, and counts
 * as any other attempt.
 *
 * Crashes.  The state is in memory; the engine stores an open breaker and restores it at start
 * (dispatch_learn()).  A breaker that was not stored in time starts closed and opens again after
 * `failures` attempts.  A step of the clock only moves the next probe.
 */
#include "core/retry.h"

#include "core/verdict.h"

/* Maps 64 random bits to 0..most, uniformly. */
static int64_t retry_pick(uint64_t chance, int64_t most)
{
    return (int64_t)((unsigned __int128)chance * ((uint64_t)most + 1) >> 64);
}

/* Saturating a * b and a + b, for numbers that are not negative. */
static int64_t retry_times(int64_t a, int64_t b)
{
    int64_t n;

    return __builtin_mul_overflow(a, b, &n) ? INT64_MAX : n;
}

static int64_t plus(int64_t a, int64_t b)
{
    int64_t n;

    return __builtin_add_overflow(a, b, &n) ? INT64_MAX : n;
}

int64_t retry_wait_us(const struct retry_rule *rule, int64_t attempts, uint64_t chance)
{
    int64_t bound = rule->first_us < rule->most_us ? rule->first_us : rule->most_us;

    for (int64_t n = 1; n < attempts && bound < rule->most_us && bound > 0; n++)
        bound = bound > rule->most_us / 2 ? rule->most_us : bound * 2;
    return bound > 0 ? retry_pick(chance, bound) : 0;
}

bool retry_is_over(const struct retry_rule *rule, int64_t first_us, int64_t next_us)
{
    return next_us > plus(first_us, rule->for_us);
}

/* ---- the breaker ---- */

enum { WAIT_GROWS = 10, JITTER_PART = 10 };

enum breaker_answer breaker_ask(struct breaker *b, int64_t now_us)
{
    if (!breaker_is_open(b))
        return BREAKER_GO;
    if (!breaker_may_probe(b, now_us))
        return BREAKER_WAIT;
    b->probing = true;
    return BREAKER_PROBE;
}

bool breaker_is_open(const struct breaker *b)
{
    return b->until_us != 0;
}

bool breaker_may_probe(const struct breaker *b, int64_t now_us)
{
    return breaker_is_open(b) && now_us >= b->until_us && !b->probing;
}

/* These return true when the breaker changed between open and closed. */
static bool breaker_close(struct breaker *b, int64_t rejections)
{
    bool was_open = breaker_is_open(b);

    *b = (struct breaker){ .rejections = rejections };
    return was_open;
}

static void stay_open(struct breaker *b, int64_t now_us, int64_t more_us)
{
    b->until_us = plus(plus(now_us, b->wait_us), more_us);
    b->probing = false;
}

static bool open_or_stay(struct breaker *b, const struct breaker_rule *rule, bool probe,
                         int64_t now_us, uint64_t chance)
{
    bool was_open = breaker_is_open(b);
    int64_t most = retry_times(rule->wait_us, WAIT_GROWS);

    /* The attempt began before the breaker opened: its failure says nothing new. */
    if (was_open && !probe)
        return false;
    if (was_open) {
        b->wait_us = retry_times(b->wait_us, 2);
    } else {
        b->wait_us = rule->wait_us;
        b->since_us = now_us;
    }
    if (b->wait_us > most)
        b->wait_us = most;
    stay_open(b, now_us, retry_pick(chance, b->wait_us / JITTER_PART));
    return !was_open;
}

static bool breaker_failure(struct breaker *b, const struct breaker_rule *rule, bool probe,
                            int64_t now_us, uint64_t chance)
{
    b->failures = plus(b->failures, 1);
    return (breaker_is_open(b) || b->failures >= rule->failures) &&
           open_or_stay(b, rule, probe, now_us, chance);
}

static bool breaker_trip(struct breaker *b, const struct breaker_rule *rule, bool probe,
                         int64_t now_us)
{
    b->failures = plus(b->failures, 1);
    return open_or_stay(b, rule, probe, now_us, 0);
}

static bool breaker_rejected(struct breaker *b, const struct breaker_rule *rule, bool probe,
                             int64_t now_us, uint64_t chance)
{
    b->rejections = plus(b->rejections, 1);
    if (rule->rejections == 0 || (!b->rejecting && b->rejections < rule->rejections))
        return breaker_close(b, b->rejections);
    b->rejecting = true;
    return open_or_stay(b, rule, probe, now_us, chance);
}

static bool breaker_put_off(struct breaker *b, const struct breaker_rule *rule, bool probe,
                            int64_t now_us, uint64_t chance)
{
    if (!breaker_is_open(b))
        return false;
    return b->rejecting ? open_or_stay(b, rule, probe, now_us, chance)
                        : breaker_close(b, b->rejections);
}

void breaker_probe_lost(struct breaker *b)
{
    b->probing = false;
}

bool breaker_judge(struct breaker *b, const struct breaker_rule *rule, const struct verdict *v,
                   bool probe, int64_t now_us, uint64_t chance)
{
    if (v->hung)
        return breaker_trip(b, rule, probe, now_us);
    switch (v->kind) {
    case VERDICT_UNREACHED:
    case VERDICT_DOUBT:
        return breaker_failure(b, rule, probe, now_us, chance);
    case VERDICT_CREDENTIAL:
    case VERDICT_STRANGE:
        return breaker_trip(b, rule, probe, now_us);
    case VERDICT_RETRY:
        return breaker_put_off(b, rule, probe, now_us, chance);
    case VERDICT_REJECTED:
        return breaker_rejected(b, rule, probe, now_us, chance);
    case VERDICT_FAILED:
        if (probe)
            breaker_probe_lost(b);
        return false;
    case VERDICT_DELIVERED:
        break;
    }
    return breaker_close(b, 0);
}

/* ---- answers, and nothing taken ---- */

static enum refusing_change refusing_end(struct refusing *r)
{
    bool was = r->is;

    *r = (struct refusing){ 0 };
    return was ? REFUSING_ENDED : REFUSING_SAME;
}

enum refusing_change refusing_judge(struct refusing *r, const struct breaker_rule *rule,
                                    const struct verdict *v, int64_t now_us)
{
    bool unclear = v->kind == VERDICT_DOUBT && v->status != 0 && !v->hung;

    if (v->kind == VERDICT_FAILED || unclear)
        return REFUSING_SAME; /* not about the endpoint; counted by the breaker */
    if (v->kind != VERDICT_RETRY || v->hung)
        return refusing_end(r);
    r->count = plus(r->count, 1);
    r->last_us = now_us;
    if (r->is || r->count < rule->failures)
        return REFUSING_SAME;
    r->is = true;
    return REFUSING_BEGAN;
}

enum refusing_change refusing_calm(struct refusing *r, int64_t since_us)
{
    return r->last_us < since_us ? refusing_end(r) : REFUSING_SAME;
}
