/* events.h - GET /events: what changes, as server-sent events.
 *
 *   tick    each second, what this node did in it: accepted delivered dead retrying; and how much
 *           waits: waiting deadLetters
 *   dead    the number of dead letters changed            { "count": N }
 *   alert   alerts were raised or cleared                 { "open": N }
 *   hold    holds changed                                 { }
 *   pause   pauses changed                                { }
 *   config  another version of the configuration is in force  { "version": N }
 *
 * Numbers are about all systems: whoever may see some of them only gets neither tick nor dead, and
 * the others without a number.  Events say that something changed, never what: who wants to know
 * asks, with the rights of that question.
 *
 * One thread looks, once a second and only while somebody listens.  A stream ends after two
 * minutes, so that it is opened again with rights that are still good; one that is not read is cut
 * off, and nothing is kept for it.
 *
 * Bounded: EVENTS_STREAMS_MOST streams on a node, EVENTS_EACH_MOST of one principal.
 *
 * Threads: opening on the loop of the request; stop and free from a thread that is no loop.
 */
#pragma once

#include "base/http_server.h"

struct engine;
struct http_events;
struct principal;

enum { EVENTS_STREAMS_MOST = 100, EVENTS_EACH_MOST = 5 };

struct http_events *http_events_new(struct engine *engine);
/* Streams end, and no other begins; before the server stops.  Twice is fine. */
void http_events_stop(struct http_events *e);
void http_events_free(struct http_events *e); /* after the server has stopped; NULL is fine */

/* Answers the request, now or with a stream; takes it over. */
void http_events_open(struct http_events *e, struct http_request *r, const struct principal *who);
