/* series.h - numbers of this node over time, for charts.
 *
 * The housekeeper looks at the metrics each second; nothing that moves documents knows of it.  Kept
 * in memory: an hour in steps of 10 seconds, a day in steps of a minute.  Steps begin at whole
 * multiples of their length, by the wall clock; what was not seen (the node did not run, the clock
 * was put forward) has no value.
 *
 * Threads: any; one short lock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The words are those of enum SeriesName in schema.graphql, in its order. */
enum series_name {
    SERIES_ACCEPTED,  /* documents */
    SERIES_DELIVERED, /* deliveries that arrived ... */
    SERIES_DEAD,      /* ... that became dead letters, documents too ... */
    SERIES_RETRYING,  /* ... that will be tried again */
    SERIES_WAITING,   /* how many wait; the others are counted in each step */
    SERIES_NAMES
};

extern const char *const series_words[SERIES_NAMES];

enum { SERIES_STEP_FINE = 10, SERIES_STEP_COARSE = 60, SERIES_FINE = 360, SERIES_COARSE = 1440 };
enum { SERIES_NONE = -1 }; /* in the place of a value */

struct series;

struct series *series_new(void);
void series_free(struct series *s); /* NULL is fine */

/* What the metrics say now; about once a second. */
void series_look(struct series *s, int64_t wall_us);

/* The steps of `step_s` (one of the two) that end after `since_us`, up to the one that goes on now:
 * at most SERIES_FINE or SERIES_COARSE.  *ret_from_us is when the first began.  `ret` has room for
 * them; the result is their number. */
size_t series_read(struct series *s, enum series_name name, int step_s, int64_t since_us,
                   int64_t wall_us, int64_t *ret, int64_t *ret_from_us);

/* Totals since this process began, as of the last look. */
struct series_now {
    int64_t total[SERIES_NAMES];
    int64_t dead_letters; /* that wait for a person */
};
void series_now(struct series *s, struct series_now *ret);
