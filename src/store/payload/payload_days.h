/* payload_days.h - the tables of payloads on PostgreSQL, two for each day of acceptance.
 *
 * PostgreSQL gives the space of deleted rows back to the file system only with the whole table.  So
 * payload rows lie in tables payload_N, and the pieces of large payloads in payload_piece_N, N the
 * day by the store's clock; a place names the table in its position (payload.h).  When all payloads
 * of a day are purged, its table is dropped.  When few are left, for documents that are kept
 * longer, they are copied into a new table of the same name, and the old one is dropped.
 *
 * The tables of day 0 have what was stored before there were days, and what a move from SQLite
 * brings; they are never dropped, only made anew.
 *
 * New payloads go into the table that this node knows as the current one, whatever its clock says.
 * A table becomes worn only days later, so no node still writes there.
 *
 * On SQLite payloads lie in segments; the functions do nothing.
 *
 * Threads: any that may block.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct store;

/* Makes the tables of today and tomorrow, and lets new payloads go into those of today.  Called at
 * start and now and then. */
bool payload_days_keep(struct store *s, struct err *err);
/* The table that new payloads go into. */
int64_t payload_day(const struct store *s);

/* Gives back the space of one table from which most was purged; *ret_bytes: how much, 0: there was
 * none among those that this call looked at.  It looks at some, and the next call at those of later
 * days: tables that cannot be tidied keep nobody from the others. */
bool payload_days_tidy(struct store *s, int64_t *ret_bytes, struct err *err);
