/* endpoint_state.h - what every node should know of an endpoint: its breaker, a pause that
 * its receiver asked for.  A row exists only while there is something to know.
 *
 * Threads: any that may block.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct store;

struct endpoint_state {
    int64_t endpoint; /* word */
    int64_t node;     /* who saw it */
    int64_t since_us, until_us;
    bool breaker; /* else: a pause (Retry-After) */
    struct str message;
};

enum { ENDPOINT_STATES_MOST = 4096 };

/* A row that is there keeps its since_us; the rest is the latest. */
bool endpoint_state_put(struct store *s, const struct endpoint_state *state, struct err *err);
bool endpoint_state_drop(struct store *s, int64_t endpoint, bool breaker, struct err *err);
/* By endpoint. */
bool endpoint_state_list(struct store *s, struct arena *a, struct endpoint_state *ret, size_t most,
                         size_t *ret_count, struct err *err);
