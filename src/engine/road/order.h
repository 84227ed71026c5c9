/* order.h - ordered deliveries: lanes of ordered systems.  See store/road/order.h.
 *
 * A lane is a system and a key: what `order_by` finds in the received bytes, or the empty key with
 * `order: receiver`.  Documents without a key share the lane of the empty key.  A leg is only
 * marked with its lane; the settlement of the run puts it there, and the store gives it a task when
 * it is its turn.  From then on it is claimed and sent like every stored delivery, under the same
 * slots, holds, windows and breakers.
 */
#pragma once

#include "engine/flight/flight.h"

struct ordering;
struct ordering *order_start(struct road *r);
void order_done(struct ordering *o);
void order_use(struct road *r, const struct plan *plan); /* the plan in force from now on */
/* Gives new legs of ordered systems their lanes.  Call it before they are offered.  False: a large
 * document cannot be read for its key. */
bool order_mark(struct flight *f, struct err *err);
/* Whether a delivery that is being settled is dead and lets the others of its lane pass. */
bool order_steps_aside(const struct leg *p);
/* For the claimer, in every round: lanes whose turn was missed, or that wait for documents that
 * other nodes route.  *looked_us: when it last scanned, 0 at first. */
void order_work(struct road *r, int64_t *looked_us);
int64_t order_wait_us(struct road *r); /* how long the claimer may sleep */
