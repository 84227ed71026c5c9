/* retain_rule.h - how long ended documents are kept, and guards against a clock that jumps.
 *
 * An ended document is in the table of the day on which it may be purged; the table is purged when
 * that day is over, so that no document is kept shorter than its rule says.  Long rules share
 * tables by the week, the month and the year: there are never more than a few hundred.
 *
 * Two guards precede every purge.  The wall clock must have agreed with the monotonic clock for
 * RETAIN_APART_US.  And in any hour one table may be purged completely; of other tables at most a
 * twentieth of all documents.
 *
 * Pure: clocks are arguments.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
    RETAIN_DAYS = 45,         /* without a rule */
    RETAIN_DAYS_MOST = 36500, /* a hundred years: `never` */
    RETAIN_KEPT_DAY = 1000000 /* the table of documents under legal hold, never purged */
};

#define RETAIN_DAY_US   (INT64_C(86400) * 1000000)
#define RETAIN_APART_US (INT64_C(600) * 1000000)
#define RETAIN_HOUR_US  (INT64_C(3600) * 1000000)
/* The clocks of nodes differ: a day counts as over only this much later. */
#define RETAIN_GRACE_US (INT64_C(600) * 1000000)

/* A retention time in whole days, rounded up; at most RETAIN_DAYS_MOST. */
int64_t retain_days_of(int64_t keep_us);
/* The day whose table takes a document that ends on ended_day. */
int64_t retain_day(int64_t ended_day, int64_t keep_days);
/* Tables of earlier days may be purged. */
int64_t retain_due_before(int64_t now_us);

/* Zeroed: the clock was never sampled. */
struct retain_clock {
    int64_t seen_us, seen_mono_us, since_mono_us;
    bool looked;
};

/* Samples both clocks; true: they have agreed for at least apart_us. */
bool retain_clock_look(struct retain_clock *c, int64_t now_us, int64_t mono_us, int64_t apart_us);

/* What was purged in the present hour. */
struct retain_guard {
    int64_t since_us, day, count;
    int64_t present; /* documents at the beginning of the hour */
};

/* May documents of the table of `day` be purged now?  Begins a new hour when the last is over. */
bool retain_guard_lets(struct retain_guard *g, int64_t now_us, int64_t day, int64_t present);
