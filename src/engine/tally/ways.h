/* ways.h - how often documents went which way on this node, for the map.
 *
 * Counted on the way, each with one relaxed addition; the housekeeper looks each 10 seconds, so
 * that the rate of the last minute is known.  Bounded: WAYS_MOST pairs are known, others are not
 * counted.
 *
 * Threads: ways_count() from any; ways_look() is the housekeeper's; ways_list() from any.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum way_kind {
    WAY_TAKEN = 1, /* from a gateway to a route */
    WAY_MADE,      /* from a route to an endpoint */
    WAY_SENT,      /* from an endpoint to a system: delivered */
    WAY_FAILED,    /* the same, and not delivered */
};

enum { WAYS_MOST = 4096, WAYS_LOOKS = 6 };

struct ways;

struct ways *ways_new(void);
void ways_free(struct ways *w); /* NULL is fine */

/* From and to are words (store.h); of which one is 0 is not counted. */
void ways_count(struct ways *w, enum way_kind kind, int64_t from, int64_t to);
void ways_look(struct ways *w);

struct way_seen {
    enum way_kind kind;
    int64_t from, to, total;
    int64_t lately; /* within the last WAYS_LOOKS looks */
};

/* All there are, at most WAYS_MOST. */
size_t ways_list(struct ways *w, struct way_seen *ret);
