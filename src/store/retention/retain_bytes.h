/* retain_bytes.h - the bytes of documents that went: files, pieces and segments (retain.h).
 *
 * Threads: any that may block; changes run in the writer.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct store;

struct retain_bytes {
    int64_t files, segments, pieces; /* that went */
    int64_t bytes;                   /* that came back */
    int64_t moved;                   /* entries that were copied */
    int64_t damaged; /* segments that are left alone: something in them is damaged */
    bool more;
};

/* One portion of work on the bytes of what went: a few files, some pieces, or one segment. */
bool retain_bytes(struct store *s, struct retain_bytes *ret, struct err *err);
/* Before the doors open: files whose rows are gone. */
bool retain_recover(struct store *s, struct err *err);
/* How many notes there are. */
bool retain_waiting(struct store *s, int64_t *ret, struct err *err);
