/* kept.h - documents that nobody may let go of: legal hold.
 *
 * A mark by a person, with a reason, on a document that lives or has ended.  It stands apart from
 * the document, so that it holds whatever becomes of it; retention moves a kept document to a
 * table of its own when its day is over (retain.h).  The timeline tells who kept it and who
 * let it go.
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

/* *ret_found false: there is no such document.  Kept again: the reason is the new one. */
bool kept_put(struct store *s, const struct id *id, struct str reason, struct str by,
              bool *ret_found, struct err *err);
/* *ret_found false: it is not kept.  One whose day is over goes with the table of today. */
bool kept_drop(struct store *s, const struct id *id, struct str by, bool *ret_found,
               struct err *err);

/* *ret_found false: it is not kept. */
bool kept_get(struct store *s, int64_t num, struct arena *a, struct kept *ret, bool *ret_found,
              struct err *err);
/* Above `above`, by number; *ret_next 0 at the end. */
bool kept_list(struct store *s, int64_t above, size_t limit, struct arena *a, struct kept *ret,
               size_t *ret_count, int64_t *ret_next, struct err *err);
bool kept_count(struct store *s, int64_t *ret, struct err *err);
