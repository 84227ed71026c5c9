/* answering.h - a document that comes in may answer one that went out (`answers` of its gateway).
 *
 * The value that the gateway's expression finds is the id of a document, the id of a delivery or of
 * what a step asked, or the value of a search attribute.  The document that it names counts only if
 * something of it was sent to the system that this one is from: nobody ends the wait for somebody
 * else's answer, or finds out which documents there are.  Of several with the attribute, the newest
 * one that was sent there counts.
 *
 * The link, and the end of the wait (store/road/awaited.h), are a part of the commit that settles
 * the run.  A document that answers nothing that is known goes its way all the same, and its
 * timeline says so.
 *
 * An answer may be here before the outcome of what it answers is committed: it is then tried again
 * a little later, a few times.
 *
 * Threads: one that may block, which holds the flight.
 */
#pragma once

#include "engine/flight/flight.h"

struct extract_source;

/* Its gateway has `answers`: the walk needs a thread that may block. */
bool answering_asks(const struct flight *f);
/* After the facts are known.  False: the run ends here, and is repeated. */
bool answering_look(struct flight *f, const struct extract_source *source);
