/* alerts.h - decides what needs a person: raised once, cleared once, notified.
 *
 * Observers report each observation with alerts_see(); the rules of the plan in force
 * (core/alert_rule.h) decide.  alerts_tend() writes changes together with the notices for the
 * plan's targets, and sends them (notices.h).
 *
 * On a store that several nodes share, one node has the turn and reports what all nodes see alike.
 * Each node reports what is its own (disk, certificate).  A node that gets the turn adopts open
 * alerts; an alert that no node has seen for a while is cleared.
 *
 * Bounded: ALERTS_OPEN_MOST objects are watched; further ones are only counted.
 *
 * Threads: alerts_see(), alerts_count() and alerts_tell() from any; the rest on the housekeeper's
 * thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "core/alert_rule.h"

/* The object of alerts about the whole store. */
#define ALERTS_STORE STR("store")

struct alerts;
struct config_node;
struct crew;
struct mishap;
struct mishaps;
struct road;
struct store;

struct alerts_options {
    struct store *store;
    struct road *road; /* for its plan, and to send */
    struct mishaps *mishaps;
    const struct config_node *node;
    struct crew *senders, *looks; /* whether work waits for their threads */
};

struct alerts *alerts_new(const struct alerts_options *options);
/* After the road has stopped: records sent notices and releases the turn.  NULL is fine. */
void alerts_stop(struct alerts *a);
void alerts_free(struct alerts *a); /* after alerts_stop(); NULL is fine */

/* One observation of one object.  `message` is for people, and only read when the value is bad. */
void alerts_see(struct alerts *a, enum alert_code code, struct str object, int64_t value,
                const char *message);
/* The same for a condition. */
static inline void alerts_see_if(struct alerts *a, enum alert_code code, struct str object,
                                 bool is_so, const char *message)
{
    alerts_see(a, code, object, is_so, message);
}

/* One observation of all objects with an open alert of this code for which is_so() is false: it is
 * over.  For whoever finds what is wrong, and keeps no list of what was.  is_so() is called under a
 * lock and calls nothing here. */
void alerts_see_over(struct alerts *a, enum alert_code code,
                     bool (*is_so)(const void *ctx, enum alert_code code, struct str object),
                     const void *ctx);

/* Whether the alert is open, whichever node raised it. */
bool alerts_is_open(struct alerts *a, enum alert_code code, struct str object);

/* The object name of this node: its machine and folder, the same after a restart. */
struct str alerts_own_name(const struct alerts *a);

/* Takes the mishaps just written (mishaps.h): failures are counted for their receivers, and a
 * possible dead letter is checked soon. */
void alerts_count(void *alerts, const struct mishap *list, size_t count);

/* What to check again now, since one observation alone decides nothing: bits of 1 << code. */
unsigned alerts_wanted(struct alerts *a);

/* Checks what has no other observer, writes changes, sends notices.  Twice a second; blocks. */
bool alerts_tend(struct alerts *a, struct err *err);

/* Appends a line about notices that could not be sent; nothing when all is well. */
void alerts_tell(struct alerts *a, struct buf *to);
