/* side.h - one side of a link: what is asked of a source and of a destination.
 *
 * Whoever moves or compares the rows of a table (the jobs of a link) speaks to two sides and to no
 * database.  A question and its answer are bounded, so that they can be a message.  A side that is
 * here is answered by an open database (database.h); one that is away, at another location, by that
 * location (away/).
 *
 * A question may be asked again: reading changes nothing, and of a batch that was applied already
 * side_apply() says so.
 *
 * Threads: a side belongs to one thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/str.h"
#include "table/database.h"
#include "table/row.h"
#include "table/shape.h"

enum side_what; /* side_question.h */
struct side;

/* How a side that is away is asked. */
struct side_away_type {
    bool (*ask)(struct side *s, enum side_what what, const void *question, struct arena *a,
                void *answer, struct err *err);
    void (*close)(struct side *s);
    bool (*broken)(const struct side *s);
    void (*lend)(struct side *s, struct call *call);
};

/* A table of a link, seen from one side. */
struct side {
    const struct side_away_type *away; /* NULL: it is here */
    void *line;                        /* of one that is away */
    const struct database_type *type;  /* of one that is here */
    struct database *db;
    struct str at; /* what the table is called there, as people write it */
    const struct fit *fit;
    bool is_source;
    struct capture capture; /* of a source */
    struct str link, table; /* the name of the link; the table, as the link has it */
};

/* A row that does not travel: a value of it has no form in the type that travels, or the
 * destination refuses it.  Keys and rows as in a batch, in the caller's arena. */
struct side_bad_row {
    struct str key, row; /* row empty: it was to be removed, or cannot be written as one */
    int64_t x;
    char why[200];
};

enum { SIDE_BAD_MOST = 1000 /* of one answer: where there are more, it ends before them */ };

/* err.sys of an ERR_CONFIG: whoever is asked does not let us do that. */
enum { SIDE_REFUSED = 403 };

void side_close(struct side *s);                   /* safe on one that is not open */
bool side_is_broken(const struct side *s);         /* it cannot be used any more: close it */
void side_lend(struct side *s, struct call *call); /* as database_type.lend() */

/* ---- both: what is there ---- */

bool side_describe(struct side *s, struct arena *a, struct shape **ret, struct err *err);
/* Of what follows the fit is set. */
bool side_look(struct side *s, struct arena *a, struct capture_look *ret, struct err *err);
bool side_ceiling(struct side *s, struct ceiling *ret, struct err *err);
bool side_count(struct side *s, int64_t *ret, struct err *err);

/* Statements that prepare the table for a link, or take that away again. */
enum side_planning {
    SIDE_PLAN_CAPTURE,
    SIDE_PLAN_CAPTURE_REMOVAL,
    SIDE_PLAN_MARK,
    SIDE_PLAN_MARK_REMOVAL,
    SIDE_PLANNINGS
};

bool side_plan(struct side *s, enum side_planning what, struct arena *a, struct ddl *ret,
               struct err *err);
/* Plans once more, and runs that if each of its statements is one of those that were `seen`.
 * ERR_PERMANENT: the plan is another one by now. */
bool side_run(struct side *s, enum side_planning what, const struct sha256 *seen, size_t count,
              struct arena *a, struct err *err);

/* ---- the source ---- */

struct side_window {
    struct change_place after;
    size_t bytes_most, rows_most;
    struct str not_origin; /* changes with this origin are left out: they came from there; may be
                            * empty: none are */
};

struct side_changes {
    struct buf batch;         /* batch.h; the caller's, with its cap */
    struct change_place upto; /* where the next window begins; key in the arena */
    struct change_place last; /* its last change, likewise; key empty: it has none */
    int64_t rows, gone, left_out;
    bool more;     /* the window went on */
    int64_t below; /* what the window ended at */
    struct ceiling ceiling;
    struct side_bad_row *bad;
    size_t bad_count;
};

bool side_changes(struct side *s, const struct side_window *w, struct arena *a,
                  struct side_changes *ret, struct err *err);

struct side_piece {
    struct str after; /* a key; empty: from the first */
    size_t bytes_most, rows_most;
};

struct side_rows {
    struct buf batch;
    struct str upto; /* the last key in it; in the arena */
    int64_t rows;
    bool end; /* there are no rows behind it */
    struct side_bad_row *bad;
    size_t bad_count;
};

/* A piece of the table in order of the key, for loading. */
bool side_rows(struct side *s, const struct side_piece *p, struct arena *a, struct side_rows *ret,
               struct err *err);

/* The newest change of each key in the journal. */
struct side_changed {
    bool has; /* it is in it */
    int64_t x;
};

bool side_changed(struct side *s, const struct str *keys, size_t count, struct arena *a,
                  struct side_changed **ret, struct err *err);
/* How many changes are after a place, counted up to `most`. */
bool side_backlog(struct side *s, const struct change_place *after, int64_t most, int64_t *ret,
                  struct err *err);

/* ---- the destination ---- */

struct side_batch {
    struct str batch;
    struct mark from, to; /* applied only where the mark is `from`, which becomes `to` */
    bool first;           /* ... or where there is none yet: `from` does not matter */
    struct str origin;    /* what the rows are journalled with there; empty: as its own */
    /* More rows than this are not removed, with so many that were before, unless they are no more
     * than this share of the table, in thousandths. */
    bool deletes_limited;
    int64_t deletes_most, deletes_share, deletes_before;
    /* Rows that the database refuses are known already, and kept elsewhere: they are left out. */
    const struct str *leave_out; /* keys */
    size_t leave_count;
};

enum side_outcome {
    SIDE_APPLIED,
    SIDE_ALREADY,   /* it was applied before */
    SIDE_ELSEWHERE, /* the mark is another one, `mark`: go on from there */
    SIDE_STALE,     /* somebody else has this table by now */
    SIDE_DELETES,   /* too many rows would be removed: nothing was done */
    SIDE_BAD /* the database refuses some rows: nothing was done.  Keep them, and ask again */
};

struct side_applied {
    enum side_outcome outcome;
    bool has_mark;
    struct mark mark;         /* as it is now; texts in the arena */
    int64_t written, removed; /* rows */
    int64_t deletes, rows;    /* SIDE_DELETES: of the batch, of the table */
    struct side_bad_row *bad; /* SIDE_BAD */
    size_t bad_count;
};

bool side_apply(struct side *s, const struct side_batch *b, struct arena *a,
                struct side_applied *ret, struct err *err);

/* A key as this side has it, fit->key_count cells. */
bool side_key(const struct side *s, struct str key, struct arena *a, struct cell *ret,
              struct err *err);
bool side_mark(struct side *s, struct arena *a, bool *ret_has, struct mark *ret, struct err *err);

/* ---- both, for comparing ---- */

enum { SIDE_LEAVES_MOST = 1024, SIDE_HASH = 16 };

struct side_range {
    struct str after; /* keys; empty: from the first */
    struct str upto;  /* empty: to the last */
    size_t rows_most; /* where it ends without `upto` */
};

/* Count and sum of the rows of a range, as one read sees them. */
struct side_sum {
    struct row_sum sum;
    struct str upto; /* the last key that it covers: that of the range if it has one; else that of
                      * its last row; empty: to the last of the table */
    int64_t below;   /* of a source: the ceiling before the read; INT64_MAX where it has none */
};

bool side_sum(struct side *s, const struct side_range *r, struct arena *a, struct side_sum *ret,
              struct err *err);

/* The same, cut into pieces of `rows` rows each, at most SIDE_LEAVES_MOST: the last key and the sum
 * of each; together they cover the range.  With `ends` set: the same pieces as these, which
 * somebody else has cut. */
struct side_leaf {
    struct str upto;
    struct row_sum sum;
};

bool side_leaves(struct side *s, const struct side_range *r, size_t rows,
                 const struct side_leaf *ends, size_t end_count, struct arena *a,
                 struct side_leaf **ret, size_t *ret_count, struct err *err);

/* Key and the first SIDE_HASH bytes of the hash of each row: of a range, or of some keys (those
 * that are not there do not come). */
struct side_hash {
    struct str key;
    uint8_t hash[SIDE_HASH];
};

bool side_hashes(struct side *s, const struct side_range *r, size_t most, struct arena *a,
                 struct side_hash **ret, size_t *ret_count, struct err *err);
bool side_hashes_of(struct side *s, const struct str *keys, size_t count, struct arena *a,
                    struct side_hash **ret, size_t *ret_count, struct err *err);
/* Appends the rows with these keys to a batch (x 0), in any order; those that are not there do not
 * come. */
bool side_fetch(struct side *s, const struct str *keys, size_t count, struct arena *a,
                struct buf *batch, struct err *err);
