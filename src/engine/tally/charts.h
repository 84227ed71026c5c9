/* charts.h - the numbers of this node become those of the location: for charts, map and gateways.
 *
 * The housekeeper saves what was counted in memory (series.h, ways.h, the counters of gateways)
 * every now and then; the store keeps a day of it (store/watch/chart.h).  A question adds to what
 * is stored what this node has not saved yet.  What other nodes counted is late by a save.
 *
 * Threads: any that may block.  No lock is held while the store works: a question does not wait for
 * a save that hangs, and a save not for a question.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "engine/tally/series.h"

struct charts;
struct store;
struct ways;

struct charts *charts_new(struct store *store, struct series *series, struct ways *ways);
void charts_free(struct charts *c); /* NULL is fine */

/* Saves, if it is time or the node stops. */
bool charts_save(struct charts *c, bool stopping, struct err *err);

/* As series_read(), over all nodes; for all names at once.  `ret` has SERIES_COARSE rows. */
bool charts_series(struct charts *c, int step_s, int64_t since_us, int64_t wall_us,
                   int64_t (*ret)[SERIES_NAMES], size_t *ret_count, int64_t *ret_from_us,
                   struct err *err);

/* Documents of a gateway within a day, over all nodes. */
struct gateway_counts {
    int64_t gateway; /* name id */
    int64_t accepted, repeated, refused;
};
/* Fills in the counts of these gateways. */
bool charts_gateways(struct charts *c, struct gateway_counts *io, size_t count, struct err *err);
