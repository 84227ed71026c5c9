/* birth.h - claim at birth: a document that was just accepted goes on the road with its bytes.
 *
 * A place on the road is taken before its commit; without one it waits in the store.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "store/road/accept.h"

struct road;

/* Take a slot for a document of this size that is about to be accepted. */
bool road_reserve(struct road *r, int64_t size);
void road_unreserve(struct road *r, int64_t size);
/* It was accepted and claimed: on the road with it.  Takes the bytes out of *body.  On the
 * writer's thread. */
void road_born(struct road *r, const struct accept_op *accepted, struct buf *body);
/* Documents wait for our own work, not for receivers: better not take on more just now. */
bool road_is_busy(struct road *r);
