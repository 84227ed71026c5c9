/* life.h - the life of the road: its wiring, its threads, start and stop. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/road/road.h"

bool road_start(const struct road_options *options, struct road **ret, struct err *err);
/* Starts the threads.  Call it after the first road_use(). */
void road_run(struct road *r);
/* Stopping takes these four calls in this order; each accepts NULL.  First nothing new begins, and
 * sends in progress get some seconds to end ... */
void road_rest(struct road *r);
/* ... then the threads end; deliveries that were not sent stay in the store ... */
void road_stop(struct road *r);
/* ... and, after the pool has ended too, all submitted settlements are committed. */
void road_drain(struct road *r);
void road_free(struct road *r);

/* Puts a plan in force. */
void road_use(struct road *r, struct plan *plan);
