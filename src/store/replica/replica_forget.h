/* replica_forget.h - what was kept of tables that are in no configuration any more, and
 * what was kept long enough.
 *
 * A job that left the configuration stays in the list for a while (store/job/job_forget.h).  When
 * it is forgotten, so is what stands here of its table: passes, rows set aside, orders.  Rows that
 * have lost against others go after their time (conflict.h).
 *
 * Threads: any; blocks.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct store;

/* Some of it; *ret_more: there may be more. */
bool replica_forget(struct store *s, bool *ret_more, struct err *err);
