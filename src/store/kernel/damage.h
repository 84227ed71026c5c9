/* damage.h - a database that is damaged: this node stops, and stays stopped.
 *
 * A writer that reads a damaged page cannot know what else is wrong.  Its operations would fail
 * one after the other while documents are still accepted and sent, and what was sent could not
 * be noted: it would be sent again.  So the process ends, as after a failed sync, and leaves a
 * mark in its folder.  The mark refuses the next start, which a supervisor may make at once: each
 * start would send again what the one before could not note.  A person removes it.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "store/db/db.h"

struct store;

#define DAMAGE_MARK "damaged" /* the file in the node's folder; its text is the first error */

static inline bool damage_is(const struct err *err)
{
    return err->sys == DB_DAMAGED && err->kind == ERR_PERMANENT;
}

/* Leaves the mark and ends the process with exit status 74. */
_Noreturn void damage_end(const struct store *s, const struct err *err);
/* Refuses a folder with the mark. */
bool damage_none(const struct store *s, struct err *err);
