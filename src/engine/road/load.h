/* load.h - a claimed task becomes a flight again.
 *
 * On the claimer's thread.  What cannot be loaded now is due again in a moment; what is gone is a
 * dead letter, or its task is dropped.
 */
#pragma once

#include "store/road/task.h"

struct flight;
struct road;
struct outbox;

/* To be queued for the workers; NULL: it goes on elsewhere, or it is over. */
struct flight *load_document(struct road *r, const struct task *t, struct outbox *out);
/* Loaded, and offered to the dispatcher. */
void load_delivery(struct road *r, const struct task *t, struct outbox *out);
/* A claim that another thread was given (road_load_later). */
void load_claimed(struct flight *f, struct outbox *out);
/* The task is due again in a moment; a claim that cannot be given back now is given back
 * later. */
void load_give_back(struct flight *f);
