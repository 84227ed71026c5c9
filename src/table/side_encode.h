/* side_encode.h - rows of a side as bytes, and back: the inside of side.h.
 *
 * A row that a driver has read is cast to what travels and encoded; one that came is decoded and
 * cast to what its column is by nature.  Everything that is made lives until the next call.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "table/cell.h"
#include "table/shape.h"

enum { SIDE_SCRATCH = 4 * SHAPE_ROW_BYTES };

struct side_coder {
    const struct fit *fit;
    enum cell_type *travels; /* of each column of the fit, in `kept` */
    struct cell *cells;      /* as many */
    struct arena kept, scratch;
    struct buf key, row;
};

void side_coder_init(struct side_coder *c, const struct fit *fit);
void side_coder_done(struct side_coder *c);

/* c->key.  ERR_PERMANENT: a value that cannot travel. */
bool side_coder_key(struct side_coder *c, const struct cell *cells, struct err *err);
/* c->row, as it travels, or with `compared` as it is compared (rounded). */
bool side_coder_row(struct side_coder *c, const struct cell *cells, bool compared, struct err *err);
/* The same, right behind side_coder_key() for the same cells, of which those of the key are cast
 * already. */
bool side_coder_rest(struct side_coder *c, const struct cell *cells, bool compared,
                     struct err *err);

/* Cells as the columns have them by nature, in the arena; bytes are lent from `bytes` where they
 * can be.  A row: ERR_PERMANENT also where a column would keep fewer digits. */
bool side_coder_natural_key(const struct side_coder *c, struct str bytes, struct arena *a,
                            struct cell *ret, struct err *err);
bool side_coder_natural_row(const struct side_coder *c, struct str bytes, struct arena *a,
                            struct cell *ret, struct err *err);
