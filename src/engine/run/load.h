/* load.h - claimed tasks become flights.  What one claim brought is read together.
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

enum { LOAD_MOST = 256 };

/* The flights of up to LOAD_MOST tasks, a chain to be queued for the workers; others were handed on
 * or have ended. */
struct flight *load_documents(struct road *r, const struct task *tasks, size_t count,
                              struct outbox *out);
/* Loads up to LOAD_MOST deliveries and offers them to the dispatcher, in their order. */
void load_deliveries(struct road *r, const struct task *tasks, size_t count, struct outbox *out);
/* The same, for a claim that another thread handed over (road_load_later). */
void load_claimed(struct flight *f, struct outbox *out);
/* Gives the claim back: the task is due again in a moment.  If the store fails, the claimer repeats
 * it. */
void load_give_back(struct flight *f);
