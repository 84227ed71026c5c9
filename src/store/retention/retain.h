/* retain.h - purging documents that were kept long enough, and their bytes.
 *
 * A document that ends moves to the table of the day on which it may be purged (done.h); the rules
 * say how long it is kept (retain_days.h).  When the day is over, its table is emptied in slices,
 * one transaction each, and dropped.  Rows go first, with a note of their bytes; the bytes follow
 * the note, so that a crash never leaves a row without its bytes.  retain.c opens with the method,
 * the invariants and the reasons.
 *
 *   retain.c        slices of tables           retain_bytes.c  files, pieces, segments
 *   retain_gate.c   pauses                     index_forget.c  entries of the index
 *
 * Threads: any that may block; changes run in the writer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "core/retain_rule.h"
#include "core/state.h"

struct store;
struct writer;

/* ---- days ---- */

/* SQLite has one writer: senders wait while a slice is purged.  On PostgreSQL each deleted row
 * costs more, mostly log for which other commits wait, but each slice does too. */
enum {
    RETAIN_SLICE = 60,
    RETAIN_SLICE_POSTGRESQL = 100,
    RETAIN_SLICE_MOST = 500, /* room: on PostgreSQL other nodes may still add a few */
    RETAIN_SLICE_BYTES = 16 << 20,
    RETAIN_DUE_MOST = 512
};

/* Tables of days below `before`, the oldest first. */
bool retain_due(struct store *s, int64_t before, int64_t *ret_days, size_t most, size_t *ret_count,
                struct err *err);

struct retain_order {
    int64_t day, above; /* above: `upto` of the previous slice; at first below retain_first() */
    int64_t now_us;
    bool unguarded;      /* an operator overrides the guard */
    int64_t archived_us; /* only documents that ended until then (archive.h); 0: without archive */
};

struct retain_slice {
    int64_t documents, bytes, spared;
    int64_t upto;    /* the last number of the slice; 0: nothing is left above `above` */
    bool busy;       /* another node purges, or purging is paused */
    bool guarded;    /* the limit of this hour is reached */
    bool unarchived; /* nothing was deleted: no archive covers this day */
};

bool retain_slice(struct store *s, const struct retain_order *order, struct retain_slice *ret,
                  struct err *err);
/* The lowest number left in the table of a day; 0: none.  On PostgreSQL deleted rows are not
 * vacuumed (done_untidied); this call passes over them, so that the writers need not. */
bool retain_first(struct store *s, int64_t day, int64_t *ret, struct err *err);
/* Takes an empty table off the list of tables.  *ret_closed false: it is not empty. */
bool retain_close(struct store *s, int64_t day, bool *ret_closed, struct err *err);
/* Drops tables that were closed at least `age_us` ago. */
bool retain_drop(struct store *s, int64_t age_us, int64_t *ret_dropped, struct err *err);

/* Counts purged documents. */
enum { TALLY_PURGED = 9 };
/* The number of documents in the store, live and ended. */
bool retain_present(struct store *s, int64_t *ret, struct err *err);

/* Records `today` as the believed day: no document is put into a table that is over by it.  It only
 * rises, so that a clock that goes back does not shorten retention.  After a clock that ran ahead,
 * documents are therefore kept longer. */
bool retain_believe(struct store *s, int64_t today, struct err *err);
/* An operator confirms the clock: the believed day may also fall.  Other nodes follow at their next
 * start. */
bool retain_believe_anew(struct store *s, int64_t today, struct err *err);

struct retain_announced {
    int64_t
        told_us; /* who died until then was announced a day ago or longer, and may go; 0: none */
    bool fresh;  /* this call announced: somebody is to be told */
};

/* Announces, once a day, that the dead letters that died until `until_us` will be discarded.  What
 * was announced and not renewed for a week is void. */
bool retain_announce(struct store *s, int64_t now_us, int64_t until_us,
                     struct retain_announced *ret, struct err *err);
