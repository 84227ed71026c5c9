/* link_check.h - how the tables of links stand, as alerts: link_stopped, link_late, quarantine and
 * rows_differ, each with the name of the job, LINK/TABLE, as its object.
 *
 * What is looked at is in the store: states of jobs, passes of verification.  So every node says
 * the same, whichever has made the runs; one that is past is over, whoever has raised it.
 *
 * Late is a table that stays behind, one whose runs fail, and one that is due and of which no run
 * comes to its end.  A load that goes on is not late, and neither is a table that is stopped or
 * whose job is paused or suspended: a person knows of that, or has another alert.
 *
 * Threads: that of the queue check.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "core/alert_rule.h"

struct alerts;
struct store;

#define LINK_CHECK_ALERTS                                                         \
    (1u << ALERT_LINK_STOPPED | 1u << ALERT_LINK_LATE | 1u << ALERT_ROWS_DIFFER | \
     1u << ALERT_QUARANTINE)

/* One look at all tables. */
bool link_check(struct store *s, struct alerts *alerts, int64_t now_us, struct arena *a,
                struct err *err);
