/* rate.h - reserves pieces of the timelines of systems for a node: core/rate.h over the store.
 *
 * Each system with a rate has one row for all nodes, with the first time that is not reserved.  A
 * reservation is committed before it is used, so that a crash never gives a time to two nodes.
 * Times are those of the store's clock.  rate.c opens with the method and the reasons.
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
    int64_t system;     /* name id */
    struct rate_rule rule;
    struct rate_piece last; /* the last piece of this node; all zero: none */

    /* the answer, when op.ok */
    bool granted;
    struct rate_piece piece; /* granted */
    int64_t wait_until_ns;   /* not granted: none before then */
    int64_t now_ns, mono_us; /* the store's clock, and the monotonic clock right after */
};

extern const struct store_verb rate_verb;
