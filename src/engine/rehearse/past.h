/* past.h - a past document, walked again in memory without effect.
 *
 * With the version that it ran with, or with any other.  A document whose sender, receiver and type
 * were given by a person starts at the router with them.
 *
 * Threads: any that may block.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "core/verdict.h"
#include "engine/flight/flight.h"

struct document;
struct plan;
struct road;

/* The result of a walk. */
struct past_walk {
    struct flight *flight;
    struct str batch; /* the batch it joined; ptr NULL: none */
    struct str receiver;
    const struct plan_route *route; /* the route by which it joined */
};

struct past {
    struct road *road;
    const struct document *doc;
    struct arena *arena;            /* for the names of batches */
    struct plan *plan;              /* that it ran with, or is compared with; a reference */
    bool keeps_all;                 /* also what steps made that nobody would get */
    int64_t until_us;               /* monotonic: no step begins later; 0: no limit */
    struct past_walk was;           /* with this plan; the caller frees its flight */
    char why[VERDICT_MESSAGE_MOST]; /* why it cannot be walked; empty: it can */
};

/* The plan that the document ran with, a reference; a version without routes left it to the newest.
 * NULL: it cannot be had. */
struct plan *past_plan(struct road *r, const struct document *d, struct err *err);

/* Walks it with `plan` as the original run, into p->was.  *ret_given: with the facts of the row,
 * which a person gave.  p->why is set if the bytes cannot be read.  False: the store failed. */
bool past_walk(struct past *p, bool *ret_given, struct err *err);
/* Walks it with any plan.  `given`: start at the router with the facts of the row, or with the
 * steps of its batch if it had joined one. */
bool past_walk_with(struct past *p, struct plan *plan, bool given, struct past_walk *ret,
                    struct err *err);
