/* archiver.h - copies days to the archive (store/retention/archive.h) on a thread of its own.
 *
 * The folder of the archive may be on a share that hangs, and a thread that waits for it cannot be
 * interrupted.  So the purger waits for a copy only for a while, does its other work, and asks
 * again; a folder that is silent for longer is a failure that is told.  One copy runs at a time: as
 * long as one hangs, none begins.
 *
 * A copy whose result nobody took is not lost: it is recorded in the store, and the next one of
 * that day finds nothing left to copy.
 *
 * Threads: archiver_copy() the purger's; the rest any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct archive_made;
struct archiver;
struct plan;
struct store;

struct archiver *archiver_new(struct store *s);

/* Copies a day to the archive of the plan, as archive_day(); *ret with `busy`: it is still under
 * way, or another day is. False also when the folder has been silent for long; the copy goes on if
 * it ever answers. */
bool archiver_copy(struct archiver *a, const struct plan *plan, int64_t day,
                   struct archive_made *ret, struct err *err);

/* The node stops: archiver_copy() returns at once, a copy under way ends or is given up. */
void archiver_rest(struct archiver *a);
/* After archiver_rest().  Returns how many threads hang (threads/crew.h). */
size_t archiver_free(struct archiver *a);
