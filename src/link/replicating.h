/* replicating.h - one run of a table of a link: rows go from its source to its destination.
 *
 *     load     all rows, in order of their keys; what changes meanwhile is in the journal
 *     sweep    rows of the destination that the source does not have are removed; only where it had
 *              rows before the load
 *     follow   changes, window by window, until there are none or the time of the run is over
 *
 * The mark at the destination moves with the rows, in their transaction; it says what comes next.
 * So a run may end anywhere, and be run again, and two of them at once do not harm each other.
 *
 * Where it cannot go on without a person it stops: nothing is changed any more, the state has the
 * reason and what to do, and each run looks whether that was done.  A row that the destination
 * refuses does not stop the table: it is set aside, and tried again.
 *
 * Threads: one; blocks on both databases and the store.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "link/link_sides.h"
#include "link/link_state.h"

struct call;
struct store;

struct replicating {
    const struct link_spec *spec;
    struct link_kept *kept;
    struct store *store;
    struct call *call;   /* asked between batches */
    struct arena *arena; /* of the run */
    int64_t fence;       /* grows from one claim of the job to the next */
    int64_t now_us;
};

struct replicated {
    bool more;  /* it has not come to the end */
    bool moved; /* something was written */
    int64_t written, removed, bytes, batches;
};

/* *s is the state that the run before has left, and becomes the new one. */
bool replicating_run(const struct replicating *r, struct link_state *s, struct replicated *ret,
                     struct err *err);
