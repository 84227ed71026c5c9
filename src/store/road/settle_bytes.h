/* settle_bytes.h - the bytes of new deliveries, stored in the commit that settles their run.
 *
 * On SQLite they go into the segments of the group, before the rows that name them; on
 * PostgreSQL into table payload under a number of their own.  Large ones were uploaded
 * before and are adopted.  Bytes that several deliveries share are stored once.
 *
 * Threads: the writers, in an open transaction.
 */
#pragma once

#include "store/road/settle.h"

/* Fills in `stored` of the bytes.  lines[i]: what is added to the timeline of ops[i], before
 * its own lines; in the arena of the group. */
bool settle_place_bytes(struct writer *w, struct settle_op **ops, size_t count, struct str *lines,
                        struct err *err);
