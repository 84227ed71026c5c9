/* send.h - one attempt of one delivery, from its slot to its verdict.
 *
 * What a thread begins is gathered and handed over at once (send_flush), so that many small
 * documents cost one wake.
 */
#pragma once

#include "engine/flight/flight.h"

void send_parts(struct flight *f);   /* offer all parts; settles when none is left open */
void send_park(struct part *first);  /* a chain: they wait in the store */
void send_chain(struct part *first); /* a chain: they have their slots */
void send_flush(struct road *r);     /* hand over what this thread has gathered */
void send_fill(struct part *p);      /* p->sending */
void send_clear(struct part *p);     /* an attempt, or a question, starts now */
void send_gather(struct transfer *t);
/* Its slot is taken.  False: it is over already, p->verdict says how: send_ended(). */
bool send_begin(struct part *p);
void send_ended(struct part *p);
/* Nothing was sent: the slot is given back, it waits in the store. */
void send_back(struct part *p);
