/* call.h - one call to the outside on a thread that may block, as both of its sides see it.
 *
 * A thread that waits for a share that hangs cannot be interrupted.  So the engine gives a call up
 * that was silent for too long, and goes on without it; the thread is lost until its call returns.
 * A connector shows signs of life, asks whether it is still wanted, and says when its effect may
 * become visible outside:
 *
 *     call_alive(c);                  a piece was written: the wait begins anew
 *     if (call_is_over(c)) ...        the node stops, or the call was given up: end soon
 *     if (!call_commit(c)) ...        given up: the effect must not happen any more
 *     rename(...)
 *
 * Invariants
 *   (1) Of call_commit() and call_give_up() one comes first.  A call that was given up before its
 *       call_commit() has no effect, and is known not to have been sent; one that was given up
 *       after it has an unknown outcome.
 *   (2) What a connector uses during the call belongs to the call or to its instance, which lives
 *       until the call has returned: the caller may be gone.
 *
 * Threads: any.  Every function accepts NULL: a call that nobody gives up.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct egress;
struct line_port;

struct call {
    const _Atomic bool *stop;    /* the node stops; NULL: it does not */
    const struct egress *egress; /* where it may connect to (base/egress.h); NULL: everywhere */
    struct line_port *lines;     /* open connections that are kept (line.h); NULL: none are */
    int64_t until_us;         /* signs of life or not, it is given up then; monotonic, 0: not so */
    _Atomic int64_t alive_us; /* the last sign of life; monotonic */
    _Atomic unsigned marks;
};

/* For the connector. */
void call_alive(struct call *c);
/* What follows is our own, such as a commit: until the next call_alive() silence does not count. */
void call_pause(struct call *c);
/* The same, unless the call was given up: then what is our own may be gone.  False with err set. */
bool call_own_begin(struct call *c, struct err *err);
bool call_is_over(const struct call *c);
bool call_commit(struct call *c); /* false: it was given up */

/* For the engine; true: the call has committed, so its outcome is unknown. */
bool call_give_up(struct call *c);
bool call_is_given_up(const struct call *c);
