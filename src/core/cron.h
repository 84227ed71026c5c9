/* cron.h - schedules of five fields: minute hour day month weekday.
 *
 * A field is `*` or a list of numbers and ranges (1-5), each with a step if need be (10-50/10;
 * 5/15 goes from 5 to the end); months and weekdays have names (jan, mon), Sunday is 0 or 7.
 * @hourly @daily @midnight @weekly @monthly @yearly @annually stand for a whole schedule.
 *
 * When the day and the weekday are both given, either is enough; a field that starts with `*`
 * is not given (the rule of Vixie's cron).
 *
 * Clock changes: a schedule that names every hour follows the clock minute by minute: what is
 * left out does not come, what comes twice comes twice, so that the time between two runs
 * stays what it is.  Any other schedule comes once for each local time it names, by the rule
 * of zone.h: one that is left out comes at the instant of the change, and of one that is there
 * twice only the first counts.  Several that fall on one instant are one.
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

/* ERR_CONFIG: it cannot be read, or it can never come (31 February). */
bool cron_parse(struct str text, struct cron *ret, struct err *err);

/* The first time after this one.  0: none in the 400 years after which the calendar repeats
 * itself, which is not so for a schedule that cron_parse() took. */
int64_t cron_next(const struct cron *c, const struct zone *z, int64_t after_us);
