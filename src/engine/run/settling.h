/* settling.h - commit 2: the outcome of a flight is committed, then the flight is freed. */
#pragma once

struct flight;
struct outbox;
struct store_op;

/* Settles a flight whose legs all have their outcome, or that has none.  Blocks on the store if a
 * queue is new or bytes are large.  If the outcome cannot be committed now, the flight stays in
 * memory and the claimer repeats the settlement, so that a send is not forgotten. */
void settle_flight(struct flight *f, struct outbox *out);
/* The operation of a settlement that is prepared, to be submitted (again). */
struct store_op *settling_op(struct flight *f);

void settling_metrics_register(void);
void settling_metrics_forget(void);
