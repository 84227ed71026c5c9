/* state.h - the states of deliveries and documents, as tables.
 *
 * A delivery changes state only along `delivery_moves`; the store refuses any other change.  Two
 * states are never written: a delivery whose task is claimed is `sending`, whatever its row says,
 * and `held` is derived from facts about its system and endpoint.  The state of a document with
 * deliveries is not stored either: it is derived from theirs, worst first.  docs/states.md is
 * generated from these tables.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"

enum delivery_state {
    DELIVERY_READY,
    DELIVERY_SENDING,
    DELIVERY_HELD,
    DELIVERY_RETRYING,
    DELIVERY_IN_DOUBT,
    DELIVERY_DELIVERED,
    DELIVERY_DEAD,
    DELIVERY_CANCELLED,
    DELIVERY_STATES
};

extern const char *const delivery_states[DELIVERY_STATES];

bool delivery_may_move(enum delivery_state from, enum delivery_state to);
bool delivery_is_over(enum delivery_state s); /* delivered or cancelled: final */

enum document_state {
    DOCUMENT_RECEIVED,
    DOCUMENT_ACTIVE,
    DOCUMENT_HELD,
    DOCUMENT_RETRYING,
    DOCUMENT_DEAD,
    DOCUMENT_IN_DOUBT,
    DOCUMENT_DELIVERED,
    DOCUMENT_DONE,
    DOCUMENT_CANCELLED,
    DOCUMENT_SUPERSEDED,
    DOCUMENT_STATES
};

extern const char *const document_states[DOCUMENT_STATES];

bool document_state_find(struct str word, enum document_state *ret);
bool document_is_over(enum document_state s); /* its row is in a table of its day */

/* The worst state among those of its deliveries, at least one.  All cancelled is cancelled;
 * delivered and cancelled is delivered. */
enum document_state document_derive(const enum delivery_state *deliveries, size_t count);

/* Codes of dead letters, as users see them. */
enum dead_code {
    DEAD_EXTRACT_FAILED,
    DEAD_UNKNOWN_SYSTEM,
    DEAD_FORBIDDEN_SENDER,
    DEAD_NO_ROUTE,
    DEAD_LOOP,
    DEAD_SERVICE_FAILED,
    DEAD_BUDGET,
    DEAD_DECRYPT_FAILED,
    DEAD_PAYLOAD_MISSING,
    DEAD_PAYLOAD_CORRUPT,
    DEAD_REJECTED,
    DEAD_EXPIRED,
    DEAD_RETRIES_EXHAUSTED,
    DEAD_POISON,
    DEAD_LIMIT,
    DEAD_RESTORED,
    DEAD_CODES
};

extern const char *const dead_codes[DEAD_CODES + 1]; /* ends with NULL */

/* Why a held delivery waits; a set of bits. */
enum held_reason {
    HELD_HOLD = 1,
    HELD_WINDOW = 2,
    HELD_RATE = 4,
    HELD_ORDER = 8,
    HELD_BREAKER = 16,
    HELD_PAUSE = 32,
    HELD_ENDPOINT = 64,
    HELD_RESTORE = 128,
    HELD_THREADS = 256
};

/* Appends "breaker, window". */
void held_reasons_print(unsigned reasons, struct buf *to);

/* Appends the page docs/states.md. */
void state_describe(struct buf *out);
