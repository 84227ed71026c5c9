/* called.h - a step that asks an HTTP service (core/service.h, `http`).
 *
 * The first time the request is prepared, and the walk waits (asking/calling.h); when it goes on,
 * the answer is judged already: it is what the step made, or the document is asked for again later,
 * by the rules of deliveries, or it is a dead letter.
 *
 * The key of the request is the document's id, the step's name and its number in the run: the same
 * in every attempt, after a crash, and on other nodes.
 *
 * With a record in it (keyed.h) the question may be another one in the next run.  Then its digest
 * is part of the key, and what was kept answers that question only.
 *
 * What a service answered is kept: the settlement of the run stores it whatever comes of it, and a
 * run that repeats the steps takes it from there.  So a failure behind the step does not ask again.
 * Only a crash before that settlement does, under the same key.
 *
 * A walk without effect asks nobody.  It goes on with what was kept, if it repeats a past run, or
 * with an answer that was given to it (flight/foretold.h), which is judged as one that came; else
 * it ends here: what the service would answer is not known.
 *
 * Threads: the one that holds the flight.
 */
#pragma once

#include "engine/walk/step_end.h"

enum way called_run(struct flight *f, const struct plan_step *s);
void called_drop(struct flight *f); /* the walk ends while it waits; nothing if it does not */
