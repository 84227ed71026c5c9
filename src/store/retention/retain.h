/* retain.h - letting go of documents that were kept long enough, and of their bytes.
 *
 * Retention goes by tables: a document that ends is put into the table of the day on which it may
 * go (done.h), how long that is say the rules
 * (retain_days.h).  When the day is over its table goes in slices,
 * each one transaction: the rows, what the index knows of them, the rows of payloads (PostgreSQL),
 * and a note of every payload that has bytes outside of the database.  Bytes go after their rows:
 *
 *   note (with the rows) -> file or pieces -> note gone
 *
 * so that whoever dies anywhere in between leaves a note, and never a row without its bytes.
 * Segments are shared: one in which something went is looked through, entry by entry.  Without a
 * document that still is there it goes; with few of them these are copied to the open segment
 * first, and `moved` tells readers where they went.
 *
 * An empty table is dropped only when nobody can be about to look into it.
 *
 * Invariants
 *   (1) only ended documents stand in these tables: nothing that waits can go.
 *   (2) a document that is kept (kept.h) is never let go of: it moves to a table of its own.
 *   (3) a segment goes only when each of its entries was looked up, in one view of the database
 *       each, and is not there any more, or is copied.
 *   (4) the guard (core/retain_rule.h) is asked in the transaction of each slice.
 *
 *   retain.c        slices of tables           retain_bytes.c  files, pieces, segments
 *   retain_gate.c   pauses                     index_forget.c  what the index knows of them
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

/* SQLite has one writer: who sends waits while a slice goes.  On PostgreSQL a row that goes costs
 * more, most of it log that others' commits wait for, but so does a slice. */
enum {
    RETAIN_SLICE = 60,
    RETAIN_SLICE_POSTGRESQL = 100,
    RETAIN_SLICE_MOST = 500, /* room: others may add to a table that is over, a little */
    RETAIN_SLICE_BYTES = 16 << 20,
    RETAIN_DUE_MOST = 512
};

/* Tables of days below `before`, the oldest first. */
bool retain_due(struct store *s, int64_t before, int64_t *ret_days, size_t most, size_t *ret_count,
                struct err *err);

struct retain_order {
    int64_t day, above; /* above: `upto` of the slice before, or below the first */
    int64_t now_us;
    bool unguarded;      /* a person said so */
    int64_t archived_us; /* only what ended until then: an archive has it; 0: none is asked for */
};

struct retain_slice {
    int64_t documents, bytes, spared;
    int64_t upto;    /* 0: nothing is left */
    bool busy;       /* another node is at it */
    bool guarded;    /* too much went in this hour: later */
    bool unarchived; /* something is left that no archive has */
};

/* One slice of a table. */
bool retain_slice(struct store *s, const struct retain_order *order, struct retain_slice *ret,
                  struct err *err);
/* The lowest number that is left of a day; 0: none.  On PostgreSQL, where rows that went are not
 * cleared away (done_untidied), this passes over them, on behalf of the writers. */
bool retain_first(struct store *s, int64_t day, int64_t *ret, struct err *err);
/* The table of a day is empty: it is one of those no more.  *ret_closed false: it is not. */
bool retain_close(struct store *s, int64_t day, bool *ret_closed, struct err *err);
/* Drop what was closed at least `age_us` ago. */
bool retain_drop(struct store *s, int64_t age_us, int64_t *ret_dropped, struct err *err);

/* Counted: documents that went. */
enum { TALLY_PURGED = 9 };
/* How many documents there are. */
bool retain_present(struct store *s, int64_t *ret, struct err *err);

/* The last day that was believed: nobody puts a document into a table that is over by it.  It only
 * grows, for a clock that goes back is no reason to let go of anything earlier; the price is that
 * behind one that ran ahead documents are kept longer. */
bool retain_believe(struct store *s, int64_t today, struct err *err);
/* A person says that the clock is right: also an earlier day.  Other nodes learn of that when they
 * start. */
bool retain_believe_anew(struct store *s, int64_t today, struct err *err);
