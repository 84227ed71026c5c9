/* compact.h - the database of a stopped node, written anew without what is free in it (SQLite).
 *
 * The folder is locked from the first look to the end, so that no node can start on it.  The new
 * file is written beside the old one, checked, synced, and takes its place in one step; whoever
 * dies before leaves the old one, and a file that the next call throws away.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct compact_result {
    int64_t before_bytes, after_bytes;
};

/* ERR_CONFIG: there is no such store, or a node runs on it. */
bool store_compact(const char *data, struct compact_result *ret, struct err *err);
