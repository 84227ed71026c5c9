/* link_spec.h - a table of a link as its jobs need it: both ends, and what the configuration says.
 *
 * Ownership: everything is on the arena of whoever made it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "table/away/away.h"
#include "table/database.h"
#include "table/shape.h"
#include "table/side.h"

struct link_end {
    const struct database_type *type; /* NULL: it is away */
    struct database_address address;  /* its name, for people, is set in any case */
    const struct away_address *away;  /* NULL: it is here */
    struct str table;                 /* as it is named there */
};

/* Sets what is open of *side. */
bool link_end_open(const struct link_end *end, struct call *call, struct side *side,
                   struct err *err);
/* The link of the other direction, of a table that goes both ways. */
struct link_back {
    struct str link, table; /* link empty: it goes one way */
    struct str peer;        /* the location that has it; empty: this one */
    struct str rule;        /* `conflict`, of this link */
    enum side_winner winner;
    struct str version;
    bool waits; /* what has lost stays until a person has looked at it */
};

/* `atomic: group` where that cannot be. */
#define LINK_NO_GROUPS                                                                  \
    "`atomic: group` needs a source that says which change is of which transaction: a " \
    "PostgreSQL with a journal. Let it be `atomic: batch`"

struct link_spec {
    struct str link, table; /* the name of the link, and of the table in it */
    struct link_end source, dest;
    struct fit_wish wish;
    struct capture capture;
    int64_t deletes_most, deletes_share; /* in thousandths */
    size_t batch_bytes;
    size_t group_most; /* whole transactions of the source, up to so many bytes; 0: any part */
    int64_t quarantine_most; /* with more rows set aside it stops */
    struct link_back back;
};

/* One side, not open and without a fit. */
struct side link_side_of(const struct link_spec *spec, bool is_source);
