/* born.h - parts that are claimed in the commit that makes them: their flights.
 *
 * A part whose flight has room is on its way when its commit is done, with its bytes; nobody
 * claims and reads it.  The others wait in the store, as documents do that come in while there is
 * no room (run/birth.h).  Parts take up to a share of all flights and of their memory
 * (BORN_FLIGHTS_MOST, BORN_BYTES_MOST), so that documents that come in meanwhile find room too.
 *
 *     born_reserve() ──► commit ──► born_begin()
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "engine/flight/flight.h"
#include "engine/road/road.h"
#include "store/road/offspring.h"

enum { BORN_FLIGHTS_MOST = FLIGHTS_MOST / 4 * 3, BORN_BYTES_MOST = 2 * OFFSPRING_BYTES_MOST };

/* Whether so many parts, with so many bytes, would all be claimed now.  An estimate. */
bool born_has_room(struct road *r, size_t count, size_t bytes);
/* The same, and waits for it, unless this node claims nothing now. */
bool born_wait_for_room(struct road *r, size_t count, size_t bytes, int64_t most_us);

/* Before the commit: those that have room become `claim_wanted`. */
void born_reserve(struct flight *parent, struct offspring_part *parts, size_t count);
/* After it, on the writer's thread, also if nothing was made: those that were claimed begin, and
 * the claimer hears of the others. */
void born_begin(struct flight *parent, const struct offspring_op *o);
