/* conflict.h - rows of a link that goes both ways which have lost against others: kept for a while,
 * so that a person can choose them after all.
 *
 * They stand in the list of the rows that are set aside (set_aside.h), with the kind `conflict`,
 * and are neither tried again nor counted there.  A person says of one what may be said of the
 * others (set_aside_judge): it is not wanted, or it is due: then the link writes it.  `due_us` is
 * when it goes.  It is stored before the row that wins is written.
 *
 * Threads: any that may block.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/replica/set_aside.h"

#define CONFLICT_KIND "conflict"

enum { CONFLICT_ROW_MOST = 4 << 20 /* bytes of a row that can be kept */, CONFLICT_DAYS = 30 };

/* The same row of the same key again changes nothing but its time.  `waits`: it does not go until a
 * person has said what becomes of it. */
bool conflict_put(struct store *s, const struct set_aside *rows, size_t count, int64_t now_us,
                  bool waits, struct err *err);
/* One that a person has chosen was written, and goes; or it could not be, `why`, and stays. */
bool conflict_settle(struct store *s, int64_t id, bool written, struct str why, struct err *err);
