/* open.h - opening and closing a store.
 *
 * Opening is recovery: the folder is locked, the schema brought up to date, the
 * predecessor of this node declared dead and its leases taken over, and tasks whose code
 * brought it down while they ran alone are counted.
 *
 * This is the top of store/: the only place that knows every room, and where they are wired
 * together (struct writer_hooks).
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "store/kernel/store.h"

bool store_open(const struct store_options *options, struct store **ret, struct err *err);
void store_close(struct store *s); /* finishes what is queued */
