#include "core/rate.h"

/* So far ahead of the clock may a time lie; 36 years at most, so that no sum overflows. */
static const int64_t ahead_most = INT64_C(1) << 60;

static int64_t ahead_of(const struct rate_rule *r)
{
    int64_t n;

    return __builtin_mul_overflow(r->burst - 1, r->interval_ns, &n) || n > ahead_most ? ahead_most
                                                                                      : n;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

struct rate_rule rate_rule(uint64_t count, int64_t per_us, uint64_t burst)
{
    uint64_t period;

    if (__builtin_mul_overflow((uint64_t)per_us, 1000, &period) || period > (uint64_t)ahead_most)
        period = (uint64_t)ahead_most;
    return (struct rate_rule){
        .interval_ns = (int64_t)(period / count + (period % count != 0)),
        .burst = burst == 0          ? 1
                 : burst > INT64_MAX ? INT64_MAX
                                     : (int64_t)burst,
    };
}

bool rate_pass(struct rate *r, uint64_t count, int64_t per_us, uint64_t burst, int64_t now_us,
               int64_t *ret_wait_us)
{
    if (count == 0)
        return true;
    struct rate_rule rule = rate_rule(count, per_us, burst);
    int64_t now = now_us * 1000, ahead = ahead_of(&rule);
    int64_t due = atomic_load_explicit(&r->due_ns, memory_order_relaxed), from;

    do {
        from = later(due, now);
        if (from - now > ahead) {
            *ret_wait_us = (from - now - ahead) / 1000 + 1;
            return false;
        }
    } while (!atomic_compare_exchange_weak(&r->due_ns, &due, from + rule.interval_ns));
    return true;
}

/* A piece is never longer than this: no row lies more than (burst - 1) * T and one of them ahead
 * of the clock, or two just after a clock went back. */
static int64_t longest(const struct rate_rule *r)
{
    return later(RATE_PIECE_NS, r->interval_ns) + RATE_SLACK_NS;
}

enum rate_answer rate_take(struct rate_piece *piece, const struct rate_rule *r, int64_t now_ns,
                           int64_t *ret_wait_until_ns)
{
    int64_t t = later(piece->next_ns, now_ns), ahead = ahead_of(r);

    if (t - now_ns > ahead + 2 * longest(r))
        return RATE_RESERVE;
    if (t - now_ns > ahead && t <= piece->until_ns - r->interval_ns) {
        *ret_wait_until_ns = t - ahead;
        return RATE_WAIT;
    }
    if (piece->fresh)
        piece->late_ns = t - piece->next_ns;
    piece->fresh = false;
    if (t > piece->until_ns - r->interval_ns)
        return RATE_RESERVE;
    piece->next_ns = t + r->interval_ns;
    return RATE_GO;
}

/* One time must be left when it is taken as late as the last one was, twice over. */
static int64_t slack_of(const struct rate_piece *last, const struct rate_rule *r)
{
    int64_t slack = 0;

    if (last->until_ns == 0)
        slack = r->interval_ns; /* nothing is known yet */
    else if (last->late_ns > RATE_SLACK_NS)
        slack = RATE_SLACK_NS;
    else if (last->late_ns > 0)
        slack = later(last->late_ns * 2, r->interval_ns / 64);
    return slack < RATE_SLACK_NS ? slack : RATE_SLACK_NS;
}

bool rate_reserve(int64_t *row_next_ns, const struct rate_rule *r, int64_t now_ns,
                  struct rate_piece *piece, int64_t *ret_wait_until_ns)
{
    int64_t a = later(*row_next_ns, now_ns), ahead = ahead_of(r);
    int64_t slack = slack_of(piece, r), times = (RATE_PIECE_NS - slack) / r->interval_ns;

    if (a - now_ns > ahead + 2 * longest(r)) {
        a = now_ns + ahead + longest(r);
    } else if (a - now_ns > ahead) {
        *ret_wait_until_ns = a - ahead;
        return false;
    }
    *piece = (struct rate_piece){ .next_ns = a,
                                  .until_ns = a + later(times, 1) * r->interval_ns + slack,
                                  .fresh = true };
    *row_next_ns = piece->until_ns;
    return true;
}
