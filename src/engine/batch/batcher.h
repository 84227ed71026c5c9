/* batcher.h - batches close, become documents, and end.
 *
 * The housekeeper looks four times a second: what is due by a schedule or by age is closed in one
 * transaction; what is closing (by that, by its members, or by a person) is built on the pool, a
 * few at a time; and members of what is over end with it.  Everything it does is found again in the
 * store by whoever looks next: there is no state here that matters after a crash.
 *
 * The rules are those of the newest configuration; of a batch that it does not know any more, those
 * of the version under which its last member joined.
 *
 * Threads: batcher_look() one at a time; building on threads of the pool.
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
/* What is being built is given up soon: it is found again. */
void batcher_rest(struct batcher *b);
void batcher_free(struct batcher *b); /* after the pool has ended */

/* When the schedule of a batch of the newest configuration comes next; 0: it has none. */
struct plan_batch;
bool batcher_next(struct batcher *b, const struct plan_batch *of, int64_t *ret_us, struct err *err);
