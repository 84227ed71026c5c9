/* birth.h - claim at birth: a document that was just accepted becomes a flight with its bytes.
 *
 * Room for the flight is reserved before commit 1.  Without room the document waits in the store.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "store/road/accept.h"

struct road;

/* Reserves a flight and memory for a document that is about to be accepted; false: no room. */
bool road_reserve(struct road *r, int64_t size);
void road_unreserve(struct road *r, int64_t size);
/* The document was accepted and claimed: queues its flight.  Takes the bytes out of *body.  On the
 * writer's thread. */
void road_born(struct road *r, const struct accept_op *accepted, struct buf *body);
/* Flights wait for this node's own work, not for receivers: a reason to delay further intake. */
bool road_is_busy(struct road *r);
