/* chart.h - numbers of all nodes over a day, for charts, the map and counts of gateways.
 *
 * Each node adds now and then what it counted since the last time (engine/tally/charts.h): steps of
 * 10 seconds for charts, and counts by minute.  Nothing here is on the way of a document.  What is
 * older than a day is deleted when something is added.
 *
 * Threads: any that may block.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct store;

enum { CHART_STEPS_MOST = 1440, CHART_COUNTS_MOST = 8192 };

struct chart_step {
    int64_t at_us; /* when it began */
    int64_t accepted, delivered, dead, retrying;
    int64_t waiting; /* a level */
};

/* What is counted by minute: 1 to 4 are the ways of engine/tally/ways.h, between two name ids. */
enum { CHART_ACCEPTED = 10, CHART_REPEATED, CHART_REFUSED }; /* by gateway, a name id */

struct chart_count {
    int64_t kind, one, two, n;
};

/* Adds the numbers of this node: `minute_us` is the minute that the counts belong to. */
struct chart_add {
    const struct chart_step *steps;
    size_t step_count;
    int64_t minute_us;
    const struct chart_count *counts;
    size_t count;
};
bool chart_add(struct store *s, const struct chart_add *add, struct err *err);

/* Steps of `step_us` that begin in [from, to), over all nodes, up to CHART_STEPS_MOST; those of
 * which nobody has a number are left out. */
bool chart_steps(struct store *s, int64_t from_us, int64_t to_us, int64_t step_us,
                 struct chart_step *ret, size_t *ret_count, struct err *err);
/* What other nodes, or this one before its start, counted in the minutes that begin in [from, to);
 * up to CHART_COUNTS_MOST. */
bool chart_others(struct store *s, int64_t from_us, int64_t to_us, struct chart_count *ret,
                  size_t *ret_count, struct err *err);
/* What all nodes counted since then, of this kind and above. */
bool chart_since(struct store *s, int64_t from_us, int64_t kind, struct chart_count *ret,
                 size_t *ret_count, struct err *err);
