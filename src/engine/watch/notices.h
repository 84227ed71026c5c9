/* notices.h - alerts are told: webhooks, each with its own retries.
 *
 * A notice is a row (store/watch/alert.h) that is posted as one JSON object with an Idempotency-Key
 * that stays the same over all attempts.  A 2xx is heard; everything else is tried again by the
 * rules of its target until that gives up, and then it shows as that.  Delivery is at least once.
 *
 * Threads: the housekeeper's; the answers come on the transfer thread and wait for it.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct notices;
struct road;
struct store;

struct notices *notices_new(struct store *s, struct road *r);
/* After the road has stopped: what was heard is written; the rest waits for the next process. */
void notices_stop(struct notices *n);
void notices_free(struct notices *n); /* NULL is fine */

/* Write what came of those that were sent; with the turn, send those that are due.  Blocks on the
 * store, never on a target. */
bool notices_tend(struct notices *n, bool turn, struct err *err);
