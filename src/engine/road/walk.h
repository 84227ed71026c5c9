/* walk.h - a document finds its way: extract, route, steps.
 *
 * Everything here is computed in memory, from the bytes and the plan alone, so that a
 * replay after a crash comes to the same result.
 *
 * Threads: any that may compute; one that may block when the document is large.
 */
#pragma once

#include "engine/flight/flight.h"

/* All of it.  True: it has deliveries, to be sent; false: it is over, dead or to be tried again,
 * to be settled (settle.end). */
bool walk(struct flight *f);
/* Extract and route alone, for those who only ask. */
bool walk_find_facts(struct flight *f);
const struct plan_route *walk_find_route(struct flight *f);
/* All of it, steps too, for those who only ask: its parts say what would be sent.
 * False: it is dead, or could not be read (settle.end). */
bool walk_only(struct flight *f);
