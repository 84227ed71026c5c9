/* load.h - a claimed task becomes a flight.
 *
 * On the claimer's thread.  A task that cannot be loaded now is due again in a moment.  If the
 * payload is missing or damaged, the result is a dead letter; if the document or delivery does not
 * exist any more, the task is finished.
 */
#pragma once

#include "store/road/task.h"

struct flight;
struct road;
struct outbox;

/* The flight, to be queued for the workers; NULL: it was handed on or has ended. */
struct flight *load_document(struct road *r, const struct task *t, struct outbox *out);
/* Loads a delivery and offers it to the dispatcher. */
void load_delivery(struct road *r, const struct task *t, struct outbox *out);
/* The same, for a claim that another thread handed over (road_load_later). */
void load_claimed(struct flight *f, struct outbox *out);
/* Gives the claim back: the task is due again in a moment.  If the store fails, the claimer repeats
 * it. */
void load_give_back(struct flight *f);
