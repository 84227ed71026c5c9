/* replies.h - senders that wait for the answer of the receiver (`reply: receiver`).
 *
 * The document is stored as any other.  Then its sender waits here: as one small object, without a
 * thread and without the bytes of the document.  What the receiver answers is kept with the
 * document (road/answers.h), by whichever node delivers it, so the wait needs nothing but the
 * store:
 *
 *     begin ──► expect ──► listen ──► replied          a place; in the commit; on the loop; the end
 *        └─────────┴──────────┴─────► leave            nobody waits any more
 *
 * One thread finds out what has ended.  The settlement of a flight on this node tells it
 * (replies_told); for what other nodes and people do it looks at all waiting documents in one
 * statement, now and then.  A document that has ended is read, with its answer, and handed to the
 * loop of its request.
 *
 * Bounded: `most` waits; bytes of answers on their way to the loops, REPLIES_HELD_MOST.
 *
 * Threads: begin, listen, leave and `replied` on the loop of the request; expect and told on any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/intake.h"

struct replies;
struct store;

enum { REPLIES_HELD_MOST = 8 << 20 };

/* Starts the thread. */
struct replies *replies_new(struct store *store, size_t most);
/* Nobody waits for longer than this from now on: the node stops. */
void replies_hurry(struct replies *r, int64_t us);
/* Ends every wait and the thread; no wait is expected any more. */
void replies_stop(struct replies *r);
void replies_free(
    struct replies *r); /* after replies_stop() and the end of the loops; NULL is fine */

/* Takes a place.  NULL: there is none. */
struct reply_wait *replies_begin(struct replies *r, struct loop *loop, int64_t wait_us);
/* The document is committed, and not yet on its road.  `repeated`: it was before, and may have
 * ended. */
void replies_expect(struct reply_wait *w, const struct id *id, bool repeated);
/* From now on `replied` may be called; it was not called before. */
void replies_listen(struct reply_wait *w,
                    void (*replied)(void *user, const struct intake_reply *reply), void *user);
/* Gives the place back; the object is not to be used any more. */
void replies_leave(struct reply_wait *w);

/* A document with this number was settled, on this node. */
void replies_told(struct replies *r, int64_t num);
