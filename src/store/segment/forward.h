/* forward.h - the new place of an entry that retention copied before it deleted the segment.
 *
 * For code that reads the database of a SQLite store without store_open(): verifying a backup,
 * moving a store to PostgreSQL.  A database without the table `moved` has no such entries.
 */
#pragma once

#include <stdbool.h>

#include "store/db/db.h"
#include "store/segment/segment.h"

/* True: the entry was copied, and *io_place is its new place. */
bool forward_find(struct db *db, struct payload_ref *io_place);
