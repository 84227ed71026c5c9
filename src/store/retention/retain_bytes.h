/* retain_bytes.h - removes the bytes of purged documents: files, pieces, segments (retain.h).
 *
 * Threads: any that may block; changes run in the writer.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct store;

struct retain_bytes {
    int64_t files, segments, pieces; /* removed */
    int64_t bytes;                   /* freed */
    int64_t moved;                   /* entries copied to the open segment */
    int64_t damaged;                 /* damaged segments, which are left alone */
    bool more;                       /* there is work left */
};

/* One portion of work: a few files, some pieces, and on SQLite one segment. */
bool retain_bytes(struct store *s, struct retain_bytes *ret, struct err *err);
/* At start, before documents are accepted: removes the files of purged rows (SQLite). */
bool retain_recover(struct store *s, struct err *err);
/* The number of notes. */
bool retain_waiting(struct store *s, int64_t *ret, struct err *err);
