/* ledger.h - state of polling gateways: which node polls, and which sources were taken.
 *
 * One node polls a gateway at a time: the turn is a row with a node and an expiry, which its holder
 * renews; the turn of a dead node expires.  A SQLite store has one node, whose turn it always is,
 * and writes nothing.
 *
 * With `after: keep` taken sources stay where they are, and the ledger remembers them.  An entry
 * that was not seen for a week is deleted, gateway by gateway, and only after polls that would have
 * seen its source (engine/intake/poller.h): a source that was merely out of reach stays known.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/err.h"

struct store;

/* Takes or renews the turn until now + lease; *ret_ours: this node has it. */
bool poll_turn(struct store *s, int64_t gateway, int64_t lease_us, bool *ret_ours, struct err *err);
bool poll_turn_end(struct store *s, int64_t gateway, struct err *err);

bool ledger_seen(struct store *s, int64_t gateway, const struct sha256 *key, bool *ret,
                 struct err *err);
bool ledger_note(struct store *s, int64_t gateway, const struct sha256 *key, struct err *err);
/* Deletes entries that were not seen since then.  ledger_seen() renews an entry once a day. */
bool ledger_sweep(struct store *s, int64_t gateway, int64_t before_us, struct err *err);
