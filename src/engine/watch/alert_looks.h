/* alert_looks.h - what of the alerts has no other observer: endpoints, gateways that must not be
 * silent, the disk.  On the housekeeper's thread; alerts_tend() calls it.
 */
#pragma once

#include "engine/watch/alerts.h"

/* Of a silence of the plan: whether that version asked for it; 0: none was read yet. */
struct silence_known {
    int64_t version;
    bool asked;
};

struct alert_looks {
    int64_t silence_due_us;         /* monotonic */
    struct silence_known *silences; /* in the order of the plan's ... */
    size_t silence_count;
    int64_t silences_of; /* ... which has this version */
    char own[200];       /* alerts_own_name() */
};

void alert_looks_init(struct alert_looks *l, const struct alerts_options *o);
void alert_looks_done(struct alert_looks *l);
/* turn: also what all nodes see alike. */
bool alert_looks_run(struct alert_looks *l, struct alerts *a, const struct alerts_options *o,
                     bool turn, struct err *err);
