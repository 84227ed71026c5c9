/* pause.h - pauses: an operator stops intake, delivery or jobs of one node or of all, or drains
 * one.
 *
 * A pause is stored until an operator resumes, also over restarts.  Every change raises the mark of
 * holds (hold.h).
 *
 * Threads: any that may block; changes run in the writer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct store;

/* DRAIN is all of them, and the node claims nothing more; DRAINED is its own note that it has
 * nothing left. */
enum pause_what { PAUSE_INTAKE, PAUSE_DELIVERY, PAUSE_JOBS, PAUSE_DRAIN, PAUSE_DRAINED, PAUSES };

/* What `node pause` without a choice pauses. */
enum { PAUSE_USUAL = 1 << PAUSE_INTAKE | 1 << PAUSE_DELIVERY | 1 << PAUSE_JOBS };

extern const char *const pause_names[PAUSES];

struct pause {
    int64_t node; /* 0: all */
    enum pause_what what;
    struct str reason, by;
    int64_t made_us;
};

enum { PAUSES_MOST = 1000 };

/* what: bits of 1 << pause_what.  Dropping the pauses of all nodes (0) also drops those of single
 * nodes. */
bool pause_put(struct store *s, int64_t node, unsigned what, struct str reason, struct str by,
               struct err *err);
bool pause_drop(struct store *s, int64_t node, unsigned what, int64_t *ret_count, struct err *err);
/* `ret` has room for PAUSES_MOST. */
bool pause_list(struct store *s, struct arena *a, struct pause *ret, size_t *ret_count,
                struct err *err);
