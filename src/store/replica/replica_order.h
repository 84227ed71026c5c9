/* replica_order.h - what people want of a table of a link, until the run of its job has done it.
 *
 * One per link, table and kind; the same wish again takes the place of the one before.  A run that
 * carries it out takes the order away afterwards: one that dies in between does it again.
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

enum replica_wish {
    REPLICA_RESYNC, /* all rows again */
    REPLICA_GO_ON,  /* what it is stopped for is right */
    REPLICA_VERIFY, /* a pass at once, as `detail` says */
    REPLICA_WISHES
};

extern const char *const replica_wishes[REPLICA_WISHES]; /* resync, go-on, verify */

struct replica_order {
    int64_t id;
    enum replica_wish wish;
    struct str link, table;
    struct str detail; /* VERIFY: JSON of {"mode", "repair", "dry_run", "most"}; else empty */
    struct str by, why;
    int64_t at_us;
};

/* With a line of the audit log. */
bool replica_order_put(struct store *s, const struct replica_order *order, struct err *err);
bool replica_order_get(struct store *s, enum replica_wish wish, struct str link, struct str table,
                       struct arena *a, bool *ret_has, struct replica_order *ret, struct err *err);
/* Only if it is still this one. */
bool replica_order_drop(struct store *s, int64_t id, struct err *err);
