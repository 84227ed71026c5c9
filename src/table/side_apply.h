/* side_apply.h - the inside of a batch that is applied: side_apply.c, side_conflict.c.
 *
 * Each entry of the batch gets something that is done with it.  Without a rule a row is written and
 * one that is gone is removed; with a rule it depends on what is there (side_conflict.c).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "table/batch.h"
#include "table/side.h"
#include "table/side_encode.h"

enum applying_what {
    APPLYING_LEAVE,
    APPLYING_WRITE, /* the row is there, or may be */
    APPLYING_ADD,   /* it is not there: somebody else who adds it at this moment is noticed */
    APPLYING_REMOVE,
    APPLYING_KEEP /* the row that is there, which is sent to the source once more */
};

struct applying_entry {
    struct batch_entry e;
    enum applying_what what;
    bool own;           /* it was decided: a change of the destination's own, ... */
    int64_t at_us;      /* ... of this time; 0: of now */
    struct cell *cells; /* by nature: the row; of one that is gone the key */
};

struct applying {
    struct side *side;
    const struct side_batch *batch;
    struct side_coder coder;
    struct arena *arena; /* the caller's */
    struct arena cells;  /* of the rows of this batch */
    struct side_applied *ret;

    struct applying_entry *entries;
    struct cell *rows, *adds, *keys; /* of those that are written, added, removed */
    size_t entry_count, row_count, add_count, key_count, own_count;
    int64_t own_written, own_removed;
    bool raced; /* a row was added by somebody else: all is to be looked at again */
};

/* What is done with each entry.  Conflicts that were not decided yet are in a->ret. */
bool applying_decide(struct applying *a, struct err *err);
