/* forecast.h - when what waits for a system will be gone, from how fast it went lately.
 *
 * A rate is measured over the last minutes in which the system was being sent to; one that is
 * held keeps the rate that it had.
 *
 * Pure: time is an argument.  All zero has measured nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FORECAST_SAMPLES = 20 };

struct forecast {
    struct {
        int64_t count, span_us;
    } samples[FORECAST_SAMPLES];
    size_t next;
    int64_t count, span_us; /* their sums */
    int64_t seen, seen_us;  /* the counter at the last look, and when that was; monotonic */
    bool looked;
};

/* The counter of what has gone says `total`.  idle: nothing could go since the last look. */
void forecast_note(struct forecast *f, int64_t total, int64_t mono_us, bool idle);
/* How many go in an hour; 0: that is not known, or none. */
int64_t forecast_per_hour(const struct forecast *f);
/* When `backlog` is gone, if it begins to go at begin_us; 0: that is not known. */
int64_t forecast_gone_us(const struct forecast *f, int64_t backlog, int64_t begin_us);
