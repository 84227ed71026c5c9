/* events.h - GET /events: what changes, as server-sent events.
 *
 *   tick    each second, what this node did in it: accepted delivered dead retrying; and how much
 *           waits: waiting deadLetters
 *   dead    the number of dead letters changed            { "count": N }
 *   alert   alerts were raised or cleared                 { "open": N }
 *   hold    holds changed                                 { }
 *   pause   pauses changed                                { }
 *   job     jobs came, went, were changed, or have ended a run   { }
 *   config  another version of the configuration is in force  { "version": N }
 *
 * Numbers are over all systems.  A client with the right `see` for some systems only gets neither
 * tick nor dead nor job, and of the others no number except that of the version.  An event says
 * that something changed, never what; a client that wants to know sends a query, whose rights are
 * checked.
 *
 * One thread polls, once a second and only while a stream is open.  Before it gets anything a
 * stream's session, key and rights are looked up again: it ends with its session, and a stream does
 * not keep a session from being idle.  It ends after two minutes in any case, and the client opens
 * it again.  A stream whose client does not read is aborted; nothing is buffered for it.
 *
 * Bounded: EVENTS_STREAMS_MOST streams on a node, EVENTS_EACH_MOST of one principal.
 *
 * Threads: opening on the loop of the request; stop and free from a thread that is no loop.
 */
#pragma once

#include "base/http_server.h"

struct engine;
struct http_events;
struct identify;
struct principal;

enum { EVENTS_STREAMS_MOST = 100, EVENTS_EACH_MOST = 5 };

/* known: lent, and complete before the first stream. */
struct http_events *http_events_new(struct engine *engine, const struct identify *known);
/* Ends all streams and refuses new ones; call it before the server stops.  Idempotent. */
void http_events_stop(struct http_events *e);
void http_events_free(struct http_events *e); /* after the server has stopped; NULL is fine */

/* Answers the request, now or with a stream; takes it over. */
void http_events_open(struct http_events *e, struct http_request *r, const struct principal *who);
