/* kept.h - documents under legal hold, which are not purged.
 *
 * An operator marks a live or ended document, with a reason.  The mark is a row of its own, so that
 * it holds whatever becomes of the document.  Retention moves a kept document to a table of its
 * own when its day is over (retain.h).  The timeline says who kept and who released it.
 *
 * Threads: any that may block; changes run in the writer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/id.h"
#include "base/str.h"

struct store;

struct kept {
    int64_t num;
    struct id id;
    struct str reason, by;
    int64_t made_us;
};

enum { KEPT_REASON_MOST = 500, KEPT_PAGE_MOST = 200 };

/* *ret_found false: there is no such document.  For a kept document the new reason replaces the old
 * one. */
bool kept_put(struct store *s, const struct id *id, struct str reason, struct str by,
              bool *ret_found, struct err *err);
/* *ret_found false: it is not kept.  A document whose day is over moves to the table of today. */
bool kept_drop(struct store *s, const struct id *id, struct str by, bool *ret_found,
               struct err *err);

/* *ret_found false: it is not kept. */
bool kept_get(struct store *s, int64_t num, struct arena *a, struct kept *ret, bool *ret_found,
              struct err *err);
/* Kept documents above number `above`, ascending; *ret_next 0 at the end. */
bool kept_list(struct store *s, int64_t above, size_t limit, struct arena *a, struct kept *ret,
               size_t *ret_count, int64_t *ret_next, struct err *err);
bool kept_count(struct store *s, int64_t *ret, struct err *err);
