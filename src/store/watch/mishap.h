/* mishap.h - what went wrong, counted: one row per code and object.
 *
 * The engine counts in memory and writes now and then, so that a flood of errors costs a
 * few rows.  `code` is a short name (rejected, unreached, extract_failed), `object` what it
 * concerns (endpoint salsify-api, gateway orders).
 *
 * Bounded: the MISHAPS_MOST latest rows are kept.
 * Threads: any that may block.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct store;

struct mishap {
    struct str code, object, message; /* message: the latest */
    int64_t count, first_us, last_us;
};

enum { MISHAPS_MOST = 1000 };

/* Adds the counts to the stored ones; up to MISHAPS_MOST at a time. */
bool mishap_add(struct store *s, const struct mishap *list, size_t count, struct err *err);
/* Latest first. */
bool mishap_list(struct store *s, struct arena *a, struct mishap *ret, size_t most,
                 size_t *ret_count, struct err *err);
