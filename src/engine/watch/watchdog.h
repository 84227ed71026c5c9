/* watchdog.h - finds what grows old unnoticed: queues, dead letters, certificates.
 *
 * Each check reads the store and sets gauges.  What needs a person is logged when it begins and
 * again each day while it lasts, and counted as a mishap.  Nothing here changes a document.
 *
 * Threads: the housekeeper's alone.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct alerts;
struct config_node;
struct watchdog;
struct mishaps;
struct road;
struct store;

struct watchdog_options {
    struct store *store;
    struct road *road;
    const struct config_node *node;
    struct alerts *alerts; /* observations are reported there, too */
    struct mishaps *mishaps;
};

struct watchdog *watchdog_new(const struct watchdog_options *options);
void watchdog_free(struct watchdog *l); /* NULL is fine */

/* Counts waiting tasks and their age, in total and per system; finds stuck queues, and claims that
 * nodes hold past their deadline. */
bool watchdog_queues(struct watchdog *l, struct err *err);
bool watchdog_dead(struct watchdog *l, struct err *err);
/* Certificates of the node and of endpoints that present one, 30 days ahead. */
bool watchdog_certificates(struct watchdog *l, struct err *err);

/* ---- the rules, for tests ---- */

enum { WATCHDOG_STUCK_S = 600, WATCHDOG_CERTIFICATE_DAYS = 30 };

/* One check of a queue.  Stuck: there is no reason to wait, and the first task has been the same
 * for WATCHDOG_STUCK_S. */
struct queue_look {
    int64_t front_us; /* the age mark of the first task, 0: none */
    int64_t since_us; /* when it became the first */
};
bool queue_is_stuck(struct queue_look *q, int64_t front_us, bool has_reason, int64_t now_us);
