/* redrive.h - dead letters for which a new configuration has a route start again.
 *
 * Runs on a thread of the pool after each change of the configuration, page by page with a pause in
 * between, so that a hundred thousand dead letters do not stall other work.
 */
#pragma once

struct flight;
struct plan;
struct road;

void redrive_start(struct road *r, struct plan *plan);
void redrive_newest(struct road *r); /* with the plan in force, if it has routes */
/* A document was settled as dead.  If its version was replaced before that, the re-drive of the
 * newer version may have missed it: asks the claimer for another one. */
void redrive_note_dead(struct flight *f);
