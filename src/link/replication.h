/* replication.h - the inside of a run (replicating.h), for the files of this folder. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "link/replicating.h"
#include "store/replica/set_aside.h"
#include "table/side.h"

struct replication {
    const struct replicating *r;
    struct link_state *s;
    struct replicated *done;
    struct side *source, *dest;
    struct capture_look look; /* of the source, at the start of the run */

    /* Of a table that goes both ways. */
    struct capture_look there; /* of the destination */
    int64_t looked_us;         /* monotonic: when it was asked */
    bool unready;              /* it cannot go both ways yet */
    struct side_rule rule;     /* of the next batch; what the source has seen is in `turn` */

    bool has_mark;
    struct mark mark; /* its texts are in these two, or in the run's arena */
    struct buf place_key, load_key;
    struct change_place reached; /* in the source: at or behind mark.place */
    struct buf reached_key;
    struct arena turn; /* of a batch */
    struct buf batch;  /* of loading */
    size_t row_bytes;  /* of a row, about */
    int64_t go_on;     /* the order that has switched the limit of deletions off in this run */
    char note[200];    /* what became of an order that was not carried out */
};

/* Writes a batch and moves the mark to `to`; rows that the destination refuses are set aside first,
 * as are those that the source could not give.  True, and the state is stopped, or the mark is
 * another one: what was read is not valid any more. */
bool replication_put(struct replication *p, struct str batch, struct mark *to,
                     const struct side_bad_row *bad, size_t bad_count, bool *ret_put,
                     struct err *err);
/* Both ways: what the next batch is applied by; `seen` is how far the source had taken the changes
 * of the destination when what the batch has was read. */
void replication_rule(struct replication *p, bool has_seen, const struct mark *seen);
/* The same, asked by itself: before the rows are. */
bool replication_see(struct replication *p, struct err *err);
struct side_back replication_back(const struct replication *p);
bool replication_goes_back(const struct replication *p); /* the table goes both ways */
/* Both ways, by time: the clocks agree about the changes of a window, or it is stopped. */
void replication_check_clock(struct replication *p, int64_t newest_us);
/* Rows of the source's journal that nobody needs go, now and then. */
void replication_prune(struct replication *p);
/* At the start of a run; p->unready: it is stopped. */
bool replication_look_there(struct replication *p, struct err *err);
/* Stores the rows that lose, and adds to the rule that they were decided. */
bool replication_keep_losers(struct replication *p, const struct side_applied *a, struct err *err);
/* Rows that have lost: in the store, and at the other location where there is one. */
bool replication_keep(struct replication *p, const struct set_aside *rows, size_t count,
                      struct err *err);
/* What the other location does not know yet of those that were kept before. */
bool replication_tell(struct replication *p, struct err *err);
struct side *replication_away(const struct replication *p); /* the side that is away, or NULL */
/* What has become of a batch that was sent, but for rows that are refused, or lose. */
bool replication_took(struct replication *p, const struct side_applied *a, struct mark *to,
                      struct str batch, bool *ret_put, struct err *err);
size_t replication_rows_most(const struct replication *p); /* that may fit into a batch */
void replication_reach(struct replication *p, struct change_place place);
struct mark replication_next(const struct replication *p); /* as it is, but one batch later */
bool replication_stopped(const struct replication *p);

/* What people have said: all rows again, or go on. */
bool replication_take_orders(struct replication *p, struct err *err);
/* At the end of the run. */
bool replication_end_orders(struct replication *p, struct err *err);

/* The mark has no rows yet, or a person wants them all again.  *ret_begun false: the mark is
 * another one, or it is stopped. */
bool replication_load_begin(struct replication *p, bool *ret_begun, struct err *err);
/* One batch of loading or sweeping. */
bool replication_load(struct replication *p, struct err *err);

/* Rows that were set aside and whose time has come are tried again, as they are now; it is stopped
 * if too many are set aside then. */
bool replication_retry(struct replication *p, struct err *err);
bool replication_set_aside(struct replication *p, const char *kind, const struct side_bad_row *bad,
                           size_t count, struct err *err);
/* Those of a batch that was written, without `left`, are not set aside any more. */
bool replication_resolve(struct replication *p, struct str batch, const struct str *left,
                         size_t left_count, struct err *err);
