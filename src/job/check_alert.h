/* check_alert.h - what jobs of kind `check` have found, as the alert check_found with the job as
 * its object.
 *
 * What is looked at are the states of the jobs, in the store: so every node says the same,
 * whichever has made the run.  It is over when a later run finds nothing, or the job leaves the
 * configuration.
 *
 * Threads: that of the queue check.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "core/alert_rule.h"

struct alerts;
struct store;

#define CHECK_ALERTS (1u << ALERT_CHECK_FOUND)

/* One look at all such jobs. */
bool check_alert_look(struct store *s, struct alerts *alerts, struct arena *a, struct err *err);

/* ---- the state of such a job ---- */

struct check_state {
    int64_t found;     /* how many checks have found something */
    char message[400]; /* for people; empty if none has */
};

/* An empty one: nothing is known yet.  ERR_PERMANENT: it is none. */
bool check_state_read(struct str text, struct check_state *ret, struct err *err);
/* `checks`: a list, in JSON, with what each has shown. */
void check_state_write(size_t found, const char *message, struct str checks, struct buf *to);
