/* sender.h - what connectors do that block: an attempt, a question, a recovery, a notice, on a
 * thread of the crew of senders.
 *
 * Such a call may never return (core/call.h).  So it gets copies of everything that it is lent, and
 * a reference to its plan.  When it is given up, the leg gets a verdict and goes on without it: it
 * was not reached if the connector had not committed, else it is in doubt.  The endpoint's breaker
 * opens, and the dispatcher counts the lost thread (dispatch.h).
 */
#pragma once

#include "engine/flight/flight.h"

struct plan;
struct road;

enum { SENDERS = 32, SENDERS_LOST_MOST = 64, RECOVERIES_MOST = 4 };

/* How a leg goes on after the call; on a thread that may compute. */
struct sender_ends {
    void (*ended)(struct leg *p); /* p->verdict is set */
    /* This node may not send now, so the call was not made; NULL: it is made all the same. */
    void (*refused)(struct leg *p);
};

/* send() or ask() of the leg's endpoint, with p->sending.  False: the senders accept nothing more,
 * and none of the ends is called. */
bool sender_send(struct leg *p, const struct sender_ends *ends);
bool sender_ask(struct leg *p, const struct sender_ends *ends);
/* recover() of every endpoint of the plan, in place of those of an earlier plan that have not
 * begun. Nobody waits for it, and RECOVERIES_MOST run at once: a share that hangs must not take
 * every sender. */
void sender_recover(struct road *r, struct plan *plan);
/* send() of an endpoint with a text that is no document; `s` is copied.  told() gets the verdict,
 * on any thread.  False: the node stops, and it is not called. */
bool sender_tell(struct road *r, struct plan *plan, const struct plan_endpoint *e,
                 const struct sending *s, void (*told)(void *arg, const struct verdict *v),
                 void *arg);
