/* batcher.h - closes batches that are due, starts their builds, ends their members.
 *
 * The housekeeper calls batcher_look() four times a second.  Batches that are due by schedule or
 * age are closed in one transaction; closing batches (due, full, or closed by a person) are claimed
 * and built on the pool, a few at a time; members of a batch whose document has ended end with it.
 * All state is in the store: after a crash any node continues.  batcher.c says why this is safe.
 *
 * The rules are those of the newest configuration.  A batch that the newest configuration does not
 * name follows the version under which its last member joined.
 *
 * Threads: batcher_look() on one thread at a time; builds run on threads of the pool.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct batcher;
struct mishaps;
struct pool;
struct road;
struct store;

struct batcher *batcher_new(struct store *store, struct road *road, struct mishaps *mishaps,
                            struct pool *pool);
/* Blocks on the store. */
bool batcher_look(struct batcher *b, struct err *err);
/* Running builds stop soon and release their claims; a later poll builds again. */
void batcher_rest(struct batcher *b);
void batcher_free(struct batcher *b); /* after the pool has ended */

/* The next time in the schedule of a batch, and the last one that was served, or its start; 0: it
 * has no schedule. */
struct plan_batch;
bool batcher_next(struct batcher *b, const struct plan_batch *of, int64_t *ret_us,
                  int64_t *ret_last_us, struct err *err);
