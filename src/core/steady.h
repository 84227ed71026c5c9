/* steady.h - the clock by which reasons to wait begin and end.
 *
 * Between two readings it goes on with the monotonic clock, so that a jump of the clock that is
 * read (the database's, or the machine's) has no effect until it is looked at.  A reading
 * that is over a minute away from where time should be freezes it: what would end by the clock
 * has not ended, and what would begin by either reading has begun.  It goes on when a reading
 * a little later agrees with the one before.
 *
 * Pure: both clocks are arguments.  All zero is a clock that was never read.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* More than this is a step, and so far apart are two readings that can agree. */
enum { STEADY_STEP_US = 60 * 1000000, STEADY_APART_US = 5 * 1000000 };

struct steady {
    int64_t base_us, base_mono_us; /* the last reading that was believed ... */
    int64_t seen_us, seen_mono_us; /* ... and, while frozen, the one that is doubted */
    bool read, frozen;
};

enum steady_change { STEADY_SAME, STEADY_FROZE, STEADY_WENT_ON };

/* A reading of the clock, and when it was taken.  *ret_step_us: how far it is off. */
enum steady_change steady_note(struct steady *s, int64_t clock_us, int64_t mono_us,
                               int64_t *ret_step_us);

/* What ends by the clock has ended when its time is not after this ... */
int64_t steady_early_us(const struct steady *s, int64_t mono_us);
/* ... and what begins by the clock has begun when its time is not after this. */
int64_t steady_late_us(const struct steady *s, int64_t mono_us);
