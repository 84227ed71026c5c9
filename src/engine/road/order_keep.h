/* order_keep.h - a cache of flights whose deliveries wait in a lane.  See order.h.
 *
 * A flight whose run was settled and whose delivery waits for its turn is kept in memory for a
 * moment, so that it need not be loaded again: the task comes already claimed with the commit that
 * gives it its turn.  Everything kept is in the store too and may be dropped at any time.  A flight
 * is dropped after KEEP_US, and then no more flights of its lane are kept until the lane moves.
 *
 * Bounded: KEPT_MOST flights, which are among those of the road.
 *
 * Threads: any; one short lock.
 */
#pragma once

#include "engine/flight/flight.h"
#include "store/road/task.h"

struct keeping;
struct keeping *keep_new(struct road *r);
void keep_free(struct keeping *k);
/* Whether to keep this flight, whose run is about to be settled. */
bool keep_wants(struct flight *f);
/* The run was settled.  True: the flight is kept or continues, and no longer belongs to the caller.
 * On the writer's thread. */
bool keep_put(struct flight *f);
bool keep_has(struct keeping *k, int64_t delivery);
/* The delivery has its turn, under this claim: its flight continues.  False: it is not kept.  On
 * any thread. */
bool keep_go(struct road *r, const struct task *t);
void keep_note_moved(struct keeping *k, int64_t lane); /* a delivery of this lane got its turn */
/* Drops flights that have waited too long, or all. */
void keep_sweep(struct road *r, bool all);
size_t keep_count(const struct keeping *k);
