/* cron.h - schedules of five fields: minute hour day month weekday.
 *
 * A field is `*` or a list of numbers and ranges (1-5), each with an optional step (10-50/10;
 * 5/15 goes from 5 to the end); months and weekdays have names (jan, mon), Sunday is 0 or 7.
 * @hourly @daily @midnight @weekly @monthly @yearly @annually stand for a whole schedule.
 *
 * If day and weekday are both restricted, a match of either is enough; a field that starts with
 * `*` is not restricted (the rule of Vixie's cron).
 *
 * Clock changes: a schedule that names every hour follows the local clock minute by minute: skipped
 * local times do not run and repeated ones run twice, so that the time between two runs stays the
 * same.  Any other schedule runs once for each local time it names, by the rule of zone.h: a
 * skipped time runs at the instant of the change, and of a repeated time only the first counts.
 * Several runs at one instant are one.
 *
 * Threads: pure; from any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "core/zone.h"

struct cron {
    uint64_t minutes;
    uint32_t hours, days, months, weekdays; /* bits; days and months from 1, 0 is Sunday */
    bool any_day, any_weekday;              /* the field starts with `*` */
};

/* ERR_CONFIG: the text is not a schedule, or one that never runs (31 February). */
bool cron_parse(struct str text, struct cron *ret, struct err *err);

/* The same; the text may also be a time of day, such as 22:00, which runs every day. */
bool cron_parse_at(struct str text, struct cron *ret, struct err *err);

/* The first run after after_us.  0: none within 400 years, after which the calendar repeats; this
 * does not happen for a schedule that cron_parse() accepted. */
int64_t cron_next(const struct cron *c, const struct zone *z, int64_t after_us);
