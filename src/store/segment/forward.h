/* forward.h - where an entry of a segment went, when it was copied so that the rest could go.
 *
 * For those who read a SQLite store without opening it as one: a backup that is checked, a store
 * that moves.  A store without the table `moved` has copied nothing.
 */
#pragma once

#include <stdbool.h>

#include "store/db/db.h"
#include "store/segment/segment.h"

/* True: it is at *io_place now. */
bool forward_find(struct db *db, struct payload_ref *io_place);
