/* retain_rule.h - how long ended documents are kept, and what guards them against a clock that
 * jumps.
 *
 * An ended document stands in the table of the day on which it may go; the table goes when that
 * day is over, so that nothing is kept shorter than its rule says.  Long rules share tables by the
 * week, the month and the year: there are never more than a few hundred.
 *
 * Two guards stand before every purge.  The clock must have run as the monotonic one did for
 * RETAIN_APART_US.  And in any hour one table may go whole; of others no more than a twentieth of
 * all documents.
 *
 * Pure: clocks are arguments.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
    RETAIN_DAYS = 45,         /* without a rule */
    RETAIN_DAYS_MOST = 36500, /* a hundred years: `never` */
    RETAIN_KEPT_DAY = 1000000 /* the table of those that nobody may let go of */
};

#define RETAIN_DAY_US   (INT64_C(86400) * 1000000)
#define RETAIN_APART_US (INT64_C(600) * 1000000)
#define RETAIN_HOUR_US  (INT64_C(3600) * 1000000)
/* Clocks of nodes differ: a day is over a little later. */
#define RETAIN_GRACE_US (INT64_C(600) * 1000000)

/* In whole days, rounded up. */
int64_t retain_days_of(int64_t keep_us);
/* The table of a document that ends on this day. */
int64_t retain_day(int64_t ended_day, int64_t keep_days);
/* Tables below this day may go. */
int64_t retain_due_before(int64_t now_us);

/* All zero: the clock was never looked at. */
struct retain_clock {
    int64_t seen_us, seen_mono_us, since_mono_us;
    bool looked;
};

/* A look at the clock; true: it has been steady long enough. */
bool retain_clock_look(struct retain_clock *c, int64_t now_us, int64_t mono_us, int64_t apart_us);

/* What went in this hour. */
struct retain_guard {
    int64_t since_us, day, count;
    int64_t present; /* documents when it began */
};

/* May something of this day's table go now?  Begins a new hour when the last one is over. */
bool retain_guard_lets(struct retain_guard *g, int64_t now_us, int64_t day, int64_t present);
