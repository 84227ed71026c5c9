/* ledger.h - what polling gateways remember: who looks, and what was taken.
 *
 * A gateway is polled by one node at a time: the turn is a row with a node and an end, and
 * whoever holds it renews it; that of a dead node is free.  A SQLite store has one node, whose
 * turn it always is, and writes nothing.  The ledger of `after: keep` knows sources that were taken
 * and still lie there.  What was not seen for a week is forgotten, gateway by gateway, and only
 * behind looks that would have seen it (engine/intake/poller.h): a source that was merely out of
 * reach is still known when it is back.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/err.h"

struct store;

/* Take or renew the turn until now + lease; *ret_ours: it is ours. */
bool poll_turn(struct store *s, int64_t gateway, int64_t lease_us, bool *ret_ours, struct err *err);
bool poll_turn_end(struct store *s, int64_t gateway, struct err *err);

bool ledger_seen(struct store *s, int64_t gateway, const struct sha256 *key, bool *ret,
                 struct err *err);
bool ledger_note(struct store *s, int64_t gateway, const struct sha256 *key, struct err *err);
/* Forget what the gateway did not look at since then.  Looking renews a note once a day. */
bool ledger_sweep(struct store *s, int64_t gateway, int64_t before_us, struct err *err);
