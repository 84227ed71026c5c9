/* backup_copy.h - the writer's part of a backup: copies the database between its groups.
 *
 * A slice takes as long as a small group while operations wait for the writer, and longer while
 * none does.  The slice that completes the copy records the mark: no group runs meanwhile, so that
 * database, payloads and numbers are of the same moment.
 *
 * Threads: backup_copy_take() any that may block; slices run in the writer.
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
    struct payload_ref end; /* payloads in segments lie before this position */
};

/* Copies the database to the file `path`, which is not synced yet. */
bool backup_copy_take(struct store *s, const char *path, struct backup_progress *p,
                      struct backup_mark *ret, struct err *err);

/* Called between two groups; true: the copy is not complete yet. */
bool backup_copy_slice(struct writer *w);
