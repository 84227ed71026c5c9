/* batch.h - rows on their way from a source to a destination: what one iteration moves.
 *
 * Format   one entry after the other: a byte with its kind (0 a row, 1 a row that is gone), the
 * varints x and at_us, the origin, the key (key.h) and, of a row, the row (row.h), each with a
 * varint length in front.  Rows have the types that travel.
 *
 * A batch is filled up to a limit in bytes, by what was measured and not by what was guessed; it
 * has at least one entry.  No key is in it twice.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

enum { BATCH_BYTES = 80000, BATCH_BYTES_LEAST = 4096, BATCH_ROWS = 10000 };
/* What a batch of whole transactions may have at most. */
enum { GROUP_ROWS = 100000, GROUP_CELLS = 4 << 20 };

struct batch_entry {
    bool gone;
    int64_t x;
    int64_t at_us;               /* when it was changed; 0: it is not known, or in no journal */
    struct str origin, key, row; /* row: empty if it is gone */
};

bool batch_put(struct buf *to, const struct batch_entry *e, struct err *err);
/* How many bytes batch_put() will append. */
size_t batch_size(const struct batch_entry *e);
/* Takes the first entry off `*from`, which is not empty; it lends from it.  ERR_PERMANENT: it is no
 * batch.  Keys and rows are not looked into. */
bool batch_take(struct str *from, struct batch_entry *ret, struct err *err);
