/* set_aside.h - rows of a link that could not be written, kept until they can be.
 *
 * One per link, table and key: a newer image of the row takes the place of the one that was there.
 * It is stored before the batch that leaves the row out is written, so that it is in one of both.
 *
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

enum { SET_ASIDE_ROW_MOST = 1 << 20 /* bytes of a row that are kept; of a larger one none are */ };

struct set_aside {
    int64_t id;
    struct str link, table;
    struct str key;  /* as table/key.h encodes it */
    struct str row;  /* as table/row.h does; empty: it was to be removed, or is not kept */
    struct str kind; /* "source": it cannot travel; "refused": the destination refuses it;
                      * "conflict": another one has won (conflict.h) */
    struct str why;
    int64_t x;                 /* of its change */
    int64_t first_us, last_us; /* when it was first refused, and last */
    int64_t due_us;            /* when it is tried again: 1 min after the first time, twice as long
                                * after each further one, up to 1 h */
    int64_t tries;
    bool discarded; /* a person does not want it; it stays in the list until a newer image comes */
    bool gone;      /* of conflict_untold(): it was written, and is in no list any more */
    struct str judged_by, judged_why; /* of whom said last what becomes of it (set_aside_judge) */
    struct str peer; /* "conflict": the location whose link has decided it; empty: this one */
};

/* Adds or replaces; *ret_open: how many of this table are set aside and not discarded then. */
bool set_aside_put(struct store *s, const struct set_aside *rows, size_t count, int64_t now_us,
                   int64_t *ret_open, struct err *err);
/* Those with these keys are not set aside any more.  Costs no commit if there are none. */
bool set_aside_drop(struct store *s, struct str link, struct str table, const struct str *keys,
                    size_t count, int64_t *ret_open, struct err *err);
/* All of a table: it is loaded again.  Those that have lost stay. */
bool set_aside_drop_all(struct store *s, struct str link, struct str table, struct err *err);
/* How many of this table are set aside and not discarded. */
bool set_aside_open(struct store *s, struct str link, struct str table, int64_t *ret_open,
                    struct err *err);
/* Those that are due by now_us, the longest waiting first; without their rows. */
bool set_aside_due(struct store *s, struct str link, struct str table, int64_t now_us, size_t most,
                   struct arena *a, struct set_aside *ret, size_t *ret_count, struct err *err);
/* One, with its row. */
bool set_aside_find(struct store *s, int64_t id, struct arena *a, bool *ret_has,
                    struct set_aside *ret, struct err *err);
/* Behind the id `after`, in order of ids.  link or table empty: any. */
bool set_aside_list(struct store *s, struct str link, struct str table, int64_t after, size_t most,
                    struct arena *a, struct set_aside *ret, size_t *ret_count, struct err *err);
/* What a person says, with a line of the audit log: it is due now, or is discarded.  *ret_has
 * false: there is none with this id.  One that a peer has decided is never due. */
bool set_aside_judge(struct store *s, int64_t id, bool discard, struct str by, struct str why,
                     bool *ret_has, struct err *err);
