/* order.h - deliveries in order: lanes of ordered systems.  See store/road/order.h.
 *
 * A lane is a system and a key: what `order_by` finds in the bytes that were received, or
 * nothing with `order: receiver`.  A document without a key stands in the lane of the empty one.
 * The walk only marks a part; the settlement of the run puts it into its lane, and the store
 * lets it go when it is its turn.  Then it is claimed and sent as everything that waits in the
 * store, under the same slots, holds, windows and breakers.
 */
#pragma once

#include "engine/flight/flight.h"

struct ordering;
struct ordering *order_start(struct road *r);
void order_done(struct ordering *o);
void order_use(struct road *r, const struct plan *plan); /* from now on */
/* New parts of ordered systems get their lanes; before they are offered. */
void order_mark(struct flight *f);
/* A stored delivery is settled: does it let the others of its lane pass? */
bool order_steps_aside(const struct leg *p);
/* The claimer's share: lanes that were missed, or wait for what others route. */
void order_work(struct road *r, int64_t *looked_us);
int64_t order_wait_us(struct road *r); /* how long the claimer may sleep */
