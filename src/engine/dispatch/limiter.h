/* limiter.h - the rate limiter: tokens of systems, and a call when there may be some again.
 *
 * A system with a rate has a timeline that all nodes share (core/rate.h).  This node holds a
 * piece of it, and reserves another one in the store (store/govern/rate.h) when a token is wanted
 * and none or few are left.  No call blocks.  A caller that is refused is notified by
 * calls.ready(), on the limiter's thread, when it is worth asking again.  That is only a hint:
 * callers must ask again now and then without it.
 *
 * A system without deliveries costs nothing: no commit, no timer.
 *
 * Threads: any; one short lock, taken under that of the dispatcher.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/rate.h"
#include "store/govern/rate.h"

struct limiter;
struct paced;

struct limiter_calls {
    /* This system may have a token now.  May call paced_take(). */
    void (*ready)(void *arg, int64_t system);
    /* Queue the reservation.  op.done is set; it must not be called from within. */
    void (*reserve)(void *arg, struct rate_op *op);
    void *arg;
};

struct limiter *limiter_new(const struct limiter_calls *calls);
void limiter_run(struct limiter *p);  /* starts its thread */
void limiter_stop(struct limiter *p); /* ends it; no reservation is under way then */
void limiter_free(struct limiter *p); /* NULL is fine */

/* The tokens of this system, under this rule from now on.  Made on first use, freed with the
 * limiter. */
struct paced *limiter_system(struct limiter *p, int64_t system, struct rate_rule rule);

/* Takes a token; false: there is none now, and with `wait` ready() follows. */
bool paced_take(struct paced *x, bool wait);
/* Whether a token could be taken now; false: ready() follows. */
bool paced_has(struct paced *x);
/* How many legs may wait in memory for their tokens: those whose tokens come soon, at least 1. */
size_t paced_keep(const struct paced *x);
/* The interval between tokens is longer than a second. */
bool paced_is_slow(const struct paced *x);
/* A caller waits for a token, or did within the last second. */
bool paced_is_held(struct paced *x);
