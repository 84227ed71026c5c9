/* order_keep.h - what waits in a lane stays in memory for a moment.  See order.h.
 *
 * A flight whose run was settled and whose delivery waits for its turn is kept, so that it need
 * not be loaded again: the store is asked nothing, and the task comes claimed with the commit
 * that lets it go.  Everything kept is in the store too, and may be forgotten at any time: what
 * has waited for KEEP_US is, and of a lane that does not move nothing more is kept.
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
/* Is there room for a flight whose run is settled now? */
bool keep_wants(struct flight *f);
/* Its run was settled.  True: it is kept, or goes on, and is not the caller's any more.  On the
 * writer's thread. */
bool keep_put(struct flight *f);
bool keep_has(struct keeping *k, int64_t delivery);
/* It may go, under this claim; false: it is not kept.  On any thread. */
bool keep_go(struct road *r, const struct task *t);
void keep_note_moved(struct keeping *k, int64_t lane);
/* Those that have waited for long are left to the store. */
void keep_sweep(struct road *r, bool all);
size_t keep_count(const struct keeping *k);
