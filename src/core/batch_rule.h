/* batch_rule.h - when a batch closes by its schedule.
 *
 * A schedule is a cron expression in a time zone, except on the days of some calendars.  Each time
 * of the schedule (slot) closes the batch once: the last slot that was served is stored, and the
 * slot that is due follows from it and from the clock.  So a missed slot is caught up with, and a
 * clock that is set back serves no slot twice.
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

/* The first slot after after_us; 0: none was found within the bound on the search. */
int64_t batch_next(const struct batch_schedule *s, int64_t after_us);

/* The slot to serve now, when last_us is the last slot that was served; 0: none is due.  Of several
 * missed slots the first with `each`, else the latest. */
int64_t batch_due(const struct batch_schedule *s, bool each, int64_t last_us, int64_t now_us);

/* The last served slot is over a day ahead of the clock: one of the two readings was wrong, and the
 * caller goes on from now.  A smaller difference is waited out. */
bool batch_slot_is_wrong(int64_t last_us, int64_t now_us);
