/* alert_rule.h - when an alert is raised, and when it is cleared.
 *
 * A value is sampled periodically, and one sample alone never decides: two in a row at or over
 * `high` raise the alert, two in a row at or under `low` clear it.  Because of this hysteresis a
 * value that swings around a threshold raises one alert.  With `after_us` the value must also have
 * been high for so long, with `calm_us` low for so long.
 *
 * A value that is bad when it is small (free space, days left) is passed with its sign inverted.
 *
 * Pure: time is an argument, monotonic.  A zeroed watch has seen no sample.
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
    ALERT_RECEIVER_REJECTING,
    ALERT_GATEWAY_FAILING,
    ALERT_SILENCE,
    ALERT_UNANSWERED,
    ALERT_WINDOW_TOO_SHORT,
    ALERT_DISK,
    ALERT_STUCK,
    ALERT_CERTIFICATE,
    ALERT_OLD_SERVER,
    ALERT_THREADS,
    ALERT_JOB_SUSPENDED,
    ALERT_JOB_LATE,
    ALERT_LINK_STOPPED,
    ALERT_LINK_LATE,
    ALERT_ROWS_DIFFER,
    ALERT_QUARANTINE,
    ALERT_CHECK_FOUND,
    ALERT_SCALE_OUT,
    ALERT_SCALE_IN,
    ALERT_CODES
};

extern const char *const alert_codes[ALERT_CODES + 1]; /* ends with NULL */

/* ALERT_CODES: no code has that name. */
enum alert_code alert_code_of(struct str name);

struct alert_rule {
    bool off;
    int64_t high, low;         /* low < high */
    int64_t after_us, calm_us; /* 0: two samples are enough */
};

struct alert_watch {
    bool on;
    bool leaning;     /* the last sample spoke for a change */
    int64_t since_us; /* leaning: time of the first such sample */
    unsigned looks;   /* leaning: how many such samples in a row */
};

enum alert_change { ALERT_SAME, ALERT_RAISED, ALERT_CLEARED };

enum { ALERT_LOOKS = 2 };

/* Takes one sample.  A rule that is off clears the alert at once. */
enum alert_change alert_watch_look(struct alert_watch *w, const struct alert_rule *r, int64_t value,
                                   int64_t now_us);
