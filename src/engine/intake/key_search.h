/* key_search.h - documents by the Idempotency-Key that they came with.
 *
 * A key is stored as a digest over gateway, caller and key, so the search tries every pair that
 * could have sent it now.  A document is found as long as its key is remembered (`idempotency` of
 * its gateway).
 *
 * Threads: any that may block.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/err.h"
#include "base/str.h"

struct intake_table;
struct store;

/* The digest under which a key is stored: a key is unique only within its gateway and caller. */
struct sha256 key_search_digest(int64_t gateway, int64_t caller, struct str user, struct str key);

/* Numbers of up to `most` documents that came from the callers of `t`; gateway 0: any. */
bool key_search(struct store *s, const struct intake_table *t, int64_t gateway, struct str key,
                int64_t *ret, size_t most, size_t *ret_count, struct err *err);
