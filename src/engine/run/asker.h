/* asker.h - steps that ask by themselves, on a thread that may block (core/service.h: `ask`).
 *
 * The question runs on the crew of senders, with everything that it touches copied: a call that
 * hangs is given up, and the walk goes on without it (asking/calling.h).
 *
 * Threads: any; the end of the transfer is told on a thread of the crew, or its timekeeper.
 */
#pragma once

#include <stdbool.h>

struct called;
struct road;

/* False: the node stops.  Otherwise c->transfer.done() is called, with c->verdict and the answer.
 */
bool asker_ask(struct road *r, struct called *c);
