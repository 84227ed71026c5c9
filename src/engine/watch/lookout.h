/* lookout.h - what grows old while nobody looks: queues, dead letters, certificates.
 *
 * Each look reads the store and sets gauges.  What needs a person is told in the log once
 * when it begins and again each day while it lasts, and is counted as a mishap; nothing
 * here changes a document.
 *
 * Threads: the keeper's alone.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct alerts;
struct config_node;
struct lookout;
struct mishaps;
struct road;
struct store;

struct lookout_options {
    struct store *store;
    struct road *road;
    const struct config_node *node;
    struct alerts *alerts; /* what is seen is said to them, too */
    struct mishaps *mishaps;
};

struct lookout *lookout_new(const struct lookout_options *options);
void lookout_free(struct lookout *l); /* NULL is fine */

/* How many tasks wait and since when, of all and of each system; queues that should move and
 * do not. */
bool lookout_queues(struct lookout *l, struct err *err);
bool lookout_dead(struct lookout *l, struct err *err);
/* Of the node and of endpoints that show one: 30 days ahead. */
bool lookout_certificates(struct lookout *l, struct err *err);

/* ---- the rules, for tests ----------------------------------------------------------------------
 */

enum { LOOKOUT_STUCK_S = 600, LOOKOUT_CERTIFICATE_DAYS = 30 };

/* One look at a queue.  Stuck: there is no reason to wait, and the task in front has been
 * the same for LOOKOUT_STUCK_S. */
struct queue_look {
    int64_t front_us; /* the age mark of the task in front, 0: none */
    int64_t since_us; /* when it was seen first */
};
bool queue_is_stuck(struct queue_look *q, int64_t front_us, bool has_reason, int64_t now_us);
