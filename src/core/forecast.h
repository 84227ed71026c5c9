/* forecast.h - when the backlog of a system will be gone, from its recent throughput.
 *
 * The throughput is measured over the last samples in which the system was sent to; a system that
 * is held keeps its last throughput.
 *
 * Pure: time is an argument.  A zeroed struct has no sample.
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
    int64_t count, span_us; /* sums over the samples */
    int64_t seen, seen_us;  /* the counter at the last sample, and its time; monotonic */
    bool looked;
};

/* Takes a sample: `total` deliveries so far.  idle: none was possible since the last sample. */
void forecast_note(struct forecast *f, int64_t total, int64_t mono_us, bool idle);
/* Deliveries per hour; 0: unknown, or none. */
int64_t forecast_per_hour(const struct forecast *f);
/* When `backlog` is gone if sending starts at begin_us; 0: unknown. */
int64_t forecast_gone_us(const struct forecast *f, int64_t backlog, int64_t begin_us);
