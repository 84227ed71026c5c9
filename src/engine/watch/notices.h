/* notices.h - sends alerts to webhooks, each with its own retries.
 *
 * A notice is a row (store/watch/alert.h) that is posted as one JSON object with an Idempotency-Key
 * that stays the same over all attempts.  A 2xx ends it; anything else is retried by the rules of
 * its target until these give up, which is then visible.  Delivery is at least once.
 *
 * Threads: the housekeeper's; answers come on the transfer thread and are queued for it.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct notices;
struct road;
struct store;

struct notices *notices_new(struct store *s, struct road *r);
/* After the road has stopped: records what was sent; the rest waits for the next start. */
void notices_stop(struct notices *n);
void notices_free(struct notices *n); /* NULL is fine */

/* Records the results of sent notices; with the turn, sends those that are due.  Blocks on the
 * store, never on a target. */
bool notices_tend(struct notices *n, bool turn, struct err *err);
