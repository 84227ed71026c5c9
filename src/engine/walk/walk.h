/* walk.h - a document finds its way: extract, route, steps.
 *
 * The walk is computed in memory, from the bytes and the plan alone, so that a replay after a crash
 * comes to the same result.
 *
 * Threads: any that may compute; one that may block if the document is large.
 */
#pragma once

#include "engine/flight/flight.h"

enum walk_result {
    WALK_SENDS, /* the flight has deliveries, to be sent */
    WALK_ENDS,  /* it is over, joins a batch, is dead or is to be tried again: settle.end.  It is to
                   be settled */
    WALK_WAITS, /* the next step cannot run on this thread: f->walk.need.  Call walk() again there
                 */
};

/* The whole walk, or from where it waited. */
enum walk_result walk(struct flight *f);
/* Routing alone, after walk_find_facts(), for callers that only want to know the result. */
const struct plan_route *walk_find_route(struct flight *f);
/* The same with the steps: the legs say what would be sent.  False: the document is dead, or could
 * not be read (settle.end). */
bool walk_only(struct flight *f);
/* The steps of `r` alone, which is not asked of the router: for a step that is tried.  True: they
 * ran, and f->walk.bytes is what they made. */
bool walk_steps(struct flight *f, const struct plan_route *r);
