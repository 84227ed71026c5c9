/* rate.h - pieces of the timelines of systems, given to nodes: core/rate.h over the store.
 *
 * Each system with a rate has one row for all nodes, with the next time that nobody has
 * reserved.  A reservation is durable before anybody hears of it, so that no time is given twice,
 * whatever dies.
 *
 * The clock is the store's; one that goes back makes a system wait for a piece, not until it is
 * where it was.
 *
 * The operation is embedded in the caller's object.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/rate.h"
#include "store/kernel/writer.h"

struct rate_op {
    struct store_op op; /* verb = &rate_verb */
    int64_t system;     /* word */
    struct rate_rule rule;
    struct rate_piece last; /* of this node; all zero: none */

    /* the answer, when op.ok */
    bool granted;
    struct rate_piece piece; /* granted */
    int64_t wait_until_ns;   /* not granted: none before then */
    int64_t now_ns, mono_us; /* the store's clock, and the monotonic one at that moment */
};

extern const struct store_verb rate_verb;
