/* send.h - one attempt of one delivery, from its slot to its verdict.
 *
 * Transfers and settlements go into the outbox of the calling thread (outbox.h).
 */
#pragma once

#include "engine/flight/flight.h"
#include "engine/road/outbox.h"

/* Offers all legs to the dispatcher.  The flight is settled when the last one has its outcome. */
void send_legs(struct flight *f, struct outbox *out);
void send_park(struct leg *first, struct outbox *out);  /* a chain of legs: to the store */
void send_chain(struct leg *first, struct outbox *out); /* a chain of legs that have slots */
/* Hands everything in the outbox over. */
void send_flush(struct outbox *out);
void send_fill(struct leg *p);  /* fills p->sending, what the connector sees */
void send_clear(struct leg *p); /* resets the verdict: an attempt or a question starts now */
/* Begins the attempt of a leg that has its slot.  False: it has ended already with p->verdict, and
 * the caller calls send_ended(). */
bool send_begin(struct leg *p, struct outbox *out);
/* The attempt has its verdict: frees the slot, decides the outcome, begins the next legs. */
void send_ended(struct leg *p, struct outbox *out);
/* Nothing was sent: frees the slot, and the leg waits in the store. */
void send_back(struct leg *p, struct outbox *out);
