/* rate.h - so many per time, with a burst: the gates of gateways and the timeline of systems.
 *
 * The rule: there is a timeline of theoretical times, one interval T apart (the period divided
 * by the count, rounded up).  What begins at u takes the time t = max(next, u), and may when
 * t - u <= (burst - 1) * T; then next = t + T.  So u <= t always, and in any time w at most
 * w / T + burst begin: their t lie within w + (burst - 1) * T and are T apart (GCRA).
 *
 * A gate is the timeline of one node.  A system has one timeline for all nodes: its row in the
 * store has the next time, a node reserves a piece [next, until) of it and takes the times that
 * lie in it (t + T <= until).  Pieces are disjoint, so no time is given twice, whatever the clocks
 * do.  What the clock has passed of a piece is worthless, and the piece of a dead node is lost.
 * A piece is used a moment after it was reserved: it is longer by twice that moment than the
 * times in it need, or with a burst of 1 no time in it would be left.
 *
 * Clocks: `now` of a reservation is the store's.  `now` of a take should be that of the
 * reservation plus the monotonic time since; a node that is off by e begins up to e / T more.
 * When the store's clock goes back, its row lies further ahead than any rule allows: the next
 * piece then begins where it would if everything that may lie ahead had been given just now.  So
 * nothing waits for the clock to come back, and still nothing is given twice.
 *
 * Pure: time is an argument, in nanoseconds, up to the year 2116.  A gate may be asked by any
 * thread.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* ---- the gate of one node ---- */

struct rate {
    _Atomic int64_t due_ns;
};

/* May one pass now?  `count` per `per_us`, up to `burst` at once (at least 1).  When
 * not, *ret_wait_us is the time until one may.  count 0: always. */
bool rate_pass(struct rate *r, uint64_t count, int64_t per_us, uint64_t burst, int64_t now_us,
               int64_t *ret_wait_us);

/* ---- the timeline of all nodes ---- */

enum {
    RATE_PIECE_NS = 250000000,  /* a piece is so long at most, but always has one time ... */
    RATE_SLACK_NS = 1000000000, /* ... and as much room before it */
};

struct rate_rule {
    int64_t interval_ns; /* T, at least 1 */
    int64_t burst;       /* at least 1 */
};

/* `count` per `per_us`, both at least 1. */
struct rate_rule rate_rule(uint64_t count, int64_t per_us, uint64_t burst);

/* Of the timeline, for one node; all zero: none.  A node whose rule changes drops its piece. */
struct rate_piece {
    int64_t next_ns, until_ns;
    int64_t late_ns; /* when its first time was wanted, after it could be used */
    bool fresh;      /* that has not happened */
};

enum rate_answer {
    RATE_GO,      /* one may begin now: its time is used up */
    RATE_WAIT,    /* the next time of the piece may be used from *ret_wait_until_ns on */
    RATE_RESERVE, /* nothing of the piece is left: reserve another one */
};

enum rate_answer rate_take(struct rate_piece *piece, const struct rate_rule *r, int64_t now_ns,
                           int64_t *ret_wait_until_ns);

/* In the transaction that has the row: the next piece, in the place of the last one of this node.
 * False: none may be reserved before *ret_wait_until_ns; row and piece stay as they are. */
bool rate_reserve(int64_t *row_next_ns, const struct rate_rule *r, int64_t now_ns,
                  struct rate_piece *piece, int64_t *ret_wait_until_ns);
