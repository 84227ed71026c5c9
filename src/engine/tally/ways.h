/* ways.h - how often documents went which way on this node, for the map; charts.h has those of all
 * nodes.
 *
 * Each count is one relaxed addition.  The housekeeper samples every 10 seconds for the rate of the
 * last minute.  Bounded: WAYS_MOST pairs; others are not counted.
 *
 * Threads: ways_count() and ways_list() from any; ways_look() on the housekeeper's thread.
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

/* From and to are name ids (store.h); a pair with a 0 is not counted. */
void ways_count(struct ways *w, enum way_kind kind, int64_t from, int64_t to);
void ways_look(struct ways *w);

struct way_seen {
    enum way_kind kind;
    int64_t from, to, total;
    int64_t lately; /* within the last WAYS_LOOKS samples */
};

/* All pairs, at most WAYS_MOST. */
size_t ways_list(struct ways *w, struct way_seen *ret);
