/* clock.h - time; the only place that reads the clocks of the system.
 *
 * Microseconds in int64_t everywhere: wall time is UTC since 1970, monotonic
 * time never jumps.  Rules that depend on time take it as an argument, so that
 * they can be simulated.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { CLOCK_MS = 1000, CLOCK_S = 1000000 };

int64_t clock_wall_us(void);
int64_t clock_mono_us(void);
int64_t clock_cpu_us(void);      /* processor time of the calling thread, for budgets that do not
                                  * depend on the load of the machine */
void clock_sleep_us(int64_t us); /* the whole time, despite signals; returns at once below 1 */

enum { CLOCK_TEXT = 40 };

/* "2026-11-15T02:52:10.123456Z", as in every JSON we write. */
const char *clock_utc_text(int64_t wall_us, char text[static CLOCK_TEXT]);
/* "2026-11-15 03:52:10.123 +01:00", for people. */
const char *clock_local_text(int64_t wall_us, char text[static CLOCK_TEXT]);
