/* conflict.h - rows of a link that goes both ways which have lost against others: kept for a while,
 * so that a person can choose them after all.
 *
 * They stand in the list of the rows that are set aside (set_aside.h), with the kind `conflict`,
 * and are neither tried again nor counted there.  A person says of one what may be said of the
 * others (set_aside_judge): it is not wanted, or it is due: then the link writes it.  `due_us` is
 * when it goes.  It is stored before the row that wins is written.
 *
 * Where one end of the link is at another location, it is kept there, too, so that both lists are
 * alike.  What that location does not know yet is marked so (conflict_untold), and told again until
 * it answers.  Here such a row of a peer's link can only be looked at.
 *
 * Threads: any that may block.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/digest.h"
#include "store/replica/set_aside.h"

#define CONFLICT_KIND "conflict"

enum {
    CONFLICT_ROW_MOST = 4 << 20, /* bytes of a row that can be kept */
    CONFLICT_DAYS = 30,
    CONFLICT_PEER_MOST = 100000, /* rows that are kept for links of a peer, about ... */
};
#define CONFLICT_PEER_BYTES (INT64_C(4) << 30) /* ... and their bytes */

/* due_us of one that has lost now.  `waits`: it does not go until a person has said what becomes of
 * it. */
int64_t conflict_due(int64_t now_us, bool waits);
bool conflict_waits(const struct set_aside *row);
/* Of what a row is known by here and at another location: the same row of the same key. */
struct sha256 conflict_digest(const struct set_aside *row);

/* The same row of the same key again changes nothing but its time.  `untold`: they are to be kept
 * at another location, too. */
bool conflict_put(struct store *s, const struct set_aside *rows, size_t count, int64_t now_us,
                  bool untold, struct err *err);
/* One that a person has chosen was written, and goes; or it could not be, `why`, and stays.
 * `untold`: it is at another location, too. */
bool conflict_settle(struct store *s, int64_t id, bool written, bool untold, struct str why,
                     struct err *err);

/* ---- at two locations ---- */

/* Of a table, those that the other location does not have as they stand here, but for those that
 * are about to be written. */
bool conflict_untold(struct store *s, struct str link, struct str table, size_t most,
                     struct arena *a, struct set_aside *ret, size_t *ret_count, struct err *err);
/* It has them now: of each link, table, key, row, `discarded` and `gone` are needed. */
bool conflict_told(struct store *s, const struct set_aside *rows, size_t count, struct err *err);

/* What a link of a peer says of rows: it has decided some, which are kept here, too, until they
 * have become old there, and others have gone.  A row of another peer is another one.  Of rows that
 * wait due_us is CONFLICT_FOREVER_US.  ERR_LIMIT: too many of this peer are kept. */
struct conflict_copies {
    struct str peer;
    const struct set_aside *rows;
    size_t count;
    const struct sha256 *gone; /* conflict_digest() */
    size_t gone_count;
};
#define CONFLICT_FOREVER_US (INT64_C(253370764800) * CLOCK_S) /* the year 9999 */

bool conflict_copy(struct store *s, const struct conflict_copies *c, int64_t now_us,
                   struct err *err);
