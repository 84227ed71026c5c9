/* sql_progress.h - what a gateway that polls rows remembers: where the next query begins, also when
 * transactions commit late.
 *
 * The problem.  Rows get their cursor (a serial number, a time) when they are written, and become
 * visible when their transaction commits.  A row that commits after rows behind it were taken is
 * not behind the cursor any more: it would be missed.
 *
 * The method.  A pass reads from `start` to the end.  With an overlap, `start` stays behind:
 * passes read again what they have read before, and what was taken is left out by its digest
 * (core/deposit.h: known, notes).  When a pass ends at time t, the cursor of its last row is noted:
 * (t, c).  When a later pass ends that began at t + overlap or after, c becomes `start`, and
 * digests noted until t are forgotten.
 *
 * Why nothing is missed.  Let x be the cursor of a row, at most c, written before any row behind it
 * was; some row at or behind x was read by the pass that ended at t, so x was written before t.  If
 * its transaction takes less than the overlap, it has committed before t + overlap, so the pass
 * that began then, with a start before x, saw it.  This needs a pass, not only time: after a node
 * stood still for an hour, the first pass still begins where it stood.
 *
 * Why nothing is taken twice.  A row that may be read again has a cursor behind `start`.  It was
 * taken by a pass that ended after the t of `start`, for the last row of a pass is behind all that
 * it read; so its digest was noted after t and is not forgotten.
 *
 * A pass may be longer than a poll: `at` is how far it came.  Without an overlap there is only
 * `last`.  The clock may step: forward, the overlap is shorter once; back, times in the future are
 * taken for now, which waits longer.
 *
 * Pure: no I/O, no clock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "sql/sql_cursor.h"

enum { SQL_HISTORY_MOST = 20, SQL_PROGRESS_STATE_MOST = 16 << 10 };

/* What a state belongs to: the keys `cursor` and `start` of the gateway. */
struct sql_track {
    const struct str *columns, *first; /* first: a value for each column */
    size_t count;
    bool first_is_said; /* `start` is set: one that differs from the stored one begins anew */
    int64_t overlap_us; /* 0: none */
};

struct sql_noted {
    int64_t us;
    struct sql_cursor cursor;
};

struct sql_progress {
    struct sql_cursor last;  /* of the last pass; count 0: there was none */
    struct sql_cursor start; /* where passes begin; count 0: at `last` */
    struct sql_cursor at;    /* how far the pass came that is under way; count 0: none is */
    int64_t begun_us;        /* of that pass */
    int64_t noted_us;        /* when the last digests were noted; 0: none are */
    struct sql_noted history[SQL_HISTORY_MOST]; /* behind `start`, oldest first */
    size_t history_count;
};

/* Reads a state.  An empty one is a beginning, and so is one with another `start` than is said.
 * ERR_CONFIG: it is of other columns, with the remedy; ERR_PERMANENT: it is damaged. */
bool sql_progress_read(struct str state, const struct sql_track *t, int64_t now_us,
                       struct sql_progress *ret, struct err *err);
/* Appends at most SQL_PROGRESS_STATE_MOST bytes. */
void sql_progress_write(const struct sql_progress *p, const struct sql_track *t, struct buf *to);

/* Rows may come again that were taken: their digests must be asked for and noted. */
bool sql_progress_overlaps(const struct sql_progress *p, const struct sql_track *t);

/* Where the next query begins. */
struct sql_cursor sql_progress_from(const struct sql_progress *p, const struct sql_track *t);

/* Before the first query of a poll: a pass begins, unless one is under way. */
void sql_progress_begin(struct sql_progress *p, int64_t now_us);
/* Everything up to this row was taken, in the commit that stores this. */
void sql_progress_reach(struct sql_progress *p, const struct sql_track *t,
                        const struct sql_cursor *row);
/* Digests are noted, in the commit that stores this. */
void sql_progress_note(struct sql_progress *p, int64_t now_us);
/* A query returned no rows: the pass is over.  *ret_forget_us: digests noted before it may be
 * forgotten, once this is stored; 0: none. */
void sql_progress_end(struct sql_progress *p, const struct sql_track *t, int64_t now_us,
                      int64_t *ret_forget_us);
