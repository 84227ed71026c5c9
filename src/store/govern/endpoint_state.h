/* endpoint_state.h - what nodes share about an endpoint: an open breaker, or a pause that its
 * receiver asked for.  A row exists only while one of them lasts.
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

/* Stored as these numbers.  A breaker that opened again for another reason may have two rows. */
enum endpoint_state_kind {
    ENDPOINT_PAUSE,     /* the receiver asked for it (Retry-After) */
    ENDPOINT_OPEN,      /* its breaker is open */
    ENDPOINT_REJECTING, /* its breaker is open, because it rejects everything */
};

struct endpoint_state {
    int64_t endpoint; /* name id */
    int64_t node;     /* that reported it */
    int64_t since_us, until_us;
    enum endpoint_state_kind kind;
    struct str message;
};

enum { ENDPOINT_STATES_MOST = 4096 };

/* An existing row keeps its since_us; everything else is replaced. */
bool endpoint_state_put(struct store *s, const struct endpoint_state *state, struct err *err);
/* Its breaker is closed, for whatever reason it was open; a pause stays. */
bool endpoint_state_close(struct store *s, int64_t endpoint, struct err *err);
/* Sorted by endpoint. */
bool endpoint_state_list(struct store *s, struct arena *a, struct endpoint_state *ret, size_t most,
                         size_t *ret_count, struct err *err);
