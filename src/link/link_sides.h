/* link_sides.h - the two sides of a table of a link, open and fitted to each other.
 *
 * What was described of the tables is kept from one run to the next; connections wait on a shelf
 * for whatever table needs one.  The tables are described again now and then, and after every
 * error: what has changed there is noticed.
 *
 * Threads: link_kept any; what is taken from it belongs to one thread.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "link/link_spec.h"
#include "link/link_state.h"
#include "table/side.h"

struct call;
struct shelf;
struct shelf_side;

struct link_sides {
    const struct link_spec *spec;
    struct side source, dest;
    struct shelf_side *of_source, *of_dest; /* their connections */
    struct arena arena;                     /* shapes and fits */
    int64_t fitted_us;                      /* monotonic */
};

struct link_kept {
    struct shelf *shelf;
    pthread_mutex_t mutex;
    struct link_sides *idle; /* without connections; or NULL */
};

void link_kept_init(struct link_kept *k);
void link_kept_done(struct link_kept *k);

/* Both sides, ready.  True with a reason other than LINK_GOES: they cannot be used until what
 * `problems` says was done, and *ret is NULL.  ERR_TRANSIENT and others: a database does not
 * answer.  They work for `call` until they are put back.
 */
bool link_sides_take(struct link_kept *k, const struct link_spec *spec, struct call *call,
                     struct link_sides **ret, enum link_reason *ret_reason, struct buf *problems,
                     struct err *err);
/* `good`: nothing failed, so they are kept; nothing asks the call any more. */
void link_sides_put(struct link_kept *k, struct link_sides *s, bool good);
