/* alerts_inside.h - what the files of the alerts share and nobody else sees.
 *
 *   alerts.c       watches, the turn, what is written     alert_looks.c   what has no other
 * observer
 */
#pragma once

#include "engine/alerts.h"

/* The endpoints, the gateways that must not be silent, the disk.  On the keeper's thread. */
struct alert_looks {
    int64_t silence_due_us; /* monotonic */
    int64_t version, version_made_us;
    char own[200]; /* alerts_own_name() */
};

void alert_looks_init(struct alert_looks *l, const struct alerts_options *o);
/* turn: also what all nodes see alike. */
bool alert_looks_run(struct alert_looks *l, struct alerts *a, const struct alerts_options *o,
                     bool turn, struct err *err);
