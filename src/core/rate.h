/* rate.h - so many per time, with a burst: the gate of gateways and systems.
 *
 * One number is the whole state: the time at which the next one would be due if all
 * came evenly (GCRA).  In any time t at most rate x t + burst pass.  Time is an
 * argument, so the rule can be simulated.
 *
 * Threads: any; the state is one atomic.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct rate {
    _Atomic int64_t due_ns;
};

/* May one pass now?  `count` per `per_us`, up to `burst` at once (at least 1).  When
 * not, *ret_wait_us is the time until one may.  count 0: always. */
bool rate_take(struct rate *r, uint64_t count, int64_t per_us, uint64_t burst, int64_t now_us,
               int64_t *ret_wait_us);
