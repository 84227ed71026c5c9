/* backup_copy.h - the writer's part of a backup: its database, copied between two groups.
 *
 * A slice takes as long as a small group while somebody waits for the writer, longer while
 * nobody does.  The slice that finds the copy whole notes the mark: no group runs meanwhile, so
 * the copy, the payloads and the numbers are of one moment.
 *
 * Threads: backup_copy_take() on any that may block; the slices are the writer's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "store/kernel/writer.h"
#include "store/payload/payload.h"

struct backup_progress;
struct store;

struct backup_mark {
    int64_t at_us, num;
    struct payload_ref end; /* payloads in segments lie before this place */
};

/* The database at `path`, a plain file that is not synced yet. */
bool backup_copy_take(struct store *s, const char *path, struct backup_progress *p,
                      struct backup_mark *ret, struct err *err);

/* Between two groups; true: it goes on. */
bool backup_copy_slice(struct writer *w);
