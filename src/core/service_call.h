/* service_call.h - how much a step asks another service, and what follows when that fails.
 *
 * Steps that ask the same service share its breaker, its slots and its rate on a node.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "core/retry.h"
#include "core/units.h"

struct settings;

struct service_call {
    struct str service; /* which: its URL */
    struct retry_rule retry;
    struct breaker_rule breaker;
    int64_t concurrency;
    struct units_rate rate;
    uint64_t burst;
    int64_t answer_most; /* bytes */
};

/* The keys of grammar_asking; `service` and `answer_most` are the caller's. */
bool service_call_read(const struct settings *s, struct service_call *ret, struct err *err);

/* The keys `retry` and `breaker`, of endpoints and of steps. */
bool service_call_read_retry(const struct settings *s, struct retry_rule *ret_retry,
                             struct breaker_rule *ret_breaker, struct err *err);
