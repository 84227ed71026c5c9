/* step.h - one step of a chain that runs a service.
 *
 * A service with run() gets the whole document in memory, and a large one only while no other is
 * there.  One with stream() runs over an io (flight/step_io.h) and knows no such limit.  One that
 * is caged runs over such an io in a process of its own; the walk waits for it (caging.h).  One
 * that is keyed reads a record, on a thread that may block (keyed.h).
 *
 * Threads: the one that holds the flight.
 */
#pragma once

#include "engine/flight/flight.h"

/* Where a walk goes after a step. */
enum way {
    WAY_ON,             /* to the next step */
    WAY_ENDS,           /* the chain ends here */
    WAY_BACK_TO_ROUTER, /* the document has other facts */
    WAY_DEAD,           /* dead, or to be tried again: settle.end */
    WAY_WAITS,          /* the step has not run: f->walk.need */
};

/* Runs the step at which the walk is, over f->walk.bytes. */
enum way step_run(struct flight *f, const struct plan_step *s);
/* The walk ends while it waits for a caged step. */
void step_drop(struct flight *f);
/* The line of a step that ran. */
void step_note_done(struct flight *f, const struct plan_step *s, int64_t from_us);
