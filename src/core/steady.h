/* steady.h - the clock by which reasons to wait begin and end.
 *
 * Between two readings of the source (the clock of the database, or of the machine) this clock
 * advances with the monotonic clock, so that a jump of the source has no effect before the next
 * reading.  A reading that is over a minute off freezes the clock: a wait that would end by it has
 * not ended, and a wait that would begin by either reading has begun.  Both are the safe side: a
 * delivery is sent too late, not too early.  The clock goes on when a later reading confirms the
 * doubted one.
 *
 * Pure: both clocks are arguments.  Zeroed: never read.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A greater difference is a step; two readings that confirm each other are at least so far apart.
 */
enum { STEADY_STEP_US = 60 * 1000000, STEADY_APART_US = 5 * 1000000 };

struct steady {
    int64_t base_us, base_mono_us; /* the last reading that was trusted */
    int64_t seen_us, seen_mono_us; /* while frozen: the reading that is doubted */
    bool read, frozen;
};

enum steady_change { STEADY_SAME, STEADY_FROZE, STEADY_WENT_ON };

/* Takes a reading of the source and its monotonic time.  *ret_step_us: how far it is off. */
enum steady_change steady_note(struct steady *s, int64_t clock_us, int64_t mono_us,
                               int64_t *ret_step_us);

/* A wait has ended if its end is not after this time. */
int64_t steady_early_us(const struct steady *s, int64_t mono_us);
/* A wait has begun if its beginning is not after this time. */
int64_t steady_late_us(const struct steady *s, int64_t mono_us);
