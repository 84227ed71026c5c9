/* probes.h - probes of gateways and endpoints, for people who wait for the answer.
 *
 * A probe (core/probing/probing.h) makes the connector anew from its options, so that a secret that
 * is missing, or was set a moment ago, counts, and runs its probe() on a thread of a crew of its
 * own: senders and polls that hang leave it a thread, and it leaves them theirs.  It has
 * PROBES_TIME_US. One that hangs is given up, and the step in which it hangs has failed.  At most
 * PROBES_MOST run at once on a node.
 *
 * Gateways that listen are probed by the engine itself: is the port open, until when is the
 * certificate valid.
 *
 * Threads: any that may block.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "core/probing/probing.h"

struct config_node;
struct connectors;
struct egress;
struct plan;
struct probes;
struct store;

enum { PROBES_MOST = 2, PROBES_TIME_US = 15 * CLOCK_S };

struct probes_options {
    struct store *store;
    const struct connectors *connectors;
    const struct config_node *node;
    const struct egress *egress;
};

struct probes *probes_new(const struct probes_options *options);
/* The node stops: those that run end soon, or are given up. */
void probes_hurry(struct probes *s);
/* After the last probes_run() has returned.  How many threads hang. */
size_t probes_free(struct probes *s);

/* Probes the gateway or the endpoint of that name in the plan; the caller knows that there is one.
 * *ret, on the arena: its lines.  ERR_LIMIT: too many are under way. */
bool probes_run(struct probes *s, struct plan *plan, bool gateway, struct str name, struct arena *a,
                struct probing_line **ret, size_t *ret_count, struct err *err);
