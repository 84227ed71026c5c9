/* copies.h - the step `subscribe`: a copy of the document for each subscriber.
 *
 * Subscribers are the systems of those subscriptions of the step whose `when` fits the document, by
 * name, each once.  A copy has the bytes of the document as they are at the step, its facts, and
 * another receiver; it begins at the router.  All copies are made in the commit that settles the
 * run: either every subscriber has its copy, or the document is still there to be walked again.
 *
 * The copies have no bytes in common, so that each is kept and purged by itself.  Up to
 * OFFSPRING_BYTES_MOST are written in that commit; the bytes of the other copies are uploaded
 * before it, on a thread that may block.
 */
#pragma once

#include "engine/flight/flight.h"
#include "engine/walk/step.h"

/* *ret: on the arena. */
size_t copies_receivers(const struct plan_step *s, const struct facts *f, struct arena *a,
                        const struct str **ret);

/* Ends the walk; f->copies says who gets one.  Of a dry flight nothing else happens. */
enum way copies_make(struct flight *f, const struct plan_step *s);
