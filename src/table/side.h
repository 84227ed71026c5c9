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
/* Of what follows the fit is set.  What is captured, and which table it is. */
bool side_look(struct side *s, struct arena *a, struct capture_look *ret, struct err *err);
bool side_ceiling(struct side *s, struct ceiling *ret, struct err *err);
bool side_count(struct side *s, int64_t *ret, struct err *err);

/* The newest change of a key in a side's journal. */
struct side_change {
    bool has;
    int64_t x, at_us;
    struct str origin; /* in the arena */
};

/* Of each of these keys, in their order. */
bool side_changes_of(struct side *s, const struct str *keys, size_t count, struct arena *a,
                     struct side_change **ret, struct err *err);

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

/* Of a table that goes both ways: the link of the other direction, whose mark at the source says
 * how far the source has taken the changes of the destination.  It is read as of the same moment as
 * the rows: so it is known of each row whether it was made by somebody who had a change before him.
 */
struct side_back {
    struct str link, table; /* link empty: it goes one way */
    struct str origin; /* identity of the destination's table: what came from there is left out */
};

struct side_window {
    struct change_place after;
    size_t bytes_most, rows_most;
    int64_t written_x; /* changes before this one are written: whoever keeps the journal may know */
    size_t group_most; /* whole transactions, of at most so many bytes; 0: any part of them */
    struct side_back back;
};

struct side_changes {
    struct buf batch;         /* batch.h; the caller's, with its cap */
    struct change_place upto; /* where the next window begins; key in the arena */
    struct change_place last; /* its last change, likewise; key empty: it has none */
    int64_t rows, gone, left_out;
    bool has_seen;
    struct mark seen;  /* of the link back; in the arena */
    bool more;         /* the window went on */
    bool too_large;    /* nothing was read: the next transaction has more than group_most */
    int64_t newest_us; /* the largest time of a change in the batch */
    int64_t pruned;    /* capture_look.pruned, as of the reading or later */
    int64_t below;     /* what the window ended at */
    struct ceiling ceiling;
    struct side_bad_row *bad;
    size_t bad_count;
};

bool side_changes(struct side *s, const struct side_window *w, struct arena *a,
                  struct side_changes *ret, struct err *err);

struct side_piece {
    struct str after; /* a key; empty: from the first */
    size_t bytes_most, rows_most;
    struct side_back back; /* rows that are in the journal are left out */
};

struct side_rows {
    struct buf batch;
    struct str upto; /* the last key in it; in the arena */
    int64_t rows;
    bool has_seen;
    struct mark seen;
    bool end; /* there are no rows behind it */
    struct side_bad_row *bad;
    size_t bad_count;
};

/* A piece of the table in order of the key, for loading. */
bool side_rows(struct side *s, const struct side_piece *p, struct arena *a, struct side_rows *ret,
               struct err *err);

/* How many changes are after a place, counted up to `most`. */
bool side_backlog(struct side *s, const struct change_place *after, int64_t most, int64_t *ret,
                  struct err *err);

/* ---- the destination ---- */

/* A link that goes both ways: what is written, and what wins.
 *
 * A change that comes is a conflict with the row that is there if that was changed by somebody else
 * than the source, and the source had not taken this change when it read its row: neither of the
 * two knows the other.  Rows that are equal are none.  Which row wins depends on the two rows and
 * on the rule alone, so that both sides decide alike, whoever looks first.
 *
 * What was decided is a change of the destination's own, and goes to the source: a row that was on
 * its way meanwhile may have been decided about there, too, with another one.  It keeps the time of
 * the change that has won: to decide is to change nothing. */
enum side_winner {
    SIDE_SOURCE_WINS,
    SIDE_DEST_WINS,
    SIDE_VERSION_WINS, /* the larger value of a column, then as SIDE_ORDER_WINS */
    SIDE_LAST_WINS,    /* the later change, a deletion included, then as SIDE_ORDER_WINS */
    SIDE_ORDER_WINS /* a row before a deletion, then that of the table with the larger identity */
};

enum side_doubt {
    SIDE_KNOWN, /* a row that is in no journal was not changed at the destination */
    /* The source's row is in no journal either: what was changed at the destination is newer, and
     * what was not may never have been the same. */
    SIDE_FIRST,
    SIDE_ANY /* every row that is there and differs is a conflict */
};

/* What was decided, and stored: the destination's row is the one of this change (0: of none). */
struct side_decided {
    struct str key;
    int64_t x;
    bool gone;
};

struct side_rule {
    enum side_winner winner;
    struct str version;      /* SIDE_VERSION_WINS: the column */
    struct str source, dest; /* identities of both tables */
    enum side_doubt doubt;
    bool has_seen; /* how far the source had taken the changes of the destination */
    struct mark seen;
    const struct side_decided *decided; /* by key */
    size_t decided_count;
};

struct side_conflict {
    struct side_decided of;
    bool source_wins, came_gone, there_gone;
    struct str came, there; /* rows, as in a batch; empty: gone, or it cannot travel */
};

/* The change (x, key) is at or before a place. */
bool side_covers(const struct mark *mark, int64_t x, struct str key);

struct side_batch {
    struct str batch;
    struct mark from, to; /* applied only where the mark is `from`, which becomes `to` */
    bool first;           /* ... or where there is none yet: `from` does not matter */
    struct str origin;    /* what the rows are journalled with there; empty: as its own */
    /* More rows than this are not removed, with so many that were before, unless they are no more
     * than this share of the table, in thousandths. */
    bool deletes_limited;
    int64_t deletes_most, deletes_share, deletes_before;
    const struct side_rule *rule; /* NULL: what comes is written */
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
    SIDE_BAD, /* the database refuses some rows: nothing was done.  Keep them, and ask again */
    SIDE_CONFLICTS, /* some lose, or those that are there: nothing was done.  Likewise */
    SIDE_BUSY       /* others write the same rows: nothing was done.  Fewer at once may go */
};

struct side_applied {
    enum side_outcome outcome;
    bool has_mark;
    struct mark mark;         /* as it is now; texts in the arena */
    int64_t written, removed; /* rows */
    int64_t deletes, rows;    /* SIDE_DELETES: of the batch, of the table */
    struct side_bad_row *bad; /* SIDE_BAD */
    size_t bad_count;
    struct side_conflict *conflicts; /* SIDE_CONFLICTS; there may be more */
    size_t conflict_count;
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

/* ---- a side that is away: what its location knows beside the database ---- */

/* A row of a link that goes both ways which has lost: its location lists it, too. */
struct side_lost {
    struct str key, row, why;
    int64_t x;
    bool waits, discarded; /* until a person has chosen; a person does not want it */
};

struct side_keeping {
    const struct side_lost *rows; /* at most SIDE_BAD_MOST */
    size_t count;
    const struct sha256 *gone; /* rows that are not listed any more, by their digests; likewise */
    size_t gone_count;
};

bool side_keep(struct side *s, const struct side_keeping *k, struct err *err);

/* The table goes both ways, and that location has the link of the other direction: whether what it
 * says there fits to what is said here. */
struct side_pairing {
    struct str link, table; /* the other link, and the table in it */
    struct str rule;        /* `conflict` of this one */
};

struct side_paired {
    char why[300]; /* what does not fit; empty: it does */
};

bool side_pair(struct side *s, const struct side_pairing *p, struct side_paired *ret,
               struct err *err);
