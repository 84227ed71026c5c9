/* expire.h - deliveries that wait past their time become dead letters `expired`.
 *
 * Whatever they wait for: a retry, a hold, their turn.  One that somebody has claimed is left
 * alone: what comes of it is for its holder to say.
 *
 * Threads: any that may block; all changes run in the writer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct store;

/* When the next one expires, claimed ones too; 0: none does. */
bool expire_next(struct store *s, int64_t *ret_us, struct err *err);

enum { EXPIRE_MOST = 500 };

/* Up to EXPIRE_MOST of those whose time is not after now.  ret_endpoints: the word of the
 * endpoint of each; there may be more when all are used. */
bool expire_due(struct store *s, int64_t now_us, int64_t ret_endpoints[static EXPIRE_MOST],
                size_t *ret_count, struct err *err);
