/* reminder.h - a condition that is reported when it begins, and once a day while it lasts.
 *
 * Pure: time is an argument.  Zeroed: the condition does not hold.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct reminder {
    int64_t said_us; /* the last report; 0: the condition does not hold */
};

/* True: report now.  A clock that was set back does not suppress a report. */
static inline bool reminder_is_due(struct reminder *r, bool is_so, int64_t now_us)
{
    const int64_t day_us = INT64_C(86400) * 1000000;

    if (is_so && r->said_us != 0 && now_us >= r->said_us && now_us - r->said_us < day_us)
        return false;
    r->said_us = is_so ? now_us : 0;
    return is_so;
}
