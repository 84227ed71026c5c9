/* compact.h - rewrites the database of a stopped node without its free pages (SQLite).
 *
 * The folder is locked before the database is opened and until the end, so that no node can start
 * on it.  The new file is written beside the old one, checked, synced, and renamed over it.  A
 * crash before the rename leaves the old database, and a file that the next start deletes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct compact_result {
    int64_t before_bytes, after_bytes;
};

/* Deletes what a killed call left; in a locked folder. */
void compact_clean(int data_fd);

/* ERR_CONFIG: there is no such store, or a node runs on it. */
bool store_compact(const char *data, struct compact_result *ret, struct err *err);
