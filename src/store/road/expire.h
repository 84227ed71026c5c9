/* expire.h - deliveries that wait past their expiry become dead letters `expired`.
 *
 * It does not matter what they wait for: a retry, the end of a hold, their turn in a lane.  A
 * claimed delivery is skipped: its settlement decides.  So is one with an intent, which may have
 * been sent (intent.h).
 *
 * Threads: any that may block; all changes run in the writer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct store;

/* When the next delivery expires, also a claimed one; 0: none. */
bool expire_next(struct store *s, int64_t *ret_us, struct err *err);

enum { EXPIRE_MOST = 500 };

/* Ends up to EXPIRE_MOST deliveries that have expired.  ret_endpoints: the name id of each one's
 * endpoint.  If *ret_count is EXPIRE_MOST there may be more. */
bool expire_due(struct store *s, int64_t now_us, int64_t ret_endpoints[static EXPIRE_MOST],
                size_t *ret_count, struct err *err);
