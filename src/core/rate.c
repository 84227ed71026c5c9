/* rate.c - GCRA rate limits: one gate per node, or one schedule of slots for all nodes.
 *
 * Problem: at most `count` may begin per period, with a burst, on several nodes that share nothing
 * but the store.  One transaction per delivery would be too slow, and a fixed share per node would
 * waste what an idle node does not use.
 *
 * Method: the generic cell rate algorithm.  A schedule has slots at least one interval T apart;
 * T is the period divided by the count, rounded up.  What begins at time u takes the slot
 * t = max(next, u); it may begin if t - u <= (burst - 1) * T, and then next = t + T.
 *   Gate      `next` is one atomic number (rate_pass()).
 *   Schedule  `next` is a row in the store.  A node reserves a piece [next, until) of the schedule
 *             in one transaction (rate_reserve()) and takes slots from it in memory (rate_take()).
 *             The row moves on to `until`.
 *
 * A piece is used some time after it was reserved, and slots that the clock has passed are lost.
 * With a burst of 1 a piece that is exactly as long as its slots would then hold one slot less
 * than planned, and a piece of one slot none.  So a piece is longer than its slots by a slack: one
 * T for the first piece of a node, later twice the delay that the node measured on its last piece,
 * never more than RATE_SLACK_NS.
 *
 * Invariants
 *   (1) u <= t <= u + (burst - 1) * T for everything that begins.
 *   (2) A slot t of a piece satisfies t + T <= until.
 *   (3) Pieces are disjoint in elapsed time: a piece begins at or after the `until` of the piece
 *       before it.
 *   (4) No piece is longer than longest(): max(RATE_PIECE_NS, T) + RATE_SLACK_NS.
 *
 * Why the limit holds: by (2) and (3) any two slots are at least T apart, on whichever nodes.  By
 * (1) the slots of everything that begins in a time span w lie within w + (burst - 1) * T.  So at
 * most w / T + burst begin.
 *
 * Clocks.  A reservation uses the clock of the store.  A take uses the store's clock as of the
 * reservation plus the monotonic time since; a node whose clock is off by e begins up to e / T
 * more.  The row keeps what the clock showed at the last request.  A clock that shows less now was
 * set back since, and the row moves back with it: what was reserved lay `next - seen` ahead then,
 * so in elapsed time it lies no further ahead now.  So nobody waits for the clock to catch up, and
 * no slot is used twice, however often the clock is set back.  A step back that is smaller than the
 * time since the last request is not seen, and waited out.
 *   By (4) a row lies at most (burst - 1) * T + longest() ahead of the clock.  One that is further
 * ahead than (burst - 1) * T + 2 * longest() was left by a slower rule, or by a version that did
 * not keep what the clock showed.  The next piece then begins at now + (burst - 1) * T + longest().
 * The row is then up to two longest() ahead, which is why the limit has two of them: the repair is
 * not repeated.
 *
 * Crashes.  Before the commit of a reservation nothing was granted.  After it the row has moved: if
 * the node dies, or does not learn that the commit succeeded, the piece is lost and its slots stay
 * unused.  A crash costs rate, it never exceeds the limit.
 *
 * Races.  Two reservations of one system are serialized by the lock on its row.  A piece belongs
 * to one node, whose rate limiter guards it with a mutex.  A gate retries its compare-and-swap
 * until no other thread came between.
 */
#include "core/rate.h"

/* Bounds T and (burst - 1) * T: 36 years.  With times before 2116 (2^62) no sum here overflows. */
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

/* The greatest length of a piece (4): at least one slot, and the slack. */
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

/* The piece holds a usable slot even if its first use comes twice as late as on the last piece.
 * A measured delay, however small, gives a slack of at least T / 64. */
static int64_t slack_of(const struct rate_piece *last, const struct rate_rule *r)
{
    int64_t slack = 0;

    if (last->until_ns == 0)
        slack = r->interval_ns; /* the first piece: no delay is measured yet */
    else if (last->late_ns > RATE_SLACK_NS)
        slack = RATE_SLACK_NS;
    else if (last->late_ns > 0)
        slack = later(last->late_ns * 2, r->interval_ns / 64);
    return slack < RATE_SLACK_NS ? slack : RATE_SLACK_NS;
}

bool rate_reserve(struct rate_row *row, const struct rate_rule *r, int64_t now_ns,
                  struct rate_piece *piece, int64_t *ret_wait_until_ns)
{
    if (row->seen_ns > now_ns) /* the clock was set back */
        row->next_ns -= row->seen_ns - now_ns;
    row->seen_ns = now_ns;
    int64_t a = later(row->next_ns, now_ns), ahead = ahead_of(r);
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
    row->next_ns = piece->until_ns;
    return true;
}
