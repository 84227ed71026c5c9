/* limiter.h - how fast a system may be sent to: tokens, and who is told when there are some.
 *
 * A system with a rate has a timeline that all nodes share (core/rate.h).  This node holds a
 * piece of it, and reserves another one in the store (store/govern/rate.h) when somebody wants a
 * token and none is left, or few.  Nobody waits for that: whoever is refused is told, by
 * calls.ready() on a thread of the pace, when it may be worth asking again.  That is a hint; who
 * never hears of it asks again by itself.
 *
 * A system that nobody sends to costs nothing: no commit, no timer.
 *
 * Threads: any; one short lock, below that of dispatch.
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
    /* Something of this system may begin now, perhaps.  May call back. */
    void (*ready)(void *arg, int64_t system);
    /* Queue the reservation; op.done is set and called later, never from within. */
    void (*reserve)(void *arg, struct rate_op *op);
    void *arg;
};

struct limiter *limiter_new(const struct limiter_calls *calls);
void limiter_run(struct limiter *p);  /* its thread begins */
void limiter_stop(struct limiter *p); /* and ends; no reservation is under way then */
void limiter_free(struct limiter *p); /* NULL is fine */

/* The tokens of this system under this rule, from now on; made at its first use, kept for
 * ever. */
struct paced *limiter_system(struct limiter *p, int64_t system, struct rate_rule rule);

/* Take a token; false: there is none now.  `wait`: then ready() follows. */
bool paced_take(struct paced *x, bool wait);
/* One could be taken now; false: ready() follows. */
bool paced_has(struct paced *x);
/* How many parts may wait in memory for their tokens, at least 1: what is sent within a
 * moment. */
size_t paced_keep(const struct paced *x);
/* The next token may be seconds away. */
bool paced_is_slow(const struct paced *x);
/* Somebody had to wait for a token a moment ago. */
bool paced_is_held(struct paced *x);
