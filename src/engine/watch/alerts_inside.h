/* alerts_inside.h - what the files of the alerts share and nobody else sees.
 *
 *   alerts.c       watches, the turn, what is written     alert_looks.c   what has no other
 * observer
 */
#pragma once

#include "engine/watch/alerts.h"

/* Of a silence of the plan: whether that version asked for it; 0: none was read yet. */
struct silence_known {
    int64_t version;
    bool asked;
};

/* The endpoints, the gateways that must not be silent, the disk.  On the keeper's thread. */
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

/* It was raised, by whichever node, and not cleared. */
bool alerts_is_open(struct alerts *a, enum alert_code code, struct str object);
