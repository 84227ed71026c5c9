/* key_find.h - finds documents by their idempotency key, outside of the writer.
 *
 * On SQLite keys are in trees that run behind the write (key_log.h); the rows above a tree's mark
 * are read one by one.
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

/* The numbers of documents that were accepted with one of these keys, up to `most`.  Expired keys
 * find nothing. */
bool key_find(struct store *s, const struct sha256 *keys, size_t count, int64_t *ret, size_t most,
              size_t *ret_count, struct err *err);
