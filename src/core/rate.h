/* rate.h - rate limits with a burst: the gates of gateways and the schedules of systems.
 *
 * A limit of `count` per period is a schedule of slots, one interval T apart (the period divided
 * by the count, rounded up).  In any time span w at most w / T + burst may begin (GCRA); rate.c
 * says why that holds.
 *
 * A gate is the schedule of one node.  A system has one schedule for all nodes: its row in the
 * store holds the next slot, and a node reserves a piece [next, until) of the schedule and takes
 * slots from it.  Slots that the clock has passed are lost, and so is the piece of a dead node.
 *
 * Clocks: `now` of a reservation is the clock of the store.  `now` of a take should be that clock
 * as of the reservation plus the monotonic time since; a node that is off by e begins up to e / T
 * more.
 *
 * Threads: pure, time is an argument, before the year 2116.  A gate may be used by any thread, a
 * piece by one at a time.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* ---- the gate of one node ---- */

struct rate {
    _Atomic int64_t due_ns;
};

/* Takes a slot for one document: `count` per `per_us`, up to `burst` at once (0 counts as 1).
 * False: the limit is reached, and *ret_wait_us is the time until the next slot.  A count of 0
 * means no limit. */
bool rate_pass(struct rate *r, uint64_t count, int64_t per_us, uint64_t burst, int64_t now_us,
               int64_t *ret_wait_us);

/* ---- the schedule of all nodes ---- */

enum {
    RATE_PIECE_NS = 250000000,  /* the most of a piece, unless a slot and its slack are longer */
    RATE_SLACK_NS = 1000000000, /* the greatest slack */
};

struct rate_rule {
    int64_t interval_ns; /* T, at least 1 */
    int64_t burst;       /* at least 1 */
};

/* `count` per `per_us`, both at least 1. */
struct rate_rule rate_rule(uint64_t count, int64_t per_us, uint64_t burst);

/* The part of a schedule that one node has reserved; all zero: none.  A node drops its piece when
 * the rule of the system changes. */
struct rate_piece {
    int64_t next_ns, until_ns;
    int64_t late_ns; /* how far the clock had passed next_ns when the first slot was requested */
    bool fresh;      /* no slot was requested yet */
};

enum rate_answer {
    RATE_GO,      /* one delivery may begin now; its slot is used */
    RATE_WAIT,    /* the next slot of the piece may be used from *ret_wait_until_ns on */
    RATE_RESERVE, /* the piece has no usable slot left: reserve another one */
};

enum rate_answer rate_take(struct rate_piece *piece, const struct rate_rule *r, int64_t now_ns,
                           int64_t *ret_wait_until_ns);

/* The schedule of a system, as the store has it; all zero: nothing was reserved yet. */
struct rate_row {
    int64_t next_ns; /* the first slot that is not reserved, by the clock ... */
    int64_t seen_ns; /* ... that showed this at the last request; 0: not known */
};

/* Runs in the transaction that holds the lock on the row.  *piece is the last piece of this node
 * and becomes the new one; row->next_ns moves to its end.  False: no piece may be reserved before
 * *ret_wait_until_ns, and the piece is unchanged.  The row is to be stored in both cases. */
bool rate_reserve(struct rate_row *row, const struct rate_rule *r, int64_t now_ns,
                  struct rate_piece *piece, int64_t *ret_wait_until_ns);
