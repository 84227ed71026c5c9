/* tombstone.h - rows of a journal of rows that were removed long ago: nobody needs them any more.
 *
 * Where the journal is kept by a server, they are removed by whoever reads the source there
 * (side_prune()); those of a file by its own triggers.  What was removed is noted in
 * waybill_capture: whoever has not read so far does not know these deletions, and must not go on
 * as if there were none (capture_look.pruned).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct side;

#define TOMBSTONE_DAY_US INT64_C(86400000000)

int64_t tombstone_age_us(void);  /* from then on; a test switch shortens it */
int64_t tombstone_wait_us(void); /* from one time that a table is looked after to the next */

/* Removes some of them, for a moment at most, of those that whoever reads here has written already
 * (x < below); *ret_over: there are no more.  ERR_CONFIG: we may not, or not there.  Away: nothing
 * is done, the location looks after its own. */
bool side_prune(struct side *s, int64_t below, bool *ret_over, struct err *err);
