/* settling.h - commit 2: the outcome of a flight is committed, then the flight is freed. */
#pragma once

struct flight;
struct outbox;

/* Settles a flight whose legs all have their outcome, or that has none.  Blocks on the store if a
 * queue is new or bytes are large.  If the outcome cannot be committed now, the flight stays in
 * memory and the claimer repeats the settlement, so that a send is not forgotten. */
void settle_flight(struct flight *f, struct outbox *out);

void settling_metrics_register(void);
void settling_metrics_forget(void);
