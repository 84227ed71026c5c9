/* alerts.h - what needs a person or a reaction: seen, raised once, cleared once, told.
 *
 * Who looks at something says what it sees with alerts_see(), each time it looks; the rules of the
 * plan in force (core/alert_rule.h) decide.  What changed is written by alerts_tend(), with the
 * notices for the targets of the plan, and sent from there (notices.h).
 *
 * On a store that several nodes share one of them has the turn: it speaks for what all of them see
 * alike.  What is a node's own (its disk, its certificate) it says itself.  Whoever gets the turn
 * takes over what is open; what nobody has seen for a while is cleared.
 *
 * Bounded: ALERTS_OPEN_MOST things are watched; of more nothing is said but a count.
 *
 * Threads: alerts_see(), alerts_count() and alerts_tell() from any; the rest is the housekeeper's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "core/alert_rule.h"

/* What the whole store has one of. */
#define ALERTS_STORE STR("store")

struct alerts;
struct config_node;
struct mishap;
struct road;
struct store;

struct alerts_options {
    struct store *store;
    struct road *road; /* its plan, and the way out */
    const struct config_node *node;
};

struct alerts *alerts_new(const struct alerts_options *options);
/* After the road has stopped: what was heard is written, and the turn given up.  NULL is fine. */
void alerts_stop(struct alerts *a);
void alerts_free(struct alerts *a); /* after alerts_stop(); NULL is fine */

/* One look at one object.  `message` is for people, and only read when the value is bad. */
void alerts_see(struct alerts *a, enum alert_code code, struct str object, int64_t value,
                const char *message);
/* The same of a yes or no. */
static inline void alerts_see_if(struct alerts *a, enum alert_code code, struct str object,
                                 bool is_so, const char *message)
{
    alerts_see(a, code, object, is_so, message);
}

/* It was raised, by whichever node, and not cleared. */
bool alerts_is_open(struct alerts *a, enum alert_code code, struct str object);

/* The name of this node among objects: its machine and folder, the same after a restart. */
struct str alerts_own_name(const struct alerts *a);

/* What went wrong lately, as it was written (mishaps.h): failures are counted for their receivers,
 * and dead letters are looked for soon. */
void alerts_count(void *alerts, const struct mishap *list, size_t count);

/* What should be looked at once more now, as a look alone decides nothing: bits of 1 << code. */
unsigned alerts_wanted(struct alerts *a);

/* Look at what has no other observer, write what changed, send.  Twice a second; blocks. */
bool alerts_tend(struct alerts *a, struct err *err);

/* Notices that nobody hears, a line for people; nothing when all is well. */
void alerts_tell(struct alerts *a, struct buf *to);
