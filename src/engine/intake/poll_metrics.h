/* poll_metrics.h - the series of one polling gateway.
 *
 * Threads: counting from any.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "base/metrics.h"

struct poll_metrics {
    struct metric last_success, errors, accepted, repeated;
    _Atomic int64_t success_us; /* wall clock: the last successful poll, or the start */
    char labels[128];
};

/* Registers them; they stay where they are until poll_metrics_done(). */
void poll_metrics_init(struct poll_metrics *m, const char *gateway);
void poll_metrics_done(struct poll_metrics *m);
