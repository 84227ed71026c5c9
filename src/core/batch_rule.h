/* batch_rule.h - when a batch closes by its schedule.
 *
 * A schedule is cron in a zone, without the days of some calendars.  A time is served once: the
 * last one that was served is stored, and what is due is a function of that and of now.  So a time
 * that was missed is caught up with, and a clock that goes back serves nothing twice.
 *
 * Threads: pure; from any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/calendar.h"
#include "core/cron.h"
#include "core/zone.h"

struct batch_schedule {
    struct cron cron;
    const struct zone *zone;
    const struct calendar **except;
    size_t except_count;
};

/* The first time after this one; 0: none that is worth waiting for. */
int64_t batch_next(const struct batch_schedule *s, int64_t after_us);

/* The time to serve now, when `last_us` was the last one; 0: none.  Of several that were missed the
 * first with `each`, else the latest. */
int64_t batch_due(const struct batch_schedule *s, bool each, int64_t last_us, int64_t now_us);

/* Whether what was served is so far ahead of the clock that this one, or that one, was wrong: a day
 * and more.  Then it goes on from now; less is waited out. */
bool batch_slot_is_wrong(int64_t last_us, int64_t now_us);
