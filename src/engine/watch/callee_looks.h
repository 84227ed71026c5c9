/* callee_looks.h - services that steps ask: each node reports those whose breaker is open there.
 *
 * The breakers are a node's own (asking/calling.h), and alerts are for all nodes.  So each node
 * writes what is wrong as a report (store/govern/failing.h), under the name of the step, and the
 * one that has the turn reads them all (alert_looks.h).
 *
 * Threads: the housekeeper's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct plan;
struct road;
struct store;

struct callee_told;

struct callee_looks {
    struct callee_told *told; /* what the store has of this node, per step that asks */
    size_t count;
    int64_t version; /* of the plan that has these steps; 0: none yet */
};

void callee_looks_done(struct callee_looks *l);
/* Writes what has changed; nothing in most passes.  Twice a second; blocks. */
bool callee_looks_report(struct callee_looks *l, struct store *s, struct road *r,
                         const struct plan *p, struct err *err);
/* Of a report: the service rejects everything, which has an alert of its own. */
bool callee_looks_is_rejecting(struct str message);
