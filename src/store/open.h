/* open.h - opening and closing a store.
 *
 * Opening is recovery: the folder is locked, the schema migrated, the predecessor of this
 * node declared dead and its leases taken over.  A task that ran alone when the predecessor
 * crashed gets that crash counted.
 *
 * This is the top of store/: only open.c knows every room; it connects the writers with the rooms
 * above them (struct writer_hooks).
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "store/kernel/store.h"

bool store_open(const struct store_options *options, struct store **ret, struct err *err);
void store_close(struct store *s); /* runs the queued operations first */
/* The same just before the program ends, while a thread that hangs may still read *s: it stays. */
void store_leave(struct store *s);
