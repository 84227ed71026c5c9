/* endpoints.h - breakers and pauses of endpoints, written to the store and read from there, so that
 * other nodes, and this one after a restart, follow them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "core/retry.h"

struct road;

/* A breaker or a pause changed on this node (dispatch_calls.changed): logs it, and stores it on the
 * pool, unless the reason is this node's own. */
void endpoints_changed(void *road, int64_t endpoint, const struct breaker *b,
                       int64_t pause_until_us, const char *why, bool here);
/* Logs that the endpoint answers and takes nothing; why NULL: not any more. */
void endpoints_refusing(void *road, int64_t endpoint, const char *why);
/* Stores this node's report of the endpoint on the pool (dispatch_calls.report). */
void endpoints_report(void *road, int64_t endpoint);
/* Reads the breakers and pauses of all nodes into the dispatcher.  Blocks. */
bool road_learn(struct road *r, struct err *err);
