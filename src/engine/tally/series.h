/* series.h - metrics of this node over time, for charts.
 *
 * The housekeeper samples the metrics every second; the code that moves documents is not involved.
 * Kept in memory: an hour in steps of 10 seconds.  Steps begin at whole multiples of their length,
 * by the wall clock.  A step without a sample (the node did not run, the clock was set forward) has
 * no value.  charts.h makes numbers of all nodes and of a day from it.
 *
 * Threads: any; one short lock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The names are those of enum SeriesName in schema.graphql, in its order. */
enum series_name {
    SERIES_ACCEPTED,  /* documents */
    SERIES_DELIVERED, /* deliveries that arrived ... */
    SERIES_DEAD,      /* ... that became dead letters, documents too ... */
    SERIES_RETRYING,  /* ... that will be tried again */
    SERIES_WAITING,   /* a level: how many wait; the others count events per step */
    SERIES_NAMES
};

extern const char *const series_words[SERIES_NAMES];

enum { SERIES_STEP_FINE = 10, SERIES_STEP_COARSE = 60, SERIES_FINE = 360, SERIES_COARSE = 1440 };
enum { SERIES_NONE = -1 }; /* no value */

struct series;

struct series *series_new(void);
void series_free(struct series *s); /* NULL is fine */

/* Samples the metrics; about once a second. */
void series_look(struct series *s, int64_t wall_us);

/* The steps of 10 seconds of which there is a value, from `from_us` on, up to the one under way; at
 * most SERIES_FINE. */
struct series_step {
    int64_t at_us; /* when it began */
    int64_t value[SERIES_NAMES];
};
size_t series_steps(struct series *s, int64_t from_us, int64_t wall_us,
                    struct series_step ret[static SERIES_FINE]);

/* Totals since this process started, as of the last sample. */
struct series_now {
    int64_t total[SERIES_NAMES];
    int64_t dead_letters; /* that wait for a person */
};
void series_now(struct series *s, struct series_now *ret);
