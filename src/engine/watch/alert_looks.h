/* alert_looks.h - checks for alerts without another observer: endpoints, silent gateways, answers
 * that are overdue, the disk.  Runs on the housekeeper's thread; alerts_tend() calls it.
 */
#pragma once

#include "engine/watch/alerts.h"
#include "engine/watch/callee_looks.h"

/* Cache for one `silence` of the plan: whether that version demanded it; 0: nothing read yet. */
struct silence_known {
    int64_t version;
    bool asked;
};

struct alert_looks {
    int64_t silence_due_us, answers_due_us, reports_due_us; /* monotonic */
    struct silence_known *silences; /* in the order of the plan's silences ... */
    size_t silence_count;
    int64_t silences_of; /* ... of this version */
    char own[200];       /* alerts_own_name() */
    struct callee_looks callees;
};

void alert_looks_init(struct alert_looks *l, const struct alerts_options *o);
void alert_looks_done(struct alert_looks *l);
/* turn: also check what all nodes see alike. */
bool alert_looks_run(struct alert_looks *l, struct alerts *a, const struct alerts_options *o,
                     bool turn, struct err *err);
