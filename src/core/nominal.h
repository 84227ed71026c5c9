/* nominal.h - the nominal times of recurring work, without those on holidays or in closed windows.
 *
 * A nominal time is an instant that a schedule names.  A set has one or more cron expressions in a
 * zone; several that name one instant name it once, and clock changes are handled as in cron.h.  A
 * nominal time counts if its local day is in none of the calendars and the window is open at that
 * instant.  The others are left out; nominal_why() has the reason.
 *
 * Threads: pure; from any.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/calendar.h"
#include "core/cron.h"
#include "core/window.h"
#include "core/zone.h"

struct nominal {
    const struct cron *crons;
    size_t count; /* 0: no nominal times; nominal_open() still works */
    const struct zone *zone;
    const struct calendar **holidays;
    size_t holiday_count;
    const struct window_set *window; /* NULL: always open */
};

/* The first nominal time after after_us, whether it counts or not; 0: none. */
int64_t nominal_any(const struct nominal *n, int64_t after_us);

enum nominal_why { NOMINAL_COUNTS, NOMINAL_HOLIDAY, NOMINAL_WINDOW };

/* Whether work may run at this instant, or why not. */
enum nominal_why nominal_why(const struct nominal *n, int64_t at_us);

/* The first nominal time after after_us that counts; 0: none within a hundred years, or within the
 * bound on the search (NOMINAL_LOOKS excluded days or closed windows).  *looks, unless NULL, is
 * increased by the number of steps that the search took. */
enum { NOMINAL_LOOKS = 20000 };
int64_t nominal_next(const struct nominal *n, int64_t after_us, size_t *looks);

/* The first instant from from_us on at which work may run: no holiday, the window open.  0: none
 * was found. */
int64_t nominal_open(const struct nominal *n, int64_t from_us);

/* What a change of the clock did to a nominal time. */
enum nominal_clock {
    NOMINAL_PLAIN,
    NOMINAL_SKIPPED, /* its local time does not exist: it is the instant of the change */
    NOMINAL_FIRST,   /* its local time comes twice, this is the first */
    NOMINAL_SECOND
};

enum nominal_clock nominal_clock(const struct nominal *n, int64_t at_us);
