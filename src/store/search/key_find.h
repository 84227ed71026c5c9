/* key_find.h - looking for idempotency keys without being the writer.
 *
 * On SQLite keys are in trees that run behind the write (key_log.h); what is above them is looked
 * at row by row.
 *
 * Threads: any that may block.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/err.h"

struct store;

/* The numbers of the documents that were accepted with one of these keys, up to `most`; keys that
 * are forgotten find nothing. */
bool key_find(struct store *s, const struct sha256 *keys, size_t count, int64_t *ret, size_t most,
              size_t *ret_count, struct err *err);
