/* alert_rule.h - when an alert is raised, and when it is cleared.
 *
 * A value is looked at now and then.  Looks that agree decide, one alone never does: two at or over
 * `high` raise, two at or under `low` clear, and what lies between changes nothing.  So a value
 * that dances around a mark makes one alert.  With `after_us` the value must have been there for so
 * long, with `calm_us` it must be gone for so long.
 *
 * What is bad when it is little (free space, days left) is looked at with its sign turned.
 *
 * Pure: time is an argument, monotonic.  A watch of zeros is one that nothing was seen of.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum alert_code {
    ALERT_DEAD_LETTERS,
    ALERT_QUEUE_DEPTH,
    ALERT_QUEUE_AGE,
    ALERT_RECEIVER_FAILING,
    ALERT_SILENCE,
    ALERT_WINDOW_TOO_SHORT,
    ALERT_DISK,
    ALERT_STUCK,
    ALERT_CERTIFICATE,
    ALERT_SCALE_OUT,
    ALERT_SCALE_IN,
    ALERT_CODES
};

extern const char *const alert_codes[ALERT_CODES + 1]; /* ends with NULL */

/* ALERT_CODES: there is none of that name. */
enum alert_code alert_code_of(struct str name);

struct alert_rule {
    bool off;
    int64_t high, low;         /* low < high */
    int64_t after_us, calm_us; /* 0: two looks are enough */
};

struct alert_watch {
    bool on;
    bool leaning;     /* the last look spoke for a change */
    int64_t since_us; /* leaning: the first look that did */
    unsigned looks;   /* leaning: how many */
};

enum alert_change { ALERT_SAME, ALERT_RAISED, ALERT_CLEARED };

enum { ALERT_LOOKS = 2 };

/* One look.  A rule that is off clears at once. */
enum alert_change alert_watch_look(struct alert_watch *w, const struct alert_rule *r, int64_t value,
                                   int64_t now_us);
