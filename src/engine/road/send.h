/* send.h - one attempt of one delivery, from its slot to its verdict.
 *
 * What begins or ends goes into the outbox of the thread (outbox.h).
 */
#pragma once

#include "engine/flight/flight.h"
#include "engine/road/outbox.h"

/* Offer all parts; settles when none is left open. */
void send_legs(struct flight *f, struct outbox *out);
void send_park(struct leg *first, struct outbox *out);  /* a chain: they wait in the store */
void send_chain(struct leg *first, struct outbox *out); /* a chain: they have their slots */
/* Hand over what is in it; it is empty then. */
void send_flush(struct outbox *out);
void send_fill(struct leg *p);  /* p->sending */
void send_clear(struct leg *p); /* an attempt, or a question, starts now */
/* Its slot is taken.  False: it is over already, p->verdict says how: send_ended(). */
bool send_begin(struct leg *p, struct outbox *out);
void send_ended(struct leg *p, struct outbox *out);
/* Nothing was sent: the slot is given back, it waits in the store. */
void send_back(struct leg *p, struct outbox *out);
