/* notices.h - sends alerts to webhooks and through endpoints, each with its own retries.
 *
 * A notice is a row (store/watch/alert.h) that is posted as one JSON object, or sent as a text by
 * an endpoint, a mail for example.  Its key stays the same over all attempts.  A 2xx or the
 * endpoint's word ends it; anything else is retried by the rules of its target until these give up,
 * which is then visible.  Delivery is at least once.  Holds, windows and the breaker of the
 * endpoint are for documents: a notice does not wait for them.
 *
 * Threads: the housekeeper's; answers come on other threads and are queued for it.
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
