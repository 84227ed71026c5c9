/* endpoints.h - what is known of endpoints, their breakers and pauses, goes to the store and comes
 * from there: other nodes, and this one after a restart, go by it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "core/retry.h"

struct road;

/* It changed on this node (dispatch_calls.changed). */
void endpoints_changed(void *road, int64_t endpoint, const struct breaker *b,
                       int64_t pause_until_us, const char *why);
/* Learn what other nodes know of endpoints.  Blocks. */
bool road_learn(struct road *r, struct err *err);
