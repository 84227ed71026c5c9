/* shape.h - what a table looks like, as its database describes it, and the part of it that a link
 * uses.
 *
 * A shape is what a driver found: columns with their own types, and the cell type (cell.h) that a
 * value of such a column has by nature.  A fit is the part of a table that a link uses: the columns
 * that travel, in the order in which they do, those of the key first; a row of a fit is an array of
 * that many cells, and its key are the first `key_count` of them.
 *
 * Of a link both sides have a fit with the same columns and `travels` types, and each side has its
 * own native types: a value is read as `natural`, and cast to what travels; it is cast back before
 * it is written.
 *
 * Ownership: everything is in the arena that it was made with.
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
#include "table/cell.h"

enum {
    SHAPE_COLUMNS_MOST = 1000,
    SHAPE_KEY_MOST = 16,       /* columns of a key */
    SHAPE_NAME_MOST = 200,     /* bytes of a name of a table or column */
    SHAPE_KEY_BYTES = 4000,    /* of a key, as it is encoded (key.h) */
    SHAPE_ROW_BYTES = 64 << 20 /* of a row, as it is encoded (row.h) */
};

struct shape_column {
    struct str name;
    struct str native;      /* its type, as the database writes it: "numeric(12,2)" */
    enum cell_type natural; /* of its values; CELL_NULL: a type that is not replicated */
    bool nullable;
    bool generated; /* computed by the database: not read, not written */
    bool has_default;
    int key_place;  /* 1, 2, ... in the primary key; 0: not in it */
    bool bytewise;  /* text: compared byte for byte by the database's own order */
    bool padded;    /* text of fixed length: blanks at its end do not count */
    bool has_scale; /* DEC, INSTANT, LOCAL, TIME: it keeps so many digits behind the point, */
    int scale;      /* ... and makes others of those that come with more */
    bool single;    /* FLOAT: of single precision */
    int64_t detail; /* what the driver wants to know about it again (an oid) */
};

struct shape {
    struct str schema; /* may be empty */
    struct str name;
    struct shape_column *columns;
    size_t count, key_count; /* key_count 0: it has no primary key */
    struct str quoted;       /* how the driver names it in a statement */
};

struct fit_column {
    struct str name;
    size_t at; /* its place in shape->columns */
    enum cell_type travels;
    int digits;  /* to which it is rounded before it is compared; -1: not at all */
    bool padded; /* on either side: blanks at its end do not travel */
};

struct fit {
    const struct shape *shape;
    struct fit_column *columns; /* those of the key first */
    size_t count, key_count;
    size_t row_most; /* bytes of a row; 0: SHAPE_ROW_BYTES */
};

/* What a link says of a table (`tables:` of a link). */
struct fit_wish {
    struct fit_wish_column {
        struct str name;
        enum cell_type cast; /* CELL_NULL: as it is */
        int digits;          /* -1 */
        bool ignore;
    } * columns;
    size_t count;
};

/* Fits two tables to each other.  `problems` gets one line per reason why they do not fit, each
 * with what to do ("column price: numeric(12,2) here, REAL there would lose digits; say cast: {
 * price: dec } or change the column"), and the result is false.  Reasons: no key or another key;
 * key columns of types that cannot be one (float, json, text that is not compared bytewise); a
 * column that the destination does not have or that cannot hold what comes (nullable to not null,
 * unsafe casts, fewer digits); a column of the destination that needs a value and gets none; a type
 * that is not replicated and not ignored; wishes for columns that are not there. */
bool fit_make(const struct shape *source, const struct shape *dest, const struct fit_wish *wish,
              struct arena *a, struct fit **ret_source, struct fit **ret_dest,
              struct buf *problems);

const struct shape_column *shape_column(const struct shape *s, struct str name); /* or NULL */
